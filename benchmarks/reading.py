"""How fast logs are read: CPU time, memory and the cost of a live tick, on made logs of every text format; each in a process of its own."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from benchmarks.made_logs import MADE, steps_of, text_of, write
from parsers import Live
from parsers.base import HEAD_BYTES, Origin
from parsers.formats import detect
from parsers.windows import make_head

RESULTS: Final = Path(__file__).parent / "results"
MEGA: Final = 1_000_000
SMALL: Final = 1
LARGE: Final = 200
_TICKS: Final = 7
Numbers = dict[str, float]


def cpu_s(work: Callable[[], object], times: int = 1) -> float:
    """CPU seconds of this process for the work; the least of several."""
    spent = []
    for _ in range(times):
        begin = time.process_time()
        work()
        spent.append(time.process_time() - begin)
    return min(spent)


def measured(name: str, megabytes: int, folder: Path) -> Numbers:
    """Reading a log of this size and following it while it grows by a step at a time."""
    path = folder / "train.log"
    following = steps_of(name, first=write(name, megabytes * MEGA, path))
    live = Live(path)
    read_s = cpu_s(live.poll)
    rows = sum(run.steps.height + run.engine.height for run in live.poll())
    ticks = []
    for _ in range(_TICKS):
        with path.open("a", encoding="utf-8") as stream:
            stream.write(next(following))
        ticks.append(cpu_s(live.poll))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"speed": megabytes / read_s, "rows": rows, "tick_ms": 1000 * sorted(ticks)[_TICKS // 2], "peak_mib": peak}


def detection_ms(name: str) -> float:
    """Finding the format of one window of 64 KiB."""
    data = text_of(name, HEAD_BYTES)[:HEAD_BYTES]
    return 1000 * cpu_s(lambda: detect(make_head(Origin("train.log"), data, whole=False)), 3)


def json_speed() -> float:
    """`json.loads` line by line, nothing else: what these megabytes a second can be compared with on another machine."""
    lines = text_of("jsonl", 4 * MEGA).splitlines()
    return 4 / cpu_s(lambda: [json.loads(line) for line in lines], 3)


def _in_process(name: str, megabytes: int) -> Numbers:
    command = [sys.executable, "-m", "benchmarks.reading", name, str(megabytes)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1])
    return dict(json.loads(done.stdout))


def table(large: int = LARGE) -> str:
    """The table, as Markdown."""
    plain = json_speed()
    lines = [
        f"Logs of {large} MB, CPU time of one process. `json.loads` alone, line by line: {plain:.0f} MB/s.",
        "",
        f"| log | MB/s | rows | peak memory, MiB | one more step: {large} MB | {SMALL} MB | format of 64 KiB |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in MADE:
        big, small = _in_process(name, large), _in_process(name, SMALL)
        lines.append(
            f"| {name} | {big['speed']:.1f} | {big['rows']:,.0f} | {big['peak_mib']:.0f} | {big['tick_ms']:.1f} ms "
            f"({big['tick_ms'] / small['tick_ms']:.1f}x) | {small['tick_ms']:.1f} ms | {detection_ms(name):.1f} ms |"
        )
    return "\n".join(lines) + "\n"


def main() -> int:
    """Print the table and write it to benchmarks/results/."""
    text = table()
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "reading.md").write_text(text, encoding="utf-8")
    print(text)
    return 0


def _child(name: str, megabytes: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(measured(name, megabytes, Path(folder))))


if __name__ == "__main__":
    if len(sys.argv) == 3:
        _child(sys.argv[1], int(sys.argv[2]))
    else:
        raise SystemExit(main())
