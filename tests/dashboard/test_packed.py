"""What was typed survives a link; what is no link of ours does no harm."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from dashboard.packed import numbers, pack, unpack

NAMES = some.from_regex(r"[a-z][a-z_]{0,15}", fullmatch=True)
VALUES = some.one_of(
    some.integers(0, 10**12),
    some.floats(0, 1e12, allow_nan=False).map(lambda value: float(f"{value:.12g}")),
    some.just(value=True),
)


@given(some.dictionaries(NAMES, VALUES, max_size=12))
def test_numbers_and_ticks_come_back_as_they_were(values: dict[str, float | int | bool]) -> None:
    assert unpack(pack(values)) == values


def test_what_was_left_empty_takes_no_room() -> None:
    assert pack({"total_steps": 400, "max_tokens": None, "currency": "", "eval_at_end": False}) == "total_steps:400"


def test_a_text_cannot_break_out_of_its_place() -> None:
    assert unpack(pack({"currency": "E~gpus:9"})) == {"currency": "Egpus9"}


@given(some.text())
def test_any_text_of_a_link_is_read_without_harm(text: str) -> None:
    for name, value in unpack(text).items():
        assert name.isidentifier()
        assert not isinstance(value, float) or 0 <= value < float("inf")


@pytest.mark.parametrize("text", ["a:-1", "a:nan", "a:inf", "a:-inf", "a", ":5", "a b:5", "~~~", "a:"])
def test_what_is_no_number_a_person_may_type_is_left_out(text: str) -> None:
    assert unpack(text) == {}


def test_numbers_are_neither_words_nor_ticks() -> None:
    assert numbers({"a": 1, "b": 2.5, "c": "x", "d": True}) == {"a": 1, "b": 2.5}
