"""The names of keys in Redis, and its errors as ours."""

from __future__ import annotations

import pytest
from redis.exceptions import ResponseError

from proxy.redis_client import RedisKeys, StoreUnavailableError, mapped_errors


def test_key_names_are_those_that_running_proxies_use() -> None:
    keys = RedisKeys("pairway:")
    assert (keys.lease, keys.replicas, keys.pairs) == ("pairway:prober", "pairway:replicas", "pairway:pairs")
    assert (keys.overrides, keys.api_keys) == ("pairway:changes", "pairway:keys")
    assert keys.replica("http://a:1") == "pairway:replica:http://a:1"
    assert keys.api_key("0123456789ab") == "pairway:key:0123456789ab"
    assert keys.usage("0123456789ab", "requests", "minute") == "pairway:use:0123456789ab:requests:minute"


@pytest.mark.parametrize(
    "error", [TimeoutError(), ResponseError("wrong type"), ConnectionResetError(), ValueError("x")]
)
def test_every_failure_is_unavailable_error(error: Exception) -> None:
    with pytest.raises(StoreUnavailableError, match="Redis") as caught, mapped_errors(0.25):
        raise error
    assert caught.value.__cause__ is error


def test_time_out_names_its_seconds() -> None:
    with pytest.raises(StoreUnavailableError, match=r"within 0\.25 s"), mapped_errors(0.25):
        raise TimeoutError
