"""Options that the commands before a run share, and the plan that they make."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from timeledger.errors import BadOption, UnreadableSource

if TYPE_CHECKING:
    from timeledger.calibrate import Calibration
    from timeledger.frameworks import Framework
    from timeledger.plan import PlanInputs
    from timeledger.results import Analysis
    from timeledger.run import Run

#: Field of `PlanInputs` -> help. Every value may be a range, `low..high`.
MAIN: Final = {
    "prompts": "prompts per step (8)",
    "group_size": "answers per prompt, G (8)",
    "mean_length": "mean answer length in tokens, measured late in a run, never the limit (400)",
    "gen_tok_s": "generation throughput of the job, tokens a second (3000)",
    "train_tok_s": "training throughput of the job, tokens a second (9000)",
    "fixed_s": "weight sync and sleep/wake, seconds a step (5)",
    "steps": "steps of the run (200)",
}
MORE: Final = {
    "max_tokens": "limit on answer tokens",
    "truncated": "share of answers cut at the limit, 0 to 1",
    "longest": "longest answer of a step, tokens",
    "single_tok_s": "throughput of one answer alone, tokens a second: the floor of sampling",
    "first_length": "mean answer length at the start",
    "length_growth": "factor by which answers will still grow",
    "logprob_tok_s": "log-prob passes, tokens a second (or --logprob-s seconds a step)",
    "logprob_s": "log-prob passes, seconds a step",
    "sync_s": "weight sync, seconds a step (part of --fixed-s)",
    "sleep_wake_s": "engine sleep/wake, seconds a step (part of --fixed-s)",
    "reward_s": "reward, seconds a step",
    "startup_s": "what the first steps take above ordinary ones, seconds",
    "eval_every": "steps between evaluations (without it: one at the end)",
    "eval_s": "seconds of one evaluation",
    "eval_questions": "questions of one evaluation",
    "eval_length": "mean answer length in evaluations",
    "accuracy": "measured accuracy, 0 to 1",
    "data_size": "questions in the training data",
    "save_every": "steps between checkpoints",
    "save_s": "seconds of one checkpoint",
}
MACHINE: Final = {
    "gpus": "GPUs of the job, for GPU-hours",
    "measured_gpus": "GPUs the throughputs were measured on (the same)",
    "gpu_scaling": "share of an added GPU's throughput that arrives, 0 to 1 (0.8)",
    "gen_gpus": "GPUs that only generate (modes split and one-step-off)",
}


@dataclass(frozen=True, slots=True)
class Planned:
    """What the options came to: the inputs, the framework (None: unknown) and the run they were taken from."""

    inputs: PlanInputs
    framework: Framework | None
    analysis: Analysis | None
    notes: tuple[str, ...] = ()

    def tell(self) -> None:
        """What the logs lacked, on standard error."""
        for note in self.notes:
            print(f"note: {note}", file=sys.stderr)


def add_plan_options(parser: argparse.ArgumentParser) -> None:
    """Where the plan comes from, and every input of the calculator."""
    parser.add_argument(
        "--from",
        dest="sources",
        action="append",
        default=[],
        metavar="PATH",
        help="fill in what a log of an earlier or smoke run, an engine log or a benchmark result measured; may repeat",
    )
    parser.add_argument("--load", metavar="FILE", help="start from a saved plan")
    for title, fields in (("the run", MAIN), ("what else is known", MORE), ("the machine", MACHINE)):
        group = parser.add_argument_group(f"{title} (a number, or a range such as 2500..3500)")
        for name, text in fields.items():
            group.add_argument(f"--{name.replace('_', '-')}", metavar="N", help=text)
        if fields is MAIN:
            group.add_argument("--sequences", metavar="N", help="answers of a step, instead of --prompts")
    parser.add_argument(
        "--mode", choices=("colocate", "split", "one-step-off"), help="how sampling and training share GPUs"
    )
    parser.add_argument("--framework", metavar="F", help="trl, verl, openrlhf, ms-swift or unsloth: name its settings")
    parser.add_argument("--price", dest="price_per_gpu_hour", metavar="P", help="price of a GPU-hour")
    parser.add_argument("--currency", metavar="C", help="currency of the price, as shown")
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")


def planned(args: argparse.Namespace) -> Planned:
    """The plan of the options.

    Raises:
        BadOption: options that exclude each other, or no such framework.
        ImpossiblePlan: a value that cannot describe a run.
    """
    from timeledger.calibrate import with_given
    from timeledger.frameworks import FRAMEWORKS, find_framework
    from timeledger.plan import plan_inputs

    typed = {
        name: getattr(args, name)
        for name in (*MAIN, *MORE, *MACHINE, "sequences", "mode", "price_per_gpu_hour", "currency")
    }
    typed = {name: value for name, value in typed.items() if value is not None}
    if typed.get("sequences") and typed.get("prompts"):
        raise BadOption("--sequences and --prompts: give one of the two.")
    framework = find_framework(args.framework)
    if args.framework and framework is None:
        raise BadOption(f"--framework {args.framework}: none of {', '.join(FRAMEWORKS)}.")
    if args.sources and args.load:
        raise BadOption("--from and --load: give one of the two.")
    if args.load:
        return Planned(_typed_over(load_plan(args.load), typed), framework, None)
    if not args.sources:
        return Planned(plan_inputs(typed), framework, None)
    found, analysis = _measured(args.sources, typed)
    inputs = with_given(found, typed)
    return Planned(inputs, framework or find_framework(analysis.run.info.framework), analysis, tuple(found.notes))


def load_plan(path: str) -> PlanInputs:
    """A saved plan.

    Raises:
        UnreadableSource: the file cannot be read.
        BadOption: it is no plan.
    """
    from timeledger.plan_file import from_toml

    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableSource(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error}).") from error
    return from_toml(text, path)


def write(path: str, text: str) -> None:
    """Write a text file.

    Raises:
        UnreadableSource: it cannot be written.
    """
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UnreadableSource(f"{path}: cannot be written ({error.strerror or error}).") from error


def _typed_over(inputs: PlanInputs, typed: dict[str, Any]) -> PlanInputs:
    from timeledger.plan import plan_inputs

    if not typed:
        return inputs
    values = {name: value for name, value in inputs if name not in {"sources", "ranges", "spread"}}
    if "sequences" in typed:
        values.pop("prompts")
    sources = {name: source for name, source in inputs.sources.items() if name not in typed}
    ranges = {name: ends for name, ends in inputs.ranges.items() if name not in typed}
    made = plan_inputs({**values, **typed}, sources, ranges, inputs.spread)
    kept = {
        name: source
        for name, source in made.sources.items()
        if name in typed or name in sources or "sequences" in typed
    }
    return made.model_copy(update={"sources": kept})


def _measured(paths: list[str], typed: dict[str, Any]) -> tuple[Calibration, Analysis]:
    """What the logs tell: one run with steps, and engine logs or benchmark results beside it.

    Raises:
        BadOption: more than one run with steps.
    """
    from timeledger.analysis import analyse
    from timeledger.calibrate import calibrate
    from timeledger.results import Facts

    runs = [run for path in paths for run in read_runs(path)]
    training = [run for run in runs if run.has_steps or run.progress.height]
    if len(training) > 1:
        raise BadOption(
            f"--from: holds {len(training)} runs ({', '.join(each.name for each in training[:5])}); name one."
        )
    engines = [analyse(run) for run in runs if run not in training]
    rate = next((each.timing.gen_tok_s for each in engines if each.timing.gen_tok_s), None)
    if not training:
        return calibrate(engines[0], typed), engines[0]
    analysis = analyse(training[0])
    if rate is not None and analysis.timing.gen_tok_s is None:
        analysis = analyse(training[0], Facts(gen_tok_s=rate))
    return calibrate(analysis, typed), analysis


def read_runs(path: str) -> tuple[Run, ...]:
    """Every run of a path, shown as work in progress when it takes long."""
    from timeledger.cli.waiting import waiting

    with waiting(f"Reading {path[:60]}"):
        import parsers

        return parsers.read_paths([path])


def one_run(path: str, option: str) -> Analysis:
    """The only run of a path, analysed.

    Raises:
        BadOption: several runs.
    """
    from timeledger.analysis import analyse

    runs = read_runs(path)
    if len(runs) > 1:
        raise BadOption(
            f"{option} {path}: holds {len(runs)} runs ({', '.join(each.name for each in runs[:5])}); name one."
        )
    return analyse(runs[0])


def duration(option: str, text: str | None) -> float | None:
    """A duration in seconds; a bare number counts seconds.

    Raises:
        BadOption: no duration, or a negative one.
    """
    from timeledger import units

    if text is None:
        return None
    value = units.number(text)
    value = units.seconds(text) if value is None else value
    if value is None or not 0 <= value < float("inf"):
        raise BadOption(f"{option} {text}: wants a time such as 90m, 1h30m or 600s.")
    return value
