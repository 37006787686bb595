"""The report as one self-contained HTML file: the answer first, then its evidence, then its detail.

Every text that comes from a log is escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, tzinfo
from html import escape

import polars as pl

from timeledger import advice_words, svg, units, words
from timeledger.compare import Comparison, Ledger
from timeledger.document import NotePart, RunReport
from timeledger.html_page import figure, folded, folded_list, html_table, listed, page
from timeledger.palette import look, place
from timeledger.report import compare_document, report
from timeledger.results import Analysis

_STATES = {"running": "▶", "finished": "✓", "stalled": "‖", "ended early": "■"}


def show(analyses: Sequence[Analysis], zone: tzinfo | None = None) -> str:
    """A page with a section a run; moments in `zone` (default: the machine's)."""
    title = ", ".join(each.run.name for each in analyses[:3])
    return page(title, "".join(_run(each, report(each), zone) for each in analyses))


def compare(comparison: Comparison, zone: tzinfo | None = None) -> str:
    """A page with every difference, the table of runs, their profiles, and a section a run."""
    document = compare_document(comparison)
    head = ("run", "steps", "step time", "per 1,000 tokens", "sampling", "answers", "total")
    table = html_table(head, [words.compare_row(run) for run in document.runs])
    differences = "".join(_difference(each) for each in comparison.differences)
    profiles = _profiles(comparison)
    first = f"<section><h1>Comparison</h1>{differences}<h2>Side by side</h2>{table}{profiles}</section>"
    runs = [_run(each, run, zone) for each, run in zip(comparison.analyses, document.runs, strict=True)]
    return page(" and ".join(run.run.name for run in document.runs[:2]), first + "".join(runs))


def _run(analysis: Analysis, run: RunReport, zone: tzinfo | None) -> str:
    part = run.run
    share = part.step / part.total_steps if part.step is not None and part.total_steps else None
    bar = f'<div class="bar"><i style="width:{min(share, 1.0):.1%}"></i></div>' if share is not None else ""
    blocks = [
        f'<h1>{escape(part.name)}</h1><span class="state">{_STATES.get(part.state, "?")} {escape(part.state)}</span>',
        f'<span class="soft">{escape(_about(run, analysis.facts.now, zone))}</span>{bar}',
        _cards(run, zone) if part.step is not None else "",
        f'<p class="say">{escape(run.headline)}</p>',
        "".join(f"<p>{escape(text)}</p>" for text in (words.remaining(run), words.worst_case(run)) if text),
        "".join(f'<p class="soft">⚠ {escape(text)}</p>' for text in run.projection.warnings),
        _advice(run),
        _phases(analysis, run),
        _fan(analysis),
        _length(analysis),
        listed("What it depends on", [f"{label}: {value}" for label, value in words.facts(run)]),
        listed("Because", run.projection.because),
        f"<h2>Engine</h2><p>{escape(run.engine.sentence)}</p>" if run.engine is not None else "",
        _checks(run),
        folded_list("Not judged from this log, and how to log it", advice_words.not_judged(run.not_judged)),
        _notes(run.notes),
    ]
    return f"<section>{''.join(blocks)}</section>"


def _about(run: RunReport, now: datetime | None, zone: tzinfo | None) -> str:
    part = run.run
    told = [part.framework or part.format]
    if part.step is not None:
        told.append(f"step {part.step:,}" + (f" of {part.total_steps:,}" if part.total_steps else ""))
    return " · ".join([*told, *([words.as_of(now, zone)] if now is not None else [])])


def _cards(run: RunReport, zone: tzinfo | None) -> str:
    cost, length, breakdown = run.cost, run.length, run.breakdown
    found = [words.finish(run, zone)]
    if run.clock.step_s is not None:
        found.append(("Step now", units.show_seconds(run.clock.step_s), f"from {run.clock.origin}"))
    if breakdown.sampling_share is not None:
        training = breakdown.training_share
        under = "" if training is None else f"training {units.show_share(training)}"
        found.append(("Sampling", f"{units.show_share(breakdown.sampling_share)} of a step", under))
    if length.last is not None:
        under = "limit not known" if length.limit is None else f"limit {length.limit:,.0f}"
        found.append(("Answers", f"{units.show_number(length.last)} tokens", under))
    if cost is not None:
        hours = f"{units.show_number(cost.gpu_hours)} GPU-hours"
        money = "" if cost.money is None else f"{units.show_number(cost.money)} {cost.currency}".rstrip()
        found.append(("Cost", money or hours, hours if money else "the whole run"))
    cards = "".join(
        f'<div class="card"><span>{escape(head)}</span><b>{escape(value)}</b><span>{escape(under)}</span></div>'
        for head, value, under in found
    )
    return f'<div class="cards">{cards}</div>'


def _advice(run: RunReport) -> str:
    """What to change first, card by card."""
    cards = "".join(
        f"<h3>{escape(each.title)} <span class=soft>{escape(advice_words.tier(each.tier))}</span></h3>"
        + "".join(f"<p>{escape(line)}</p>" for line in advice_words.card(each))
        for each in run.advice
    )
    return f"<h2>Change first</h2>{cards}" if cards else ""


def _checks(run: RunReport) -> str:
    rows = advice_words.check_rows(run.checks) if run.run.step is not None else []
    return folded(f"Checks ({len(rows)})", html_table(advice_words.CHECK_HEAD, rows, numbers=False)) if rows else ""


def _phases(analysis: Analysis, run: RunReport) -> str:
    """The mean step as a bar and a table, then every step over the run."""
    found = run.breakdown
    title = "<h2>Where a step’s time goes</h2>"
    if found.step_s is None:
        return f"{title}<p>{escape(found.why)}</p>" if found.why else ""
    rows = words.step_rows(found)
    text = ", ".join(f"{look(phase).label} {units.show_share(share)}" for phase, _, share, _ in rows)
    bar = svg.stacked_bar([(phase, share) for phase, _, share, _ in rows], text)
    lines = "".join(
        f"<tr><td>{svg.phase_swatch(phase)}{escape(look(phase).label)}</td>"
        f'<td class="n">{units.show_seconds(seconds)}</td><td class="n">{units.show_share(share)}</td><td>{escape(origin)}</td></tr>'
        for phase, seconds, share, origin in rows
    )
    why = f'<p class="soft">{escape(found.why)}</p>' if found.why else ""
    table = f"<table><caption>A mean step of {units.show_seconds(found.step_s)}</caption>{lines}</table>"
    return f"{title}<figure>{bar}</figure>{table}{why}{figure(_every_step(analysis), 'Every step, in seconds.')}"


def _every_step(analysis: Analysis) -> str:
    long = analysis.breakdown.by_step
    if long.is_empty() or set(long["phase"].unique()) <= {"unexplained"}:
        return ""
    wide = long.pivot(on="phase", index="step", values="seconds", aggregate_function="sum").sort("step").fill_null(0.0)
    names = sorted((name for name in wide.columns if name != "step"), key=place)
    phases = [(name, wide[name].fill_nan(0.0).to_list()) for name in names]
    return svg.stacked_steps(wide["step"].to_list(), phases, label="Seconds of every step, by phase")


def _fan(analysis: Analysis) -> str:
    steps, fan = analysis.clock.steps, analysis.projection.fan
    lines, bands = [], []
    if steps.height:
        lines.append(svg.Line("so far", steps["step"].to_list(), steps["end_s"].to_list(), svg.INK))
    if fan.height:
        x, level = fan["step"].to_list(), units.show_share(analysis.projection.level)
        bands.append(svg.Band(f"{level} interval", x, fan["low"].to_list(), fan["high"].to_list(), svg.ACCENT))
        if not analysis.projection.too_early:
            lines.append(svg.Line("most likely", x, fan["elapsed_s"].to_list(), svg.ACCENT, "6 4"))
        if fan["worst"].count():
            lines.append(svg.Line("all answers at the limit", x, fan["worst"].to_list(), svg.ALARM, "2 3"))
    label = "Elapsed time over steps, with the projection"
    picture = svg.chart(lines, bands, x_title="step", label=label, seconds=True)
    title = "When it ended" if analysis.state == "finished" else "When it ends"
    return f"<h2>{title}</h2>{figure(picture)}" if picture else ""


def _length(analysis: Analysis) -> str:
    steps, growth = analysis.run.steps, analysis.growth
    known = steps.drop_nulls("len_mean")
    if not known.height:
        return ""
    lines = [svg.Line("mean", known["step"].to_list(), known["len_mean"].to_list(), svg.ACCENT)]
    longest = steps.drop_nulls("len_max")
    if longest.height:
        lines.append(svg.Line("longest", longest["step"].to_list(), longest["len_max"].to_list(), svg.SOFT))
    if growth.limit is not None:
        ends = [known["step"].to_list()[0], known["step"].to_list()[-1]]
        lines.append(svg.Line(f"limit {growth.limit:,.0f}", ends, [growth.limit, growth.limit], svg.ALARM, "2 3"))
    picture = svg.chart(lines, [], x_title="step", label="Answer length in tokens over steps", seconds=False)
    return f"<h2>How long answers are, in tokens</h2>{figure(picture, growth.sentence)}"


def _difference(difference: Ledger) -> str:
    """The sentence, then bars that add up to it, then the numbers."""
    rows: list[tuple[str, str, str]] = [
        (each.part, words.signed_seconds(each.seconds), units.show_share(each.share)) for each in difference.parts
    ]
    rows.append(("together", words.signed_seconds(difference.step_s), ""))
    table = html_table(("part", "seconds a step", "share"), rows) if difference.parts else ""
    sentence = difference.sentence[:1].upper() + difference.sentence[1:]
    head = f"<h2>Why {escape(difference.b)} takes longer or shorter than {escape(difference.a)}</h2>"
    return f'{head}<p class="say">{escape(sentence)}</p>{_bars(difference, sentence)}{folded("In numbers", table)}'


def _bars(difference: Ledger, sentence: str) -> str:
    if difference.from_s is None or not difference.parts:
        return ""
    parts = [(each.part, each.seconds) for each in difference.parts if each.seconds]
    return figure(svg.waterfall(difference.a, difference.b, difference.from_s, parts, label=sentence))


def _profiles(comparison: Comparison) -> str:
    """A bar a run on one scale, where logs split a step."""
    told = comparison.profiles
    if told.is_empty():
        return ""
    longest = told.group_by("run").agg(pl.col("seconds").sum())["seconds"].max()
    whole = longest if isinstance(longest, float) and longest > 0 else 1.0
    bars = ""
    seen: set[str] = set()
    for run in comparison.table["run"]:
        rows = sorted(
            told.filter(pl.col("run") == run).select("phase", "seconds").rows(), key=lambda row: place(row[0])
        )
        total = sum(seconds for _, seconds in rows)
        if not total:
            continue
        seen.update(phase for phase, _ in rows)
        parts = [(phase, seconds / total) for phase, seconds in rows]
        bar = svg.stacked_bar(parts, f"{run}: a step of {units.show_seconds(total)}", of=total / whole)
        bars += f"<p>{escape(run)}: {units.show_seconds(total)}</p>{bar}"
    keys = "".join(
        f"<span>{svg.phase_swatch(each)}{escape(look(each).label)}</span>" for each in sorted(seen, key=place)
    )
    return f'<h2>Where a step’s time goes</h2><p class="keys">{keys}</p><figure>{bars}</figure>'


def _notes(notes: Sequence[NotePart]) -> str:
    told = [
        f"{each.kind}: {each.text}"
        + (f" × {each.count:,}" if each.count > 1 else "")
        + (f" (line {each.line:,})" if each.line else "")
        for each in notes
    ]
    return folded_list(f"Notes ({len(told)})", told)
