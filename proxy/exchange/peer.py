"""Peer: what an exchange knows of its other side, whatever the transport."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, Protocol, TypeVar

from shared.parsing.byte_budget import Reservation
from shared.protocol.deadline import Deadline

T = TypeVar("T")


class Peer(Protocol):
    """The client of one exchange, and whether it still listens.

    Names of ``headers`` are in lower case. ``address`` is the client's, "" if it is unknown. ``query`` is encoded.
    """

    headers: Mapping[str, str]
    address: str
    request_id: str
    query: bytes

    @property
    def has_whole_body(self) -> bool:
        """Whether the whole body has arrived."""
        ...

    def shows_in_url(self, text: str) -> bool:
        """Return whether the address that the client called contains the text."""
        ...

    def read_body(self, limit: int, deadline: Deadline, reservation: Reservation) -> Awaitable[bytes]:
        """Read a body of at most ``limit`` bytes, all of them reserved.

        Raises:
            PairwayError: the body is compressed, too large or too slow, other bodies fill the budget, or the client left.
        """
        ...

    def while_connected(
        self, work: Coroutine[Any, Any, T], outlives_client: Callable[[Any, Callable[[], None]], bool] | None = None
    ) -> Awaitable[T]:
        """Await the work, but cancel it as soon as the client leaves.

        ``outlives_client`` gets the task and the function that cancels it; if it returns True, the task goes on.

        Raises:
            ClientGoneError: the client left, and the work has ended.
        """
        ...

    def add_log_fields(self, **fields: object) -> None:
        """Add fields to the request's log line; never texts."""

    def add_answer_headers(self, headers: Mapping[str, str]) -> None:
        """Add headers to the answer, even to an error."""
