"""All benchmarks, or those named: `python -m benchmarks [projection plan ...]`. Each prints a table and keeps it in results/."""

from __future__ import annotations

import importlib
import pkgutil
import sys

import benchmarks

#: Not a benchmark: it writes a file of the package.
_NOT_RUN = {"learn_quantiles", "__main__"}


def names() -> list[str]:
    """Modules of this folder that can be run."""
    found = sorted(each.name for each in pkgutil.iter_modules(benchmarks.__path__) if each.name not in _NOT_RUN)
    return [name for name in found if hasattr(importlib.import_module(f"benchmarks.{name}"), "main")]


def main(wanted: list[str]) -> int:
    """Run the benchmarks; the worst exit code of them."""
    known = names()
    unknown = [each for each in wanted if each not in known]
    if unknown:
        print(f"no such benchmark: {', '.join(unknown)}. There are: {', '.join(known)}.", file=sys.stderr)
        return 2
    codes = []
    for name in wanted or known:
        print(f"## {name}\n", flush=True)
        codes.append(int(importlib.import_module(f"benchmarks.{name}").main() or 0))
    return max(codes, default=0)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
