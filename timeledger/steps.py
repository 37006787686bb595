"""What batch settings mean and how many steps a run will have, by framework, with the formula shown.

Read from the code of TRL 1.16 (RepeatSampler and the HF Trainer's count), ms-swift and Unsloth (which run TRL's
sampler), verl (`len(train_dataloader) x total_epochs`, the last batch dropped) and OpenRLHF 0.10 (one global step a
rollout batch, the last one may be smaller).
"""

from __future__ import annotations

import math
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from timeledger.errors import ImpossiblePlan
from timeledger.frameworks import FRAMEWORKS, find_framework

#: Setting -> its name in the frameworks whose batch counts answers (TRL, ms-swift, Unsloth), verl, OpenRLHF.
_NAMES: Final[dict[str, tuple[str, str, str]]] = {
    "per_device": ("per_device_train_batch_size", "", ""),
    "gpus": ("number of processes (GPUs)", "", ""),
    "grad_accumulation": ("gradient_accumulation_steps", "", ""),
    "steps_per_generation": ("steps_per_generation", "", ""),
    "num_iterations": ("num_iterations", "actor.ppo_epochs", "--train.max_epochs"),
    "group_size": ("num_generations", "rollout.n", "--rollout.n_samples_per_prompt"),
    "batch": ("", "data.train_batch_size", "--rollout.batch_size"),
    "mini_batch": ("", "actor.ppo_mini_batch_size", "--train.batch_size"),
    "data_size": ("questions in the training data",) * 3,
    "epochs": ("num_train_epochs", "trainer.total_epochs", "--train.num_episodes"),
    "max_steps": ("max_steps", "trainer.total_training_steps", ""),
}
_DEFAULTS: Final[dict[str, dict[str, float]]] = {
    "trl": {"per_device": 8, "gpus": 1, "grad_accumulation": 1, "num_iterations": 1, "group_size": 8, "epochs": 3},
    "ms-swift": {"per_device": 1, "gpus": 1, "grad_accumulation": 1, "num_iterations": 1, "group_size": 8, "epochs": 1},
    "unsloth": {"per_device": 8, "gpus": 1, "grad_accumulation": 1, "num_iterations": 1, "group_size": 8, "epochs": 3},
    "verl": {"batch": 1024, "mini_batch": 256, "num_iterations": 1, "group_size": 1, "epochs": 30},
    "openrlhf": {"batch": 1024, "mini_batch": 128, "num_iterations": 1, "group_size": 1, "epochs": 1},
}


class BatchSettings(BaseModel):
    """Batch settings; None means the framework's default. `batch` and verl's `mini_batch` count prompts, OpenRLHF's `mini_batch` answers."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    framework: str
    per_device: int | None = Field(default=None, ge=1)
    gpus: int | None = Field(default=None, ge=1)
    grad_accumulation: int | None = Field(default=None, ge=1)
    steps_per_generation: int | None = Field(default=None, ge=1)
    num_iterations: int | None = Field(default=None, ge=1)
    group_size: int | None = Field(default=None, ge=1)
    batch: int | None = Field(default=None, ge=1)
    mini_batch: int | None = Field(default=None, ge=1)
    data_size: int | None = Field(default=None, ge=1)
    epochs: float | None = Field(default=None, gt=0)
    max_steps: int | None = Field(default=None, ge=1)


class Line(BaseModel):
    """One quantity with its formula, the numbers filled in."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    formula: str
    value: float


class StepCount(BaseModel):
    """What a step is and how many there are. `total_steps` counts what the framework's progress bar counts.

    `prompts_per_step` may be a fraction (a step may see less than a group). None where the size of the data is needed.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    framework: str
    sequences_per_step: int
    prompts_per_step: float
    sequences_per_generation: int
    prompts_per_generation: int
    optimizer_steps_per_step: int
    total_steps: int | None
    generations: int | None
    optimizer_steps: int | None
    lines: tuple[Line, ...]
    notes: tuple[str, ...]


def label(framework: str, name: str) -> str:
    """A setting's own name in a framework."""
    place = {"verl": 1, "openrlhf": 2}.get(framework, 0)
    return _NAMES[name][place] or name


def batch_settings(framework: str, values: dict[str, Any]) -> BatchSettings:
    """Settings checked; None means the framework's default.

    Raises:
        ImpossiblePlan: no such framework, or a value that cannot be; the text names the setting.
    """
    found = find_framework(framework)
    if found is None:
        raise ImpossiblePlan("framework", f"{framework!r} is none of {', '.join(FRAMEWORKS)}.")
    used = {name: value for name, value in values.items() if value is not None}
    for name in used:
        if name in _NAMES and not _NAMES[name][{"verl": 1, "openrlhf": 2}.get(found.key, 0)]:
            raise ImpossiblePlan(name, f"{found.title} has no such setting.")
    try:
        return BatchSettings(framework=found.key, **used)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        raise ImpossiblePlan(
            label(found.key, name), f"{first.get('input')!r} cannot be used: {first['msg'].lower()}."
        ) from error


