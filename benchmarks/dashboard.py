"""What the page costs: cold start against an empty Streamlit app, a redraw with and without thinning, a live tick, an idle page.

CPU seconds of the server where the browser has no part; wall time, in Chromium, where it has.
"""

from __future__ import annotations

import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from playwright.sync_api import Browser, TimeoutError, sync_playwright
from streamlit.testing.v1 import AppTest  # the page is what is measured

from benchmarks.made_logs import text_of
from dashboard import charts_finish, charts_health, charts_run, load
from timeledger import schema
from timeledger.analysis import analyse
from timeledger.cli.open_page import command, free_port
from timeledger.results import Facts
from timeledger.run import Run, RunInfo

ROOT: Final = Path(__file__).parent.parent
RESULTS: Final = Path(__file__).parent / "results"
SAMPLE: Final = ROOT / "sample_logs" / "growing-answers"
STEPS: Final = 100_000
BIG, LITTLE = 200_000_000, 1_000_000
IDLE_S: Final = 20.0
PATIENCE_S: Final = 60.0
_REPEATS: Final = 3
_EMPTY: Final = "import streamlit as st\nst.write('nothing')\n"
_STILL: Final = (
    "() => { const app = document.querySelector('[data-testid=\"stApp\"]');"
    " return app && app.getAttribute('data-test-script-state') === 'notRunning'; }"
)


@dataclass(frozen=True, slots=True)
class Row:
    """One measure: what, how much, what is wanted, and whether it is reached (None: nothing is wanted)."""

    what: str
    value: str
    wanted: str = ""
    reached: bool | None = None


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
    spent = cpu_of(lambda: made.append(analyse(run, Facts(total_steps=2 * count))))
    analysis = made[0]
    draw_s = cpu_of(
        lambda: (
            charts_run.profile(analysis, charts_run.UNITS[0], False), charts_run.lengths(run.steps, analysis.growth, False),
            charts_run.step_cost(analysis.timing, False), charts_finish.fan(analysis, False), charts_health.health(run.steps, False),
        )
    )  # fmt: skip
    return [
        Row("A million steps: analysis, CPU (once a new line)", f"{spent:.1f} s"),
        Row("its five charts, CPU", f"{draw_s:.2f} s"),
    ]


# --- a live log ------------------------------------------------------------------------------------------------


def ticks(folder: Path) -> list[Row]:
    """One look at a log with nothing new, and with one new line, for a small and a large log."""
    load.POLL_S = 0.0  # type: ignore[misc]  # every look is a look
    spent: dict[int, tuple[float, float]] = {}
    for size in (LITTLE, BIG):
        path = folder / f"live-{size}.log"
        path.write_bytes(text_of("verl", size))
        follower = load.Follower(str(path))
        last = follower.look()[1][0].steps.height
        line = text_of("verl", 1, seed=2)
        new = []
        for more in range(1, 6):
            with path.open("ab") as stream:
                stream.write(line.replace(b"step:1 ", b"step:%d " % (last + more), 1))
            new.append(cpu_of(follower.look))
        spent[size] = statistics.median(cpu_of(follower.look) for _ in range(20)), statistics.median(new)
        path.unlink()
    ratio = spent[BIG][1] / spent[LITTLE][1]
    return [
        Row("live tick with one new line, 1 MB log, CPU", f"{1000 * spent[LITTLE][1]:.1f} ms"),
        Row("the same on a 200 MB log", f"{1000 * spent[BIG][1]:.1f} ms = {ratio:.1f} x", "at most 10 x", ratio <= 10),
        Row("live tick without news, 200 MB log, CPU", f"{1000 * spent[BIG][0]:.2f} ms"),
    ]


# --- served pages ----------------------------------------------------------------------------------------------


@contextmanager
def served(command: list[str], port: int) -> Iterator[subprocess.Popen[bytes]]:
    """A server that answers at the port."""
    # As installed: every module is compiled once, here into a folder of its own.
    own = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    own["PYTHONPYCACHEPREFIX"] = str(Path(tempfile.gettempdir()) / "timeledger-benchmark-pyc")
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT, env=own)
    try:
        for _ in range(1200):
            with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=2):
                break
            time.sleep(0.05)
        yield process
    finally:
        process.terminate()
        process.wait(timeout=20)


def cold_starts(browser: Browser, folder: Path) -> list[Row]:
    """From the command to the first page that stands still: an empty Streamlit app, and ours with a sample."""
    empty = folder / "empty.py"
    empty.write_text(_EMPTY)
    sample = urllib.parse.urlencode({"path": str(SAMPLE)})
    spent: dict[str, list[float]] = {"empty": [], "ours": []}
    for _ in range(1 + _REPEATS):
        spent["empty"].append(_first_page(browser, str(empty), "", '[data-testid="stMarkdown"]'))
        spent["ours"].append(_first_page(browser, None, sample, ".tl-cards"))
    one, other = (statistics.median(each[1:]) for each in spent.values())  # the first compiles
    return [
        Row("cold start of an empty Streamlit app", f"{one:.1f} s"),
        Row(
            "cold start of the first page with a sample",
            f"{other:.1f} s = {other / one:.1f} x",
            "at most 2 x",
            other <= 2 * one,
        ),
    ]


