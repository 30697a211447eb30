"""This proxy's copy of records that all proxies change. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Generic, Protocol, TypeVar

# Makes a newer record win even if a clock was set back.
TICK_SECONDS: Final = 0.001


class Dated(Protocol):
    """A record with the Unix time of its change."""

    @property
    def at(self) -> float:
        """The time."""
        ...


D = TypeVar("D", bound=Dated)


class LatestCopy(Generic[D]):
    """This proxy's copy, by id; ``clock`` returns Unix seconds."""

    def __init__(self, name: Callable[[D], str], clock: Callable[[], float]) -> None:
        self._name = name
        self._clock = clock
        self._by_name: dict[str, D] = {}

    def all(self) -> list[D]:
        """Return all records."""
        return list(self._by_name.values())

    def get(self, name: str) -> D | None:
        """Return a record, None without one."""
        return self._by_name.get(name)

    def next_at(self, name: str) -> float:
        """Return the time of a change now, later than the one before."""
        before = self._by_name.get(name)
        return max(self._clock(), before.at + TICK_SECONDS if before else 0.0)

    def put(self, record: D) -> None:
        """Replace a record."""
        self._by_name[self._name(record)] = record

    def merge(self, records: Iterable[D]) -> bool:
        """Merge other proxies' records; return whether anything changed."""
        before = dict(self._by_name)
        for record in records:
            ours = self._by_name.get(self._name(record))
            if ours is None or ours.at <= record.at:
                self.put(record)
        self._by_name = {self._name(each): each for each in self._kept(self.all())}
        return self._by_name != before

    def missing_in(self, stored: Iterable[D]) -> list[D]:
        """Return records that are later than the stored ones, or lack there."""
        stored_at = {self._name(each): each.at for each in stored}
        return [each for name, each in self._by_name.items() if each.at > stored_at.get(name, -1.0)]

    def expired_in(self, _stored: Iterable[D]) -> list[str]:
        """Return the names of stored records that no proxy needs any more."""
        return []

    def _kept(self, records: list[D]) -> list[D]:
        """Return the records that this proxy needs."""
        return records
