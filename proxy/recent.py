"""Recent: a bounded memory of what was looked up last. Pure."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

T = TypeVar("T")


class Recent(Generic[T]):
    """Mutable state: the values used last, with the time each was put in; at most so many."""

    def __init__(self, most: int) -> None:
        """Begin with none."""
        self._most = most
        self._values: OrderedDict[str, tuple[T, float]] = OrderedDict()

    def put(self, name: str, value: T, now: float) -> None:
        """Keep a value; the one least recently used goes."""
        self._values[name] = (value, now)
        self._values.move_to_end(name)
        if len(self._values) > self._most:
            self._values.popitem(last=False)

    def get(self, name: str, now: float, within: float) -> T | None:
        """Return a value put in less than so many seconds ago."""
        value, at = self._values.get(name, (None, 0.0))
        if value is None or now - at >= within:
            return None
        self._values.move_to_end(name)
        return value

    def drop(self, name: str) -> None:
        """Forget a value."""
        self._values.pop(name, None)
