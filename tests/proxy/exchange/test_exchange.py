"""RequestExchange with a peer of no transport: order of key and body, budgets, and turns of long bodies."""

from __future__ import annotations

import pytest

from proxy.exchange.exchange import RequestExchange
from proxy.exchange.key_places import KeyPlaces
from shared.protocol.errors import InvalidRequestError, UnsupportedMediaError
from tests.proxy.exchange.peers import LONG, Parts, SamplePeer


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.7", "address 192.0.2.7"),
        ("2001:db8::1:2:3:4", "address 2001:db8::/64"),
        ("", "address "),
    ],
)
async def test_body_waits_for_network_and_then_key(address: str, network: str) -> None:
    parts = Parts()
    with RequestExchange(SamplePeer(address=address), parts.context) as exchange:
        assert await exchange.in_turn(LONG, lambda: 1) == 1
        await exchange.identify("Bearer a")
        assert await exchange.in_turn(LONG, lambda: 2) == 2
    assert parts.turns.callers == [network, "key 1"]


async def test_key_in_the_head_is_known_before_the_body() -> None:
    parts = Parts()
    with RequestExchange(SamplePeer({"authorization": "Bearer a"}, body=b"{}"), parts.context) as exchange:
        assert await exchange.receive() == b"{}"
        assert (parts.budget.reserved, parts.keyless.held) == (2, 0)
    assert (parts.budget.reserved, parts.authenticator.shown) == (0, ["Bearer a"])


async def test_body_with_a_key_changes_its_budget() -> None:
    parts = Parts()
    held: list[int] = []

    def find(_: object, body: bytes) -> str:
        held.append(parts.keyless.held)
        return body.decode()

    with RequestExchange(SamplePeer(body=b"key"), parts.context) as exchange:
        await exchange.receive(KeyPlaces(lambda _: None, find))
        assert (held, parts.keyless.held, parts.budget.reserved) == ([3], 0, 3)
    assert parts.authenticator.shown == ["key"]


async def test_other_than_json_is_refused_unread() -> None:
    peer, parts = SamplePeer({"content-type": "text/plain"}, body=b"{}"), Parts()
    with RequestExchange(peer, parts.context) as exchange:
        with pytest.raises(UnsupportedMediaError):
            await exchange.receive(only_json=True)
        assert not peer.reservations


def test_wrong_timeout_is_refused_first() -> None:
    with pytest.raises(InvalidRequestError), RequestExchange(SamplePeer({"x-timeout-ms": "-1"}), Parts().context):
        pass


async def test_caller_is_unknown_before_it_is_identified() -> None:
    with RequestExchange(SamplePeer(), Parts().context) as exchange, pytest.raises(RuntimeError, match="identified"):
        _ = exchange.key
