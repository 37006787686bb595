"""Lines of one print statement read by their shape tell exactly what reading them in full tells."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

import parsers
from parsers.fields import resolve
from parsers.keyvalue_lines import Line, read_line
from parsers.shapes import Shapes
from timeledger.run import Run

Style = Callable[[random.Random, int], str]


def _read(text: str) -> Line | None:
    return read_line(text, resolve)


def _number(rng: random.Random) -> str:
    """A number in any of the spellings that one field of a log may have from line to line."""
    return rng.choice(
        (
            f"{rng.gauss(0, 1):.4f}", str(rng.randrange(3)), str(rng.randrange(2000)), repr(rng.gauss(0, 10)),
            f"{rng.random() * 10 ** rng.randrange(-9, 9):.3e}", f"{rng.random() * 1000:.1f}", f"{rng.randrange(3_000_000):,}",
            repr(rng.random()), rng.choice(("nan", "inf", "None", "0", "1", "1.0", "0.0", "-0.0")),
        )
    )  # fmt: skip


def _s(rng: random.Random, most: float = 100) -> str:
    return f"{rng.random() * most:.1f}"


STYLES: dict[str, Style] = {
    "pipes": lambda rng, i: f"step {i}/400 | loss {_number(rng)} | reward {_number(rng)} | len {_number(rng)} | time {_s(rng)}s",
    "planned steps change": lambda rng, i: f"[step {i}/{rng.choice((100, 400, 1000))}] loss={_number(rng)} dt={_number(rng)}s",
    "epoch and batch": lambda rng, i: f"Epoch {i // 50 + 1}/8, Batch {i % 50}/50: loss: {_number(rng)}, mean reward: {_number(rng)}",
    "leading zeros": lambda rng, i: f"iter {i:06d} loss {_number(rng)} grad_norm {_number(rng)}",
    "dates that may not exist": lambda rng, i: f"2026-03-{1 + i % 40:02d} 10:{i % 60:02d}:{i * 7 % 70:02d},{i:03d} - INFO - step={i} reward={_number(rng)}",
    "shares beyond 1": lambda rng, i: f"step {i} acc {_number(rng)} truncated {_number(rng)} zero_std {_number(rng)} clipfrac {_number(rng)}",
    "time of day, clocks": lambda rng, i: f"[10:{i % 60:02d}:{i * 7 % 60:02d}] update {i}: loss {_number(rng)}, elapsed {i // 60}:{i % 60:02d}, eta 1:{i % 60:02d}:00",
    "of so many": lambda rng, i: f"Step {i}: reward {_number(rng)} (max {_number(rng)}, min {_number(rng)}) correct {rng.randrange(9)}/8 took {_s(rng)}s",
    "python dict": lambda rng, i: str({"step": i, "loss": rng.gauss(0, 1), "reward": rng.random(), "lr": rng.random() * 1e-6}),
    "json": lambda rng, i: f'{{"iter": {i}, "loss": {rng.gauss(0, 1)}, "reward/mean": {rng.random() * 2}, "time": {rng.random() * 100}}}',
    "phases and units": lambda rng, i: f"step {i} rollout {_s(rng)}s train {_s(rng)}s sync {_s(rng, 900)}ms total {rng.randrange(3)}m {rng.randrange(60)}s",
    "other units": lambda rng, i: f"step={i} mem={_s(rng)}GB throughput={_number(rng)} tok/s truncated={_s(rng, 120)}%",
    "lists and spreads": lambda rng, i: f"it {i} | avg reward: {_number(rng)} ± {_number(rng)} | lens: [{rng.randrange(100)}, {rng.randrange(100)}]",
    "process prefix": lambda rng, i: f"(Worker pid={rng.randrange(99999)}) step {i} loss {_number(rng)} p95 len {_number(rng)}",
    "glog": lambda rng, i: f"I0301 10:{i % 60:02d}:{i % 60:02d}.123456 4711 train.py:88] step {i} loss {_number(rng)} time {_number(rng)}",
    "no step": lambda rng, i: f"loss {_number(rng)} | reward {_number(rng)} | time {_s(rng)}s",
    "blocks": lambda rng, i: f"  reward: {_number(rng)}\n  loss: {_number(rng)}\nStep {i}\n  kl: {_number(rng)}",
    "moments": lambda rng, i: f"timestamp={1.77e9 + i} step={i} loss={_number(rng)} correct={rng.randrange(9)} samples={rng.randrange(1, 9)}",
    "not ascii": lambda rng, i: f"第 {i} 步 奖励 {_number(rng)} 损失 {_number(rng)} 耗时 {_s(rng)}秒",
    "many digits": lambda rng, i: f"step {i}, tokens {rng.randrange(10 ** rng.randrange(1, 12))}, wall {rng.random() * 10 ** rng.randrange(1, 11):.1f}",
    "a part of a step": lambda rng, i: f"ppo step {i} | mini-batch {i % 4}/4 | loss {_number(rng)} | steps per second {_s(rng)}",
}  # fmt: skip


def _lines(style: Style, count: int = 400, seed: int = 5) -> list[str]:
    rng = random.Random(seed)
    return "\n".join(style(rng, step) for step in range(1, count)).split("\n")


@pytest.mark.parametrize("style", STYLES)
def test_a_shape_tells_what_the_full_reading_tells(style: str) -> None:
    shapes = Shapes(_read)
    for text in _lines(STYLES[style]):
        raw = text.encode()
        if (line := shapes.known(text, raw)) is not None:
            assert line == _read(text), text
        elif _read(text) is not None:
            shapes.learn(text, raw)


def test_most_lines_of_a_usual_loop_are_read_by_their_shape() -> None:
    rng = random.Random(1)
    shapes, known = Shapes(_read), 0
    for step in range(1000):
        text = f"[2026-03-01 10:{step // 60 % 60:02d}:{step % 60:02d}] step {step}/5000 | loss {rng.gauss(0, 1):.4f} | kl {rng.random():.5f} | time {_s(rng)}s"
        if shapes.known(text, text.encode()) is None:
            shapes.learn(text, text.encode())
        else:
            known += 1
    assert known > 980


def test_a_shape_that_proves_wrong_is_given_up() -> None:
    """A reading that changes its mind with the step number: what the shape says is not used."""

    def odd(text: str) -> Line | None:
        line = _read(text)
        if line is not None and line.mark is not None and line.mark.step >= 300:
            line.values.columns["loss"] = -line.values.columns["loss"]
        return line

    shapes = Shapes(odd)
    wrong = 0
    for step in range(1, 4000):
        text = f"step {step} loss 0.{step % 1000:03d} reward 0.5"
        line = shapes.known(text, text.encode())
        if line is None:
            shapes.learn(text, text.encode())
        else:
            wrong += line != odd(text)
    assert 0 < wrong <= 512  # from the change on until the next check, then never again


@pytest.mark.parametrize("seed", range(3))
def test_a_log_reads_the_same_with_and_without_shapes(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    rng = random.Random(seed)
    styles = rng.sample(sorted(STYLES), 2)
    text = "\n".join(line for step in range(1, 500) for line in [STYLES[rng.choice(styles)](rng, step)]).encode()
    fast = parsers.read(text, format="keyvalue")
    monkeypatch.setattr(Shapes, "known", lambda self, text, raw: None)
    monkeypatch.setattr("parsers.keyvalue_reader.may_tell", lambda text, raw: True)
    assert _rows(fast) == _rows(parsers.read(text, format="keyvalue"))


def _rows(run: Run) -> list[str]:
    plain = replace(run, info=run.info.model_copy(update={"last_write": None}))
    frames = (plain.steps, plain.phases, plain.events, plain.progress, plain.extra)
    return [repr(frame.columns) + repr(frame.rows()) for frame in frames] + [repr(plain.notes), repr(plain.info)]
