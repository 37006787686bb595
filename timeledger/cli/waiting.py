"""Says what a long piece of work waits for, on standard error, from the second second on."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_PATIENCE_S: Final = 1.0


@contextmanager
def waiting(text: str) -> Iterator[None]:
    """While the block runs: after a second a line with the time so far (redrawn on a terminal, printed once elsewhere)."""
    done = threading.Event()
    thread = threading.Thread(target=_tell, args=(text, done), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _tell(text: str, done: threading.Event) -> None:
    start = time.monotonic()
    if done.wait(_PATIENCE_S):
        return
    terminal = sys.stderr.isatty()
    if not terminal:
        print(f"{text} …", file=sys.stderr, flush=True)
        return
    while not done.wait(0.5):
        print(f"\r{text} … {time.monotonic() - start:.0f} s", end="", file=sys.stderr, flush=True)
    print("\r\x1b[K", end="", file=sys.stderr, flush=True)
