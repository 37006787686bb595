"""The report as Markdown, made to be pasted into an issue or a model card."""

from __future__ import annotations

from collections.abc import Sequence

from timeledger import advice_words, units, words
from timeledger.document import CompareDocument, DifferencePart, NotePart, RunReport, ShowDocument


def escape(text: str) -> str:
    """Text from a log, inert in Markdown: no markup, no HTML, no table breaks."""
    for mark in "\\`*_{}[]|#$~":
        text = text.replace(mark, f"\\{mark}")
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace("\n", " ").replace("\r", " ")


def show(document: ShowDocument, as_of: str = "") -> str:
    """Every run of the document; `as_of` says when it was made, since "today" is read on another day."""
    return "\n\n".join(_run(each, as_of) for each in document.runs) + "\n"


def compare(document: CompareDocument, as_of: str = "") -> str:
    """The table of runs and every difference; `as_of` says when it was made."""
    head = ("run", "steps", "step time", "per 1,000 tokens", "sampling", "answers", "total")
    rows = [words.compare_row(run) for run in document.runs]
    parts = [table(head, rows, right_from=1)]
    parts += [_difference(each) for each in document.differences]
    parts += [escape(as_of)] if as_of else []
    return "\n\n".join(parts) + "\n"


def table(head: Sequence[str], rows: Sequence[Sequence[str]], right_from: int) -> str:
    """A Markdown table; columns from `right_from` on are aligned right."""
    rule = ["---" if at < right_from else "---:" for at in range(len(head))]
    lines = ["| " + " | ".join(head) + " |", "| " + " | ".join(rule) + " |"]
    lines += ["| " + " | ".join(escape(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def _run(run: RunReport, as_of: str) -> str:
    part = run.run
    done = (
        "" if part.step is None else f", step {part.step:,}" + (f" of {part.total_steps:,}" if part.total_steps else "")
    )
    blocks = [
        f"## {escape(part.name)}",
        f"{escape(part.framework or part.format)}, {part.state}{done}{escape(f', {as_of}' if as_of else '')}",
        f"**{escape(run.headline)}**",
        escape(". ".join(text for text in (words.remaining(run), words.worst_case(run)) if text)),
        _phases(run),
        "\n".join(f"- {escape(label)}: {escape(value)}" for label, value in words.facts(run)),
        "\n".join(f"- {escape(reason)}" for reason in (*run.projection.because, *run.projection.warnings)),
        escape(run.engine.sentence) if run.engine is not None else "",
        table(advice_words.HEAD, advice_words.rows(run.advice), right_from=9) if run.advice else "",
        table(advice_words.CHECK_HEAD, advice_words.check_rows(run.checks), right_from=9)
        if run.run.step is not None
        else "",
        _not_judged(run),
        _notes(run.notes),
    ]
    return "\n\n".join(block for block in blocks if block.strip())


def _not_judged(run: RunReport) -> str:
    lines = [f"- {escape(line)}" for line in advice_words.not_judged(run.not_judged)]
    head = "<details><summary>What this log cannot judge, and how to log it</summary>"
    return "\n\n".join([head, "\n".join(lines), "</details>"]) if lines else ""


def _phases(run: RunReport) -> str:
    found = run.breakdown
    if found.step_s is None:
        return escape(found.why or "")
    rows = [
        (words.phase(phase), units.show_seconds(seconds), units.show_share(share), known)
        for phase, seconds, share, known in words.step_rows(found)
    ]
    text = table(("part of a step", "seconds", "share", "known"), rows, right_from=1)
    return text + (f"\n\n{escape(found.why)}" if found.why else "")


def _difference(difference: DifferencePart) -> str:
    rows = [(each.part, words.signed_seconds(each.seconds), units.show_share(each.share)) for each in difference.parts]
    rows.append(("together", words.signed_seconds(difference.step_s), ""))
    title = f"### From {escape(difference.a)} to {escape(difference.b)}"
    body = table(("part", "seconds a step", "share"), rows, right_from=1) if difference.parts else ""
    return "\n\n".join(block for block in (title, body, escape(difference.sentence)) if block)


def _notes(notes: Sequence[NotePart]) -> str:
    if not notes:
        return ""
    lines = [
        f"- {each.kind}: {escape(each.text)}"
        + (f" × {each.count:,}" if each.count > 1 else "")
        + (f" (line {each.line:,})" if each.line else "")
        for each in notes
    ]
    return "<details><summary>Notes</summary>\n\n" + "\n".join(lines) + "\n\n</details>"
