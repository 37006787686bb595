"""Which steps are ordinary: cycles, warm-up, pauses and periodic work are found, named and left out of rates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from timeledger.clock_rows import Line, Rows, beside, gathered, line_of
from timeledger.clock_sources import Floats, Ints, usual
from timeledger.cycles import find_cycle
from timeledger.periodic import Mask, Schedule, due_rows, find_period, known_schedules, place, priced
from timeledger.phases import TopPhases
from timeledger.results import Facts, Periodic
from timeledger.run import Run
from timeledger.warmup import find_pauses, find_warmup

#: Frameworks on the HF trainer: `step_time` is the time inside `training_step`, evaluation and saving never are.
_BESIDE_ITS_STEP: Final = ("TRL", "ms-swift", "Unsloth")
#: Spikes of one work differ by less than this factor.
_ALIKE: Final = 1.5
#: A pause is as long as an evaluation where the two differ by less than this share.
_AS_LONG: Final = 0.25


@dataclass(frozen=True, slots=True)
class Kinds:
    """What each row is, and what that makes of the whole. `warmup_s` is the time above ordinary steps."""

    kind: NDArray[np.str_]
    extra_s: Floats
    cycle: int
    warmup_steps: int
    warmup_s: float | None
    paused_s: float
    step_s: float | None
    periodic: tuple[Periodic, ...]


def classify(run: Run, facts: Facts, top: TopPhases, rows: Rows) -> Kinds:
    """Name every row and price what is not ordinary."""
    schedules = known_schedules(run, facts, top, rows.segment, rows.step, rows.span)
    length = find_cycle(run, rows, schedules)
    residue = (rows.step - rows.step[0]) % length
    warm = find_warmup(rows, residue)
    free = np.isfinite(rows.wall_s) & ~warm
    near = _near(rows, schedules)
    lines = _lines(rows, residue, free, near)
    schedules, own = _placed(run, rows, schedules, lines, warm)
    known = taken = _taken(rows, schedules)
    lines = lines if np.array_equal(taken, near) else _lines(rows, residue, free, taken)
    for _ in range(2):
        for at in reversed(range(len(lines))):  # what lies beside the step is the sharper line
            found = _unknown_schedule(rows, lines[at], free, taken)
            if found is not None:
                schedules, own = [*schedules, found], [*own, at]
                taken = _taken(rows, schedules)
    lines = lines if taken is known else _lines(rows, residue, free, taken)
    pause = find_pauses(rows, lines[0], free & ~taken)
    excess = [gathered(rows, np.where(free, line.excess_s(rows), np.nan), taken | pause) for line in lines]
    mine = [excess[at] for at in own]
    periodic, periodic_s = priced(schedules, mine, facts, 0.1 * rows.coarse_s, whole=rows.whole)
    for at, (each, its) in enumerate(zip(schedules, mine, strict=True)):
        late = _told_late(rows, each, periodic[at], its, pause)
        if len(late):
            schedules[at] = _with_rows(each, late)
            periodic[at] = replace(periodic[at], count=periodic[at].count + len(late))
            pause[late], periodic_s[late] = False, its[late]
    schedules, periodic = _same_work(schedules, periodic)
    usual_s = gathered(rows, lines[0].excess_s(rows), taken | pause)
    kind, extra = _named(rows, schedules, warm, pause, usual_s, periodic_s)
    step_s = _now(rows, residue, length, kind, extra)
    periodic = _at_the_end(rows, periodic, kind, extra, step_s)
    first = warm & (rows.segment == rows.segment[0])
    return Kinds(
        kind=kind,
        extra_s=np.where(np.isfinite(rows.wall_s), extra, np.nan),
        cycle=length,
        warmup_steps=int(rows.span[first].sum()),
        warmup_s=float(np.maximum(extra[first], 0.0).sum()) if first.any() else None,
        paused_s=float(extra[pause].sum()),
        step_s=step_s,
        periodic=tuple(periodic),
    )


def _same_work(schedules: list[Schedule], periodic: list[Periodic]) -> tuple[list[Schedule], list[Periodic]]:
    """An evaluation that took no time where it was looked for, and slow steps at its very interval, are the same work."""
    for at, each in enumerate(periodic):
        if each.kind != "evaluation" or each.seconds or not each.every:
            continue
        for other, found in enumerate(periodic):
            if found.kind == "unknown" and found.every == each.every:
                schedules[at] = replace(schedules[at], rows=schedules[other].rows, edge=schedules[other].edge)
                periodic[at] = replace(each, seconds=found.seconds)
                return [*schedules[:other], *schedules[other + 1 :]], [*periodic[:other], *periodic[other + 1 :]]
    return schedules, periodic


def _told_late(rows: Rows, own: Schedule, known: Periodic, excess_s: Floats, pause: Mask) -> Ints:
    """Pauses that are the same work as an evaluation seen once: as long, and at a multiple of its step.

    The lines of an evaluation come late where standard output is buffered and the bar is not.
    """
    if (
        own.kind != "evaluation"
        or own.every is not None
        or len(own.rows) != 1
        or not known.seconds
        or rows.step[own.rows[0]] < 1
    ):
        return np.array([], dtype=np.int64)
    first, at = own.rows[0], np.flatnonzero(pause)
    step, width = rows.step[first], rows.span[first] + rows.span[at]
    away = np.abs(rows.step[at] - step * np.round(rows.step[at] / step))
    alike = np.abs(excess_s[at] - known.seconds) <= _AS_LONG * known.seconds
    late: Ints = at[(at > first) & alike & (away <= width)]
    return late


def _with_rows(own: Schedule, more: Ints) -> Schedule:
    unknown, inside = np.full(len(more), np.nan), np.zeros(len(more), dtype=bool)
    return replace(
        own, rows=np.append(own.rows, more), seconds=np.append(own.seconds, unknown), edge=np.append(own.edge, inside)
    )


def _near(rows: Rows, schedules: list[Schedule]) -> Mask:
    """Rows that periodic work may be paid in: those it was due in, and the next ones."""
    near = np.zeros(len(rows), dtype=bool)
    for each in schedules:
        near[each.rows] = True
        near[np.minimum(each.rows[each.edge] + 1, len(rows) - 1)] = True
    return near


def _taken(rows: Rows, schedules: list[Schedule]) -> Mask:
    taken = np.zeros(len(rows), dtype=bool)
    for each in schedules:
        taken[each.rows] = True
    return taken


def _lines(rows: Rows, residue: Ints, free: Mask, taken: Mask) -> list[Line]:
    """The usual course of the whole step, and of what lies beside the framework's own step time where that is known."""
    use = free & ~taken
    use = use if use.sum() >= max(2, int(residue.max()) + 1) else free
    whole = line_of(rows, residue, rows.wall_s, use)
    rest = beside(rows)
    return [whole] if rest is None else [whole, line_of(rows, residue, rest, use, whole.scale)]


