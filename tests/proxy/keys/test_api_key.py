"""The record of a key."""

from __future__ import annotations

import re

from proxy.keys.api_key import ApiKey, Grant, mint

SHOWN = re.compile(r"pw_[0-9a-f]{12}_[0-9A-Za-z]{32}")


def test_caller_of_a_key_is_cached() -> None:
    key, _ = mint(Grant.model_validate({"name": "a", "pairs": ["en-de", "de-en"]}), 0.0)
    assert key.caller is key.caller
    assert ApiKey.model_validate(key.model_dump() | {"pairs": ["en-fr"]}).caller != key.caller
