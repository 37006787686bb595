"""`python -m timeledger`."""

from __future__ import annotations

import sys

from timeledger.cli import main

if __name__ == "__main__":
    sys.exit(main())
