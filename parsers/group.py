"""Which of many logs are of one run.

Values decide first (the same numbers at the same steps), then what the tools themselves say (event files of one folder,
one W&B id, ranks of one job), then time and place (a resume goes on where another session ended; an engine's log lies
beside the trainer's and overlaps it in time). Logs that nothing ties together stay apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Final

from parsers.agree import Session, Verdict, alike, sessions, verdict
from parsers.clusters import WANDB_ID, Cluster, Unit, Work, islands
from parsers.homes import nested, shown
from parsers.processes import companions
from parsers.zones import busy_overlap
from timeledger.run import Note, Run
from timeledger.said import listing, say

#: Beyond so many pairs of logs in one folder only those that share a few values are compared.
_MANY: Final = 1000
_WANDB_FOLDER: Final = re.compile(r"run-\d{8}_\d{6}-(\w+)$")
_RANK: Final = re.compile(r"(rank|worker|proc|process|gpu|node|local|stdout|stderr)[-_.]?\d+", re.IGNORECASE)


@dataclass(slots=True)
class Grouper:
    """Groups units again and again (live) at the price of what changed: samples and verdicts are kept by run."""

    _samples: dict[int, tuple[Run, tuple[Session, ...]]] = field(default_factory=dict)
    _verdicts: dict[tuple[int, int], tuple[Run, Run, Verdict]] = field(default_factory=dict)
    _islands: dict[tuple[int, ...], tuple[Cluster, ...]] = field(default_factory=dict)

    def group(self, units: Iterable[Unit]) -> tuple[Cluster, ...]:
        """The clusters of these units, by the place of their first unit."""
        ordered = sorted(units, key=lambda unit: unit.key)
        self._forget(ordered)
        by_key = {tuple(id(unit.run) for unit in island): island for island in islands(ordered)}
        self._islands = {key: self._islands.get(key) or self._group(island) for key, island in by_key.items()}
        found = [cluster for clusters in self._islands.values() for cluster in clusters]
        return tuple(sorted(found, key=lambda cluster: cluster.units[0].key))

    def _group(self, units: list[Unit]) -> tuple[Cluster, ...]:
        if len(units) == 1:
            return (Cluster((units[0],)),)
        units, pairs = companions(units)
        work = Work(units, [self._sample(unit.run) for unit in units])
        for leading, other in pairs:
            work.join(leading, other)
        for step in (self._by_values, *_STEPS):
            step(work)
        return work.clusters()

    def _forget(self, units: Sequence[Unit]) -> None:
        alive = {id(unit.run) for unit in units}
        self._samples = {key: kept for key, kept in self._samples.items() if key in alive}
        self._verdicts = {key: kept for key, kept in self._verdicts.items() if alive.issuperset(key)}

    def _sample(self, run: Run) -> tuple[Session, ...]:
        if id(run) not in self._samples:
            self._samples[id(run)] = (run, sessions(run))
        return self._samples[id(run)][1]

    def _by_values(self, work: Work) -> None:
        pairs = work.pairs(lambda a, b: nested(a.home, b.home))
        if len(pairs) > _MANY:
            worth = alike(work.samples)
            pairs = [pair for pair in pairs if pair in worth]
        for i, j in pairs:
            a, b = work.units[i].run, work.units[j].run
            key = (id(a), id(b))
            if key not in self._verdicts:
                same_format = a.info.format == b.info.format
                strictly = "own" in {work.units[i].role, work.units[j].role}
                found = verdict(work.samples[i], work.samples[j], same_format=same_format, strictly=strictly)
                self._verdicts[key] = (a, b, found)
            found = self._verdicts[key][2]
            if found is Verdict.SAME:
                work.join(i, j)
            elif found is Verdict.DIFFERENT:
                work.different.add((i, j))


def _by_tool(work: Work) -> None:
    """TensorBoard shows the event files of one folder as one run; W&B resumes a run under its id."""
    seen: dict[tuple[str, str], int] = {}
    for i, unit in enumerate(work.units):
        wandb = WANDB_ID.search(unit.path.name)
        if unit.run.info.format == "tensorboard":
            key = ("tensorboard", unit.path.parent.as_posix())
        elif wandb:
            key = (wandb[1], unit.home.as_posix())
        elif unit.copy and (folder := _WANDB_FOLDER.search(unit.path.parent.parent.name)):
            key = (folder[1], unit.home.as_posix())
        else:
            continue
        if key in seen:
            work.join(seen[key], i)
        seen.setdefault(key, i)


def _by_rank(work: Work) -> None:
    """Files that differ in a rank's number only, over the same steps, are one job: every rank tells of the same run."""
    seen: dict[str, int] = {}
    for i, unit in enumerate(work.units):
        path = f"{unit.path.parent.name}/{unit.path.name}"
        same = unit.path.parent.parent.as_posix() + _RANK.sub(r"\1#", path)
        if same.endswith(path) or not work.samples[i]:
            continue
        if same in seen and _overlap(work.samples[seen[same]], work.samples[i]) >= 0.5:
            work.join(seen[same], i)
        seen.setdefault(same, i)


