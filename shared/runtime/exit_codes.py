"""Exit codes of both programs: 0 for a signal, EX_CONFIG for a wrong configuration."""

from __future__ import annotations

import signal
import sys
from types import FrameType
from typing import Final

# sysexits.h: EX_CONFIG.
EXIT_CONFIG: Final = 78


def exit_on_signals() -> None:
    """Make SIGTERM and SIGINT a clean exit; uvicorn takes them while it serves, and raises them again afterwards."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _exit)


def _exit(_signal: int, _frame: FrameType | None) -> None:
    sys.exit(0)
