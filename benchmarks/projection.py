"""How well the end is foreseen: every timed run of the corpus cut early, against what tqdm, its average and the log's own bar say."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from benchmarks.cases import Case, cases, corpus_folder
from benchmarks.learn_quantiles import learn_without, tables_of
from benchmarks.moments import SHARES, Moment, moments
from benchmarks.picture import fan_of_errors
from benchmarks.stats import Floats, interval_score, quantile, weights
from benchmarks.told import SIGNS, signs, told
from timeledger.forecast import make_forecast
from timeledger.learned import Learned
from timeledger.reasons import reasons
from timeledger.results import Clock
from timeledger.rows import Rows
from timeledger.run import Run

LEVEL: Final = 0.8
#: The mean error is wanted at most this share of tqdm's, at these shares of the run.
TARGET: Final = 0.75
TARGETED: Final = (0.05, 0.10, 0.25, 0.50)
RESULTS: Final = Path(__file__).parent / "results"


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
    floor: float
    rules: dict[str, float]
    flat: bool
    because: str
    #: What a learner sees, the change of pace (log) that came after it, and the shares of the total that it does and does not move.
    signs: Floats
    change: float
    moved: float
    fixed: float

    def changed(self, by: float) -> float:
        """Log of estimate over truth if the pace to come had been taken to change by `by` (log)."""
        return float(np.log(self.fixed + self.moved * np.exp(by)))


def guess(moment: Moment, learned: Learned) -> Guess | None:
    """All estimators at one moment, or None when nothing can be said yet."""
    case, clock = moment.case, moment.clock
    made = make_forecast(moment.run, clock, moment.timing, moment.growth, moment.facts, case.steps, learned)
    if made is None:
        return None
    elapsed, left, truth = moment.elapsed_s, case.steps - moment.done, case.total_s
    here = max(moment.done - max((clock.first_step or 1) - 1, 0), 1)
    rest = made.remaining(LEVEL)

    def error(total: float | None) -> float:
        return float(np.log(total / truth)) if total is not None and total > 0 else float("nan")

    return Guess(
        case.repository, case.name, moment.share, error(elapsed + rest.mid), error(elapsed + rest.low), error(elapsed + rest.high),
        error(elapsed + left * elapsed / here), error(elapsed + left * average_s(clock)),
        error(own_total(moment.run, clock, case.steps)), error(elapsed + left * plain_s(clock)),
        error(elapsed + left * nearest_pace(made.rows, (moment.left_s - made.extra_s) / left) + made.extra_s),
        {name: error(elapsed + left * pace + made.extra_s) for name, pace in simple_paces(made.rows, left).items()},
        is_flat(case), " ".join(reasons(made, clock, moment.growth)), signs(made, moment),
        float(np.log(max((moment.left_s - made.extra_s) / (left * made.step_s), 0.02))), left * made.step_s / truth,
        (elapsed + made.extra_s) / truth,
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


def nearest_pace(rows: Rows, wanted_s: float) -> float:
    """The pace that came, or the nearest to it that a stretch of this run had shown by then: an eighth of its rows."""
    parts = np.array_split(np.arange(len(rows)), min(8, max(1, len(rows) // 3)))
    seen = [float(np.average(rows.wall_s[part], weights=rows.span[part])) for part in parts]
    return min(max(wanted_s, min(seen)), max(seen))


def simple_paces(rows: Rows, left: int) -> dict[str, float]:
    """What other rules would take the steps to come at, with the same slow start, cycles and schedules known."""
    wall, span = rows.wall_s, rows.span

    def late(share: float) -> float:
        count = max(1, int(np.ceil(len(wall) * share)))
        return float(np.average(wall[-count:], weights=span[-count:]))

    found = {"mean": late(1.0), "late half": late(0.5), "late quarter": late(0.25), "late tenth": late(0.1)}
    found["median"] = float(np.median(wall))
    if len(wall) >= 6:
        at = np.cumsum(span) - span / 2
        found["trend"] = max(float(np.polyval(np.polyfit(at, wall, 1), at[-1] + left / 2)), 0.3 * found["mean"])
    else:
        found["trend"] = found["mean"]
    return found


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
    return "\n".join([*said, "", _apart(found), _flat(found), _hard(found)]) + "\n"


def _apart(found: list[Guess]) -> str:
    """Mean error over tqdm's, without the repository that weighs most, and where it is above the target what prevents it."""
    lines = ["\nMean error over tqdm's mean error, and without the repository that weighs most in it:\n"]
    missed = []
    for share in SHARES:
        here = [each for each in found if each.share == share]
        names = {each.repository for each in here}
        without = {name: _ratio([each for each in here if each.repository != name]) for name in names}
        name = min(without, key=lambda each: without[each])
        ratio = _ratio(here)
        lines.append(f"- {share:.0%}: {ratio:.2f}; {without[name]:.2f} without {name}")
        if share in TARGETED and ratio > TARGET:
            missed += _in_the_way(here, share)
    return "\n".join([*lines, *missed]) + "\n"


