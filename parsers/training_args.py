"""The settings inside `training_args.bin`, which the HF Trainer saves beside `trainer_state.json`.

The file is a pickle in a zip. Unpickling a stranger's file runs a stranger's code, so it is not unpickled: the opcodes are
only parsed (`pickletools.genops`), plain values are kept, and whatever would import or call something becomes an opaque
mark. An enum shows as the value it was made from.
"""

from __future__ import annotations

import pickletools
import struct
import zipfile
import zlib
from io import BytesIO
from pathlib import Path
from typing import Any, Final

#: The arguments of a run take about 7 KB.
_LARGEST: Final = 1024 * 1024


class _Opaque:
    """Stands for an object that is never made: its class's name, and the state it would get."""

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.state: dict[Any, Any] = {}


def beside(path: Path) -> dict[str, Any]:
    """The arguments in the `training_args.bin` of the same folder; empty when there is none or it cannot be read."""
    try:
        file = path.with_name("training_args.bin")
        return arguments(file.read_bytes()) if file.stat().st_size <= _LARGEST else {}
    except OSError:
        return {}


def arguments(data: bytes) -> dict[str, Any]:
    """The plain attributes of the pickled TrainingArguments, its class under "class"; empty for anything else."""
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            inner = next(info for info in archive.infolist() if info.filename.endswith("data.pkl"))
            if inner.file_size > _LARGEST:
                return {}
            found = _Decoder().read(archive.read(inner))
    except (zipfile.BadZipFile, StopIteration, ValueError, IndexError, KeyError, TypeError, AttributeError, struct.error,
            NotImplementedError, RuntimeError, EOFError, zlib.error):  # fmt: skip
        return {}
    if not isinstance(found, _Opaque):
        return {}
    plain = {
        key: value
        for key, value in found.state.items()
        if isinstance(key, str) and isinstance(value, bool | int | float | str)
    }
    return {**plain, "class": found.name} if plain else {}


class _Decoder:
    """Follows the opcodes with a stack of plain values. Opcodes that it does not know end the reading."""

    def __init__(self) -> None:
        self._stack: list[Any] = []
        self._marks: list[int] = []
        self._memo: dict[int, Any] = {}

    def read(self, data: bytes) -> Any:
        """The top value at the end."""
        for opcode, argument, _ in pickletools.genops(data):
            if opcode.name == "STOP":
                break
            if opcode.name in _CONSTANTS:
                self._stack.append(_CONSTANTS[opcode.name])
            elif opcode.name in _VALUES:
                self._stack.append(argument)
            else:
                getattr(self, f"_{opcode.name.lower()}")(argument)
        return self._stack[-1]

    def _since_mark(self) -> list[Any]:
        start = self._marks.pop()
        values = self._stack[start:]
        del self._stack[start:]
        return values

    def _proto(self, _: Any) -> None:
        pass

    _frame = _proto

    def _mark(self, _: Any) -> None:
        self._marks.append(len(self._stack))

    def _binput(self, index: int) -> None:
        self._memo[index] = self._stack[-1]

    _long_binput = _binput

    def _memoize(self, _: Any) -> None:
        self._memo[len(self._memo)] = self._stack[-1]

    def _binget(self, index: int) -> None:
        self._stack.append(self._memo[index])

    _long_binget = _binget

    def _empty_list(self, _: Any) -> None:
        self._stack.append([])

    def _empty_dict(self, _: Any) -> None:
        self._stack.append({})

    def _empty_set(self, _: Any) -> None:
        self._stack.append([])

    def _tuple(self, _: Any) -> None:
        self._stack.append(tuple(self._since_mark()))

    def _tuple1(self, _: Any) -> None:
        self._stack[-1:] = [tuple(self._stack[-1:])]

    def _tuple2(self, _: Any) -> None:
        self._stack[-2:] = [tuple(self._stack[-2:])]

    def _tuple3(self, _: Any) -> None:
        self._stack[-3:] = [tuple(self._stack[-3:])]

    def _append(self, _: Any) -> None:
        value = self._stack.pop()
        if isinstance(self._stack[-1], list):
            self._stack[-1].append(value)

    def _appends(self, _: Any) -> None:
        values = self._since_mark()
        if isinstance(self._stack[-1], list):
            self._stack[-1].extend(values)

    _additems = _appends

    def _setitem(self, _: Any) -> None:
        value, key = self._stack.pop(), self._stack.pop()
        self._put([key, value])

    def _setitems(self, _: Any) -> None:
        self._put(self._since_mark())

    def _put(self, pairs: list[Any]) -> None:
        if isinstance(self._stack[-1], dict):
            self._stack[-1].update(
                {key: value for key, value in zip(pairs[::2], pairs[1::2], strict=True) if isinstance(key, str)}
            )

    def _global(self, name: str) -> None:
        self._stack.append(_Opaque(name.rsplit(" ", 1)[-1]))

    def _stack_global(self, _: Any) -> None:
        name = self._stack.pop()
        self._stack[-1] = _Opaque(str(name))

    def _binpersid(self, _: Any) -> None:
        self._stack[-1] = _Opaque()

    def _reduce(self, _: Any) -> None:
        """A call that is not made: an enum's value stays, anything else is opaque."""
        given, called = self._stack.pop(), self._stack.pop()
        single = isinstance(given, tuple) and len(given) == 1 and isinstance(given[0], str | int | float)
        self._stack.append(given[0] if single else _Opaque(called.name))

    def _newobj(self, _: Any) -> None:
        self._stack.pop()
        self._stack[-1] = _Opaque(self._stack[-1].name)

    def _newobj_ex(self, _: Any) -> None:
        self._stack.pop()
        self._newobj(None)

    def _build(self, _: Any) -> None:
        state = self._stack.pop()
        if isinstance(self._stack[-1], _Opaque) and isinstance(state, dict):
            self._stack[-1].state = state


_CONSTANTS: Final = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
#: Opcodes that push the value they carry.
_VALUES: Final = frozenset(
    {"BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "UNICODE", "BININT", "BININT1", "BININT2", "INT", "LONG", "LONG1", "LONG4",
     "BINFLOAT", "FLOAT", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BINSTRING", "SHORT_BINSTRING", "STRING"}
)  # fmt: skip