def _first_page(browser: Browser, app: str | None, query: str, wait: str) -> float:
    port, begun = free_port(), time.perf_counter()
    own = command(port)
    start = own if app is None else [*own[: own.index("run") + 1], app, *own[own.index("run") + 2 :]]
    with served(start, port):
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{port}/?{query}")
        page.wait_for_selector(wait, timeout=120_000)
        page.wait_for_function(_STILL)
        spent = time.perf_counter() - begun
        page.close()
    return spent


def redraws(browser: Browser, log: Path) -> list[Row]:
    """The Run view of a long run from the address to charts that are drawn (the log is read before), thinned and with every point."""
    thinned, every = _drawn_s(browser, log, None), _drawn_s(browser, log, _EVERY_POINT)
    told = f"not drawn within {PATIENCE_S:.0f} s" if every is None else f"{every:.1f} s"
    ratio = (every or PATIENCE_S) / (thinned or PATIENCE_S)
    return [
        Row("the same view in the browser, until its charts are drawn", f"{thinned or PATIENCE_S:.1f} s"),
        Row(
            "the same with every point",
            f"{told}: {ratio:.0f} x{' or more' if every is None else ''}",
            "at least 3 x",
            ratio >= 3,
        ),
    ]


def _drawn_s(browser: Browser, log: Path, code: str | None) -> float | None:
    port = free_port()
    own = command(port)
    query = urllib.parse.urlencode({"path": str(log)})
    with served(own if code is None else [sys.executable, "-c", code, *own[own.index("run") :]], port):
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{port}/?{query}")
        page.wait_for_selector(".tl-cards", timeout=120_000)
        begun = time.perf_counter()
        page.goto(f"http://127.0.0.1:{port}/run?{query}")
        with suppress(TimeoutError):
            page.wait_for_function(_ALL_DRAWN, timeout=1000 * PATIENCE_S)
            return time.perf_counter() - begun
    return None


#: Streamlit on the same app, with charts that leave nothing out.
_EVERY_POINT: Final = """
import sys, numpy
from dashboard import charts, charts_compare, charts_health, charts_run
for module in (charts, charts_compare, charts_health, charts_run):
    module.thin = lambda length, *series, limit=0: numpy.arange(length)
from streamlit.web import cli
sys.argv[0] = "streamlit"
cli.main()
"""
_ALL_DRAWN: Final = (
    "() => { const charts = [...document.querySelectorAll('[data-testid=\"stPlotlyChart\"]')];"
    " return charts.length >= 5 && charts.every(each => each.querySelector('.main-svg .trace, .main-svg .points, .main-svg .xtick')); }"
)


def idle(browser: Browser, folder: Path) -> list[Row]:
    """What the server spends on an open live page while nothing happens."""
    log, port = folder / "idle.log", free_port()
    log.write_text("".join(f"step {step}/400 | len 90 | reward 0.3 | time 30.0s\n" for step in range(1, 41)))
    with served(command(port), port) as process:
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{port}/run?{urllib.parse.urlencode({'path': str(log)})}")
        page.wait_for_function("() => document.querySelector('.main-svg')")
        page.wait_for_timeout(5000)
        before, begun = _spent(process.pid), time.perf_counter()
        page.wait_for_timeout(1000 * IDLE_S)
        share = (_spent(process.pid) - before) / (time.perf_counter() - begun)
        page.close()
    return [Row("idle live page, of one core", f"{100 * share:.1f} %", "at most 10 %", share <= 0.10)]


def twelve(browser: Browser, folder: Path) -> list[Row]:
    """The list of twelve live runs, each with a new line every five seconds."""
    logs, port = [folder / f"run-{each}.log" for each in range(12)], free_port()
    for log in logs:
        log.write_text("".join(_line(step) for step in range(1, 101)))
    query = urllib.parse.urlencode([("path", str(log)) for log in logs])
    with served(command(port), port) as process:
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{port}/?{query}")
        page.wait_for_selector('[data-testid="stDataFrame"]', timeout=120_000)
        page.wait_for_timeout(5000)
        before, begun, step = _spent(process.pid), time.perf_counter(), 100
        while time.perf_counter() - begun < IDLE_S:
            step += 1
            for log in logs:
                with log.open("a") as stream:
                    stream.write(_line(step))
            page.wait_for_timeout(5000)
        share = (_spent(process.pid) - before) / (time.perf_counter() - begun)
        page.close()
    return [Row("list of 12 live runs, a new line in each every 5 s, of one core", f"{100 * share:.0f} %")]


def _line(step: int) -> str:
    return f"step {step}/4000 | len {90 + step / 10} | len_max {200 + step} | reward 0.3 | time {20 + step / 50:.1f}s\n"


def in_browser(folder: Path, log: Path) -> list[Row]:
    """Everything that needs a browser."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        return [Row("cold start, redraw and idle page", "not measured: no Chromium here")]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--headless", "--no-sandbox", "--disable-gpu"]
        )
        rows = [*cold_starts(browser, folder), *idle(browser, folder), *twelve(browser, folder), *redraws(browser, log)]
        browser.close()
    return rows


def _spent(pid: int) -> float:
    """CPU seconds of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


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
