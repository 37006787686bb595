"""`timeledger open` on a machine that has never seen Streamlit: it serves at once, here only, and asks nothing."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from timeledger.cli.open_page import command, free_port


def answers(port: int, process: subprocess.Popen[str]) -> bool:
    """True once the page answers; False when the process ends before."""
    for _ in range(400):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=1) as reply:
                return bool(reply.status == 200)
        except (urllib.error.URLError, OSError):
            if process.poll() is not None:
                return False
            time.sleep(0.15)
    return False


def test_it_serves_without_a_question_and_ends_on_ctrl_c(tmp_path: Path) -> None:
    port = free_port(8900)
    environment = {**os.environ, "HOME": str(tmp_path), "BROWSER": "true"}
    process = subprocess.Popen(
        [sys.executable, "-m", "timeledger", "open", "--port", str(port)],
        env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    try:
        assert answers(port, process)
        other = socket.gethostbyname(socket.gethostname())
        if other != "127.0.0.1":
            with socket.socket() as probe:
                probe.settimeout(1)
                assert probe.connect_ex((other, port)) != 0, "it listens beyond this machine"
        os.killpg(process.pid, signal.SIGINT)
        out, _ = process.communicate(timeout=30)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    assert f"http://127.0.0.1:{port}" in out
    assert "email" not in out.lower()


def test_a_package_of_the_same_name_where_the_reader_stands_is_not_served(tmp_path: Path) -> None:
    for name in ("dashboard", "parsers"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise SystemExit('not ours')\n")
    port = free_port(8950)
    timeledger = Path(sys.executable).parent / "timeledger"
    if not timeledger.exists():
        pytest.skip("timeledger is not installed here")
    with subprocess.Popen(
        [str(timeledger), "open", "--no-browser", "--port", str(port)],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    ) as process:  # fmt: skip
        try:
            assert answers(port, process)
        finally:
            os.killpg(process.pid, signal.SIGTERM)


def test_the_server_is_bound_here_and_counts_nothing() -> None:
    flags = command(8501)
    assert "--server.address=127.0.0.1" in flags
    assert "--server.headless=true" in flags
    assert "--browser.gatherUsageStats=false" in flags
