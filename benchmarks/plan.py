"""How well the calculator plans a whole run from its first ten steps: every timed run of the corpus, against step mean x steps."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from benchmarks.cases import Case, cases, corpus_folder, cut
from benchmarks.stats import Floats, quantile, weights
from timeledger.analysis import analyse
from timeledger.clock import clock as read_clock
from timeledger.errors import ImpossiblePlan
from timeledger.forecast import steps_done
from timeledger.plan import estimate, from_run
from timeledger.run import Run

STEPS: Final = 10
#: (error allowed, share of runs, weighed by repository, that must keep within it)
TARGETS: Final = ((0.30, 0.93), (0.10, 0.70))
RESULTS: Final = Path(__file__).parent / "results"


@dataclass(frozen=True, slots=True)
class Planned:
    """One run planned from its first steps: errors of the total (estimate / truth - 1), and why it went wrong if it did."""

    repository: str
    name: str
    done: int
    steps: int
    ours: float
    mean: float
    inside: bool
    reason: str


def measure(corpus: Path) -> tuple[list[Planned], list[str]]:
    """Every run that had a time after its first steps, and the names of those that had none."""
    found: list[Planned] = []
    without: list[str] = []
    for case in cases(corpus):
        made = [planned for run in cut(case, (STEPS / case.steps,)).values() if (planned := plan_one(case, run))]
        found += made
        without += [] if made else [case.name]
    return found, without


def plan_one(case: Case, run: Run) -> Planned | None:
    """The plan of the whole run from its first steps; None when those have no time or are already all."""
    clock = read_clock(run)
    done = steps_done(run, clock)
    if clock.elapsed_s is None or clock.elapsed_s <= 0 or not 1 <= done < case.steps:
        return None
    before = max((case.clock.first_step or 1) - 1, 0)
    try:
        answer = estimate(from_run(analyse(run, case.facts(run)), {"steps": case.steps - before}))
    except ImpossiblePlan as error:
        return Planned(case.repository, case.name, done, case.steps, float("inf"), float("nan"), False, str(error))
    truth = case.total_s
    mean = clock.elapsed_s / max(done - before, 1) * (case.steps - before)
    inside = answer.total_s.low <= truth <= answer.total_s.high
    ours = answer.total_s.mid / truth - 1
    return Planned(
        case.repository, case.name, done, case.steps, ours, mean / truth - 1, inside, reason(case, done, answer.step_s)
    )


def reason(case: Case, done: int, planned_s: float) -> str:
    """What the rest of the run did that its first steps did not show."""
    rows = case.clock.steps.drop_nulls("wall_s")
    early, late = rows.filter(pl.col("step") <= done), rows.filter(pl.col("step") > done)
    said = [f"planned {planned_s:.3g} s a step, all steps took {case.total_s / case.steps:.3g} s on average"]
    extra = float(late["extra_s"].fill_null(0).sum()) / case.total_s
    if extra > 0.05:
        said.append(f"pauses, evaluations and checkpoints after step {done} took {extra:.0%} of the run")
    one, two = (_usual(each) for each in (early, late))
    if one > 0 and two > 0 and abs(two / one - 1) > 0.07:
        said.append(f"an ordinary step went from {one:.3g} s to {two:.3g} s")
    lengths = case.run.steps.filter(pl.col("len_mean").is_finite())
    a = lengths.filter(pl.col("step") <= done)["len_mean"].mean()
    b = lengths.filter(pl.col("step") > done)["len_mean"].mean()
    if isinstance(a, float) and isinstance(b, float) and a > 0:
        said.append(
            f"answers went from {a:.0f} to {b:.0f} tokens" if abs(b / a - 1) > 0.07 else "answers kept their length"
        )
    return "; ".join(said)


def _usual(rows: pl.DataFrame) -> float:
    """Median seconds of rows that are neither warm-up nor pause."""
    middle = rows.filter(~pl.col("kind").is_in(["warmup", "pause", "restart"]))["wall_s"].median()
    return float(middle) if isinstance(middle, int | float) else 0.0


def within(errors: Floats, weight: Floats, most: float) -> float:
    """The share of runs whose error is at most `most`."""
    return float(weight @ (np.nan_to_num(np.abs(errors), nan=np.inf) <= most))


def markdown(found: list[Planned], without: list[str]) -> str:
    """The table, the targets and the failures with their reasons."""
    weight = weights([each.repository for each in found])
    columns = {
        "timeledger plan --from": np.array([each.ours for each in found]),
        "step mean x steps": np.array([each.mean for each in found]),
    }
    said = [
        f"# The whole run planned from its first {STEPS} steps\n",
        f"{len(found)} timed runs of {len({each.repository for each in found})} repositories, each weighed by its repository; "
        f"error of the total, estimate / truth - 1. {len(without)} runs had no time after {STEPS} steps"
        + (f" ({', '.join(without)})" if without else "") + ".\n",
        "| planned by | within 10 % | within 30 % | median error | 90 % quantile |",
        "|---|---:|---:|---:|---:|",
    ]  # fmt: skip
    for name, errors in columns.items():
        size = np.minimum(np.nan_to_num(np.abs(errors), nan=99.0), 99.0)
        said.append(
            f"| {name} | {within(errors, weight, 0.10):.1%} | {within(errors, weight, 0.30):.1%} "
            f"| {quantile(size, weight, 0.5):.1%} | {quantile(size, weight, 0.9):.1%} |"
        )
    cover = float(weight @ np.array([each.inside for each in found]))
    said.append(f"\nThe 80 % interval held the truth in {cover:.1%}.\n")
    for most, want in TARGETS:
        got = within(columns["timeledger plan --from"], weight, most)
        said.append(f"- within {most:.0%}: {got:.1%}, wanted {want:.0%}: {'reached' if got >= want else 'MISSED'}")
    said.append("\nOutside 30 %:\n")
    bad = sorted((each for each in found if abs(each.ours) > 0.30), key=lambda each: -abs(each.ours))
    said += [
        f"- {each.name} ({each.done} of {each.steps} steps): {each.ours:+.0%} (step mean {each.mean:+.0%}): {each.reason}."
        for each in bad
    ]
    said.append("\nBetween 10 and 30 %:\n")
    rest = sorted((each for each in found if 0.10 < abs(each.ours) <= 0.30), key=lambda each: -abs(each.ours))
    said += [
        f"- {each.name} ({each.done} of {each.steps} steps): {each.ours:+.0%} (step mean {each.mean:+.0%}): {each.reason}."
        for each in rest
    ]
    return "\n".join(said) + "\n"


def main() -> int:
    """Print the table and write it to benchmarks/results/; exit code 1 when a target is missed."""
    corpus = corpus_folder()
    if corpus is None:
        print("plan: the corpus of real logs is not here (set TIMELEDGER_CORPUS).", file=sys.stderr)
        return 0
    found, without = measure(corpus)
    text = markdown(found, without)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "plan.md").write_text(text, encoding="utf-8")
    print(text)
    return 1 if "MISSED" in text else 0


if __name__ == "__main__":
    raise SystemExit(main())
