"""How well the end is foreseen: every timed run of the corpus cut early, against what tqdm, its average and the log's own bar say."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from benchmarks.cases import Case, cases, corpus_folder, cut
from benchmarks.picture import fan_of_errors
from benchmarks.stats import Floats, interval_score, quantile, weights
from timeledger.clock import clock as read_clock
from timeledger.forecast import Forecast, make_forecast, steps_done
from timeledger.growth import fit_growth
from timeledger.learned import LEARNED
from timeledger.projection import project
from timeledger.results import Clock
from timeledger.run import Run
from timeledger.timing import fit_timing

SHARES: Final = (0.02, 0.05, 0.10, 0.25, 0.50, 0.75)
LEVEL: Final = 0.8
RESULTS: Final = Path(__file__).parent / "results"
_GRID: Final = np.concatenate([[0.001, 0.005], np.arange(0.01, 1.0, 0.01), [0.995, 0.999]])


@dataclass(frozen=True, slots=True)
class Guess:
    """What each estimator said of one run's total at one moment: logs of estimate over truth (NaN: says nothing)."""

    repository: str
    name: str
    share: float
    ours: float
    low: float
    high: float
    tqdm: float
    average: float
    own: float
    plain: float
    rank: float
    flat: bool
    because: str


def guesses(case: Case, runs: dict[float, Run]) -> list[Guess]:
    """One guess a cut at which the run is not over yet."""
    return [made for share, run in runs.items() if (made := guess(case, share, run)) is not None]


def guess(case: Case, share: float, run: Run) -> Guess | None:
    """All estimators on one cut run, or None when it has no time yet or is over."""
    clock = read_clock(run)
    done = steps_done(run, clock)
    if clock.elapsed_s is None or clock.elapsed_s <= 0 or done < 1 or done >= case.steps:
        return None
    facts = case.facts(run)
    timing = fit_timing(run, clock, facts)
    growth = fit_growth(run, clock, facts, case.steps)
    said = project(run, clock, timing, growth, facts)
    made = make_forecast(run, clock, timing, growth, facts, case.steps, LEARNED.plain())
    if said.total_s is None or made is None:
        return None
    truth, left = case.total_s, case.steps - done
    here = max(done - max((clock.first_step or 1) - 1, 0), 1)

    def error(total: float | None) -> float:
        return float(np.log(total / truth)) if total is not None and total > 0 else float("nan")

    return Guess(
        case.repository, case.name, share, error(said.total_s.mid), error(said.total_s.low), error(said.total_s.high),
        error(clock.elapsed_s + left * clock.elapsed_s / here), error(clock.elapsed_s + left * average_s(clock)),
        error(own_total(run, clock, case.steps)), error(clock.elapsed_s + left * plain_s(clock)),
        rank_of_truth(made, truth - clock.elapsed_s), is_flat(case), " ".join(said.because),
    )  # fmt: skip


def average_s(clock: Clock) -> float:
    """Seconds a step by tqdm's moving average (smoothing 0.3)."""
    mean = weight = 0.0
    for wall, span in clock.steps.select("wall_s", "span").drop_nulls().iter_rows():
        for _ in range(min(int(span), 20)):
            mean, weight = 0.3 * wall + 0.7 * mean, 0.3 + 0.7 * weight
    return mean / weight if weight else float("nan")


def plain_s(clock: Clock) -> float:
    """Mean seconds a step without the warm-up: the simple estimator that the static interval stands around."""
    rows = clock.steps.select("wall_s", "span", "kind").drop_nulls()
    cold = rows.filter(rows["kind"] != "warmup")
    rows = cold if cold.height else rows
    return (
        float(np.average(rows["wall_s"].to_numpy(), weights=rows["span"].to_numpy())) if rows.height else float("nan")
    )


def own_total(run: Run, clock: Clock, steps: int) -> float | None:
    """The total that the log's own bar promised last (None when it counts to other steps than were done)."""
    bars = run.progress.drop_nulls("remaining_s").filter(pl.col("total") == steps)
    promised = bars["remaining_s"][-1] if bars.height else None
    return None if promised is None or clock.elapsed_s is None else clock.elapsed_s + float(promised)


def rank_of_truth(made: Forecast, left_s: float) -> float:
    """The share of the model's own (not yet recalibrated) distribution that lies below what came."""
    widths = made.log_widths(tuple(_GRID), made.steps_left)
    return float(np.interp(np.log(max(left_s, 1e-9) / made.remaining_s), widths, _GRID, left=0.0, right=1.0))


def is_flat(case: Case) -> bool:
    """A run whose halves differ by less than 3 % and that has no extra work, pause or slow start of note."""
    rows = case.clock.steps.drop_nulls("wall_s")
    wall, span = rows["wall_s"].to_numpy(), rows["span"].to_numpy()
    half = len(wall) // 2
    one, two = (np.average(wall[part], weights=span[part]) for part in (slice(0, half), slice(half, None)))
    extra = float(rows["extra_s"].fill_null(0).sum())
    return bool(abs(np.log(two / one)) < 0.03 and extra < 0.01 * float(np.sum(wall * span)))


