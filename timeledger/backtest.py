"""What would have been said earlier: the same model on what a live reader had at 10, 25 and 50 % of the run."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from timeledger.clock import clock as read_clock
from timeledger.cutting import cut_after
from timeledger.forecast import steps_done
from timeledger.growth import fit_growth
from timeledger.projection import project
from timeledger.results import Backtest, Clock, Facts, Projection
from timeledger.rows import make_rows
from timeledger.run import Run
from timeledger.timing import fit_timing

SHARES: Final = (0.10, 0.25, 0.50)


def backtest(run: Run, clock: Clock, said: Projection, facts: Facts) -> tuple[Backtest, ...]:
    """The projections of earlier moments, with the truth where the run is over; empty without a plan or without time."""
    total = said.total_steps
    done = steps_done(run, clock)
    over = said.remaining_s is not None and said.remaining_s.high == 0 and said.total_s is not None
    if total is None or said.total_s is None or clock.steps.height < 4 or total < 1:
        return ()
    planned = done if over else total
    truth = said.total_s.mid if over else None
    asked = replace(facts, total_steps=planned, now=None)
    found = [_at(run, clock, share, planned, asked, truth) for share in SHARES if share * planned < done]
    return tuple(each for each in found if each is not None)


def _at(run: Run, clock: Clock, share: float, planned: int, facts: Facts, truth: float | None) -> Backtest | None:
    offset = 1 if clock.first_step == 0 else 0
    at = np.flatnonzero(clock.steps["step"].to_numpy() + offset >= share * planned)
    if len(at) == 0:
        return None
    row = int(at[0])
    cut = cut_after(run, int(clock.steps["segment"][row]), int(clock.steps["step"][row]))
    own = read_clock(cut, facts)
    rows = make_rows(cut, own)
    timing, growth = fit_timing(cut, own, facts, rows), fit_growth(cut, own, facts, planned, rows)
    said = project(cut, own, timing, growth, facts, rows=rows)
    if said.total_s is None or said.remaining_s is None or said.remaining_s.high == 0:
        return None
    here = steps_done(cut, own)
    begun = max((own.first_step or 1) - 1, 0)
    tqdm = own.elapsed_s * (planned - begun) / (here - begun) if own.elapsed_s and here > begun else None
    return Backtest(share, here, said.total_s, truth, tqdm)
