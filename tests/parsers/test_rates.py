"""Logs that tell tokens a second and the tokens of one step, and no time."""

from __future__ import annotations

import pytest

from parsers.keyvalue_lines import read_line
from parsers.renames import resolver
from tests.parsers.loops import column, notes, read, total_s

HEAD = "Tokens / optimizer step : 32,768\nEffective batch size    : 32\nMax steps               : 2,000\n"


def rows(each: int = 10, rate: str = "{:.1f}k tok/s", more: str = "") -> str:
    shown = (rate.format(40.0 + n % 3) for n in range(60))
    return "".join(
        f"step {each * (n + 1):5d} | loss {3 - n / 90:.4f} | lr 1.8e-04 | {each}{more} | mfu 37.6%\n".replace(
            f"| {each}{more} |", f"|{more} {told} |"
        )
        for n, told in enumerate(shown)
    )


def test_seconds_of_a_step_are_its_tokens_by_the_rate() -> None:
    run = read(HEAD + rows())
    assert column(run, "step_s")[:3] == pytest.approx([32_768 / 40_000, 32_768 / 41_000, 32_768 / 42_000])
    assert total_s(run) == pytest.approx(600 * 32_768 / 41_000, rel=0.01)
    assert "no time in the log" in notes(run)
    assert run.info.number("total_steps") == 2000


@pytest.mark.parametrize(
    "head", ["tokens per iteration will be: 32,768\n", "tokens_per_step = 32768\n", "- Tokens per step: 32768\n"]
)
@pytest.mark.parametrize("rate", ["{:.0f}000 tok/s", "tok/s {:.1f}k", "tokens_per_sec: {:.1f}k"])
def test_other_writings(head: str, rate: str) -> None:
    run = read(head + rows(rate=rate))
    assert column(run, "step_s")[0] == pytest.approx(32_768 / 40_000)


@pytest.mark.parametrize(
    "text",
    [
        rows(),  # nothing tells the tokens of a step
        HEAD + rows(rate="tok/s/gpu {:.1f}k"),
        "num_gpus: 8\n" + HEAD + rows(),
    ],
)
def test_no_time_where_one_of_both_is_not_known(text: str) -> None:
    assert read(text).steps["step_s"].null_count() == 60


def test_a_time_of_its_own_comes_first() -> None:
    run = read(HEAD + rows(more=" dt 2500ms |"))
    assert column(run, "step_s")[:2] == [2.5, 2.5]
    assert "no time in the log" not in notes(run)


def test_tokens_of_a_step_are_no_step() -> None:
    line = read_line("Tokens / optimizer step : 32,768", resolver(()))
    assert line is None or line.mark is None


def test_thousands_of_tokens_a_second() -> None:
    line = read_line("step 3 | loss 1.5 | gen 2.5k tokens/s | train: 31k tok/s | throughput: 4k tok/s", resolver(()))
    assert line is not None
    assert (line.values.columns["gen_tok_s"], line.values.columns["train_tok_s"]) == (2500.0, 31_000.0)
    assert line.values.extra["throughput"] == 4000.0
