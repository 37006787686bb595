"""A plan as a small TOML text, to keep beside the run that follows it."""

from __future__ import annotations

import json
import tomllib
from typing import Any, Final

from timeledger.errors import BadOption, ImpossiblePlan
from timeledger.plan_inputs import LABELS, PlanInputs, Source, plan_inputs
from timeledger.run import Kind

_HEAD: Final = "# A plan made by timeledger. Lengths in tokens, throughputs in tokens a second, times in seconds.\n"
_KINDS: Final[dict[str, Kind]] = {"measured": "measured", "inferred": "inferred", "assumed": "assumed"}
_TABLES: Final = ("inputs", "ranges", "sources")


def to_toml(inputs: PlanInputs) -> str:
    """The plan as TOML: [inputs] with comments, [ranges] where there are any, [sources]."""
    lines = [_HEAD, "[inputs]"]
    values = inputs.model_dump(exclude={"sources", "ranges", "spread"}, exclude_none=True)
    width = max(len(name) for name in values) + 3 + max(len(_value(value)) for value in values.values())
    for name, value in values.items():
        if value == "" or value is None:
            continue
        text = f"{name} = {_value(value)}"
        lines.append(f"{text:<{width}}  # {LABELS[name]}" if name in LABELS else text)
    ends = {name: list(bounds) for name, bounds in inputs.ranges.items()}
    if inputs.spread is not None:
        ends["total"] = list(inputs.spread)
    if ends:
        lines += ["", "# low and high of an input; of the total, as factors", "[ranges]"]
        lines += [f"{name} = [{_value(low)}, {_value(high)}]" for name, (low, high) in ends.items()]
    lines += ["", "# how an input is known; what is not named here is a default", "[sources]"]
    lines += [f"{name} = {_value(f'{source.kind}: {source.text}')}" for name, source in inputs.sources.items()]
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    """A TOML value: JSON's strings are TOML's basic strings, but for DEL, which JSON leaves raw, and lone surrogates."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        plain = value.encode("utf-8", "replace").decode()
        return json.dumps(plain, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)


def from_toml(text: str, name: str) -> PlanInputs:
    """The plan of a TOML text; `name` is the file's, for messages.

    Raises:
        BadOption: no TOML, or no plan.
        ImpossiblePlan: a value that cannot describe a run.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadOption(f"{name}: not a TOML file ({error}).") from error
    unknown = sorted(set(document) - set(_TABLES))
    if "inputs" not in document or unknown:
        lack = f"unknown part {unknown[0]}" if unknown else "no [inputs]"
        raise BadOption(f"{name}: not a plan ({lack}); a plan has [inputs], and perhaps [ranges] and [sources].")
    tables = {key: document.get(key, {}) for key in _TABLES}
    for key, table in tables.items():
        if not isinstance(table, dict):
            raise BadOption(f"{name}: {key} must be a table.")
    fields = set(PlanInputs.model_fields) - {"sources", "ranges", "spread"}
    for each in (*tables["inputs"], *tables["ranges"]):
        if each not in fields and each != "total":
            raise ImpossiblePlan(each, f"no such input (in {name}); the inputs are {', '.join(LABELS)}.")
    bounds = {each: _pair(each, ends) for each, ends in tables["ranges"].items()}
    spread = bounds.pop("total", None)
    sources = _sources(tables["sources"])
    inputs = plan_inputs(tables["inputs"], sources, bounds, spread)
    # A saved plan names the source of all that is no default; in a file written by hand everything was typed in.
    return inputs.model_copy(update={"sources": sources}) if "sources" in document else inputs


def _pair(name: str, ends: Any) -> tuple[float, float]:
    good = isinstance(ends, list) and len(ends) == 2 and all(isinstance(end, int | float) for end in ends)
    if not good or not ends[0] <= ends[1]:
        raise ImpossiblePlan(LABELS.get(name, name), f"{ends!r} is not a range [low, high].")
    return float(ends[0]), float(ends[1])


def _sources(table: dict[str, Any]) -> dict[str, Source]:
    found = {}
    for name, text in table.items():
        kind, _, rest = str(text).partition(": ")
        if kind in _KINDS and name in PlanInputs.model_fields:
            found[name] = Source(kind=_KINDS[kind], text=rest)
    return found