def count_steps(settings: BatchSettings) -> StepCount:
    """Steps, generations and optimizer steps, with formulas.

    Raises:
        ImpossiblePlan: sizes that do not divide, or data for less than one step.
    """
    defaults = _DEFAULTS[settings.framework]
    full = settings.model_copy(
        update={name: value for name, value in defaults.items() if getattr(settings, name) is None}
    )
    guessed = [label(settings.framework, name) for name in defaults if getattr(settings, name) is None]
    notes = [f"Not given, so the framework's default: {', '.join(guessed)}."] if guessed else []
    make = {"verl": _verl, "openrlhf": _openrlhf}.get(settings.framework, _answers_batch)
    return make(full, notes)


def _whole(value: float | None) -> int:
    return int(value or 1)


def _answers_batch(s: BatchSettings, notes: list[str]) -> StepCount:
    """TRL, ms-swift and Unsloth: the batch counts answers."""
    per_device, gpus, group, ga = (_whole(each) for each in (s.per_device, s.gpus, s.group_size, s.grad_accumulation))
    mu, epochs = _whole(s.num_iterations), s.epochs or 1.0
    if s.framework == "unsloth" and s.steps_per_generation is None and per_device * gpus * ga % group:
        notes.append(
            f"Unsloth changes per_device_train_batch_size from {per_device} to num_generations = {group}, because "
            f"{per_device} x {gpus} x {ga} answers are no whole number of groups (older versions: whenever it is no multiple of G)."
        )
        per_device = group
    per_generation = s.steps_per_generation or ga
    if s.framework == "ms-swift" and per_generation % ga:
        raise ImpossiblePlan(
            "steps_per_generation", f"ms-swift wants a multiple of gradient_accumulation_steps = {ga}."
        )
    generated, answers = per_device * gpus * per_generation, per_device * gpus * ga
    if generated % group:
        raise ImpossiblePlan(
            "num_generations",
            f"{group} does not divide the {generated} answers of one generation ({per_device} per device x {gpus} GPUs x "
            f"{per_generation}): a group would be cut.",
        )
    prompts = generated // group
    lines = [
        Line(name="answers per optimizer step", formula=f"per_device {per_device} x GPUs {gpus} x accumulation {ga}", value=answers),
        Line(name="prompts per optimizer step", formula=f"{answers} answers / G {group}", value=answers / group),
        Line(name="answers per generation", formula=f"per_device {per_device} x GPUs {gpus} x steps_per_generation {per_generation}", value=generated),
        Line(name="prompts per generation", formula=f"{generated} answers / G {group}", value=prompts),
        Line(name="optimizer steps per generation", formula=f"steps_per_generation {per_generation} x num_iterations {mu} / accumulation {ga}", value=per_generation * mu / ga),
    ]  # fmt: skip
    notes.append(
        "The batch counts answers, not prompts: every prompt comes G times, so a larger G means fewer prompts a step and more steps an epoch."
    )
    if answers % group:
        notes.append(f"A step trains on {answers / group:g} groups: the rest of a group follows in the next step.")
    total = s.max_steps
    if s.data_size is not None:
        rounds = s.data_size // prompts
        if rounds == 0:
            raise ImpossiblePlan(
                "questions in the training data",
                f"{s.data_size} are fewer than the {prompts} prompts of one generation.",
            )
        each = max(math.ceil(rounds * per_generation * mu / ga), 1)
        lines.append(
            Line(
                name="steps per epoch",
                formula=f"ceil(floor({s.data_size} / {prompts}) x steps_per_generation {per_generation} x num_iterations {mu} / accumulation {ga})",
                value=each,
            )
        )
        _left_out(notes, s.data_size, rounds * prompts)
        total = _total(lines, s.max_steps, f"ceil(epochs {epochs:g} x {each})", math.ceil(epochs * each))
    elif total is not None:
        lines.append(Line(name="steps in all", formula="max_steps", value=total))
    generations = None if total is None else math.ceil(total * ga / (per_generation * mu))
    return _made(s, lines, notes, answers, answers / group, generated, prompts, 1, total, generations)


