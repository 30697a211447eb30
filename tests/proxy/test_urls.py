"""URLs in settings: of API servers and of Redis."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from proxy.settings import ProxySettings


def rejection(**values: Any) -> str:
    with pytest.raises(ValidationError) as caught:
        ProxySettings(**values)
    return str(caught.value)


@pytest.mark.parametrize(
    "url",
    ["", ",", "a:8001", "ftp://a:1", "http://", "http://:80", "http://a:0", "http://a:99999", "http://a:x", "http://[::1",
     "http://a/translate", "http://a?x=1", "http://a\n:1", "http://" + "a" * 300,
     "http://a#x", "http://a b:1", "http://user@a:1", "http://ä:1", "http://a\\b"],
)  # fmt: skip
def test_invalid_replica_url_is_rejected(url: str) -> None:
    assert "replicas" in rejection(replicas=url)


@pytest.mark.parametrize(
    "url", ["", "localhost:6379", "http://a", "redis://", "redis://a:x", "redis://:pw@", "redis://[a"]
)
def test_invalid_redis_url_is_rejected_unshown(url: str) -> None:
    message = rejection(redis_url=url)
    assert "redis_url" in message
    assert "pw@" not in message


@pytest.mark.parametrize("url", ["redis://a", "redis://:pw@a:6379/0", "rediss://u:pw@a", "unix:///run/redis.sock"])
def test_valid_redis_url_is_accepted(url: str) -> None:
    assert ProxySettings(redis_url=url).redis_url.get_secret_value() == url  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
