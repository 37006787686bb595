"""What to change: three lines for the run view, cards by tier, the finish under what is ticked, what was not judged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import streamlit as st

from dashboard import judging, parts, state, summary
from dashboard.language import mark, retold, t
from dashboard.load import Entry
from dashboard.localised import moment, seconds, share
from dashboard.summary import Card
from timeledger.advice import Advice, Combined, NotJudged, combine
from timeledger.results import Analysis, Span
from timeledger.said import commas

#: Tiers as headings, what a change of each costs in a word, and what a saving may be counted on.
TIERS: Final = {
    0: mark("Look first"),
    1: mark("Free: same samples, same update"),
    2: mark("Same goal by another path: check the result"),
    3: mark("Length: changes what the model may say"),
    4: mark("Group size: last, never below 4"),
}
_PRICE: Final = {1: mark("free"), 2: mark("check the result"), 3: mark("changes lengths"), 4: mark("last")}
#: How sure a saving is, for the catalogue.
_SURE: Final = (mark("high"), mark("medium"), mark("low"))


def change_first(entry: Entry, analysis: Analysis) -> None:
    """The three best changes, one line each, and the way to all of them."""
    best = [each for each in judging.judged(entry, analysis).advised.advice if each.tier > 0][:3]
    if not best:
        return
    rows = "".join(f"<li><b>{parts.safe(retold(each.title))}</b> {_gain(each)}</li>" for each in best)
    with st.container(horizontal=True, vertical_alignment="bottom", key="tl_first"):
        st.html(
            f'<div class="tl-first"><span>{parts.safe(t("Change first"))}</span><ol>{rows}</ol></div>', width="content"
        )
        st.page_link("views/optimise.py", label=t("Optimise"), icon=":material/speed:", query_params=state.query())


def _gain(advice: Advice) -> str:
    cost = t(_PRICE[advice.tier])
    saves = f"−{seconds(advice.saves_s.mid)}" if advice.saves_s else ""
    return f'<span class="w">{parts.safe(parts.together(" · ".join(filter(None, (saves, cost)))))}</span>'


def cards(found: Sequence[Advice]) -> tuple[Advice, ...]:
    """All advice, tier by tier; what is ticked."""
    ticked = []
    for tier in sorted({each.tier for each in found}):
        parts.head(t(TIERS[tier]))
        for each in found:
            if each.tier == tier and _card(each):
                ticked.append(each)
    return tuple(ticked)


def _card(advice: Advice) -> bool:
    with st.container(border=True, key=f"tl_advice_{advice.rule}"):
        label = f"**{parts.quiet(retold(advice.title))}**"
        if advice.removes:
            known = advice.rule in state.ticked()
            chosen = st.checkbox(label, known, key=f"tick_{advice.rule}", persist_state="session")
        else:
            st.markdown(label)
            chosen = False
        lines = [("tl-saves", _saving(advice)), ("", retold(advice.symptom))]
        if advice.tier > 0:
            lines.append(("w", t("Costs: {cost}.", cost=advice.cost)))
        if advice.published:
            lines.append(("w", t("Others saw: {published}.", published=advice.published)))
        st.html(
            "".join(f'<p class="tl-line {name}">{parts.safe(parts.together(text))}</p>' for name, text in lines if text)
        )
        if advice.settings:
            st.code(
                "\n".join(f"{name}: {retold(change)}" for name, change in advice.settings.items()),
                language=None,
                wrap_lines=True,
            )
    return chosen


def _saving(advice: Advice) -> str:
    if advice.saves_s is None:
        return t("up to {share} of a step", share=share(advice.ceiling)) if advice.ceiling else ""
    saves = t(
        "saves {time} of {of}, between {low} and {high}",
        time=seconds(advice.saves_s.mid), of=advice.of, low=seconds(advice.saves_s.low), high=seconds(advice.saves_s.high),
    )  # fmt: skip
    return t("{saving}; confidence {confidence}", saving=saves, confidence=t(advice.confidence))


def settings(chosen: Sequence[Advice]) -> str:
    """The new values of all ticked advice, to be copied; what is said twice stands once."""
    new = {name: retold(change).rpartition(" -> ")[2] for each in chosen for name, change in each.settings.items()}
    return "\n".join(f"{name}={value}" for name, value in new.items())


def finishes(analysis: Analysis, found: Sequence[Advice], ticked: Sequence[Advice]) -> list[Card]:
    """The finish as it is, beside the finish under what is ticked (under all that is free, while nothing is)."""
    before = summary.finish(analysis, state.zone())
    tried = ticked or [each for each in found if each.tier == 1 and each.removes]
    if not tried:
        return [before]
    made, title = combine(analysis, tried), t("With what is ticked") if ticked else t("With all that is free")
    if made.saves_s is None or made.left_s is None:
        return [before, Card(title, t("−{share} of a step", share=share(made.share.mid)), (), "inferred")]
    of = t("of {of}", of=made.of)
    card = Card(t("Saves"), seconds(made.saves_s.mid), (*_range(made.saves_s), of), "inferred")
    return [before, _after(analysis, made, title), card]


def _range(span: Span) -> tuple[str, ...]:
    return (t("between {low} and {high}", low=seconds(span.low), high=seconds(span.high)),)


def _after(analysis: Analysis, made: Combined, title: str) -> Card:
    projection, now, zone = analysis.projection, analysis.facts.now, state.zone()
    left = made.left_s or Span(0.0, 0.0, 0.0)
    if projection.finish_at is None or projection.remaining_s is None or analysis.state not in {"running", "unknown"}:
        over = projection.remaining_s is None or projection.remaining_s.high <= 0
        value = t("would have taken {time}", time=seconds(left.mid)) if over else seconds(left.mid)
        return Card(title, value, _range(left), "inferred")
    middle = projection.finish_at[1]
    ends = [summary.shifted(middle, each - projection.remaining_s.mid, now) for each in (left.low, left.mid, left.high)]
    low, mid, high = ends
    between = t(
        "between {low} and {high}", low=summary.near(low, mid, now, zone), high=summary.near(high, mid, now, zone)
    )
    return Card(title, moment(mid, now, zone), (between,), "inferred")


def not_judged(rules: Sequence[NotJudged]) -> None:
    """Rules that this log cannot decide, by what would decide them."""
    if not rules:
        return
    ways: dict[str, list[str]] = {}
    for each in rules:
        for how in each.how:
            ways.setdefault(retold(how).rstrip(".。"), []).append(retold(each.title))
    with st.expander(
        t("Not judged, because this log does not hold it ({count} rules)", count=len(rules)),
        icon=":material/visibility_off:",
    ):
        st.caption(t("What is not measured is not judged. To judge more, most useful first:"))
        rows = "".join(
            f"<li>{parts.safe(how)} <span class='w'>→ {parts.safe(retold(commas(titles)))}</span></li>"
            for how, titles in sorted(ways.items(), key=lambda way: -len(way[1]))
        )
        st.html(f'<ul class="tl-notes">{rows}</ul>')
