"""The names of keys in Redis, and its errors as ours."""

from __future__ import annotations

import pytest
from redis.exceptions import OutOfMemoryError, ReadOnlyError, ResponseError

from proxy.redis_client import RedisKeys, StoreUnavailableError, WriteRefusedError, mapped_errors


def test_key_names_are_those_that_running_proxies_use() -> None:
    keys = RedisKeys("pairway:")
    assert (keys.lease, keys.replicas, keys.pairs) == ("pairway:prober", "pairway:replicas", "pairway:pairs")
    assert (keys.overrides, keys.api_keys) == ("pairway:changes", "pairway:keys")
    assert keys.replica("http://a:1") == "pairway:replica:http://a:1"
    assert keys.api_key("0123456789ab") == "pairway:key:0123456789ab"
    assert keys.usage("0123456789ab", "requests", "minute") == "pairway:use:0123456789ab:requests:minute"
    assert (keys.glossary_owners, keys.glossary_bytes) == ("pairway:glossary-owners", "pairway:glossary-bytes")
    assert keys.glossaries("key-0123456789ab") == "pairway:glossaries:key-0123456789ab"
    assert keys.glossary("word-00", "an-id") == "pairway:glossary:word-00:an-id"


@pytest.mark.parametrize(
    "error", [TimeoutError(), ResponseError("wrong type"), ConnectionResetError(), ValueError("x")]
)
def test_every_failure_is_unavailable_error(error: Exception) -> None:
    with pytest.raises(StoreUnavailableError, match="Redis") as caught, mapped_errors(0.25):
        raise error
    assert caught.value.__cause__ is error


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ResponseError("MISCONF Errors writing to the AOF file: No space left on device"), "MISCONF Errors"),
        (ResponseError("Error running script: @user_script:8: -MISCONF Errors writing to the AOF"), "MISCONF Errors"),
        (ResponseError("MISCONF Errors writing to the AOF script: 7247737f, on @user_script:4."), "MISCONF .* AOF$"),
        (OutOfMemoryError("command not allowed when used memory > 'maxmemory'."), "command not allowed"),
        (ReadOnlyError("You can't write against a read only replica."), "You can't write"),
    ],
)
def test_refused_write_differs_from_an_absent_redis(error: Exception, message: str) -> None:
    with pytest.raises(WriteRefusedError, match=f"^Redis refuses to write: {message}"), mapped_errors(0.25):
        raise error
    with pytest.raises(StoreUnavailableError) as caught, mapped_errors(0.25):
        raise ResponseError("WRONGTYPE Operation against a key holding the wrong kind of value")
    assert not isinstance(caught.value, WriteRefusedError)


def test_time_out_names_its_seconds() -> None:
    with pytest.raises(StoreUnavailableError, match=r"within 0\.25 s"), mapped_errors(0.25):
        raise TimeoutError
