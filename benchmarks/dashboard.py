"""What the page costs: cold start against an empty Streamlit app, a redraw with and without thinning, a live tick, an idle page.

CPU seconds of the server where the browser has no part; wall time, in Chromium, where it has.
"""

from __future__ import annotations

import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from streamlit.testing.v1 import AppTest  # the page is what is measured

from benchmarks.made_logs import text_of
from benchmarks.served import ROOT, Row, in_browser
from dashboard import charts_finish, charts_health, charts_run, follower
from timeledger import schema
from timeledger.analysis import analyse
from timeledger.backtest import backtest
from timeledger.results import Facts
from timeledger.run import Run, RunInfo

RESULTS: Final = Path(__file__).parent / "results"
STEPS: Final = 100_000
BIG, LITTLE = 200_000_000, 1_000_000
_REPEATS: Final = 3


def cpu_of(work: Callable[[], Any]) -> float:
    """CPU seconds of this process for one call."""
    start = time.process_time()
    work()
    return time.process_time() - start


# --- a long run, by AppTest ------------------------------------------------------------------------------------


def long_log(folder: Path, steps: int) -> Path:
    """A verl console of so many steps with the phases of each."""
    rng, path = random.Random(1), folder / "long.log"
    with path.open("w") as stream:
        for step in range(1, steps + 1):
            length = 90 + 60 * step / steps + rng.gauss(0, 4)
            longest = 2.4 * length + rng.gauss(0, 15)
            time_s = 5 + 0.09 * longest + rng.gauss(0, 0.5)
            stream.write(
                f"step:{step} - actor/entropy:{rng.uniform(0.3, 0.4)} - actor/kl_loss:{rng.random() / 100} - critic/score/mean:{0.3 + 0.3 * step / steps} "
                f"- response_length/mean:{length} - response_length/max:{longest} - response_length/clip_ratio:{rng.random() / 50} - timing_s/gen:{0.6 * time_s} "
                f"- timing_s/reward:{0.03 * time_s} - timing_s/old_log_prob:{0.1 * time_s} - timing_s/ref:{0.08 * time_s} - timing_s/update_actor:{0.14 * time_s} - timing_s/step:{time_s}\n"
            )
    return path


def page_size(log: Path) -> list[Row]:
    """The Run view of a long run: a rerun on the server, and the JSON of its charts."""
    app = AppTest.from_file(str(ROOT / "dashboard" / "app.py"), default_timeout=600)
    app.query_params["path"] = [str(log)]
    app.run().switch_page("views/run.py").run()
    spent = statistics.median(cpu_of(app.run) for _ in range(_REPEATS))
    size = sum(len(each.proto.spec) for each in app.get("plotly_chart"))
    return [
        Row(f"Run view, {STEPS:,} steps: rerun on the server, CPU", f"{spent:.2f} s"),
        Row("JSON of its charts", f"{size / 1000:,.0f} kB", "at most 400 kB", size <= 400_000),
    ]


def million() -> list[Row]:
    """A run of a million steps: its analysis, and its charts."""
    count, rng = 1_000_000, np.random.default_rng(1)
    length = 90 + 60 * np.arange(count) / count + rng.normal(0, 4, count)
    frame = {
        "segment": np.zeros(count, dtype=int), "step": np.arange(1, count + 1), "span": np.ones(count, dtype=int), "line": np.arange(1, count + 1),
        "step_s": 5 + 0.2 * length, "len_mean": length, "len_max": 2.4 * length, "reward": rng.random(count),
    }  # fmt: skip
    run = Run(RunInfo(name="million", format="made"), schema.conform(pl.DataFrame(frame), schema.STEPS))
    made: list[Any] = []
    facts = Facts(total_steps=2 * count)
    spent = cpu_of(lambda: made.append(analyse(run, facts, backtested=False)))
    analysis = made[0]
    tested = cpu_of(lambda: backtest(analysis.run, analysis.clock, analysis.projection, facts))
    draw_s = cpu_of(
        lambda: (
            charts_run.profile(analysis, charts_run.UNITS[0], False), charts_run.lengths(run.steps, analysis.growth, False),
            charts_run.step_cost(analysis.timing, False), charts_finish.fan(analysis, False), charts_health.health(run.steps, False),
        )
    )  # fmt: skip
    return [
        Row("A million steps: analysis, CPU (once a new line)", f"{spent:.1f} s"),
        Row("its backtest, CPU (on the Run view only)", f"{tested:.1f} s"),
        Row("its five charts, CPU", f"{draw_s:.2f} s"),
    ]


# --- a live log ------------------------------------------------------------------------------------------------


def ticks(folder: Path) -> list[Row]:
    """One look at a log with nothing new, and with one new line, for a small and a large log."""
    follower.POLL_S = 0.0  # type: ignore[misc]  # every look is a look
    spent: dict[int, tuple[float, float]] = {}
    for size in (LITTLE, BIG):
        path = folder / f"live-{size}.log"
        path.write_bytes(text_of("verl", size))
        followed = follower.Follower(str(path))
        last = followed.look()[1][0].steps.height
        line = text_of("verl", 1, seed=2)
        new = []
        for more in range(1, 6):
            with path.open("ab") as stream:
                stream.write(line.replace(b"step:1 ", b"step:%d " % (last + more), 1))
            new.append(cpu_of(followed.look))
        spent[size] = statistics.median(cpu_of(followed.look) for _ in range(20)), statistics.median(new)
        path.unlink()
    ratio = spent[BIG][1] / spent[LITTLE][1]
    return [
        Row("live tick with one new line, 1 MB log, CPU", f"{1000 * spent[LITTLE][1]:.1f} ms"),
        Row("the same on a 200 MB log", f"{1000 * spent[BIG][1]:.1f} ms = {ratio:.1f} x", "at most 10 x", ratio <= 10),
        Row("live tick without news, 200 MB log, CPU", f"{1000 * spent[BIG][0]:.2f} ms"),
    ]


def markdown(rows: list[Row]) -> str:
    """The table."""
    lines = ["# What the page costs", "", "| measure | value | wanted | |", "|---|---:|---:|---|"]
    for each in rows:
        verdict = "" if each.reached is None else "reached" if each.reached else "MISSED"
        lines.append(f"| {each.what} | {each.value} | {each.wanted} | {verdict} |")
    load = os.getloadavg()[0]
    return "\n".join([*lines, "", f"{os.cpu_count()} cores, load {load:.1f} at the end.", ""])


def main() -> int:
    """Print the table and write it to benchmarks/results/; exit code 1 when a target is missed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log = long_log(folder, STEPS)
        rows = [*in_browser(folder, log), *page_size(log), *million(), *ticks(folder)]
    text = markdown(rows)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "dashboard.md").write_text(text, encoding="utf-8")
    print(text)
    return 1 if "MISSED" in text else 0


if __name__ == "__main__":
    sys.exit(main())
