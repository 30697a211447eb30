"""Output of commands: tables, warnings, exit statuses."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

# Those of the command `pairway` (docs/client.md).
EXIT_INCOMPLETE: Final = 1
EXIT_USAGE: Final = 2
EXIT_AWAY: Final = 3
EXIT_REFUSED: Final = 4


def table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows in aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def warn(*warnings: str) -> None:
    """Print warnings about keys."""
    sys.stderr.writelines(f"keys: warning: {warning}\n" for warning in warnings)
