"""Whether two logs are of one run: their values decide."""

from __future__ import annotations

from datetime import timedelta

import pytest

from parsers.agree import Verdict, sessions, verdict
from tests.parsers.made_runs import START, Log, value


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (Log("a", "trl", console=True).steps(1, 20), Log("b", "tensorboard").steps(1, 20), Verdict.SAME),
        (Log("a", "trl", console=True).steps(1, 20), Log("b", "tensorboard").steps(1, 20, ahead=-1), Verdict.SAME),
        (Log("a", "trl", console=True).steps(1, 20), Log("b", "tensorboard").steps(1, 20, seed=3), Verdict.DIFFERENT),
        (Log("a", "trl").steps(1, 1), Log("b", "tensorboard").steps(1, 1, names=("reward", "len_mean", "step_s", "kl")), Verdict.SAME),
        (Log("a", "trl").steps(1, 20), Log("b", "tensorboard").steps(1, 20, names=("kl",)), Verdict.UNKNOWN),
        (Log("a", "trl").steps(1, 53), Log("b", "trl").steps(41, 100, seed=1), Verdict.UNKNOWN),
    ],
)  # fmt: skip
def test_values_decide(a: Log, b: Log, expected: Verdict) -> None:
    assert verdict(sessions(a.run()), sessions(b.run())) is expected


def test_one_recipe_run_twice_is_two_runs() -> None:
    """Every value is the same (a fixed seed), but the step times are another machine's mood."""
    names = ("reward", "len_mean", "kl", "entropy")
    a = Log("a", "trl").steps(1, 20, names=names)
    b = Log("b", "trl").steps(1, 20, names=names)
    for log, seed in ((a, 1), (b, 2)):
        for step in range(1, 21):
            log.build.row(step, {"step_s": value("step_s", step, seed)})
    assert verdict(sessions(a.run()), sessions(b.run()), same_format=True) is Verdict.DIFFERENT
    early = Log("c", "tensorboard", start=START).steps(1, 20, names=names).run()
    late = Log("d", "wandb", start=START + timedelta(hours=5)).steps(1, 20, names=names).run()
    assert verdict(sessions(early), sessions(late)) is Verdict.DIFFERENT
