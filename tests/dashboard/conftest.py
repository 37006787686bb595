"""Every test of the page begins in English, whatever the one before it spoke."""

from __future__ import annotations

import pytest

from dashboard import language


@pytest.fixture(autouse=True)
def _english() -> None:
    language.speak("en")