def static(all_of_them: list[Guess], share: float, without: str) -> tuple[float, float]:
    """The static interval's offsets: quantiles of other repositories' errors of the plain mean at this share."""
    others = [
        each for each in all_of_them if each.share == share and each.repository != without and np.isfinite(each.plain)
    ]
    error = -np.array([each.plain for each in others])
    weight = weights([each.repository for each in others])
    return quantile(error, weight, 0.5 - LEVEL / 2), quantile(error, weight, 0.5 + LEVEL / 2)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: medians, means and 90 % quantiles of |log error|; coverage, width and score of intervals."""

    share: float
    runs: int
    repositories: int
    errors: dict[str, tuple[float, float, float]]
    cover: float
    width: float
    score: float
    static_cover: float
    static_width: float
    static_score: float


def table(found: list[Guess]) -> list[Row]:
    """The table, one row a share."""
    return [row(found, share) for share in SHARES if any(each.share == share for each in found)]


def row(found: list[Guess], share: float) -> Row:
    """One row of the table."""
    here = [each for each in found if each.share == share]
    weight = weights([each.repository for each in here])
    errors = {name: _summary(here, name) for name in ("ours", "tqdm", "average", "own", "plain")}
    low, high = np.array([each.low for each in here]), np.array([each.high for each in here])
    around = np.array([static(found, share, each.repository) for each in here])
    plain = np.array([each.plain for each in here])
    static_low, static_high = plain + around[:, 0], plain + around[:, 1]
    return Row(
        share, len(here), len({each.repository for each in here}), errors,
        _cover(low, high, weight), float(weight @ (high - low)), float(weight @ interval_score(low, high, LEVEL)),
        _cover(static_low, static_high, weight), float(weight @ (static_high - static_low)),
        float(weight @ interval_score(static_low, static_high, LEVEL)),
    )  # fmt: skip


def _summary(here: list[Guess], name: str) -> tuple[float, float, float]:
    known = [each for each in here if np.isfinite(getattr(each, name))]
    if not known:
        return float("nan"), float("nan"), float("nan")
    error = np.abs([getattr(each, name) for each in known])
    weight = weights([each.repository for each in known])
    return quantile(error, weight, 0.5), float(weight @ error), quantile(error, weight, 0.9)


def _cover(low: Floats, high: Floats, weight: Floats) -> float:
    return float(weight @ ((low <= 0) & (high >= 0)))


def markdown(rows: list[Row], found: list[Guess]) -> str:
    """The table and what stands in the way of the targets, as Markdown."""
    said = [
        "# Projection of the run's total time\n",
        "Every timed run of the corpus, cut at a share of its steps and read as a live reader would. "
        "Error: |log(estimate / truth)| of the total, weighed by repository: median / mean / 90 % quantile, in per cent.\n",
        "| steps done | runs (repositories) | timeledger | tqdm mean | tqdm average 0.3 | the log's own ETA | mean without slow start | mean over tqdm's |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for each in rows:
        cells = [
            " / ".join(f"{100 * value:.1f}" for value in each.errors[name])
            for name in ("ours", "tqdm", "average", "own", "plain")
        ]
        ratio = each.errors["ours"][1] / each.errors["tqdm"][1]
        said.append(
            f"| {each.share:.0%} | {each.runs} ({each.repositories}) | " + " | ".join(cells) + f" | {ratio:.2f} |"
        )
    said += [
        f"\n{LEVEL:.0%} intervals, in log of the total; score = width + 10 x miss.\n",
        "| steps done | coverage | width | score | static: coverage | width | score | score over static's |",
        "|---|---|---|---|---|---|---|---|",
    ]
    said += [
        f"| {each.share:.0%} | {each.cover:.2f} | {each.width:.3f} | {each.score:.3f} | {each.static_cover:.2f} "
        f"| {each.static_width:.3f} | {each.static_score:.3f} | {each.score / each.static_score:.2f} |"
        for each in rows
    ]
    return "\n".join([*said, "", _flat(found), _hard(found)]) + "\n"


def _flat(found: list[Guess]) -> str:
    flat = [each for each in found if each.flat]
    worse = [each for each in flat if abs(each.ours) > abs(each.tqdm) + 0.003]
    lines = [f"Flat runs: {len(flat)} guesses, {len(worse)} more than 0.3 points worse than tqdm's mean."]
    lines += [f"- {each.name} at {each.share:.0%}: {abs(each.ours):.1%} against {abs(each.tqdm):.1%}" for each in worse]
    return "\n".join(lines)


def _hard(found: list[Guess]) -> str:
    lines = ["", "Largest errors:", ""]
    for share in (0.10, 0.25, 0.50):
        here = sorted((each for each in found if each.share == share), key=lambda each: -abs(each.ours))[:8]
        lines += [
            f"- {share:.0%} {each.name}: {each.ours:+.0%} (tqdm {each.tqdm:+.0%}). {each.because}" for each in here
        ]
    return "\n".join(lines)


def measure(corpus: Path) -> list[Guess]:
    """All guesses over the corpus."""
    return [each for case in cases(corpus) for each in guesses(case, cut(case, SHARES))]


def main() -> int:
    """Print the table and write it to benchmarks/results/."""
    corpus = corpus_folder()
    if corpus is None:
        print("projection: the corpus of real logs is not here (set TIMELEDGER_CORPUS).", file=sys.stderr)
        return 0
    found = measure(corpus)
    text = markdown(table(found), found)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "projection.md").write_text(text, encoding="utf-8")
    (RESULTS / "projection.svg").write_text(fan_of_errors(table(found)), encoding="utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
