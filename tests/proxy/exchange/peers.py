"""A peer without a transport: what it sent is in memory, and it never leaves; and the parts that its exchange needs."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from types import SimpleNamespace
from typing import Any, TypeVar

from proxy.admission.keyless_bodies import KeylessBodies
from proxy.keys.authenticator import Authentication
from proxy.keys.caller import Caller
from proxy.metrics import ProxyMetrics
from shared.parsing.byte_budget import ByteBudget, Reservation
from shared.parsing.long_bodies import INLINE_BYTES
from shared.protocol.deadline import Deadline, TimeLimits

T = TypeVar("T")
LONG = bytes(INLINE_BYTES + 1)


class SamplePeer:
    """Client of one exchange; notes what it is given."""

    def __init__(
        self, headers: Mapping[str, str] | None = None, *, body: bytes = b"", query: bytes = b"", address: str = ""
    ) -> None:
        self.headers = headers or {}
        self.address = address
        self.request_id = "sample"
        self.query = query
        self.body = body
        self.reservations: list[Reservation] = []
        self.log_fields: dict[str, object] = {}
        self.answer_headers: dict[str, str] = {}

    @property
    def has_whole_body(self) -> bool:
        return True

    def shows_in_url(self, text: str) -> bool:
        return text.encode() in self.query

    async def read_body(self, limit: int, deadline: Deadline, reservation: Reservation) -> bytes:
        assert (len(self.body) <= limit, deadline.remaining() > 0) == (True, True)
        reservation.take(len(self.body))
        self.reservations.append(reservation)
        return self.body

    async def while_connected(
        self, work: Coroutine[Any, Any, T], outlives_client: Callable[[Any, Callable[[], None]], bool] | None = None
    ) -> T:
        del outlives_client
        return await work

    def add_log_fields(self, **fields: object) -> None:
        self.log_fields |= fields

    def add_answer_headers(self, headers: Mapping[str, str]) -> None:
        self.answer_headers |= headers


class RecordedTurns:
    """Long bodies that note whose turn each one waits for."""

    def __init__(self) -> None:
        self.callers: list[str] = []

    async def parse(self, caller: str, size: int, parse: Callable[[], int]) -> int:
        self.callers.append(caller)
        assert size == len(LONG)
        return parse()


class OneKey:
    """Authenticator of one key; notes what was shown."""

    on = True

    def __init__(self) -> None:
        self.shown: list[str | None] = []

    async def authenticate(self, authorization: str | None, *_: object, counts: bool) -> Authentication:
        assert counts
        self.shown.append(authorization)
        return Authentication(Caller("key 1"))


class Parts:
    """The parts of a proxy that an exchange needs."""

    def __init__(self) -> None:
        self.turns, self.authenticator = RecordedTurns(), OneKey()
        self.budget, metrics = ByteBudget(1000), ProxyMetrics()
        self.keyless = KeylessBodies(1000, metrics)
        self.context: Any = SimpleNamespace(
            process=SimpleNamespace(
                long_bodies=self.turns, body_budget=self.budget, keyless_bodies=self.keyless, metrics=metrics
            ),
            keys=SimpleNamespace(authenticator=self.authenticator),
            settings=SimpleNamespace(
                time_limits=TimeLimits(base=30.0, per_1000_chars=10.0, longest=600.0),
                max_body_bytes=500,
                max_texts=100,
            ),
        )
