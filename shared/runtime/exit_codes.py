"""Signals and exit codes of both servers."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
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


def reload_on_hangup(reload: Callable[[], None]) -> None:
    """Call ``reload`` on the running event loop for each SIGHUP."""

    def on_hangup(_signal: int, _frame: FrameType | None) -> None:
        with suppress(RuntimeError):  # no loop runs yet, and everything is read at its start anyway
            asyncio.get_running_loop().call_soon_threadsafe(reload)

    signal.signal(signal.SIGHUP, on_hangup)


def _exit(_signal: int, _frame: FrameType | None) -> None:
    sys.exit(0)
