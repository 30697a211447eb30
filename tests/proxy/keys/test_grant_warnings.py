"""What an operator is warned of when a key is created."""

from __future__ import annotations

import pytest

from proxy.keys.api_key import Grant, KeyView, mint
from proxy.keys.grant_warnings import MAX_NAMED, name_warnings, pair_warnings
from shared.languages import LanguagePair

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
