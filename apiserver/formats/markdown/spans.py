"""Spans: where a pattern stands in a text, for the parser to ask."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator


class Spans:
    """The places of a pattern in a text, in order."""

    def __init__(self, pattern: re.Pattern[str], text: str) -> None:
        self._spans = [match.span() for match in pattern.finditer(text)]
        self._starts = [start for start, _ in self._spans]

    def at(self, offset: int) -> tuple[int, int] | None:
        """Return the span in which an offset lies."""
        index = bisect_right(self._starts, offset) - 1
        return self._spans[index] if index >= 0 and offset < self._spans[index][1] else None

    def within(self, start: int, end: int) -> Iterator[tuple[tuple[int, int] | None, int, int]]:
        """Yield the parts between two offsets, each with the span that covers it."""
        index = max(0, bisect_right(self._starts, start) - 1)
        while start < end and index < len(self._spans):
            span = self._spans[index]
            part_start, part_end = max(span[0], start), min(span[1], end)
            index += 1
            if part_start < part_end:
                if start < part_start:
                    yield None, start, part_start
                yield span, part_start, part_end
                start = part_end
            elif part_start >= end:
                break
        if start < end:
            yield None, start, end
