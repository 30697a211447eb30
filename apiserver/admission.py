"""Bounded permits: what a server takes on at once, and a typed refusal for the rest."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from shared.errors import OverloadedError

if TYPE_CHECKING:
    from collections.abc import Generator

# A short text is done well within this; issue "Overload" replaces it by the measured drain rate.
RETRY_AFTER_SECONDS: Final = 1.0


class Admission:
    """Permits for texts; one is held per text from admission to answer. Not thread-safe: one event loop."""

    def __init__(self, limit: int) -> None:
        """Admit up to ``limit`` texts at once."""
        self.limit = limit
        self._held = 0

    def __repr__(self) -> str:
        """Show how full it is."""
        return f"<Admission {self._held}/{self.limit}>"

    @property
    def held(self) -> int:
        """Texts admitted and not yet answered."""
        return self._held

    @contextmanager
    def permit(self, texts: int) -> Generator[None]:
        """Hold room for that many texts while the block lasts; never waits.

        Raises:
            OverloadedError: there is no room for all of them now.
        """
        if self._held + texts > self.limit:
            message = f"This server has {self._held} of {self.limit} texts in hand and no room for {texts} more."
            raise OverloadedError(message, retry_after=RETRY_AFTER_SECONDS)
        self._held += texts
        try:
            yield
        finally:
            self._held -= texts
