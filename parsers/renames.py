"""What a key means: the names that `fields` knows, after a person's own renames (`--map "my_len=len_mean"`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from parsers.fields import Meaning, resolve, spell
from timeledger import schema
from timeledger.errors import BadOption
from timeledger.said import say

Resolver = Callable[[str, str], Meaning]


def resolver(mapping: tuple[tuple[str, str], ...]) -> Resolver:
    """`fields.resolve`, with a person's own renames (`--map "my_len=len_mean"`) before it.

    Raises:
        BadOption: a rename names no column, phase or `step`.
    """
    own: dict[str, Meaning] = {}
    for key, name in mapping:
        own[key] = own[spell(key)] = _mapped(key, name)
    if not own:
        return resolve

    def look(key: str, unit: str) -> Meaning:
        found = own.get(key) or own.get(spell(key))
        if found is None:
            return resolve(key, unit)
        measured = resolve("time", unit) if (unit and found.name.endswith("_s")) or found.kind == "phase" else None
        scale = measured.scale if measured else 0.01 if unit == "%" else 1.0
        return Meaning(found.kind, found.name, -1, scale)

    return look


def renames(texts: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """A person's renames (`"my_len=len_mean"`) as pairs (key, column), checked.

    Raises:
        BadOption: not KEY=COLUMN, or no such column or phase; the text lists those there are.
    """
    pairs = []
    for text in texts:
        key, equals, column = (part.strip() for part in text.rpartition("="))
        if not equals or not key:
            raise BadOption(say('--map "{text}": wants KEY=COLUMN, such as "my_len=len_mean".', text=text))
        _mapped(key, column)
        pairs.append((key, column))
    return tuple(pairs)


def _mapped(key: str, name: str) -> Meaning:
    if name in {"step", "total_steps"}:
        return Meaning("step" if name == "step" else "total", name, -1)
    if name in schema.PHASE_NAMES:
        return Meaning("phase", name, -1)
    if name in schema.MEASURES and name not in {"at", "wall_s"}:
        return Meaning("column", name, -1)
    columns = [each for each in schema.MEASURES if each not in {"at", "wall_s"}]
    raise BadOption(
        say(
            "--map {key}={name}: there is no column or phase {name}. There are: {names}.",
            key=key,
            name=name,
            names=", ".join(("step", *columns, *schema.PHASE_NAMES)),
        )
    )
