"""Callers: how they are told apart, and which pairs they may use."""

from __future__ import annotations

import pytest

from proxy.keys.caller import Caller, at_address
from shared.protocol.errors import PairRefusedError
from tests.proxy.samples import pair


def test_address_stands_for_its_network() -> None:
    assert at_address("192.0.2.1") is at_address("192.0.2.1")
    assert at_address("192.0.2.1").identity != at_address("192.0.2.2").identity
    assert at_address("2001:db8::1").identity == at_address("2001:db8::2").identity, "one household, one network"


def test_tag_is_stable_and_hides_the_identity() -> None:
    one, other = Caller("key 0123456789ab"), Caller("key 0123456789ac")
    assert one.tag == Caller("key 0123456789ab").tag != other.tag
    assert "0123456789ab" not in one.tag


def test_check_allows_pairs_and_their_regions() -> None:
    caller = Caller("key a", pairs=frozenset({pair("en>de")}))
    caller.check(pair("en>de"))
    caller.check(pair("en-GB>de-AT"))
    with pytest.raises(PairRefusedError, match="en-fr"):
        caller.check(pair("en>fr"))


def test_check_allows_everything_without_pairs() -> None:
    Caller("key a").check(pair("en>fr"))
