"""`timeledger open`: the dashboard, on this machine only."""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import threading
import time
import webbrowser
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from timeledger.errors import BadOption, UnreadableSource

HELP: Final = "the dashboard, on 127.0.0.1; without PATH it asks for logs and offers samples"
FIRST_PORT: Final = 8501


def prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("paths", nargs="*", metavar="PATH", help="log files or run folders; a live one is followed")
    parser.add_argument("--port", type=int, metavar="P", help=f"port (default: the first free one from {FIRST_PORT})")
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser window")


def run(args: argparse.Namespace) -> int:
    """Start Streamlit as a process of its own and wait for it."""
    paths = [Path(path).absolute() for path in args.paths]
    for path in paths:
        if not path.exists():
            raise UnreadableSource(f"{path}: there is no such file or folder.")
    port = args.port or free_port()
    print(f"timeledger is at http://127.0.0.1:{port}  (Ctrl-C ends it)", flush=True)
    environment = {**os.environ, "TIMELEDGER_PATHS": json.dumps([str(path) for path in paths])}
    process = subprocess.Popen(command(port), env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    if not args.no_browser:
        threading.Thread(target=_show, args=(port, process), daemon=True).start()
    try:
        return process.wait()
    except KeyboardInterrupt:
        process.terminate()
        process.wait()
        return 0


def _show(port: int, process: subprocess.Popen[bytes]) -> None:
    """Open a browser window once the page answers (Streamlit's own way would first ask for an e-mail address)."""
    while process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.2)
            continue
        webbrowser.open(f"http://127.0.0.1:{port}")
        return


def command(port: int) -> list[str]:
    """The command that serves the dashboard on 127.0.0.1: no telemetry, no question, no browser of its own."""
    found = find_spec("dashboard")
    if found is None or not found.submodule_search_locations:
        raise BadOption("the dashboard is not installed beside timeledger.")
    home = Path(next(iter(found.submodule_search_locations)))
    # A package of the same name in the folder where the reader stands is not ours.
    python = [sys.executable] if home.parent == Path.cwd() else [sys.executable, "-P"]
    flags = {
        "server.address": "127.0.0.1",
        "server.port": str(port),
        "server.headless": "true",
        "server.fileWatcherType": "none",
        "server.maxUploadSize": "2000",
        "browser.gatherUsageStats": "false",
        "browser.serverAddress": "127.0.0.1",
        "client.toolbarMode": "minimal",
        "client.showErrorDetails": "none",
    }
    options = (f"--{name}={value}" for name, value in flags.items())
    return [*python, "-m", "dashboard", "run", str(home / "app.py"), *options]


def free_port(first: int = FIRST_PORT) -> int:
    """The first port from `first` on that nothing on 127.0.0.1 listens at."""
    for port in range(first, first + 100):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise BadOption(f"no free port between {first} and {first + 99}; name one with --port.")
