"""``python -m proxy.fleet``: the command line for expected replicas."""

from __future__ import annotations

import sys

from proxy.fleet.cli import main

if __name__ == "__main__":
    sys.exit(main())
