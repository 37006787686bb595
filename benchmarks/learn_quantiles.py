"""Learns timeledger/quantiles.json from real logs: how far runs drift, and how the model's quantiles must be stretched.

    python -m benchmarks.learn_quantiles [--write]

$TIMELEDGER_CORPUS may name several folders of logs: the more repositories, the better. (The shipped file was learned on the
corpus and on the logs of 157 further public repositories, gathered once; the benchmark of the projection never uses it.)

Two steps, each checked with one repository left out at a time: a drift prior whose 80 % intervals score about best, and
the recalibration that maps the share a person asks for to the model's own quantile. Both are pulled towards doing
nothing, because the repositories are few. The package reads the file; it never needs the corpus.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.cases import cases, corpus_folders
from benchmarks.moments import Moment, moments
from benchmarks.stats import Floats, interval_score, quantile, weights
from timeledger.forecast import make_forecast
from timeledger.interval import calibrated
from timeledger.learned import EARLY, LATE, LEARNED, MIDDLE, Learned

TARGET: Final = Path(__file__).resolve().parents[1] / "timeledger" / "quantiles.json"
ACTUAL: Final = (0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975)
MEDIANS: Final = (0.03, 0.05, 0.08)
SPREADS: Final = (1.3, 1.8)
#: Priors whose intervals score at most this much worse than the best one's are as good as it.
CLOSE: Final = 1.02
#: Repositories that count as much as "no recalibration".
SHRINK: Final = 16
#: A miss costs no more than this at first: single runs that nobody could foresee must not decide alone.
WORST: Final = 2.0
_GRID: Final = np.concatenate([[0.001, 0.005], np.arange(0.01, 1.0, 0.01), [0.995, 0.999]])


def widths(moment: Moment, learned: Learned) -> Floats | None:
    """Logs of the model's quantiles on the grid over what really remained."""
    made = make_forecast(
        moment.run, moment.clock, moment.timing, moment.growth, moment.facts, moment.case.steps, learned.plain()
    )
    if made is None:
        return None
    found: Floats = made.log_widths(tuple(_GRID), made.steps_left) + np.log(made.remaining_s / max(moment.left_s, 1e-9))
    return found


@dataclass(frozen=True, slots=True)
class Table:
    """All moments under one prior: quantiles (rows: moments), the weight of what remained in the total, repositories."""

    quantiles: Floats
    part: Floats
    progress: Floats
    repositories: tuple[str, ...]

    def pick(self, keep: NDArray[np.bool_]) -> Table:
        """Some of the moments."""
        names = tuple(np.array(self.repositories)[keep])
        return Table(self.quantiles[keep], self.part[keep], self.progress[keep], names)

    def without(self, repository: str) -> Table:
        """The table without one repository."""
        return self.pick(np.array([each != repository for each in self.repositories]))

    def ranks(self) -> Floats:
        """The model's share below the truth."""
        return np.array([np.interp(0.0, row, _GRID, left=0.0, right=1.0) for row in self.quantiles])

    def at(self, share: float, learned: Learned) -> Floats:
        """Quantile `share` as it is learned to be read, in log of the total over the truth."""
        asked = [calibrated(share, learned, each) for each in self.progress]
        left = np.array([np.interp(each, _GRID, row) for each, row in zip(asked, self.quantiles, strict=True)])
        found: Floats = np.log(np.maximum(1 + self.part * (np.exp(left) - 1), 1e-6))
        return found


def table(found: list[Moment], learned: Learned) -> Table:
    """The table under one prior."""
    rows = [(each, row) for each in found if (row := widths(each, learned)) is not None]
    return Table(
        np.array([row for _, row in rows]), np.array([each.left_s / each.case.total_s for each, _ in rows]),
        np.array([each.done / each.case.steps for each, _ in rows]),
        tuple(each.repository for each, _ in rows),
    )  # fmt: skip


