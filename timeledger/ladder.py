"""The smoke plan: 2, 10 and 20 steps before the long run, what each must show, how long each takes here, and its command."""

from __future__ import annotations

from typing import Final

from pydantic import BaseModel, ConfigDict

from timeledger.frameworks import Framework, steps_setting, written
from timeledger.plan_inputs import PlanInputs
from timeledger.run import Text
from timeledger.said import say
from timeledger.step_cost import step_cost, total_s

#: Loading the model and starting the engine, where nobody says otherwise: with it the lesson's three tests take 25 minutes.
LOAD_S: Final = 140.0
_GATES: Final = (
    (2, say("no out-of-memory error, and one full cycle: generate, reward, update, weight sync")),
    (
        10,
        say("ratio near 1, adv_std neither 0 nor exploding, reward and accuracy moving the same way, memory to spare"),
    ),
    (20, say("the trend is right: reward rises; from here the measured step time beats any formula")),
)


class Rung(BaseModel):
    """One test: `seconds` from the start of the process to its end; `command` sets what differs from the long run."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    steps: int
    seconds: float
    must_show: Text
    command: str | None


class Ladder(BaseModel):
    """All tests in order, the long run last; `smoke_s` is what the tests before it take together."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rungs: tuple[Rung, ...]
    smoke_s: float
    load_s: float


def ladder(inputs: PlanInputs, framework: Framework | None = None, load_s: float | None = None) -> Ladder:
    """The ladder of a plan; `load_s`: seconds from the start of the process to the first step.

    Tests as long as the run itself are left out. They are priced with the late length, so they end a little earlier.
    """
    load = LOAD_S if load_s is None else load_s
    startup = load + (inputs.startup_s or 0.0)
    step_s = step_cost(inputs).plain_s
    rungs = [
        Rung(steps=steps, seconds=startup + steps * step_s, must_show=gate, command=_command(inputs, framework, steps))
        for steps, gate in _GATES
        if steps < inputs.steps
    ]
    last = Rung(
        steps=inputs.steps,
        seconds=load + total_s(inputs),
        must_show=say("the step time stays what the 20 steps said, apart from what longer answers cost"),
        command=None if framework is None else written(framework, steps_setting(framework, inputs, inputs.steps)),
    )
    return Ladder(
        rungs=(*rungs, last),
        smoke_s=sum(each.seconds for each in rungs),
        load_s=load,
    )


def _command(inputs: PlanInputs, framework: Framework | None, steps: int) -> str | None:
    """The settings of a short run: its steps, every step logged, nothing evaluated or saved."""
    if framework is None:
        return None
    return written(framework, {**steps_setting(framework, inputs, steps), **dict(framework.quiet)})
