"""Everything the model says of one run, in one call; and the same run under other numbers."""

from __future__ import annotations

from dataclasses import replace

from timeledger.backtest import backtest
from timeledger.breakdown import breakdown as break_down
from timeledger.clock import clock as read_clock
from timeledger.growth import fit_growth
from timeledger.headline import headline
from timeledger.phases import top_level
from timeledger.plausible import plausible
from timeledger.projection import project, total_steps
from timeledger.results import Analysis, Clock, Facts, Periodic, Projection
from timeledger.rows import make_rows
from timeledger.run import Run
from timeledger.shorten import shortening
from timeledger.state import find_state
from timeledger.timing import fit_timing


def analyse(run: Run, facts: Facts | None = None, *, backtested: bool = True) -> Analysis:
    """Clock, breakdown, timing, length, projection, state and headline of a run. Never raises on odd logs.

    The backtest costs as much as all the rest together; a view that does not show it goes without.
    """
    facts, run = facts or Facts(), plausible(run)
    top = top_level(run)
    clock = read_clock(run, facts, top)
    rows = make_rows(run, clock)
    timing = fit_timing(run, clock, facts, rows)
    breakdown = break_down(run, clock, timing, facts, top)
    total, _ = total_steps(run, facts)
    growth = fit_growth(run, clock, facts, total, rows)
    projection = project(run, clock, timing, growth, facts, rows=rows)
    if backtested:
        projection = replace(projection, backtest=backtest(run, clock, projection, facts))
    state = find_state(run, clock, projection, facts)
    told = headline(run, clock, breakdown, growth, projection, state, facts)
    return Analysis(run, facts, state, clock, breakdown, timing, growth, projection, told)


def what_if(
    analysis: Analysis, *, max_tokens: int | None = None, eval_every: int | None = None, eval_s: float | None = None,
    total_steps: int | None = None,
) -> Projection:  # fmt: skip
    """The projection of the rest of this run under another limit, evaluation interval or number of steps.

    What has passed stays as it was; `eval_every` counts from now on. A lower limit shortens the steps by what the fit says of shorter answers; a higher
    one changes the worst case only, since nobody knows how much longer answers would get.
    """
    facts = replace(
        analysis.facts,
        max_tokens=max_tokens if max_tokens is not None else analysis.facts.max_tokens,
        total_steps=total_steps if total_steps is not None else analysis.facts.total_steps,
        eval_s=eval_s if eval_s is not None else analysis.facts.eval_s,
    )
    run, timing, clock = analysis.run, analysis.timing, analysis.clock
    if eval_every is not None or eval_s is not None:
        clock = _evaluating(clock, eval_every, facts.eval_s)
    growth = fit_growth(run, clock, facts, facts.total_steps or analysis.projection.total_steps)
    factor, words = shortening(run, clock, timing, max_tokens)
    said = project(run, clock, timing, growth, facts, factor)
    return replace(said, because=(*said.because, words)) if words and said.remaining_s else said


def _evaluating(clock: Clock, every: int | None, seconds: float | None) -> Clock:
    """The clock with its evaluation (or what looks like one) at another interval or price from now on; None: as it is."""
    own = next((each for kind in ("evaluation", "unknown") for each in clock.periodic if each.kind == kind), None)
    if own is None and every is None:
        return clock
    own = own or Periodic("evaluation", every, seconds, 0, "given")
    changed = replace(
        own,
        every=every if every is not None else own.every,
        seconds=seconds if seconds is not None else own.seconds,
    )
    return replace(clock, periodic=(changed, *(each for each in clock.periodic if each.kind != own.kind)))
