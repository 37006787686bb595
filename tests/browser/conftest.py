"""A served dashboard and a real browser. Without Chromium the tests are skipped, except in CI, where they must run."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.browser.pages import drawn
from tests.conftest import ROOT
from timeledger.cli.open_page import command

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
expect.set_options(timeout=30_000)  # a busy machine draws slowly
SCREENSHOTS = ROOT / "screenshots"
AXE = "4.14.1"


def free_port() -> int:
    """A port that nothing listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a dashboard that was started as `timeledger open` starts it."""
    port = free_port()
    environment = {name: value for name, value in os.environ.items() if name != "TIMELEDGER_PATHS"}
    log = tmp_path_factory.mktemp("server") / "server.log"
    with log.open("wb") as out:
        process = subprocess.Popen(command(port), env=environment, stdout=out, stderr=out, cwd=ROOT)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(240):
            if process.poll() is not None:
                pytest.fail(f"the dashboard did not start:\n{log.read_text(errors='replace')[-2000:]}")
            try:
                with urllib.request.urlopen(f"{address}/_stcore/health", timeout=2):
                    break
            except (urllib.error.URLError, OSError):
                time.sleep(0.25)
        else:
            pytest.fail("the dashboard did not answer within a minute")
        yield address
    finally:
        process.terminate()
        process.wait(timeout=20)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The system's Chromium."""
    if CHROMIUM is None:
        if os.environ.get("CI"):
            pytest.fail("Chromium is needed in CI: apt-get install chromium")
        pytest.skip("Chromium is not installed")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield started
        started.close()


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The accessibility checker axe-core, fetched by npm for this test session only."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed: axe-core cannot be fetched")
    folder = tmp_path_factory.mktemp("axe")
    quiet = ["--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
    done = subprocess.run(
        [npm, "install", *quiet, "--prefix", str(folder), f"axe-core@{AXE}"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    script = folder / "node_modules" / "axe-core" / "axe.min.js"
    if done.returncode or not script.is_file():
        pytest.skip(f"npm could not fetch axe-core: {done.stderr.strip()[:200]}")
    return script.read_text(encoding="utf-8")


@pytest.fixture
def page(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A fresh page that may talk to this machine only; `@pytest.mark.parametrize` may ask for dark and for a width."""
    asked: dict[str, object] = getattr(request, "param", {})
    context = browser.new_context(
        viewport={"width": int(str(asked.get("width", 1440))), "height": 900},
        color_scheme="dark" if asked.get("dark") else "light",
        timezone_id="Europe/Berlin",
        locale=str(asked.get("locale", "en-GB")),
        accept_downloads=True,
    )
    outside: list[str] = []
    context.on(
        "request",
        lambda seen: None if "//127.0.0.1" in seen.url or not seen.url.startswith("http") else outside.append(seen.url),
    )
    opened = context.new_page()
    opened.set_default_timeout(30_000)
    yield opened
    context.close()
    assert not outside, f"the page asked other machines for {outside}"


def keep(page: Page, name: str) -> Path:
    """A screenshot of the whole page, for people to look at."""
    SCREENSHOTS.mkdir(exist_ok=True)
    main = page.locator('[data-testid="stMain"]')
    height = int(main.evaluate("each => each.scrollHeight")) + 20
    width = (page.viewport_size or {"width": 1440})["width"]
    page.set_viewport_size({"width": width, "height": min(height, 6000)})
    drawn(page)
    target = SCREENSHOTS / f"{name}.png"
    page.screenshot(path=target, animations="disabled")
    page.set_viewport_size({"width": width, "height": 900})
    return target
