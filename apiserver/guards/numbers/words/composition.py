"""Composition: the value of several words of one number."""

from __future__ import annotations

from dataclasses import dataclass, field

from apiserver.guards.numbers.mentions import Reading
from apiserver.guards.numbers.words.lexicon import Entry, Role


@dataclass(slots=True)
class Composition:
    """Composition of units, hundreds and scales: "two thousand and one".

    Mutable state: the value so far.
    """

    total: int = 0
    current: int | None = None
    last_scale: int = 0
    entries: list[Entry] = field(default_factory=list[Entry])
    apart: list[int] = field(default_factory=list[int])

    @property
    def value(self) -> int:
        """The value so far."""
        return self.total + (self.current or 0)

    @property
    def is_weak(self) -> bool:
        """Whether a translation need not have the number."""
        if len(self.entries) != 1:
            return False
        (entry,) = self.entries
        return entry.is_weak or entry.role in {Role.HUNDRED, Role.SCALE}

    @property
    def is_ordinal(self) -> bool:
        """Whether the last word is an ordinal."""
        return bool(self.entries) and self.entries[-1].role is Role.ORDINAL

    def readings(self) -> tuple[Reading, ...]:
        """Return the whole value, and where words only stand together, each."""
        if len(self.entries) == 1:
            return self.entries[0].readings
        whole = (self.value,)
        return (whole, tuple(self.apart)) if len(self.apart) > 1 else (whole,)

    def can_join(self, following: Entry) -> bool:
        """Return whether an "and" before this word continues the number."""
        is_large = bool(self.entries) and self.entries[-1].role in {Role.HUNDRED, Role.SCALE}
        return is_large and following.role in {Role.UNIT, Role.ORDINAL} and following.value < 100

    def join(self) -> None:
        """Take an "and": the words around it may also be two numbers."""
        self.apart = [self.value]

    def take(self, entry: Entry) -> bool:
        """Take a word; return False, unchanged, if it begins another number."""
        taken = self._take(entry)
        if taken:
            self.entries.append(entry)
        return taken

    def _take(self, entry: Entry) -> bool:
        last = self.entries[-1].role if self.entries else None
        match entry.role:
            case Role.UNIT | Role.ORDINAL:
                return last is not Role.ORDINAL and self._take_unit(entry.value, last)
            case Role.HUNDRED:
                return last is not Role.ORDINAL and self._take_hundred(entry.value, last)
            case Role.SCALE:
                return last is not Role.ORDINAL and self._take_scale(entry.value, last)
            case Role.HINT:
                return False

    def _take_unit(self, value: int, last: Role | None) -> bool:
        if self.apart:
            self.apart.append(value)
        if self.current is None:
            self.current = value
        elif last is Role.HUNDRED and value < 100:
            self.current += value
        elif last is Role.UNIT and len(self.entries) == 1 and 10 <= self.current <= 20 and 10 <= value < 100:
            self.apart = [self.current, value]
            self.current = self.current * 100 + value
        else:
            return False
        return True

    def _take_hundred(self, value: int, last: Role | None) -> bool:
        if self.current is None:
            self.current = value
        elif value == 100 and last is Role.UNIT and self.current < 100:
            self.current *= value
        else:
            return False
        return True

    def _take_scale(self, value: int, last: Role | None) -> bool:
        if self.current is None and not self.total:
            self.total = value
        elif self.current is None:
            if last is not Role.SCALE or value <= self.last_scale:
                return False
            self.total *= value  # mil millones
        elif self.last_scale and value > self.last_scale:
            self.total = (self.total + self.current) * value
        else:
            self.total += self.current * value
        self.current, self.last_scale = None, value
        return True
