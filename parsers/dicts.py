"""Printed dicts and JSON objects as pairs, nested keys joined with `/`."""

from __future__ import annotations

import ast
import json
import re
import warnings
from typing import Any, Final

from parsers.rows import Pair
from parsers.values import of_json, take

_DICT_KEY: Final = re.compile(r"[{,]\s*(['\"])(?P<key>[^'\"]{1,80})\1\s*:\s*")


def dict_pairs(text: str) -> list[Pair]:
    """The pairs of a printed dict: JSON, Python, or a Python repr with tensors that only a scan can read."""
    try:
        return list(flatten(json.loads(text)))
    except (ValueError, RecursionError):
        pass
    if len(text) <= 20_000:
        try:
            with warnings.catch_warnings():  # a backslash in a printed text is none of our business
                warnings.simplefilter("ignore")
                return list(flatten(ast.literal_eval(text)))
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            pass
    pairs = []
    for match in _DICT_KEY.finditer(text):
        if found := take(text, match.end()):
            pairs.append(Pair(match["key"], found[0]))
    return pairs


def flatten(record: Any, path: str = "", depth: int = 0) -> list[Pair]:
    """The numbers of a record, keys joined with `/`."""
    if not isinstance(record, dict) or depth > 6:
        return []
    pairs: list[Pair] = []
    for key, raw in record.items():
        name = f"{path}/{key}" if path else str(key)
        if isinstance(raw, dict):
            pairs += flatten(raw, name, depth + 1)
        elif (value := of_json(raw)) is not None:
            pairs.append(Pair(name, value))
    return pairs