def _verl(s: BatchSettings, notes: list[str]) -> StepCount:
    """verl: the batch counts prompts; a step may hold several optimizer steps."""
    batch, group, mini = _whole(s.batch), _whole(s.group_size), _whole(s.mini_batch)
    inner, epochs = _whole(s.num_iterations), s.epochs or 1.0
    if mini > batch:
        raise ImpossiblePlan("actor.ppo_mini_batch_size", f"{mini} is more than data.train_batch_size = {batch}.")
    updates = math.ceil(batch / mini) * inner
    lines = [
        Line(name="prompts per step", formula=f"data.train_batch_size {batch}", value=batch),
        Line(name="answers per step", formula=f"data.train_batch_size {batch} x rollout.n {group}", value=batch * group),
        Line(name="optimizer steps per step", formula=f"ceil(train_batch_size {batch} / ppo_mini_batch_size {mini}) x ppo_epochs {inner}", value=updates),
    ]  # fmt: skip
    notes.append("Batch and mini-batch count prompts; verl multiplies both by rollout.n inside.")
    total = s.max_steps
    if s.data_size is not None:
        each = s.data_size // batch
        if each == 0:
            raise ImpossiblePlan(
                "questions in the training data", f"{s.data_size} are fewer than data.train_batch_size = {batch}."
            )
        lines.append(Line(name="steps per epoch", formula=f"floor({s.data_size} / {batch})", value=each))
        _left_out(notes, s.data_size, each * batch)
        total = _total(lines, s.max_steps, f"total_epochs {epochs:g} x {each}", int(epochs) * each)
    elif total is not None:
        lines.append(Line(name="steps in all", formula="trainer.total_training_steps", value=total))
    return _made(s, lines, notes, batch * group, batch, batch * group, batch, updates, total, total)


def _openrlhf(s: BatchSettings, notes: list[str]) -> StepCount:
    """OpenRLHF: rollout batch in prompts, training batch in answers; the bar of an episode counts prompts."""
    batch, group, train = _whole(s.batch), _whole(s.group_size), _whole(s.mini_batch)
    inner, episodes = _whole(s.num_iterations), _whole(s.epochs)
    answers = batch * group
    if answers % train:
        notes.append(
            f"{answers} answers are no multiple of --train.batch_size {train}: the last optimizer step of a step is smaller."
        )
    updates = math.ceil(answers / train) * inner
    lines = [
        Line(name="prompts per step", formula=f"--rollout.batch_size {batch}", value=batch),
        Line(
            name="answers per step",
            formula=f"--rollout.batch_size {batch} x n_samples_per_prompt {group}",
            value=answers,
        ),
        Line(
            name="optimizer steps per step",
            formula=f"ceil({answers} / --train.batch_size {train}) x max_epochs {inner}",
            value=updates,
        ),
    ]
    notes.append(
        "The rollout batch counts prompts, the training batch answers; the progress bar of an episode counts prompts, not steps."
    )
    total = None
    if s.data_size is not None:
        each = math.ceil(s.data_size / batch)
        lines.append(Line(name="steps per episode", formula=f"ceil({s.data_size} / {batch})", value=each))
        total = _total(lines, None, f"num_episodes {episodes} x {each}", episodes * each)
        schedule = s.data_size * group // train * episodes * inner
        lines.append(
            Line(
                name="steps of the learning-rate schedule",
                formula=f"floor({s.data_size} x {group} / {train}) x num_episodes {episodes} x max_epochs {inner}",
                value=schedule,
            )
        )
    return _made(s, lines, notes, answers, batch, answers, batch, updates, total, total)


def _left_out(notes: list[str], size: int, used: int) -> None:
    if size > used:
        notes.append(f"Left out each epoch, because the last batch is not full: {size - used} of {size} questions.")


def _total(lines: list[Line], most: int | None, formula: str, total: int) -> int:
    """The total, or the maximum typed in, which wins over the epochs."""
    if most is None:
        lines.append(Line(name="steps in all", formula=formula, value=total))
        return total
    lines.append(
        Line(name="steps in all", formula=f"max_steps {most} (the epochs alone: {formula} = {total})", value=most)
    )
    return most


def _made(
    s: BatchSettings, lines: list[Line], notes: list[str], sequences: int, prompts: float,
    generated: int, generated_prompts: int, updates: int, total: int | None, generations: int | None,
) -> StepCount:  # fmt: skip
    if generations is not None and generations != total:
        lines.append(
            Line(name="generations in all", formula="steps in all / optimizer steps per generation", value=generations)
        )
    if updates != 1 and total is not None:
        lines.append(
            Line(name="optimizer steps in all", formula=f"steps in all {total} x {updates}", value=total * updates)
        )
    if total is None:
        notes.append("Give the number of questions in the training data (or a maximum of steps) for the total.")
    return StepCount(
        framework=s.framework,
        sequences_per_step=sequences,
        prompts_per_step=prompts,
        sequences_per_generation=generated,
        prompts_per_generation=generated_prompts,
        optimizer_steps_per_step=updates,
        total_steps=total,
        generations=generations,
        optimizer_steps=None if total is None else total * updates,
        lines=tuple(lines),
        notes=tuple(notes),
    )
