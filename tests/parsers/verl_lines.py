"""Made verl lines for the tests, and short ways to read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parsers.base import Format, Head, Origin, Reader, Sure
from parsers.text import Pieces
from parsers.verl import VERL
from timeledger.run import Run

#: One step of 256 sequences on 8 GPUs: phases sum to 59.9 of 60 seconds; validation is outside.
STEP: dict[str, float] = {
    "actor/entropy": 0.5, "actor/pg_loss": 0.01, "actor/pg_clipfrac": 0.0, "actor/kl_loss": 0.002,
    "actor/grad_norm": 0.25, "actor/lr": 1e-06, "perf/max_memory_allocated_gb": 68.5, "training/epoch": 0,
    "critic/score/mean": 0.75, "critic/rewards/mean": 0.5, "critic/advantages/mean": -0.01,
    "response_length/mean": 400.0, "response_length/max": 1024.0, "response_length/min": 12.0,
    "response_length/clip_ratio": 0.125, "prompt_length/mean": 100.0,
    "timing_s/agent_loop/slowest/response_length": 1024, "timing_s/agent_loop/num_preempted/mean": -1.0,
    "timing_s/agent_loop/generate_sequences/max": 29.0, "timing_s/generation_timing/topk_ratio": 0.5,
    "timing_s/generate_sequences": 20.0, "timing_s/gen": 30.0, "timing_s/reward": 0.5, "timing_s/old_log_prob": 4.4,
    "timing_s/ref": 5.0, "timing_s/adv": 0.0, "timing_s/update_actor": 15.0, "timing_s/update_weights": 5.0,
    "timing_s/step": 60.0, "timing_per_token_ms/gen": 0.3, "perf/total_num_tokens": 128000,
    "perf/time_per_step": 60.0, "perf/throughput": 128000 / 60 / 8,
}  # fmt: skip


def line(step: int, values: Mapping[str, Any] | None = None, **more: Any) -> str:
    found = dict(STEP if values is None else values) | {name.replace("__", "/"): value for name, value in more.items()}
    return f"step:{step} - " + " - ".join(f"{key}:{value}" for key, value in found.items())


def open_verl(name: str = "train.log", form: Format = VERL) -> Reader:
    return form.open(Origin(name))


def read_all(*lines: str, form: Format = VERL) -> tuple[Run, ...]:
    reader = open_verl(form=form)
    reader.feed(("\n".join(lines) + "\n").encode())
    return reader.runs()


def read(*lines: str, form: Format = VERL) -> Run:
    return read_all(*lines, form=form)[-1]


def sure(*lines: str, form: Format = VERL) -> Sure:
    data = "\n".join(lines).encode()
    return form.recognises(Head(Origin("x"), data, tuple(piece.text for piece in Pieces().split(data)), True)).sure


def phases(run: Run, step: int) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in run.phases.to_dicts() if row["step"] == step}
