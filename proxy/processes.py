"""Processes: several of the same behind one socket, so that one proxy can use more than one core."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Final

from shared.program import leave_on_signals

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

log = logging.getLogger(__name__)

# What a process exits with that could not start: another one could not either.
COULD_NOT_START: Final = 1
# Before one that died is started anew.
RESTART_SECONDS: Final = 1.0


class Processes:
    """Runs ``serve(number)`` in processes of their own, numbered from 0; mutable state: which number has which process id.

    One that dies is started anew. A signal to end reaches each once, for they are no part of the terminal's group; and
    they end when this process does, however it ends.
    """

    def __init__(self, count: int, serve: Callable[[int], int]) -> None:
        """Take how many, and what each runs; it returns the exit status."""
        self._count = count
        self._serve = serve
        self._running: dict[int, int] = {}
        self._stopping = False
        # Nothing is ever written: its end is the news.
        self._lifeline, self._own_end = os.pipe()

    def run(self) -> int:
        """Start them and wait for their end; 0 when they were told to end and did, 1 when one could not start."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._forward)
        for number in range(self._count):
            self._start(number)
        failed = False
        while self._running:
            process, status = os.wait()
            number = self._running.pop(process)
            code = os.waitstatus_to_exitcode(status)
            if self._stopping:
                failed = failed or code != 0
            elif code == COULD_NOT_START:
                failed = True
                self._end(signal.SIGTERM)
            else:
                log.error("proxy process died", extra={"number": number, "exit": code})
                self._restart(number)
        return 1 if failed else 0

    def _restart(self, number: int) -> None:
        time.sleep(RESTART_SECONDS)
        if not self._stopping:
            self._start(number)

    def _start(self, number: int) -> None:
        sys.stdout.flush()
        process = os.fork()
        if process:
            self._running[process] = number
            return
        # From here on in the new process, which must never return into its parent's loop.
        status = COULD_NOT_START
        try:
            os.setpgid(0, 0)
            os.close(self._own_end)
            leave_on_signals()
            threading.Thread(target=self._end_with_parent, daemon=True).start()
            status = self._serve(number)
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else COULD_NOT_START
        except BaseException:
            log.exception("proxy process failed", extra={"number": number})
        finally:
            logging.shutdown()
            os._exit(status)

    def _end_with_parent(self) -> None:
        os.read(self._lifeline, 1)
        os.kill(os.getpid(), signal.SIGTERM)

    def _forward(self, number: int, _frame: FrameType | None) -> None:
        self._end(number)

    def _end(self, number: int) -> None:
        self._stopping = True
        for process in list(self._running):
            try:
                os.kill(process, number)
            except ProcessLookupError:  # it has just ended, and will be waited for
                continue
