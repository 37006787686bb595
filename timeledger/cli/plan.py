"""`timeledger plan`: the calculator, before a run."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, Final

from timeledger.errors import BadOption

if TYPE_CHECKING:
    from timeledger.plan import Source

HELP: Final = "how long a run will take, from measured throughputs and a measured mean length"
EPILOG: Final = """examples:
  timeledger plan --prompts 8 --group-size 8 --mean-length 400 --gen-tok-s 3000 --train-tok-s 9000 --fixed-s 5 --steps 200
  timeledger plan --from smoke-run.log --steps 400
"""
#: Option name -> type; each is a field of `timeledger.plan.PlanInputs`.
FIELDS: Final[dict[str, type]] = {
    "prompts": int,
    "group_size": int,
    "mean_length": float,
    "gen_tok_s": float,
    "train_tok_s": float,
    "fixed_s": float,
    "steps": int,
    "max_tokens": int,
    "eval_every": int,
    "eval_s": float,
    "save_every": int,
    "save_s": float,
    "gpus": int,
}
UNITS: Final = {
    "prompts": "prompts per step (8)",
    "group_size": "answers per prompt, G (8)",
    "mean_length": "mean answer length in tokens, measured late in a run, never the limit (400)",
    "gen_tok_s": "generation throughput of the job, tokens a second (3000)",
    "train_tok_s": "training throughput of the job, tokens a second (9000)",
    "fixed_s": "weight sync and sleep/wake, seconds a step (5)",
    "steps": "steps of the run (200)",
    "max_tokens": "limit on answer tokens",
    "eval_every": "steps between evaluations",
    "eval_s": "seconds of one evaluation",
    "save_every": "steps between checkpoints",
    "save_s": "seconds of one checkpoint",
    "gpus": "GPUs of the job, for GPU-hours",
}


def prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--from", dest="source", metavar="PATH", help="fill in what this log of an earlier or smoke run measured"
    )
    for name, kind in FIELDS.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=kind, metavar="N", help=UNITS[name])
    parser.add_argument("--price", type=float, metavar="P", help="price of a GPU-hour")
    parser.add_argument("--currency", default="", metavar="C", help="currency of the price, as shown")
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")


def run(args: argparse.Namespace) -> int:
    """Calculate and print."""
    from timeledger.cli import text
    from timeledger.document import to_json
    from timeledger.plan import estimate, plan_inputs
    from timeledger.report import plan_document

    measured = _measured(args.source) if args.source else {}
    values: dict[str, Any] = {name: value for name, (value, _) in measured.items()}
    sources = {name: source for name, (_, source) in measured.items()}
    for name in FIELDS:
        typed = getattr(args, name)
        if typed is not None:
            values[name] = typed
            sources.pop(name, None)
    values |= {"price_per_gpu_hour": args.price, "currency": args.currency or None}
    answer = estimate(plan_inputs(values, sources))
    if args.json:
        print(to_json(plan_document(answer)))
    else:
        text.plan(answer)
    return 0


def _measured(path: str) -> dict[str, tuple[float | int, Source]]:
    import parsers
    from timeledger.analysis import analyse
    from timeledger.plan import from_analysis

    runs = parsers.read_paths([path])
    if len(runs) > 1:
        raise BadOption(
            f"--from {path}: holds {len(runs)} runs ({', '.join(each.name for each in runs[:5])}); name one."
        )
    return from_analysis(analyse(runs[0]))
