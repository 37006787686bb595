"""`timeledger steps`: what a framework's batch settings mean, and how many steps a run will have."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, Final

from timeledger.errors import BadOption

if TYPE_CHECKING:
    from timeledger.results import Analysis

HELP: Final = "what a framework's batch settings mean: answers and prompts a step, steps in all, with the formulas"
EPILOG: Final = """examples:
  timeledger steps --framework trl --per-device 8 --grad-accumulation 4 --group-size 8 --data-size 7473 --epochs 1
  timeledger steps --framework verl --batch 256 --mini-batch 64 --group-size 5 --data-size 7473 --epochs 15
  timeledger steps --framework openrlhf --batch 128 --mini-batch 1024 --group-size 8 --data-size 7473
  timeledger steps --from run/ --data-size 7473
"""
FIELDS: Final = {
    "per_device": "answers a device and micro-batch (TRL, ms-swift, Unsloth)",
    "gpus": "processes that train (TRL, ms-swift, Unsloth)",
    "grad_accumulation": "micro-batches of an optimizer step (TRL, ms-swift, Unsloth)",
    "steps_per_generation": "micro-batches that one generation serves (TRL, ms-swift, Unsloth)",
    "num_iterations": "passes over one generation (num_iterations, ppo_epochs, max_epochs)",
    "group_size": "answers per prompt, G",
    "batch": "prompts of a step (verl data.train_batch_size, OpenRLHF --rollout.batch_size)",
    "mini_batch": "verl ppo_mini_batch_size (prompts), OpenRLHF --train.batch_size (answers)",
    "data_size": "questions in the training data",
    "max_steps": "a maximum of steps, which wins over the epochs",
}
#: Setting of a log -> field.
_FROM_LOG: Final = {
    "per_device_batch": "per_device",
    "gpus": "gpus",
    "grad_accumulation": "grad_accumulation",
    "steps_per_generation": "steps_per_generation",
    "num_iterations": "num_iterations",
    "group_size": "group_size",
    "epochs": "epochs",
}


def prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--framework", metavar="F", help="trl, verl, openrlhf, ms-swift or unsloth")
    parser.add_argument("--from", dest="source", metavar="PATH", help="take the settings that this log holds")
    for name, text in FIELDS.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, metavar="N", help=text)
    parser.add_argument("--epochs", type=float, metavar="E", help="epochs (OpenRLHF: episodes)")
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")


def run(args: argparse.Namespace) -> int:
    """Count and print."""
    from timeledger.cli import text_plan
    from timeledger.cli.planning import one_run
    from timeledger.document import to_json
    from timeledger.document_plan import StepsDocument
    from timeledger.frameworks import find_framework
    from timeledger.steps import batch_settings, count_steps

    values: dict[str, Any] = {name: getattr(args, name) for name in (*FIELDS, "epochs")}
    name = args.framework
    if args.source:
        analysis = one_run(args.source, "--from")
        name = name or analysis.run.info.framework
        values = _settings(analysis, find_framework(name)) | {
            key: value for key, value in values.items() if value is not None
        }
    if not name:
        raise BadOption("--framework: wanted, one of trl, verl, openrlhf, ms-swift, unsloth.")
    counted = count_steps(batch_settings(name, values))
    if args.json:
        print(to_json(StepsDocument(steps=counted)))
    else:
        text_plan.steps(counted)
    return 0


def _settings(analysis: Analysis, framework: Any) -> dict[str, Any]:
    """The batch settings that a log holds, under the fields of its framework."""
    info = analysis.run.info
    found: dict[str, Any] = {}
    for setting, field in _FROM_LOG.items():
        value = info.number(setting)
        if value is not None and value > 0:
            found[field] = value if field == "epochs" else round(value)
    if framework is not None and not framework.answers_batch:
        prompts = info.number("prompts_per_step")
        found = {name: value for name, value in found.items() if name in {"group_size", "epochs"}}
        return found | ({"batch": round(prompts)} if prompts else {})
    return found
