"""What a served page costs in a real browser: cold start, redraw, idle and live pages, a dropped file."""

from __future__ import annotations

import gzip
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser, TimeoutError, sync_playwright

from benchmarks.made_logs import text_of
from timeledger.cli.open_page import command, free_port

ROOT: Final = Path(__file__).parent.parent
SAMPLE: Final = ROOT / "sample_logs" / "growing-answers"
IDLE_S: Final = 20.0
PATIENCE_S: Final = 60.0
#: Starts of each of the two pages, in turn.
STARTS: Final = 7
DROPPED: Final = 200_000_000
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
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:  # it still draws every point
            process.kill()
            process.wait()


def cold_starts(browser: Browser, folder: Path) -> list[Row]:
    """From the command to the first page that stands still: an empty Streamlit app, and ours with a sample, in turn."""
    empty = folder / "empty.py"
    empty.write_text(_EMPTY)
    sample = urllib.parse.urlencode({"path": str(SAMPLE)})
    spent: dict[str, list[float]] = {"empty": [], "ours": []}
    for _ in range(1 + STARTS):
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
    flags = own[own.index("run") + 2 :]
    with served(own if app is None else [sys.executable, "-m", "streamlit", "run", app, *flags], port):
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


def dropped(browser: Browser, folder: Path) -> list[Row]:
    """A large log dropped on the page, as it is and packed: the server's memory above that of the page before."""
    log, packed = folder / "dropped.log", folder / "dropped.log.gz"
    log.write_bytes(text_of("verl", DROPPED))
    with gzip.open(packed, "wb", compresslevel=1) as stream:
        stream.write(log.read_bytes())
    size, rows = DROPPED / 1e6, []
    for name, file in (("", log), (" as .gz", packed)):
        peak, kept = _memory_of(browser, file)
        rows += [
            Row(
                f"{size:.0f} MB dropped{name}: memory at its peak, above idle",
                f"{peak:.0f} MB = {peak / size:.1f} x",
                "at most 3 x",
                peak <= 3 * size,
            ),
            Row("kept once it is drawn", f"{kept:.0f} MB"),
        ]
        file.unlink()
    return rows


def _memory_of(browser: Browser, file: Path) -> tuple[float, float]:
    """Megabytes of the server at the peak and once the run is drawn, above those of the page that waits for a file."""
    port = free_port()
    with served(command(port), port) as process:
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{port}/")
        page.wait_for_selector('[data-testid="stFileUploader"]')
        page.wait_for_function(_STILL)
        page.wait_for_timeout(8000)  # until all modules are loaded
        before = _memory(process.pid, "VmRSS")
        page.set_input_files('input[type="file"]', str(file))
        page.wait_for_selector(".main-svg", timeout=300_000)
        page.wait_for_function(_STILL, timeout=300_000)
        page.wait_for_timeout(8000)  # until the memory is given back
        peak, kept = _memory(process.pid, "VmHWM"), _memory(process.pid, "VmRSS")
        page.close()
    return peak - before, kept - before


def _memory(pid: int, name: str) -> float:
    """Megabytes of a process as /proc tells them."""
    lines = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return 1024 * int(lines[name].split()[0]) / 1e6


def in_browser(folder: Path, log: Path) -> list[Row]:
    """Everything that needs a browser."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        return [Row("cold start, redraw and idle page", "not measured: no Chromium here")]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--headless", "--no-sandbox", "--disable-gpu"]
        )
        rows = [
            *cold_starts(browser, folder), *idle(browser, folder), *twelve(browser, folder), *redraws(browser, log),
            *dropped(browser, folder),
        ]  # fmt: skip
        browser.close()
    return rows


def _spent(pid: int) -> float:
    """CPU seconds of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
