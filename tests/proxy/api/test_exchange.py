"""Request exchange: long bodies are parsed in turns of keys, or of networks before a key is known."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import pytest
from fastapi import Request

from proxy.api.exchange import RequestExchange, parse_in_turn
from proxy.keys.authenticator import Authentication
from proxy.keys.caller import Caller
from shared.parsing.long_bodies import INLINE_BYTES
from shared.protocol.deadline import TimeLimits

LONG = bytes(INLINE_BYTES + 1)


class RecordedTurns:
    """Long bodies that note whose turn each one waits for."""

    def __init__(self) -> None:
        self.callers: list[str] = []

    async def parse(self, caller: str, size: int, parse: Callable[[], int]) -> int:
        self.callers.append(caller)
        assert size == len(LONG)
        return parse()


class OneKey:
    """Authenticator of one key."""

    on = True

    async def authenticate(self, *_: object, counts: bool) -> Authentication:
        assert counts
        return Authentication(Caller("key 1"))


@pytest.mark.parametrize(
    ("client", "network"),
    [
        (("192.0.2.7", 5), "address 192.0.2.7"),
        (("2001:db8::1:2:3:4", 5), "address 2001:db8::/64"),
        (None, "address "),
    ],
)
async def test_body_waits_for_network_and_then_key(client: tuple[str, int] | None, network: str) -> None:
    turns = RecordedTurns()
    settings = SimpleNamespace(time_limits=TimeLimits(base=30.0, per_1000_chars=10.0, longest=600.0))
    parts = SimpleNamespace(
        process=SimpleNamespace(long_bodies=turns), keys=SimpleNamespace(authenticator=OneKey()), settings=settings
    )
    app = SimpleNamespace(state=SimpleNamespace(context=parts))
    state: dict[str, object] = {"headers": {}, "log_fields": {}, "answer_headers": {}}
    request = Request({"type": "http", "app": app, "client": client, "state": state})
    with RequestExchange(request) as exchange:
        assert await parse_in_turn(request, LONG, lambda: 1) == 1
        await exchange.authenticate("Bearer a")
        assert await parse_in_turn(request, LONG, lambda: 2) == 2
    assert turns.callers == [network, "key 1"]