def _overlap(a: Sequence[Session], b: Sequence[Session]) -> float:
    """The share of the shorter log's range of steps that the other log covers too."""
    first, last = max(a[0].first, b[0].first), min(a[-1].last, b[-1].last)
    shorter = min(a[-1].last - a[0].first, b[-1].last - b[0].first) + 1
    return (last - first + 1) / shorter if shorter > 0 else 0.0


def _by_resume(work: Work) -> None:
    """A log that begins after its first step goes on where an earlier session of the same home ended."""
    for i, sample in enumerate(work.samples):
        if not sample or work.units[i].copy or sample[0].first <= 1 + sample[0].span:
            continue
        trainers = work.trainers()
        fit = {
            work.root(k): (work.samples[k][-1].ends or 0.0, work.samples[k][-1].last)
            for k, other in enumerate(work.samples)
            if other
            and not work.units[k].copy
            and work.root(k) != work.root(i)
            and _goes_on(work.units[k], other, work.units[i], sample)
        }
        fit = {root: when for root, when in fit.items() if not work.apart(trainers[root], trainers[work.root(i)])}
        if len(fit) == 1 or (fit and all(ends for ends, _ in fit.values())):
            work.join(max(fit, key=lambda root: fit[root]), i)


def _goes_on(before: Unit, a: Sequence[Session], after: Unit, b: Sequence[Session]) -> bool:
    if before.home != after.home or not a[0].first < b[0].first <= a[-1].last + 1 + b[0].span:
        return False
    totals = {each.run.info.number("total_steps") for each in (before, after)}
    ends, begins = a[-1].ends, b[0].begins
    if ends is not None and begins is not None:
        slack = 60.0 if a[-1].zone_known and b[0].zone_known else 14 * 3600.0
        return ends <= begins + slack
    return len(totals) == 1 and None not in totals


def _by_place(work: Work) -> None:
    """Two different surfaces alone in one home, of the same length and without a shared value, are taken as one run."""
    by_home: dict[PurePath, list[int]] = {}
    for root, each in work.trainers().items():
        by_home.setdefault(work.units[each[0]].home, []).append(root)
    for roots in by_home.values():
        if len(roots) != 2:
            continue
        a, b = (work.members()[root] for root in roots)
        if not work.apart(a, b) and _could_be_one([work.units[i] for i in a], [work.units[i] for i in b]):
            work.join(*roots)
            names = listing(work.units[each[0]].path.name for each in (a, b))
            work.note(
                a[0],
                Note(
                    "guessed",
                    0,
                    say("{names} were taken as one run: they lie in one folder and end alike", names=names),
                ),
            )