def _in_the_way(here: list[Guess], share: float) -> list[str]:
    """The repositories that make up a mean error above the target, and how near any pace seen by then came to the truth."""
    weight = weights([each.repository for each in here])
    errors = {
        name: np.nan_to_num(np.abs([getattr(each, name) for each in here])) * weight * 100
        for name in ("ours", "tqdm", "floor")
    }
    own = np.array([each.repository for each in here])
    names = sorted(set(own), key=lambda name: -float(errors["ours"][own == name].sum()))
    lines = [
        f"\nWhat keeps the mean error at {share:.0%} above {TARGET:g} of tqdm's: points of the mean by repository, and those that "
        "even the best choice among all paces seen by then would have left (what no log had shown yet).\n",
        "| repository | timeledger | tqdm | best pace seen |",
        "|---|---|---|---|",
    ]
    for name in names[:8]:
        cells = " | ".join(f"{errors[kind][own == name].sum():.2f}" for kind in ("ours", "tqdm", "floor"))
        lines.append(f"| {name} | {cells} |")
    sums = " | ".join(f"{errors[kind].sum():.2f}" for kind in ("ours", "tqdm", "floor"))
    rules = {name: float(weight @ np.abs([each.rules[name] for each in here])) * 100 for name in here[0].rules}
    told = ", ".join(f"{name} {value:.2f}" for name, value in sorted(rules.items(), key=lambda each: each[1]))
    wanted = TARGET * float(errors["tqdm"].sum())
    verdict = (
        "None of them reaches it either."
        if min(rules.values()) > wanted
        else f"{min(rules, key=lambda name: rules[name])} reaches it."
    )
    return [
        *lines, f"| all {len(names)} | {sums} |",
        f"\nOther rules for the pace to come, with the same slow starts, cycles and schedules: {told}. "
        f"Wanted: {wanted:.2f}. {verdict}",
        _learners(here, weight, wanted),
    ]  # fmt: skip


def _learners(here: list[Guess], weight: Floats, wanted: float) -> str:
    """What two learners make of the signs that the logs showed by then."""
    names = tuple(each.repository for each in here)
    found = told(np.array([each.signs for each in here]), np.array([each.change for each in here]), names)
    errors = {
        name: 100 * float(weight @ np.abs([each.changed(by) for each, by in zip(here, change, strict=True)]))
        for name, change in found.items()
    }
    as_said = 100 * float(weight @ np.abs([each.changed(0.0) for each in here]))
    best = min(errors, key=lambda name: errors[name])
    listed = ", ".join(f"{name} {value:.2f}" for name, value in errors.items())
    slower, faster = (float(weight @ (side * np.array([each.change for each in here]) > 0.05)) for side in (1, -1))
    return (
        f"\nCould the change have been told? From {len(here[0].signs)} signs of each log up to the cut ({'; '.join(SIGNS)}) "
        f"the change of pace was learned on all other repositories, by ridge regression and by nearest neighbours: {listed}. "
        f"As said, without learning: {as_said:.2f}. The best in hindsight ({best}) "
        f"{'stays above' if errors[best] > wanted else 'reaches'} the wanted {wanted:.2f}. "
        f"By weight {slower:.0%} of the runs went on more than 5 % slower than expected, {faster:.0%} faster."
    )


def _ratio(here: list[Guess]) -> float:
    return _summary(here, "ours")[1] / _summary(here, "tqdm")[1]


def _flat(found: list[Guess]) -> str:
    """Flat runs, where the plain mean is hard to beat: all of them at each share, and single guesses that are worse than it."""
    flat = [each for each in found if each.flat]
    worse = [each for each in flat if abs(each.ours) > abs(each.tqdm) + 0.003]
    lines = ["Flat runs (halves within 3 %), median / mean error in per cent, timeledger and tqdm's mean:\n"]
    for share in SHARES:
        here = [each for each in flat if each.share == share]
        if here:
            ours, tqdm = (_summary(here, name) for name in ("ours", "tqdm"))
            told = " and ".join(f"{100 * each[0]:.1f} / {100 * each[1]:.1f}" for each in (ours, tqdm))
            lines.append(f"- {share:.0%}: {told}")
    lines.append(
        f"\nOf {len(flat)} single guesses on them {len(worse)} are more than 0.3 points worse than tqdm's mean:\n"
    )
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
    """All guesses over the corpus; what is learned is learned from the other repositories."""
    known = moments(cases(corpus))
    tables = tables_of(known)
    learned = {name: learn_without(tables, name) for name in {each.repository for each in known}}
    return [made for each in known if (made := guess(each, learned[each.repository])) is not None]


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
