"""Times of one line that hold others of it: what is the whole of the step, what a part, what a part of a part."""

from __future__ import annotations

import re
from typing import Final, Protocol

from parsers import clocks
from parsers.fields import Meaning, resolve

#: `time/rollout/total` and `rollout_total_s` hold what else is timed under their head.
_TOTAL: Final = re.compile(r"(?P<head>.*[A-Za-z])[/_.:]total(?:_?(?:s|sec|secs|seconds|ms|time))?", re.IGNORECASE)
#: A loop of its own: `time/evaluation_loop/total` beside `time/training_loop/total`.
_LOOP: Final = re.compile(r"(?:^|/)(?P<what>\w+)[_-]loop/", re.IGNORECASE)
#: A part may be written a little longer than its whole.
_ROUNDED: Final = 1.01


class Timed(Protocol):
    """What a line says of times (`parsers.sorting.Sorted`)."""

    columns: dict[str, float]
    ranks: dict[str, int]
    keys: dict[str, str]
    phases: dict[str, tuple[str, float]]
    parents: dict[str, str]
    clocks: dict[str, float]
    extra: dict[str, float]


def nest(out: Timed) -> None:
    """Say which times of a line lie inside which, and which of them is the step's."""
    if "step_s" in out.columns and "/" in out.keys["step_s"]:
        _whole_step(out)
        _other_loops(out)
    if out.phases:
        _train_totals(out)
    if len(out.phases) > 1:
        _parents(out)


def _whole_step(out: Timed) -> None:
    """Where `time/total` stands beside `time/step`, the total is the loop's and the step the optimizer's inside it."""
    held = out.keys["step_s"]
    head = held.rpartition("/")[0]
    inside = f"{head}/step"
    found = out.extra | {held: out.columns["step_s"]}
    whole = f"{head}/total" if f"{head}/total" in found else _loop_total(found)
    if whole is not None and inside in found and 0 <= found[inside] <= found[whole]:
        del out.columns["step_s"], out.ranks["step_s"], out.keys["step_s"]
        out.extra.pop(inside, None), out.extra.pop(whole, None)
        out.phases[inside] = ("update", found[inside])
        # of one iteration, or of all so far: their course tells
        out.clocks[clocks.key(whole, Meaning("clock", "step_s"))] = found[whole]


def _loop_total(found: dict[str, float]) -> str | None:
    """The time of a whole turn of the training loop (`time/training_loop/total`)."""
    return next((key for key in found if _LOOP.search(key) and resolve(key).name == "step_s"), None)


def runs_beside(out: Timed) -> bool:
    """True where a line tells of a loop other than the training's: it runs beside it and takes no time from it."""
    return any(_LOOP.search(key) for key in out.phases)


def _other_loops(out: Timed) -> None:
    """Evaluations in a loop of their own are no part of a turn of the training loop."""
    if not _LOOP.search(out.keys.get("step_s", "")) or not runs_beside(out):
        return
    for key in [key for key, (phase, _) in out.phases.items() if phase == "evaluation" or _LOOP.search(key)]:
        out.extra[f"{key} (s)"] = out.phases.pop(key)[1]


def _train_totals(out: Timed) -> None:
    """`time/train/total` is no clock of the run where parts of it, or totals of other parts, stand beside it."""
    for name in [name for name in out.clocks if name.endswith("total") and "/" in name]:
        own = clocks.own_name(name)
        head, _, _ = own.rpartition("/")
        group = head.rpartition("/")[0]
        if group and any(_is_beside(key, head, group) for key in out.phases):
            out.phases[own] = ("update", out.clocks.pop(name))


def _is_beside(key: str, head: str, group: str) -> bool:
    return key.startswith(f"{head}/") or (key.startswith(f"{group}/") and key.endswith("/total"))


def _parents(out: Timed) -> None:
    """`rollout_generate` lies inside `rollout` when both are timed, `rollout/generate` inside `rollout/total`."""
    heads = {}
    for name in out.phases:
        if "otal" in name and (found := _TOTAL.fullmatch(name)):
            heads[name] = name[: found.end("head") + 1]
    for name, (_, seconds) in out.phases.items():
        inside = [other for other in out.phases if other != name and name.startswith((f"{other}_", f"{other}/"))]
        inside += [
            whole
            for whole, head in heads.items()
            if whole != name and name.startswith(head) and seconds <= _ROUNDED * out.phases[whole][1]
        ]
        if inside and name not in out.parents:
            out.parents[name] = max(inside, key=len)
