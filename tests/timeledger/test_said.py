"""A sentence that remembers how it was made is a plain text to everyone else."""

from __future__ import annotations

import copy
import json
import pickle
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from datetime import timedelta
from typing import Any

import polars as pl
import pytest
from pydantic import BaseModel

from tests.simulate import START, Observed, Plan, simulate
from timeledger import said
from timeledger.account import account
from timeledger.advice import advise
from timeledger.analysis import analyse
from timeledger.budget import solve
from timeledger.compare import within
from timeledger.document import NotePart
from timeledger.plan import estimate, from_run
from timeledger.results import Facts
from timeledger.run import Note, Run, Text
from timeledger.said import Said, say
from timeledger.smoke import check
from timeledger.units import show_seconds, show_share


def told() -> Said:
    made = say("{what} takes {time}", what=say("a step"), time=show_seconds(252))
    assert isinstance(made, Said)
    return made


def test_it_is_the_english_text() -> None:
    made = told()
    assert made == "a step takes 4 m 12 s"
    assert f"{made}." == "a step takes 4 m 12 s."
    assert hash(made) == hash("a step takes 4 m 12 s")
    assert json.dumps({"text": made}) == '{"text": "a step takes 4 m 12 s"}'
    assert type(str(made)) is str


def test_it_remembers_its_parts() -> None:
    made = told()
    assert made.template == "{what} takes {time}"
    time = made.values["time"]
    assert isinstance(time, Said)
    assert (time.template, dict(time.values)) == ("{m} m {s} s", {"m": "4", "s": "12"})


@pytest.mark.parametrize("copied", [lambda each: pickle.loads(pickle.dumps(each)), copy.copy, copy.deepcopy])
def test_a_copy_remembers_too(copied: object) -> None:
    again = copied(told())  # type: ignore[operator]
    assert (again, again.template, again.values) == (told(), told().template, told().values)
    assert isinstance(again.values["time"], Said)


def test_a_changed_note_keeps_what_was_said() -> None:
    text = replace(Note("info", 1, told()), count=2).text
    assert isinstance(text, Said)


def test_documents_hold_the_plain_text() -> None:
    part = NotePart(kind="info", line=1, text=told(), count=1, source="")
    assert type(part.text) is str
    assert '"text":"a step takes 4 m 12 s"' in part.model_dump_json()


def test_a_model_keeps_it_where_it_says_so() -> None:
    class Kept(BaseModel):
        one: Text
        many: tuple[Text, ...]

    kept = Kept(one=told(), many=(told(), "a plain text"))
    assert isinstance(kept.one, Said)
    assert [type(each) for each in kept.many] == [Said, str]
    assert kept.model_dump_json() == '{"one":"a step takes 4 m 12 s","many":["a step takes 4 m 12 s","a plain text"]}'
    with pytest.raises(ValueError, match="string"):
        Kept(one=3, many=())  # type: ignore[arg-type]


def test_texts_are_joined() -> None:
    a, b, c = say("one"), say("two"), say("three")
    assert said.sentences("", a, None, b) == "one two"
    assert said.commas([a, b, c]) == "one, two, three"
    assert said.clauses([a, b, c]) == "one; two; three"
    assert [said.listing(each) for each in ([a], [a, b], [a, b, c])] == ["one", "one and two", "one, two and three"]
    assert isinstance(said.listing([a, b, c]), Said)


def test_letters_and_full_stops_change_in_english_only() -> None:
    made = say("One {share}.", share=show_share(0.5))
    assert (said.lower(made), said.unstopped(made)) == ("one 50 %.", "One 50 %")
    for each in (said.lower(made), said.upper(made), said.unstopped(made)):
        assert isinstance(each, Said)
        assert each.template == "One {share}."
    assert said.upper("a name") == "A name"


def test_braces_of_a_value_stay() -> None:
    assert say("{name}: no", name="{x} {") == "{x} {: no"
    assert say("a {literal} text") == "a {literal} text"


def texts(value: object, place: str = "") -> Iterator[tuple[str, str]]:
    """Every text inside results, with the name of its field; runs, logs and frames are not looked into."""
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, Run | Facts | pl.DataFrame):
        return
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from texts(getattr(value, name), name)
    elif is_dataclass(value):
        for each in fields(value):
            yield from texts(getattr(value, each.name), each.name)
    elif isinstance(value, Mapping):
        for name, each in value.items():
            yield from texts(each, str(name))
    elif isinstance(value, Sequence):
        for each in value:
            yield from texts(each, place)


#: What only the command line and the documents hold (citations, the name of a method, what a rule lacks), and names of parts.
ENGLISH_ONLY = {"source", "method", "lacks", "part"}
WORLDS: dict[str, tuple[Plan, dict[str, Any]]] = {
    "plain": (Plan(), {}),
    "growing": (Plan(len_first=100, len_last=900, planned=600, eval_every=20, eval_s=90.0, save_every=25, save_s=30.0), {}),
    "shrinking": (Plan(len_first=800, len_last=150, warmup=(4.0, 2.0), pauses=((60, 900.0),)), {}),
    "few steps": (Plan(steps=3, planned=300), {}),
    "no plan": (Plan(steps=40), {"settings": {"total_steps": 0}}),
    "resumed": (Plan(steps=120, planned=400, resumes=((60, 50, 1200.0),)), {}),
    "cycles": (Plan(cycle=4, planned=500), {}),
    "no lengths": (Plan(driver="none", planned=400), {"lengths_shown": False}),
}  # fmt: skip


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("shows", ["stamps", "bar", "step_s"])
def test_everything_the_model_says_can_be_retold(world: str, shows: Observed) -> None:
    plan, how = WORLDS[world]
    run, _ = simulate(plan, shows, **how)
    analysis = analyse(run, Facts(gpus=8, gpu_gib=80.0, now=START + timedelta(hours=2)))
    inputs = from_run(analysis)
    answer = estimate(inputs)
    found = (
        analysis,
        advise(analysis),
        check(analysis),
        within(analysis),
        inputs,
        answer,
        solve(inputs, 0.2),
        account(inputs),
    )
    unsaid = {
        (place, text)
        for each in found
        for place, text in texts(each)
        if not isinstance(text, Said) and len(re.findall(r"[A-Za-z][a-z]+", text)) >= 3 and place not in ENGLISH_ONLY
    }
    assert not unsaid
