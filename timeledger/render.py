"""Reports as files."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo
from pathlib import Path

from timeledger import html, markdown, words
from timeledger.compare import Comparison
from timeledger.errors import UnreadableSource
from timeledger.report import compare_document, show_document
from timeledger.results import Analysis


def write(analyses: Sequence[Analysis], target: Path, *, html: bool) -> None:
    """Write the report of runs as HTML or Markdown."""
    _write(target, show_html(analyses) if html else show_markdown(analyses))


def write_comparison(comparison: Comparison, target: Path, *, html: bool) -> None:
    """Write the report of a comparison as HTML or Markdown."""
    _write(target, compare_html(comparison) if html else compare_markdown(comparison))


def show_html(analyses: Sequence[Analysis], zone: tzinfo | None = None) -> str:
    """The HTML report of runs; moments in `zone` (default: the machine's)."""
    return html.show(analyses, zone)


def compare_html(comparison: Comparison, zone: tzinfo | None = None) -> str:
    """The HTML report of a comparison; moments in `zone` (default: the machine's)."""
    return html.compare(comparison, zone)


def show_markdown(analyses: Sequence[Analysis], zone: tzinfo | None = None) -> str:
    """The Markdown report of runs."""
    return markdown.show(show_document(list(analyses)), _as_of(analyses, zone))


def compare_markdown(comparison: Comparison, zone: tzinfo | None = None) -> str:
    """The Markdown report of a comparison."""
    return markdown.compare(compare_document(comparison), _as_of(comparison.analyses, zone))


def _as_of(analyses: Sequence[Analysis], zone: tzinfo | None) -> str:
    now = next((each.facts.now for each in analyses if each.facts.now is not None), None)
    return "" if now is None else words.as_of(now, zone)


def _write(target: Path, text: str) -> None:
    try:
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UnreadableSource(f"{target}: cannot be written ({error.strerror or error}).") from error
