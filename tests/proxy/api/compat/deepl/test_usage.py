"""Usage: the month's characters of a key, or nothing used where keys are off."""

from __future__ import annotations

import json

import pytest

from proxy.api.compat.deepl.usage import UNLIMITED, render_usage
from proxy.keys.api_key import Grant, mint
from proxy.keys.quota import CHARS_PER_DAY, CHARS_PER_MONTH, UsageResult, windows_at


@pytest.mark.parametrize(("granted", "limit"), [({}, UNLIMITED), ({"chars_per_month": 50, "chars_per_day": 9}, 50)])
def test_usage_is_the_months(granted: dict[str, int], limit: int) -> None:
    key, _ = mint(Grant.model_validate({"name": "a caller", **granted}), 0.0)
    windows = windows_at(1000.0)
    for window in windows:
        window.used = {CHARS_PER_DAY: 7, CHARS_PER_MONTH: 21}.get(window.limit, 1)
    rendered = render_usage(key, UsageResult(1000.0, windows, ()))
    assert json.loads(rendered) == {"character_count": 21, "character_limit": limit}


def test_without_keys_nothing_is_limited() -> None:
    assert json.loads(render_usage(None, None)) == {"character_count": 0, "character_limit": UNLIMITED}