def _placed(
    run: Run, rows: Rows, schedules: list[Schedule], lines: list[Line], warm: Mask
) -> tuple[list[Schedule], list[int]]:
    """Each schedule on the rows that pay for it, and the line on which it stands out most against the noise."""
    first = len(lines) - 1 if (run.info.framework or "").startswith(_BESIDE_ITS_STEP) else 0
    placed, own = [], []
    for each in schedules:
        choices = []
        for at, line in list(enumerate(lines))[first:]:
            excess = np.where(warm, np.nan, line.excess_s(rows))
            there = place(each, excess, len(rows))
            noise = line.sigma * float(np.median(line.scale)) * float(np.median(rows.span)) + 0.5 * rows.coarse_s
            choices.append(
                (
                    float(np.nan_to_num(np.median(excess[there.rows]))) / max(noise, 1e-12) if len(there.rows) else 0.0,
                    -at,
                    there,
                )
            )
        best = max(choices, key=lambda choice: choice[:2])
        placed.append(best[2])
        own.append(-best[1])
    return placed, own


def _unknown_schedule(rows: Rows, line: Line, free: Mask, taken: Mask) -> Schedule | None:
    """A schedule that only the residuals show: among all that stands out, else among the large ones."""
    spike = line.stands_out(rows) & free & ~taken
    if not spike.any():
        return None
    excess = line.excess_s(rows)
    for among in (spike, spike & (excess >= 0.5 * np.quantile(excess[spike], 0.9))):
        found = find_period(rows.step, rows.span, among, taken, alike=_alike(excess[among], line.scale[among]))
        if found is not None:
            at = due_rows(rows.step, rows.span, among, *found)
            at = at[excess[at] > 0.25 * np.median(excess[at[among[at]]])]
            inside = np.zeros(len(at), dtype=bool)
            return Schedule("unknown", found[0], at, np.full(len(at), np.nan), inside, "residuals")
    return None


