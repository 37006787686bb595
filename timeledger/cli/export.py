"""`timeledger export`: a run's rows as a table for other tools."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Final

from timeledger.cli import options
from timeledger.errors import BadOption, UnreadableSource

if TYPE_CHECKING:
    import polars as pl

HELP: Final = "a run's rows as a Parquet, CSV or JSONL file"
ENDINGS: Final = (".parquet", ".csv", ".jsonl")


def prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    options.add_reading(parser, several=False)
    parser.add_argument("--to", required=True, metavar="FILE", help="FILE.parquet, FILE.csv or FILE.jsonl")


def run(args: argparse.Namespace) -> int:
    """Read and write."""
    from timeledger.analysis import analyse
    from timeledger.report import timed_steps

    target = Path(args.to)
    if target.suffix not in ENDINGS:
        raise BadOption(f"--to {args.to}: the name must end in {', '.join(ENDINGS)}.")
    runs = options.read(args)
    if len(runs) > 1:
        raise BadOption(
            f"{args.paths[0]}: holds {len(runs)} runs ({', '.join(each.name for each in runs[:5])}); export one at a time."
        )
    frame = timed_steps(analyse(runs[0]))
    extra = [name for name in runs[0].extra.columns if name not in {"segment", "step"} and name not in frame.columns]
    if extra:
        frame = frame.join(
            runs[0].extra.select("segment", "step", *extra).unique(["segment", "step"], keep="last"),
            on=["segment", "step"],
            how="left",
        )
    try:
        _write(frame, target)
    except OSError as error:
        raise UnreadableSource(f"{target}: cannot be written ({error.strerror or error}).") from error
    print(f"Wrote {target} ({frame.height:,} rows, {frame.width} columns)")
    return 0


def _write(frame: pl.DataFrame, target: Path) -> None:
    if target.suffix == ".parquet":
        frame.write_parquet(target)
    elif target.suffix == ".csv":
        frame.write_csv(target)
    else:
        frame.write_ndjson(target)
