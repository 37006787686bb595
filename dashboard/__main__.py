"""`python -m dashboard`: Streamlit's command line, which loads the first view's modules while the browser loads its own part of the page."""

from __future__ import annotations

import threading
import time
from importlib import import_module
from typing import Final

from streamlit import runtime
from streamlit.web import cli

#: What the first view needs, heaviest first; the views themselves are scripts and run only when they are asked for.
FIRST: Final = ("dashboard.overview", "dashboard.ways_in", "dashboard.frame", "dashboard.sections")


def warm() -> None:
    """Import the first view's modules once the server stands: the page would else wait for them when it is asked for."""
    while not runtime.exists():
        time.sleep(0.01)
    for name in FIRST:
        import_module(name)


if __name__ == "__main__":
    threading.Thread(target=warm, name="warm", daemon=True).start()
    cli.main(prog_name="streamlit")
