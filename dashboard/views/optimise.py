"""What to change first on one run: cards in tiers, and the finish under what is ticked."""

from __future__ import annotations

import streamlit as st

from dashboard import advising, facts, judging, load, one_run, parts, saving, state
from dashboard.language import t

entry, name, tools = one_run.pick(t("Optimise"))
with tools:
    facts.ask(entry)
analysis = load.analysed(entry)
advised = judging.judged(entry, analysis).advised
with name:
    parts.title(analysis)
parts.bar(analysis)
answer = st.container(key="tl_answer")
if not advised.advice:
    parts.empty(
        t("Nothing to change that this log shows."),
        t("The list below says what to log, so that more can be judged."),
    )
ticked = advising.cards(advised.advice)
state.tick(tuple(each.rule for each in ticked))
with answer:
    parts.cards(advising.finishes(analysis, advised.advice, ticked))
    if any(each.removes for each in advised.advice):
        st.caption(
            t(
                "Tick what you would change: savings are computed together, never added up. They are estimates until a run has shown them."
            )
        )
if told := advising.settings(ticked):
    parts.head(t("Settings to copy"))
    st.code(told, language=None)
    saving.text(t("Save the settings"), f"{entry.label}-settings", "txt", "text/plain", told)
advising.not_judged(advised.not_judged)
