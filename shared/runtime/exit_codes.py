"""Exit codes of both servers: 0 for signals, EX_CONFIG for wrong settings."""

from __future__ import annotations

import signal
import sys
from types import FrameType
from typing import Final

# sysexits.h: EX_CONFIG.
EXIT_CONFIG: Final = 78


def exit_on_signals() -> None:
    """Exit cleanly on SIGTERM and SIGINT.

    uvicorn handles both while it serves, and raises them again afterwards.
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _exit)


def _exit(_signal: int, _frame: FrameType | None) -> None:
    sys.exit(0)
