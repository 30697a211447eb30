"""Freight: how heavy a request is, by each measure that counts. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from proxy.latency import work_of
from shared.cost import cost_of
from shared.lane import Lane, is_long
from shared.priority import Priority

if TYPE_CHECKING:
    from shared.wire import TranslateRequest


@dataclass(slots=True)  # not frozen: that makes it three times slower to make
class Freight:
    """One request's ``work`` (what its latency goes by), number of texts, ``cost`` (what it takes of an engine), class.

    ``is_long`` says whether one of its texts is long: how much room such has, only an API server can say.
    """

    work: float
    texts: int = 1
    cost: float = 1.0
    priority: Priority = Priority.INTERACTIVE
    is_long: bool = False

    @classmethod
    def of(cls, request: TranslateRequest, priority: Priority) -> Self:
        """Weigh a request."""
        texts = request.texts
        longest = max(map(len, texts))
        return cls(
            work_of(request.chars, len(texts)),
            len(texts),
            cost_of(request.chars, len(texts)),
            priority,
            is_long=is_long(longest),
        )

    @property
    def lane(self) -> Lane:
        """Where it waits in an API server."""
        return Lane.of(self.priority, is_long=self.is_long)
