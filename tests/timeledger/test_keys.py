"""Rows by (segment, step): the short way of a run without resumes gives what searching gives."""

from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from timeledger.keys import KEYS, joined, one_a_name, one_a_step

SCHEMA = {"segment": pl.Int64, "step": pl.Int64}
Keys = list[tuple[int, int]]
some = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 6)), max_size=12)
rising = st.builds(lambda keys: sorted(set(keys)), some)


def frame(keys: Keys, name: str) -> pl.DataFrame:
    own = pl.DataFrame(keys, schema=SCHEMA, orient="row")
    return own.with_columns(pl.Series(name, range(len(keys)), dtype=pl.Float64))


@given(st.one_of(some, rising))
def test_the_last_row_of_a_step_counts(keys: Keys) -> None:
    last = {key: float(at) for at, key in enumerate(keys)}
    found = one_a_step(frame(keys, "value"))
    assert dict(zip(found.select(KEYS).iter_rows(), found["value"].to_list(), strict=True)) == last
    assert found.select(KEYS).rows() == sorted(last)


@given(st.one_of(some, rising), st.one_of(some, rising))
def test_the_last_row_of_a_name_counts_and_the_order_stays(first: Keys, second: Keys) -> None:
    rows = pl.concat(
        [frame(keys, "value").with_columns(pl.lit(name).alias("name")) for keys, name in ((first, "a"), (second, "b"))]
    )
    last = {row[:2] + row[3:]: at for at, row in enumerate(rows.iter_rows())}
    assert_frame_equal(one_a_name(rows), rows[sorted(last.values())])


@given(st.one_of(some, rising), rising, st.booleans())
def test_the_rows_stay_with_what_stands_beside_them(keys: Keys, others: Keys, alike: bool) -> None:
    rows, more = frame(keys, "own"), frame(sorted(set(keys)) if alike else others, "more")
    known = dict(zip(more.select(KEYS).iter_rows(), more["more"].to_list(), strict=True))
    wanted = rows.with_columns(pl.Series("more", [known.get(key) for key in keys], dtype=pl.Float64))
    assert_frame_equal(joined(rows, more), wanted)


def test_a_row_without_a_step_is_never_matched() -> None:
    rows = pl.DataFrame({"segment": [0, 0], "step": [1, None], "own": [1.0, 2.0]}, schema=SCHEMA | {"own": pl.Float64})
    more = pl.DataFrame(
        {"segment": [0, 0], "step": [1, None], "more": [3.0, 4.0]}, schema=SCHEMA | {"more": pl.Float64}
    )
    assert joined(rows, more)["more"].to_list() == [3.0, None]
