"""Shared by all tests: where the corpus of real logs is, when it is there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# How long an example takes says nothing on a busy machine.
settings.register_profile("timeledger", deadline=None)
settings.load_profile("timeledger")

ROOT = Path(__file__).parent.parent


def corpus_folder() -> Path | None:
    """The folder of real logs: $TIMELEDGER_CORPUS, or ../shared/corpus beside the checkout; None when absent."""
    named = os.environ.get("TIMELEDGER_CORPUS")
    folder = Path(named) if named else ROOT.parent / "shared" / "corpus"
    return folder if folder.is_dir() else None


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The corpus folder, or a skip with the reason."""
    folder = corpus_folder()
    if folder is None:
        pytest.skip("the corpus of real logs is not here (set TIMELEDGER_CORPUS)")
    return folder
