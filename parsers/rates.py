"""The time of a log that tells tokens a second and, in front of its rows, the tokens of one step, and no time at all.

Both are of the whole job in a loop that prints them side by side; a rate of one device would make steps too long, so a
rate that says so, or a job of several devices, is left alone.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

import polars as pl

from parsers.build import RunBuilder
from parsers.fields import spell
from timeledger.run import Note, Run
from timeledger.said import say

#: The rate that stands without a name on a row: `| 37.5k tok/s |`.
RATE: Final = "tok/s"
_RATES: Final = frozenset({"tok/s", "tok/seconds", "tok_per_s", "tok_per_seconds", "tps"})
_SETTING: Final = "loop.tokens_per_step"
#: `Tokens / optimizer step : 32,768`, `tokens per iteration will be: 491,520`, `tokens_per_step = 65536`
_TOKENS: Final = re.compile(
    r"\W*(?:total )?tokens(?: ?/ ?|[ _]per[ _])(?:(?:optimizer|optim|training|train|global)[ _])?(?:step|iter|iteration|update)"
    r"(?: will be)?\s*[:=]\s*(?P<n>\d[\d,_]{0,15})\W*",
    re.IGNORECASE,
)
_NEARLY: Final = 0.9


def tokens_of_step(build: RunBuilder, text: str, no: int) -> None:
    """Record the tokens of one step where a line in front of the rows tells them."""
    if (found := _TOKENS.fullmatch(text)) is not None:
        build.setting(_SETTING, int(re.sub(r"\D", "", found["n"])), f"line {no}: {text.strip()[:80]}")


def timed(run: Run) -> Run:
    """The run with the time of its steps from their rate, where nothing else tells a time: seconds of one step."""
    tokens, devices = run.info.number(_SETTING), run.info.number("gpus") or 1
    told = any(run.steps[name].count() for name in ("at", "elapsed_s", "step_s")) or run.progress.height
    if not tokens or devices > 1 or told or run.phases.height:
        return run
    name = next((each for each in run.extra.columns if spell(each) in _RATES), None)
    if name is None:
        return run
    rate = pl.when(pl.col(name) > 0).then(pl.col(name))
    rows = run.extra.select("segment", "step", step_s=tokens / rate).filter(pl.col("step_s").is_finite())
    if rows.height < max(_NEARLY * run.steps.height, 1):
        return run
    steps = run.steps.drop("step_s").join(rows, on=["segment", "step"], how="left", maintain_order="left")
    text = say("no time in the log: that of a step is its tokens by {name}, as a rate of the whole job", name=name)
    source = run.info.sources[0] if run.info.sources else ""
    return replace(run, steps=steps.select(run.steps.columns)).with_notes(Note("guessed", 0, text, 1, source))
