"""The start check of both servers, behind ``/startupz``."""

from __future__ import annotations

from collections.abc import Mapping


class StartupCheck:
    """Latch that closes once every known pair was ready.

    They need not be ready at one time. A server without a known pair has not started.
    """

    def __init__(self) -> None:
        self.complete = False
        self.missing: tuple[str, ...] = ()
        self._were_ready: set[str] = set()

    def observe(self, pairs: Mapping[str, bool]) -> None:
        """Note the known pairs, each with whether it is ready now."""
        if self.complete:
            return
        self._were_ready.update(pair for pair, is_ready in pairs.items() if is_ready)
        self.missing = tuple(sorted(pairs.keys() - self._were_ready))
        self.complete = bool(pairs) and not self.missing
