"""API keys: records, callers, and warnings about grants."""

from __future__ import annotations

import re

import pytest

from proxy.keys.api_key import MAX_NAMED, ApiKey, Grant, KeyView, mint, name_warnings, pair_warnings
from proxy.keys.caller import Caller, at_address
from shared.languages import LanguagePair
from shared.protocol.errors import PairRefusedError
from tests.proxy.samples import pair

SHOWN = re.compile(r"pw_[0-9a-f]{12}_[0-9A-Za-z]{32}")


def test_caller_of_a_key_is_cached() -> None:
    key, _ = mint(Grant.model_validate({"name": "a", "pairs": ["en-de", "de-en"]}), 0.0)
    assert key.caller is key.caller
    assert ApiKey.model_validate(key.model_dump() | {"pairs": ["en-fr"]}).caller != key.caller


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


KNOWN = [LanguagePair("en", "de"), LanguagePair("de", "en"), LanguagePair("en", "zh-Hant")]


def key(name: str, **more: object) -> KeyView:
    return mint(Grant(name=name), 1.0)[0].view.model_copy(update=more)


@pytest.mark.parametrize("pairs", [None, ["en-de"], ["en-GB>de-AT"], ["de>zh-Hant"], ["de>zh-TW"]])
def test_pair_that_something_serves_is_no_warning(pairs: list[str] | None) -> None:
    assert pair_warnings(pairs, KNOWN) == []


@pytest.mark.parametrize("pair", ["enn-de", "en-fr", "en>zh-CN", "zh-Hant>de"])
def test_pair_that_nothing_serves_is_named(pair: str) -> None:
    (warning,) = pair_warnings(["en-de", pair], KNOWN)
    assert warning == f"no server has been seen for {pair}; the pairs that exist: de-en, en-de, en-zh-Hant"


def test_nothing_is_said_while_no_pair_is_known() -> None:
    assert pair_warnings(["enn-de"], []) == []


def test_long_lists_are_cut() -> None:
    known = [LanguagePair("en", f"{chr(97 + n // 26)}{chr(97 + n % 26)}") for n in range(MAX_NAMED + 3)]
    (warning,) = pair_warnings(["de-fr"], known)
    assert warning.endswith("en-at, and 3 more")


def test_only_other_valid_keys_share_a_name() -> None:
    one = key("alice")
    others = [one, key("bob"), key("alice", revoked_at=5.0), key("alice", expires_at=9.0)]
    assert name_warnings(one, others, now=10.0) == []
    (warning,) = name_warnings(one, others, now=8.0)
    assert others[3].id in warning
    assert others[2].id not in warning
