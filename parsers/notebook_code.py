"""Settings in a notebook's own source: the keywords of `GRPOConfig(...)` and its kind. Nothing is run."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any, Final

_LONGEST: Final = 200_000
_CONFIGS: Final = ("Config", "TrainingArguments")
_TRAINERS: Final = ("GRPO", "RLOO", "PPO", "SFT", "DPO", "Training", "Online", "Async")
_OPERATIONS: Final[dict[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
}  # fmt: skip
_LARGEST: Final = 10**12


class Names:
    """Plain constants that cells assign, kept from cell to cell (`max_seq_length = 1024`)."""

    def __init__(self) -> None:
        self._known: dict[str, Any] = {}

    def take(self, source: str) -> dict[str, Any]:
        """Read one cell; the keywords of the trainer configurations in it, as far as they are plain values."""
        found: dict[str, Any] = {}
        for node in ast.walk(_tree(source)):
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                self._known[node.targets[0].id] = self._value(node.value)
        for node in ast.walk(_tree(source)):
            if isinstance(node, ast.Call) and _is_config(node.func):
                pairs = {each.arg: self._value(each.value) for each in node.keywords if each.arg is not None}
                found.update({name: value for name, value in pairs.items() if value is not None})
        return found

    def _value(self, node: ast.expr) -> Any:
        """A constant, a known name, or plain arithmetic of them; None for anything else."""
        if isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float | str):
            return node.value
        if isinstance(node, ast.Name):
            return self._known.get(node.id)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            value = self._value(node.operand)
            return -value if isinstance(value, int | float) else None
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
            left, right = self._value(node.left), self._value(node.right)
            sound = all(isinstance(each, int | float) and abs(each) < _LARGEST for each in (left, right))
            if sound and not (isinstance(node.op, ast.FloorDiv) and not right):
                return _OPERATIONS[type(node.op)](left, right)
        return None


def _is_config(function: ast.expr) -> bool:
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name.endswith(_CONFIGS) and name.startswith(_TRAINERS)


def _tree(source: str) -> ast.AST:
    lines = ("pass" if line.lstrip()[:1] in {"%", "!", "?"} else line for line in source.splitlines())
    try:
        return ast.parse("\n".join(lines)) if len(source) <= _LONGEST else ast.Module([], [])
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])
