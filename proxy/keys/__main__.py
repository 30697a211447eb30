"""``python -m proxy.keys``: the command line for API keys."""

from __future__ import annotations

import sys

from proxy.keys.cli import main

if __name__ == "__main__":
    sys.exit(main())