def _alike(excess_s: Floats, step_s: Floats) -> bool:
    """True for three spikes or more of one size, each of several usual steps."""
    return len(excess_s) >= 3 and excess_s.max() < _ALIKE * excess_s.min() and bool((excess_s > 3 * step_s).all())


def _at_the_end(
    rows: Rows, periodic: list[Periodic], kind: NDArray[np.str_], extra: Floats, step_s: float | None
) -> list[Periodic]:
    """Time after the last step belongs to the work due there, else it is work at the end of which nothing more is known."""
    last = int(rows.step[-1])
    due = [i for i, each in enumerate(periodic) if each.at_end or (each.every and last % each.every == 0)]
    extra[-1] += rows.tail_s
    if rows.tail_s <= max(0.0 if due else step_s or 0.0, 2 * rows.coarse_s):
        return periodic
    if not due:
        kind[-1] = "periodic"
        return [*periodic, Periodic("unknown", None, rows.tail_s, 1, "residuals", at_end=True)]
    own = periodic[due[0]]
    kind[-1] = {"unknown": "periodic"}.get(own.kind, own.kind)
    seconds = rows.tail_s if own.seconds is None else own.seconds
    if own.known_from in ("setting", "residuals", "given"):
        return [replace(each, seconds=seconds, count=each.count + 1) if each is own else each for each in periodic]
    return periodic


def _named(
    rows: Rows, schedules: list[Schedule], warm: Mask, pause: Mask, excess: Floats, periodic_s: Floats
) -> tuple[NDArray[np.str_], Floats]:
    """Each row's kind and what it took beyond its ordinary time."""
    n = len(rows)
    kind = np.full(n, "ordinary", dtype="<U10")
    extra = np.zeros(n)
    for each in reversed(schedules):
        kind[each.rows] = {"unknown": "periodic"}.get(each.kind, each.kind)
        extra[each.rows] = np.minimum(periodic_s, rows.wall_s * rows.span)[each.rows]
    late = rows.segment != rows.segment[0]
    kind[warm & ~late], kind[warm & late] = "warmup", "restart"
    kind[pause] = "pause"
    extra = np.where(warm | pause, np.maximum(np.nan_to_num(excess), 0.0), extra)
    return kind, extra


def _now(rows: Rows, residue: Ints, cycle: int, kind: NDArray[np.str_], extra: Floats) -> float | None:
    """Ordinary seconds a step in the late part: a mean without outliers, over whole cycles."""
    timed = np.isfinite(rows.wall_s)
    ordinary = timed & (kind == "ordinary")
    apart = ordinary & ~_beside_jumps(rows, kind)
    at = np.flatnonzero(apart if apart.sum() >= max(8, cycle) else ordinary if ordinary.any() else timed)
    if len(at) == 0:
        return None
    late = at[-max(8, min(30, len(at) // 4)) * cycle :]
    wall = rows.wall_s[late] - extra[late] / rows.span[late]
    if cycle == 1:
        return _calm_mean(wall)
    means = [_calm_mean(wall[residue[late] == each]) for each in np.unique(residue[late])]
    good = [mean for mean in means if mean is not None]
    return float(np.mean(good)) if good else None


def _beside_jumps(rows: Rows, kind: NDArray[np.str_]) -> Mask:
    """Rows next to work that a coarse clock may have smeared into them."""
    jump = (kind != "ordinary") & (usual(rows.wall_s * rows.span) < 20 * rows.coarse_s)
    beside_one: Mask = np.append(jump[1:], False) | np.insert(jump[:-1], 0, False)
    return beside_one


def _calm_mean(values: Floats) -> float | None:
    values = values[np.isfinite(values)]
    if len(values) == 0:
        return None
    middle = float(np.median(values))
    reach = 3 * 1.4826 * float(np.median(np.abs(values - middle)))
    return float(np.mean(np.clip(values, middle - reach, middle + reach))) if reach > 0 else middle
