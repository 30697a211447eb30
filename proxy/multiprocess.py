"""ProcessSupervisor: several processes of a proxy behind one socket."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Final

from shared.runtime.exit_codes import exit_on_signals

log = logging.getLogger(__name__)

END_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)

# What a process exits with that could not start: ours, and uvicorn's.
NO_START: Final = 1
COULD_NOT_START: Final = frozenset({NO_START, 3})
# What one exits with that served and then failed (sysexits.h: EX_SOFTWARE).
FAILED: Final = 70
# Before one that died is restarted.
RESTART_SECONDS: Final = 1.0


class ProcessSupervisor:
    """Runs ``serve(number)`` in processes of their own, numbered from 0.

    Mutable state: the number of each process id.
    One that dies is restarted, again and again where it can not start; one that can not start at first ends all, for then
    something is wrong that an operator has just set. ``serve`` returns the exit status; ``on_end`` is called when all are to end. A signal to end reaches each once, for they are no part of the terminal's group; and
    they end when this process does, however it ends.
    """

    def __init__(self, count: int, serve: Callable[[int], int], on_end: Callable[[], None]) -> None:
        self._count = count
        self._serve = serve
        self._on_end = on_end
        self._running: dict[int, int] = {}
        self._stopping = False
        # Never written to: the children see its end when this process dies.
        self._lifeline, self._own_end = os.pipe()

    def run(self) -> int:
        """Start all and wait; return 1 when one could not start at first."""
        for number in END_SIGNALS:
            signal.signal(number, self._forward)
        for number in range(self._count):
            self._start(number)
        failed = False
        died: set[int] = set()
        while self._running:
            process, status = os.wait()
            number = self._running.pop(process, None)
            if number is None:  # an orphan that came to us because we are the first process of a container
                continue
            code = os.waitstatus_to_exitcode(status)
            if self._stopping:
                failed = failed or code != 0
            elif code in COULD_NOT_START and number not in died:
                failed = True
                self._end(signal.SIGTERM)
            else:
                log.error("proxy process died", extra={"number": number, "exit": code})
                died.add(number)
                self._restart(number)
        return 1 if failed else 0

    def _restart(self, number: int) -> None:
        time.sleep(RESTART_SECONDS)
        if not self._stopping:
            self._start(number)

    def _start(self, number: int) -> None:
        """Start one; a signal meanwhile waits until it is known, and until it has handlers of its own."""
        signal.pthread_sigmask(signal.SIG_BLOCK, END_SIGNALS)
        process = 0 if self._stopping else os.fork()
        if self._stopping or process:
            if process:
                self._running[process] = number
            signal.pthread_sigmask(signal.SIG_UNBLOCK, END_SIGNALS)
            return
        # From here on in the new process, which must never return into its parent's loop.
        status = FAILED
        try:
            os.setpgid(0, 0)
            os.close(self._own_end)
            exit_on_signals()
            signal.pthread_sigmask(signal.SIG_UNBLOCK, END_SIGNALS)
            threading.Thread(target=self._end_with_parent, daemon=True).start()
            status = self._serve(number)
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else FAILED
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
        self._on_end()
        for process in list(self._running):
            try:
                os.kill(process, number)
            except ProcessLookupError:  # it has just ended, and will be waited for
                continue
