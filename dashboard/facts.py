"""What the log does not say and the reader may know: total steps, limits, evaluations, GPUs, price."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import streamlit as st

from dashboard import load, state
from dashboard.language import mark, t
from dashboard.load import Entry
from dashboard.packed import Typed
from timeledger.results import Analysis


@dataclass(frozen=True, slots=True)
class Field:
    """One input: the name in `Facts`, the label, whole numbers or not, the setting that already says it, a hint."""

    name: str
    label: str
    whole: bool
    setting: str | None
    help: str


FIELDS: Final = (
    Field("total_steps", mark("Total steps"), True, "total_steps", mark("Planned optimizer steps; without it no end can be told.")),
    Field("max_tokens", mark("Limit on answer tokens"), True, "max_tokens", mark("max_completion_length, max_tokens, ...: gives the worst case.")),
    Field("eval_every", mark("An evaluation every … steps"), True, "eval_steps", mark("Evaluations still to come are added to the time.")),
    Field("eval_s", mark("Seconds of one evaluation"), False, None, mark("Needed only while none has been seen in the log.")),
    Field("save_every", mark("A checkpoint every … steps"), True, "save_steps", mark("Checkpoints still to come are added to the time.")),
    Field("save_s", mark("Seconds of one checkpoint"), False, None, mark("Needed only while none has been seen in the log.")),
    Field("gen_tok_s", mark("Generation throughput, tok/s"), False, "gen_tok_s", mark("From `vllm bench`: splits a step into sampling and training.")),
    Field("gpus", mark("GPUs"), True, "gpus", mark("GPUs of the whole job: gives GPU-hours.")),
    Field("gpu_gib", mark("Memory of one GPU, GiB"), False, "gpu_gib", mark("Lets advice say whether there is memory to spare.")),
    Field("price_per_gpu_hour", mark("Price of a GPU-hour"), False, None, mark("Gives the cost.")),
)  # fmt: skip


def ask(entry: Entry) -> None:
    """The popover with the inputs; what is typed is kept for this run, in the link too, and used at once."""
    known = load.facts(entry.key)
    values: dict[str, Typed] = {}
    with st.popover(t("Your facts"), icon=":material/edit:", help=t("What the log does not say")):
        st.caption(t("Leave empty what you do not know. The log's own values are used unless you type another."))
        for at in range(0, len(FIELDS), 2):
            for place, each in zip(st.columns(2), FIELDS[at : at + 2], strict=False):
                with place:
                    values[each.name] = _number(entry, each, getattr(known, each.name))
        values["currency"] = st.text_input(
            t("Currency"), known.currency[:8], key=f"fact_{entry.key}_currency", max_chars=8
        )
        values["eval_at_end"] = (
            st.checkbox(t("An evaluation follows the last step"), bool(known.eval_at_end), key=f"fact_{entry.key}_end")
            or None
        )
    state.give(entry.key, values)


def ask_total(entry: Entry, analysis: Analysis) -> None:
    """The one number without which no end can be told, asked for where the end is missed."""
    if analysis.projection.total_steps is not None or analysis.clock.step_s is None or analysis.state == "finished":
        return
    key = f"ask_total_{entry.key}"
    with st.container(key="tl_ask"):
        st.number_input(
            t("How many steps are planned?"), min_value=1, value=None, step=1, key=key, width=300,
            placeholder=t("type it, and the end is told"), on_change=_take_total, args=(entry.key, key),
        )  # fmt: skip


def _take_total(run: str, key: str) -> None:
    if (total := st.session_state[key]) is not None:
        state.give(run, state.given(run) | {"total_steps": total})
        st.session_state[f"fact_{run}_total_steps"] = total


def _number(entry: Entry, field: Field, known: float | None) -> float | int | None:
    said = entry.run.info.setting(field.setting) if field.setting else None
    placeholder = t("not known") if said is None or isinstance(said, str) else t("{value} (log)", value=f"{said:g}")
    key = f"fact_{entry.key}_{field.name}"
    value = known if key not in st.session_state else None
    if field.whole:
        start = None if value is None else int(value)
        return st.number_input(
            t(field.label), min_value=1, value=start, step=1, key=key, help=t(field.help), placeholder=placeholder
        )
    start_f = None if value is None else float(value)
    return st.number_input(
        t(field.label),
        min_value=0.0,
        value=start_f,
        step=None,
        format="%g",
        key=key,
        help=t(field.help),
        placeholder=placeholder,
    )
