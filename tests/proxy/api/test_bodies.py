"""Bodies of operators' requests."""

from __future__ import annotations

import pytest

from proxy.api.bodies import validated
from proxy.keys.api_key import Grant
from shared.protocol.errors import InvalidRequestError


def test_validated_returns_the_model() -> None:
    assert validated(Grant, {"name": "a", "requests_per_minute": 3}).requests_per_minute == 3


def test_wrong_fields_are_all_named() -> None:
    with pytest.raises(InvalidRequestError) as caught:
        validated(Grant, {"requests_per_minute": -3})
    assert {error["field"] for error in caught.value.facts["errors"]} == {"name", "requests_per_minute"}