def recalibration(known: Table) -> tuple[float, ...]:
    """The model's quantile for each of ACTUAL, pulled towards itself in z."""
    z, cdf = NormalDist().inv_cdf, NormalDist().cdf
    weight, rank = weights(known.repositories), known.ranks()
    count = len(set(known.repositories))
    trust = count / (count + SHRINK)
    found = []
    for actual in ACTUAL:
        seen = min(max(quantile(rank, weight, actual), 0.002), 0.998)
        found.append(cdf(z(actual) + trust * (z(seen) - z(actual))))
    return tuple(float(each) for each in np.maximum.accumulate(found) + 1e-6 * np.arange(len(found)))


def learn(known: Table, prior: tuple[float, float], runs: int = 0) -> Learned:
    """Prior and recalibration of early, middle and late moments."""
    done, between = known.progress, (MIDDLE + LATE) / 2
    parts = (done < EARLY, (done >= EARLY) & (done < between), done >= between)
    early, middle, late = (recalibration(known.pick(each)) for each in parts)
    return Learned(*prior, ACTUAL, early, middle, late, runs, len(set(known.repositories)))


def scores(known: Table, prior: tuple[float, float]) -> tuple[float, float]:
    """Mean score of recalibrated 80 % intervals, each at most WORST, and without that bound."""
    learned = learn(known, prior)
    each = interval_score(known.at(0.1, learned), known.at(0.9, learned), 0.8)
    weight = weights(known.repositories)
    return float(weight @ np.minimum(each, WORST)), float(weight @ each)


def choose(tables: dict[tuple[float, float], Table], without: str | None) -> tuple[float, float]:
    """Of the priors whose intervals score about best, the one that the extremes favour; on all repositories but one."""
    found = {key: scores(each.without(without) if without else each, key) for key, each in tables.items()}
    best = min(bounded for bounded, _ in found.values())
    return min((key for key, each in found.items() if each[0] <= CLOSE * best), key=lambda key: found[key][1])


def tables_of(found: list[Moment]) -> dict[tuple[float, float], Table]:
    """The moments under every prior that is tried."""
    start = LEARNED.plain()
    return {
        (median, spread): table(found, replace(start, drift_median=median, drift_spread=spread))
        for median, spread in product(MEDIANS, SPREADS)
    }


def learn_without(tables: dict[tuple[float, float], Table], repository: str) -> Learned:
    """What is learned from all repositories but one."""
    key = choose(tables, repository)
    return learn(tables[key].without(repository), key)


def left_out(tables: dict[tuple[float, float], Table]) -> dict[float, float]:
    """Coverage of intervals on each repository with everything learned on the others."""
    names = sorted(set(next(iter(tables.values())).repositories))
    held: dict[float, list[float]] = {0.5: [], 0.8: [], 0.95: []}
    for name in names:
        learned = learn_without(tables, name)
        known = tables[learned.drift_median, learned.drift_spread]
        own = known.pick(np.array([each == name for each in known.repositories]))
        rank = own.ranks()
        for level, found in held.items():
            low, high = (
                np.array([calibrated(0.5 + side * level / 2, learned, each) for each in own.progress])
                for side in (-1, 1)
            )
            found.append(float(np.mean((rank >= low) & (rank <= high))))
    return {level: float(np.mean(found)) for level, found in held.items()}


def main(arguments: list[str]) -> int:
    """Learn, print what was learned and its check, and write it with --write."""
    folders = corpus_folders()
    if not folders:
        print("learn_quantiles: the corpus of real logs is not here (set TIMELEDGER_CORPUS).", file=sys.stderr)
        return 2
    known = [case for folder in folders for case in cases(folder)]
    found = moments(known)
    tables = tables_of(found)
    for key, each in tables.items():
        print("drift median {}, spread {}: score {:.4f}, unbounded {:.4f}".format(*key, *scores(each, key)))
    best = choose(tables, None)
    learned = learn(tables[best], best, len(known))
    print("learned:", asdict(learned))
    print("coverage with one repository left out:", {f"{k:.0%}": round(v, 3) for k, v in left_out(tables).items()})
    if "--write" in arguments:
        values = {
            key: [round(each, 4) for each in value] if isinstance(value, tuple) else value
            for key, value in asdict(learned).items()
        }
        TARGET.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
