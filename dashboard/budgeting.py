"""What fits into the time: hours and pins asked for, the staircase of cuts, and what each does to the conclusion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import streamlit as st

from dashboard import charts_budget, parts, planning, saving, summary
from dashboard.language import mark, retold, shown, t
from dashboard.localised import seconds
from dashboard.summary import Card
from timeledger import units
from timeledger.budget import ORDER, Budget, Cut, solve
from timeledger.frameworks import Framework
from timeledger.plan import PlanInputs, steps_within

#: The levers in the lesson's order, as people call them.
LEVERS: Final = {
    "steps": mark("steps"),
    "data": mark("questions seen"),
    "max_tokens": mark("limit on answer tokens"),
    "group_size": mark("answers per prompt, G"),
    "eval_questions": mark("evaluation questions"),
}
_HOURS: Final = 3.0
#: In the link: the upper end must fit.
_SURE: Final = "sure"
_MOST_STEPS: Final = 10_000_000


def ask() -> tuple[float, tuple[str, ...], bool]:
    """Hours, what must not be cut, and whether the upper end must fit as well."""
    hours = st.number_input(
        t("Hours I have"),
        min_value=0.01,
        value=planning.hours() or _HOURS,
        step=0.5,
        format="%g",
        key="budget_hours",
        persist_state="session",
    )
    planning.set_hours(hours if hours != _HOURS else None)
    pins = st.pills(
        t("Do not cut"), list(ORDER), selection_mode="multi", format_func=shown(LEVERS), key="budget_pins", persist_state="session",
        default=[each for each in ORDER if each in planning.pins()],
        help=t("Cuts are made in this order; a later one only when the earlier ones do not suffice."),
    )  # fmt: skip
    sure = st.toggle(
        t("Be on the safe side"),
        value=_SURE in planning.pins(),
        key="budget_sure",
        persist_state="session",
        help=t("The upper end of the interval must fit, not only the middle."),
    )
    planning.pin((*pins, *((_SURE,) if sure else ())))
    return hours, tuple(pins), sure


def solved(inputs: PlanInputs, hours: float, pins: Sequence[str], sure: bool, framework: Framework | None) -> Budget:
    """The cuts.

    Raises:
        ImpossiblePlan: hours that are no time.
    """
    return solve(inputs, hours, pins, framework, sure=sure)


def cards(inputs: PlanInputs, found: Budget) -> list[Card]:
    """The answer in numbers."""
    have = seconds(found.hours * units.HOUR)
    answers = [Card(t("As planned"), seconds(found.before_s), (_times(inputs),), "assumed")]
    if not found.cuts and found.fits:
        most = steps_within(inputs, found.hours * units.HOUR, _MOST_STEPS)
        return [
            *answers,
            Card(
                t("Fits into {time}", time=have),
                t("{count} steps", count=f"{most:,}"),
                (t("at most; {steps} are planned", steps=f"{inputs.steps:,}"),),
                "inferred",
            ),
        ]
    title = t("After the cuts") if found.fits else t("Does not fit into {time}", time=have)
    saved = t("saves {time}", time=seconds(found.before_s - found.after_s))
    answers.append(Card(title, seconds(found.after_s), (saved, _times(found.plan.inputs)), "inferred"))
    if found.plan.cost is not None:
        answers.append(
            Card(
                t("Cost"),
                summary.money(found.plan.cost) or summary.gpu_hours(found.plan.cost),
                (summary.gpu_hours(found.plan.cost),) if summary.money(found.plan.cost) else (),
                "inferred",
            )
        )
    return answers


def _times(inputs: PlanInputs) -> str:
    return t(
        "{steps} steps of {prompts} × {answers} answers",
        steps=f"{inputs.steps:,}",
        prompts=f"{inputs.prompts:,}",
        answers=f"{inputs.group_size:,}",
    )


def show(found: Budget, dark: bool) -> None:
    """The staircase, each cut in words, what was left alone and why, and the settings."""
    have = seconds(found.hours * units.HOUR)
    sentence = t("The plan fits into {time}; nothing has to give.", time=have)
    if found.cuts:
        cuts = t("; ").join(
            t("{what} (−{time})", what=_step_down(each), time=seconds(each.saves_s)) for each in found.cuts
        )
        sentence = t(
            "From {before} to {after}: {cuts}.", before=seconds(found.before_s), after=seconds(found.after_s), cuts=cuts
        )
    parts.chart(charts_budget.staircase(found, dark), "staircase", sentence, title=t("What has to give"))
    if found.nearest is not None:
        st.warning(parts.quiet(retold(found.nearest.sentence)), icon=":material/block:")
    for cut in found.cuts:
        _cut(cut)
    if found.kept:
        parts.head(t("Left alone"))
        parts.hints([f"{t(LEVERS[what])}{t(': ')}{retold(why)}" for what, why in found.kept.items()])
    if found.settings and found.cuts:
        parts.head(t("Settings to copy"))
        copied = "\n".join(f"{retold(name)}={retold(value)}" for name, value in found.settings.items())
        st.code(copied, language=None)
        saving.text(t("Save the settings"), "budget-settings", "txt", "text/plain", copied)


def _step_down(cut: Cut) -> str:
    return f"{t(LEVERS[cut.what])} {cut.before:,} → {cut.after:,}"


def _cut(cut: Cut) -> None:
    head = _step_down(cut)
    rows = (("", head), ("tl-saves", t("saves {time}", time=seconds(cut.saves_s))), ("", retold(cut.effect)))
    lines = "".join(f'<p class="tl-line {name}">{parts.safe(parts.together(text))}</p>' for name, text in rows[1:])
    st.html(f'<div class="tl-card tl-cut"><b>{parts.safe(head)}</b>{lines}</div>')
