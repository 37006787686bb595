"""Before a run: what a configuration costs, from throughputs and lengths that were measured."""

from __future__ import annotations

import streamlit as st

from dashboard import charts_compare, load, parts, plan_inputs, sentences, summary
from dashboard.language import retold, t
from dashboard.localised import seconds, share
from timeledger.plan import EXPERIMENTS, estimate

opened = load.opened()
parts.page_title(t("Plan a run"))
top = st.container(key="tl_answer")
left, right = st.columns([2, 3], gap="large")
with left, st.container(key="tl_inputs"):
    plan_inputs.choose_source(opened)
    with plan_inputs.possible(top):
        inputs = plan_inputs.ask()
answer, before = estimate(inputs), plan_inputs.baseline()
shown = before if before is not None and not plan_inputs.same(before.inputs, inputs) else None
with top:
    parts.cards(summary.plan_cards(answer))
with right:
    figure = charts_compare.plan_step(answer, shown, parts.is_dark())
    parts.chart(figure, "plan", sentences.plan(answer, shown), title=t("One step"))
    plan_inputs.compare_with_run(opened)
    parts.hints([retold(each) for each in answer.hints])
    parts.head(t("Try it"))
    with st.container(horizontal=True):
        for at, (title, _) in enumerate(EXPERIMENTS):
            st.button(retold(title), key=f"try_{at}", on_click=plan_inputs.try_experiment, args=(at,))
        st.button(t("Back to the start"), key="plan_reset", on_click=plan_inputs.reset, type="tertiary")
    st.caption(
        t(
            "Total = (tokens ÷ generation throughput + tokens ÷ training throughput + fixed overhead) × steps. Use the mean length measured late in a run, never the limit. After ten steps a measured step time beats any formula."
        )
    )
    with parts.head_line(t("If one input were different"), "sweep"):
        label, swept = plan_inputs.sweep_one(inputs)
    if swept:
        figure = charts_compare.plan_steps(swept, parts.is_dark())
        parts.chart(figure, "swept", sentences.swept(label, swept))
        rows = [
            (value, seconds(each.step_s), share(each.share("sampling")), seconds(each.total_s.mid))
            for value, each in swept
        ]
        parts.table((label, t("A step"), t("Sampling"), t("The run")), rows, left=1, right_to=4)
    plan_inputs.smoke_ladder(inputs, opened)
