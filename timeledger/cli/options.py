"""Options that several commands share, and what they become."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from timeledger.errors import BadOption

if TYPE_CHECKING:
    from timeledger.results import Facts
    from timeledger.run import Run


def add_reading(parser: argparse.ArgumentParser, *, several: bool = True) -> None:
    """PATH..., --format, --map."""
    parser.add_argument(
        "paths", nargs="+" if several else 1, metavar="PATH", help="a log file, a run's folder, or - for standard input"
    )
    parser.add_argument("--format", metavar="F", help="read every PATH as this format (see `timeledger formats`)")
    parser.add_argument(
        "--map",
        action="append",
        default=[],
        metavar="KEY=COLUMN",
        help='a key of your own log, such as "my_len=len_mean"; may repeat',
    )


def add_facts(parser: argparse.ArgumentParser) -> None:
    """What the log may not say: planned steps, limits, evaluations, prices."""
    group = parser.add_argument_group("facts that the log may not hold")
    group.add_argument("--total-steps", type=int, metavar="N", help="steps of the whole run")
    group.add_argument("--max-tokens", type=int, metavar="N", help="limit on response tokens")
    group.add_argument("--eval-every", type=int, metavar="K", help="an evaluation every K steps")
    group.add_argument("--eval-s", type=float, metavar="S", help="seconds of one evaluation")
    group.add_argument("--eval-at-end", action="store_true", default=None, help="an evaluation follows the last step")
    group.add_argument("--save-every", type=int, metavar="K", help="a checkpoint every K steps")
    group.add_argument("--save-s", type=float, metavar="S", help="seconds of one checkpoint")
    group.add_argument("--gen-tok-s", type=float, metavar="R", help="generation throughput, tokens a second")
    group.add_argument("--gpus", type=int, metavar="N", help="GPUs of the job, for GPU-hours")
    group.add_argument("--gpu-gib", type=float, metavar="G", help="memory of one GPU (GiB), for head-room")
    group.add_argument("--price", type=float, metavar="P", help="price of a GPU-hour")
    group.add_argument("--currency", default="", metavar="C", help="currency of the price, as shown")
    group.add_argument("--level", type=float, default=0.8, metavar="L", help="level of the intervals (default 0.8)")


def add_output(parser: argparse.ArgumentParser) -> None:
    """--json, --html FILE, --md FILE: at most one."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--json", action="store_true", help="one JSON document on standard output")
    group.add_argument("--html", metavar="FILE", help="write one self-contained HTML report")
    group.add_argument("--md", metavar="FILE", help="write a Markdown report")


def facts(args: argparse.Namespace) -> Facts:
    """The facts typed in.

    Raises:
        BadOption: a number that cannot be one.
    """
    from datetime import UTC, datetime

    from timeledger.plausible import LARGEST
    from timeledger.results import Facts

    if not 0 < args.level < 1:
        raise BadOption(f"--level {args.level:g}: a level lies between 0 and 1, such as 0.8.")
    for name in ("total_steps", "max_tokens", "eval_every", "save_every", "gpus", "gpu_gib", "gen_tok_s"):
        value = getattr(args, name)
        if value is not None and not 0 < value < LARGEST:
            raise BadOption(
                f"--{name.replace('_', '-')} {value:g}: must be a number greater than 0, of a size a run can have."
            )
    for name in ("eval_s", "save_s", "price"):
        value = getattr(args, name)
        if value is not None and not 0 <= value < LARGEST:
            raise BadOption(
                f"--{name.replace('_', '-')} {value:g}: must be a number, 0 or more, of a size a run can have."
            )
    return Facts(
        total_steps=args.total_steps,
        max_tokens=args.max_tokens,
        eval_every=args.eval_every,
        eval_s=args.eval_s,
        eval_at_end=args.eval_at_end,
        save_every=args.save_every,
        save_s=args.save_s,
        gen_tok_s=args.gen_tok_s,
        gpus=args.gpus,
        gpu_gib=args.gpu_gib,
        price_per_gpu_hour=args.price,
        currency=args.currency,
        level=args.level,
        now=datetime.now(UTC),
    )


def mapping(args: argparse.Namespace) -> tuple[tuple[str, str], ...]:
    """The --map options as pairs (key, column).

    Raises:
        BadOption: not KEY=COLUMN, or no such column; the text lists the columns.
    """
    import parsers

    return parsers.renames(args.map)


def read(args: argparse.Namespace) -> tuple[Run, ...]:
    """Every run of the paths given; work longer than a second shows what it waits for on standard error."""
    from timeledger.cli.waiting import waiting

    with waiting(f"Reading {', '.join(args.paths)[:60]}"):
        import parsers

        pairs = mapping(args)
        if args.paths == ["-"]:
            return parsers.read_all(sys.stdin.buffer.read(), name="standard input", format=args.format, mapping=pairs)
        return parsers.read_paths(args.paths, format=args.format, mapping=pairs)
