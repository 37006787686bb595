"""Makes the README's picture: the run view on a bundled sample, in the system's Chromium.

.venv/bin/python docs/make_pictures.py
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from playwright.sync_api import sync_playwright

from timeledger.cli.open_page import command, free_port

HERE = Path(__file__).parent
SAMPLE = HERE.parent / "sample_logs" / "phases-from-wandb"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def wait_for(url: str) -> None:
    for _ in range(120):
        try:
            urllib.request.urlopen(url, timeout=1).close()
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.25)


def main() -> int:
    chromium = shutil.which("chromium")
    if chromium is None:
        print("Chromium is needed (apt-get install chromium).", file=sys.stderr)
        return 2
    port = free_port(8700)
    server = subprocess.Popen(command(port), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(f"http://127.0.0.1:{port}/_stcore/health")
        with sync_playwright() as play:
            browser = play.chromium.launch(executable_path=chromium, args=FLAGS)
            page = browser.new_page(viewport={"width": 1400, "height": 1000}, color_scheme="light", locale="en-GB")
            page.goto(f"http://127.0.0.1:{port}/run?path={SAMPLE}")
            said = page.get_by_text("A mean step takes").first
            said.wait_for(timeout=60_000)
            page.locator(".js-plotly-plot .main-svg").first.wait_for(timeout=60_000)
            page.wait_for_timeout(2000)
            below = said.bounding_box()
            height = 1000 if below is None else below["y"] + below["height"] + 6
            page.set_viewport_size({"width": 1400, "height": int(height)})
            page.wait_for_timeout(1000)
            page.screenshot(path=HERE / "run.png")
            browser.close()
    finally:
        server.terminate()
        server.wait()
    print(f"Wrote {HERE / 'run.png'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
