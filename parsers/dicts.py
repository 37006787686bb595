"""Printed dicts and JSON objects as pairs, nested keys joined with `/`."""

from __future__ import annotations

import ast
import json
import re
import warnings
from typing import Any, Final

from parsers.sorting import Pair
from parsers.values import Value, of_json, take

#: Whole numbers below this are floats too.
_EXACT: Final = 2**53
_DICT_KEY: Final = re.compile(r"[{,]\s*(['\"])(?P<key>[^'\"]{1,80})\1\s*:\s*")


def dict_pairs(text: str) -> list[Pair]:
    """The pairs of a printed dict: JSON, Python, or a Python repr with tensors that only a scan can read."""
    try:
        return [Pair(*each) for each in flatten(json.loads(text))]
    except (ValueError, RecursionError):
        pass
    if len(text) <= 20_000:
        try:
            with warnings.catch_warnings():  # a backslash in a printed text is none of our business
                warnings.simplefilter("ignore")
                return [Pair(*each) for each in flatten(ast.literal_eval(text))]
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            pass
    pairs = []
    for match in _DICT_KEY.finditer(text):
        if found := take(text, match.end()):
            pairs.append(Pair(match["key"], found[0]))
    return pairs


def flatten(record: Any, path: str = "", depth: int = 0) -> list[tuple[str, Value | float]]:
    """The numbers of a record, keys joined with `/`; a plain number stands for itself."""
    if not isinstance(record, dict) or depth > 6:
        return []
    pairs: list[tuple[str, Value | float]] = []
    for key, raw in record.items():
        name = f"{path}/{key}" if path else str(key)
        if isinstance(raw, float):
            pairs.append((name, raw))
        elif type(raw) is int and -_EXACT < raw < _EXACT:
            pairs.append((name, float(raw)))
        elif isinstance(raw, dict):
            pairs += flatten(raw, name, depth + 1)
        elif (value := of_json(raw)) is not None:
            pairs.append((name, value))
    return pairs
