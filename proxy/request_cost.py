"""RequestCost: what a request costs, by each measure that counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

from shared.protocol.messages import TranslateRequest
from shared.protocol.priority import Lane, Priority, cost_of, is_long


@dataclass(slots=True)  # not frozen: that makes it three times slower to make
class RequestCost:
    """One request's ``work``, number of texts, cost ``units``, class and characters.

    ``work`` is what its latency goes by, ``units`` its share of an engine. ``is_long`` says whether one of its texts is
    long: the capacity for such, only an API server can say.
    """

    work: float
    texts: int = 1
    units: float = 1.0
    priority: Priority = Priority.INTERACTIVE
    is_long: bool = False
    chars: int = 0

    @classmethod
    def of(cls, request: TranslateRequest, priority: Priority) -> Self:
        """Return the cost of a request."""
        lengths = [len(text) for text in request.texts]
        chars, texts = sum(lengths), len(lengths)
        return cls(
            work_of(chars, texts),
            texts,
            cost_of(chars, texts),
            priority,
            is_long=is_long(max(lengths)),
            chars=chars,
        )

    @property
    def lane(self) -> Lane:
        """Where it waits in an API server."""
        return Lane.of(self.priority, is_long=self.is_long)


# Characters that cost as much as a request does by itself. Load grows with the length, latency hardly does once sentences
# run side by side; with 500 the latency per unit is even (measured on small models and two cores, 100 to 2,000 characters:
# 78 to 100 ms; with 200: 41 to 79), and the simulated p95 is lowest (docs/decisions/0013-balancing.md).
CHARS_PER_WORK_UNIT: Final = 500


def work_of(chars: int, texts: int = 1) -> float:
    """Return the units of work of so many texts and characters.

    One unit is an empty text.
    """
    return texts + chars / CHARS_PER_WORK_UNIT
