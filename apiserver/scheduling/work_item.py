"""Work item: what the texts of one request share in the queues, and callbacks for its progress."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from shared.protocol.lanes import Lane
from shared.protocol.priority import Priority


@dataclass(slots=True)
class WorkItem:
    """One request's class and caller; mutable state: ``begun``.

    ``on_begin`` is called when the first of its segments has a slot, ``on_done`` with the units of cost that are done each
    time that some are. ``canary``: it goes before everything and waits for no slot.
    """

    priority: Priority = Priority.INTERACTIVE
    caller: str = ""
    on_begin: Callable[[], None] | None = None
    on_done: Callable[[float], None] | None = None
    canary: bool = False
    begun: bool = False

    def lane(self, *, is_long: bool) -> Lane | None:
        """Return where a text of it goes; None for a canary."""
        return None if self.canary else Lane.of(self.priority, is_long=is_long)

    def begin(self) -> None:
        """Note that a segment has a slot."""
        if not self.begun:
            self.begun = True
            if self.on_begin is not None:
                self.on_begin()

    def done(self, units: float) -> None:
        """Note units that are done."""
        if self.on_done is not None:
            self.on_done(units)
