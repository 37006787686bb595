"""The report as one self-contained HTML file: no script, no external fetch, readable in print and in the dark.

Every text that comes from a log is escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from timeledger import advice_words, svg, units, words
from timeledger.compare import Comparison
from timeledger.document import DifferencePart, NotePart, RunReport
from timeledger.palette import look
from timeledger.report import compare_document, report
from timeledger.results import Analysis

_STYLE = """
:root{color-scheme:light dark;--ink:#1c1e21;--soft:#5f6670;--line:#d9dce1;--ground:#fff}
@media (prefers-color-scheme:dark){:root{--ink:#e8eaed;--soft:#a0a7b1;--line:#3a3f47;--ground:#14171a}}
body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--ground);max-width:760px;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem;margin:0}h2{font-size:1.05rem;margin:2rem 0 .4rem}h3{font-size:.95rem;margin:1rem 0 .2rem}p{margin:.4rem 0}.soft,figcaption{color:var(--soft);font-size:.9rem}
.finish{font-size:1.25rem;font-weight:600;white-space:pre-line}table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
td,th{padding:.25rem .5rem;border-bottom:1px solid var(--line);text-align:left}td.n,th.n{text-align:right;white-space:nowrap}
svg{width:100%;height:auto;font:11px system-ui,sans-serif}svg text{fill:var(--soft)}svg .grid{stroke:var(--line)}figure{margin:.5rem 0}
.key{display:inline-block;width:.8em;height:.8em;border-radius:2px;margin-right:.4em}section+section{border-top:2px solid var(--line);margin-top:3rem;padding-top:2rem}
@media print{body{margin:0;max-width:none}section{break-inside:avoid}}
"""


def show(analyses: Sequence[Analysis]) -> str:
    """A page with a section a run."""
    title = ", ".join(each.run.name for each in analyses[:3])
    return page(title, "".join(_run(each) for each in analyses))


def compare(comparison: Comparison) -> str:
    """A page with the table of runs, every difference, and a section a run."""
    document = compare_document(comparison)
    head = ("run", "steps", "step time", "per 1,000 tokens", "sampling", "answers", "total")
    table = html_table(head, [words.compare_row(run) for run in document.runs])
    differences = "".join(_difference(each) for each in document.differences)
    runs = "".join(_run(each) for each in comparison.analyses)
    return page("Comparison", f"<section><h1>Comparison</h1>{table}{differences}</section>{runs}")


def page(title: str, body: str) -> str:
    """A whole page around a body that is HTML already."""
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)} – timeledger</title><style>{_STYLE}</style></head><body>{body}</body></html>\n"
    )


def _run(analysis: Analysis) -> str:
    run = report(analysis)
    part = run.run
    done = (
        ""
        if part.step is None
        else f" · step {part.step:,}" + (f" of {part.total_steps:,}" if part.total_steps else "")
    )
    blocks = [
        f"<h1>{escape(part.name)}</h1>",
        f'<p class="soft">{escape(part.framework or part.format)} · {escape(part.state)}{done}</p>',
        f'<p class="finish">{escape(run.headline)}</p>',
        "".join(f"<p>{escape(text)}</p>" for text in (words.remaining(run), words.worst_case(run)) if text),
        _phases(run),
        _fan(analysis),
        _length(analysis),
        _list("What it depends on", [f"{label}: {value}" for label, value in words.facts(run)]),
        _list("Because", [*run.projection.because, *run.projection.warnings]),
        f"<h2>Engine</h2><p>{escape(run.engine.sentence)}</p>"
        if run.engine is not None and run.engine.sentence
        else "",
        _advice(run),
        _notes(run.notes),
    ]
    return f"<section>{''.join(blocks)}</section>"


def _advice(run: RunReport) -> str:
    """What to change first, card by card; the checks; what the log cannot judge."""
    cards = "".join(
        f"<h3>{escape(each.title)} <span class=soft>{escape(advice_words.tier(each.tier))}</span></h3>"
        + "".join(f"<p>{escape(line)}</p>" for line in advice_words.card(each))
        for each in run.advice
    )
    checks = advice_words.check_rows(run.checks) if run.run.step is not None else []
    return (
        (f"<h2>Change first</h2>{cards}" if cards else "")
        + (f"<h2>Checks</h2>{_rows(advice_words.CHECK_HEAD, checks)}" if checks else "")
        + _list("Not judged from this log", advice_words.not_judged(run.not_judged))
    )


def _rows(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of text."""
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><tr>{''.join(f'<th>{escape(cell)}</th>' for cell in head)}</tr>{body}</table>"


def _phases(run: RunReport) -> str:
    found = run.breakdown
    title = "<h2>Where a step’s time goes</h2>"
    if found.step_s is None:
        return f"{title}<p>{escape(found.why)}</p>" if found.why else ""
    rows = words.step_rows(found)
    text = ", ".join(f"{look(phase).label} {units.show_share(share)}" for phase, _, share, _ in rows)
    bar = svg.stacked_bar([(phase, share) for phase, _, share, _ in rows], text)
    lines = "".join(
        f'<tr><td><span class="key" style="background:{look(phase).light}"></span>{escape(look(phase).label)}</td>'
        f'<td class="n">{units.show_seconds(seconds)}</td><td class="n">{units.show_share(share)}</td><td>{escape(origin)}</td></tr>'
        for phase, seconds, share, origin in rows
    )
    why = f'<p class="soft">{escape(found.why)}</p>' if found.why else ""
    return f"{title}<figure>{bar}</figure><table>{lines}</table>{why}"


def _fan(analysis: Analysis) -> str:
    steps, fan = analysis.clock.steps, analysis.projection.fan
    lines = []
    if steps.height:
        lines.append(svg.Line("elapsed", steps["step"].to_list(), steps["end_s"].to_list(), look("rollout").light))
    bands = []
    if fan.height:
        x = fan["step"].to_list()
        bands.append(svg.Band(x, fan["low"].to_list(), fan["high"].to_list(), look("rollout").light))
        lines.append(svg.Line("projected", x, fan["elapsed_s"].to_list(), look("rollout").light, dashed=True))
    picture = svg.chart(
        lines, bands, x_title="step", label="Elapsed time over steps, with the projection", seconds=True
    )
    return f"<h2>When it ends</h2><figure>{picture}</figure>" if picture else ""


def _length(analysis: Analysis) -> str:
    steps, growth = analysis.run.steps, analysis.growth
    known = steps.drop_nulls("len_mean")
    if not known.height:
        return ""
    lines = [svg.Line("mean length", known["step"].to_list(), known["len_mean"].to_list(), look("update").light)]
    longest = steps.drop_nulls("len_max")
    if longest.height:
        lines.append(
            svg.Line("longest", longest["step"].to_list(), longest["len_max"].to_list(), look("old_logprob").light)
        )
    if growth.limit is not None:
        ends = [known["step"].to_list()[0], known["step"].to_list()[-1]]
        lines.append(svg.Line("limit", ends, [growth.limit, growth.limit], look("evaluation").light, dashed=True))
    picture = svg.chart(lines, [], x_title="step", label="Answer length in tokens over steps", seconds=False)
    return (
        f"<h2>Answer length (tokens)</h2><figure>{picture}<figcaption>{escape(growth.sentence)}</figcaption></figure>"
    )


def _difference(difference: DifferencePart) -> str:
    rows = [(each.part, words.signed_seconds(each.seconds), units.show_share(each.share)) for each in difference.parts]
    rows.append(("together", words.signed_seconds(difference.step_s), ""))
    table = html_table(("part", "seconds a step", "share"), rows) if difference.parts else ""
    return f"<h2>From {escape(difference.a)} to {escape(difference.b)}</h2>{table}<p>{escape(difference.sentence)}</p>"


def html_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of texts; the first column stands left, the others right."""

    def cells(row: Sequence[str], tag: str) -> str:
        return "".join(f"<{tag}{' class=n' if at else ''}>{escape(cell)}</{tag}>" for at, cell in enumerate(row))

    body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
    return f"<table><tr>{cells(head, 'th')}</tr>{body}</table>"


def _list(title: str, items: Sequence[str]) -> str:
    if not items:
        return ""
    return f"<h2>{escape(title)}</h2><ul>{''.join(f'<li>{escape(item)}</li>' for item in items)}</ul>"


def _notes(notes: Sequence[NotePart]) -> str:
    return _list(
        "Notes",
        [
            f"{each.kind}: {each.text}"
            + (f" × {each.count:,}" if each.count > 1 else "")
            + (f" (line {each.line:,})" if each.line else "")
            for each in notes
        ],
    )