def _could_be_one(a: Sequence[Unit], b: Sequence[Unit]) -> bool:
    if any(unit.role != "trainer" for unit in (*a, *b)):
        return False
    if {unit.run.info.format for unit in a} & {unit.run.info.format for unit in b}:
        return False
    totals = {unit.run.info.number("total_steps") for unit in (*a, *b)} - {None}
    last = [max(int(unit.run.steps["step"].max() or 0) for unit in side if unit.run.has_steps) for side in (a, b)]  # type: ignore[arg-type]
    return len(totals) <= 1 and abs(last[0] - last[1]) <= max(5, 0.1 * max(last))


def _loose(work: Work) -> None:
    """Settings, bars and evaluations without a step go to the one run that is near."""
    for i, unit in enumerate(work.units):
        if work.samples[i] or unit.engine_only or len(work.members()[work.root(i)]) > 1:
            continue
        near = work.near(i, work.trainers())
        if len(near) == 1:
            work.join(near[0], i)
        elif near and unit.run.progress.is_empty():
            work.dropped.add(i)


def _strangers(work: Work) -> None:
    """Rows of a general shape in a run's own folder that match none of its numbers are left out."""
    for i, unit in enumerate(work.units):
        if unit.role != "own" or not work.samples[i] or len(work.members()[work.root(i)]) > 1:
            continue
        trainers = [
            root
            for root, each in work.members().items()
            if any(work.units[k].role == "trainer" and (work.samples[k] or _jumbled(unit)) for k in each)
        ]
        near = [root for root in work.near(i, trainers) if work.units[root].home == unit.home]
        if near and _is_run_folder(work, near):
            work.dropped.add(i)
            text = say(
                "{file} was left out: its numbers are not this run's (name it to read it)",
                file=shown(unit.path, unit.home),
            )
            for root in near:
                work.note(root, Note("info", 0, text, 1, unit.path.name))


def _jumbled(unit: Unit) -> bool:
    """True for rows whose steps go back again and again: a list of events, not of steps."""
    return unit.run.steps["segment"].n_unique() > max(3, unit.run.steps.height / 8)


def _just_started(work: Work) -> None:
    """Before the first step is logged: plain-named logs of one folder (a bar, settings, a server's start) are one run."""
    trainers = work.trainers()
    by_home: dict[PurePath, int] = {}
    for i, unit in enumerate(work.units):
        if work.samples[i] or unit.engine_only or not unit.plain_name or i in work.dropped or work.near(i, trainers):
            continue
        if unit.home in by_home:
            work.join(by_home[unit.home], i)
        by_home.setdefault(unit.home, i)


def _is_run_folder(work: Work, roots: Sequence[int]) -> bool:
    """True when the runs near are told of by files with plain names: the folder is the run's, not a collection of logs."""
    members = work.members()
    return all(any(work.units[k].plain_name for k in members[root]) for root in roots)


def _engines(work: Work) -> None:
    """Engine logs join the trainer whose time they overlap, or the one trainer near when times do not say."""
    stems: dict[tuple[PurePath, str], int] = {}
    for i, unit in enumerate(work.units):
        if not unit.engine_only or i in work.dropped:
            continue
        trainers = work.trainers()
        near = work.near(i, trainers) if set(unit.run.engine["kind"].unique()) != {"bench"} else []
        overlaps = {
            root: max(
                (share for k in trainers[root] if (share := busy_overlap(work.units[k].run, unit.run)) is not None),
                default=None,
            )
            for root in near
        }
        known = {root: share for root, share in overlaps.items() if share is not None}
        best = max(known, key=lambda root: known[root], default=None)
        if best is not None and known[best] > 0:
            work.join(best, i)
        elif best is None and len(near) == 1:
            work.join(near[0], i)
        else:
            key = (unit.home, unit.path.name.split(".")[0])
            if key in stems:
                work.join(stems[key], i)
            stems.setdefault(key, i)


#: After the values, in this order: each may use what those before it found.
_STEPS: Final = (_by_tool, _by_rank, _by_resume, _by_place, _strangers, _loose, _just_started, _engines)
