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
    "url",
    ["http://a/?SECRET", "http://u:SECRET@a/x", "http://u:SECRET?x@a", "u:SECRET?SECRET@a:1", "http://a?x=SECRET@SECRET",
     "u:SECRET@a:1", "http://u:SECRET?://SECRET@a"],
)  # fmt: skip
def test_message_shows_no_password_and_no_query(url: str) -> None:
    assert "SECRET" not in rejection(replicas=url).partition("[type=")[0]


@pytest.mark.parametrize(
    "origin",
    ["null", "example.com", "https://example.com/", "https://*.example.com", "https://*", "chrome-extension://", "file://",
     "chrome-extension://*/x", "safari-web-extension://*", "http://a:0", "http://[::1"],
)  # fmt: skip
def test_invalid_origin_is_rejected(origin: str) -> None:
    message = rejection(cors_origins=origin)
    assert f"{origin!r} is not an origin" in message
    assert "chrome-extension://*" in message


def test_origins_are_kept_as_browsers_write_them() -> None:
    written = (
        "https://Example.com:443, chrome-extension://*,moz-extension://*, chrome-extension://abc, https://example.com"
    )
    settings = ProxySettings.model_validate({"cors_origins": written})
    assert settings.cors_origins == (
        "https://example.com",
        "chrome-extension://*",
        "moz-extension://*",
        "chrome-extension://abc",
    )


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:6379",
        "http://a",
        "redis://",
        "redis://a:x",
        "redis://:pw@",
        "redis://[a",
        "unix://",
        "unix:///r?socket_timeout=pw@",
    ],
)
def test_invalid_redis_url_is_rejected_unshown(url: str) -> None:
    message = rejection(redis_url=url)
    assert "redis_url" in message
    assert "pw@" not in message


@pytest.mark.parametrize(
    "url", ["redis://a", "redis://:pw@a:6379/0", "rediss://u:pw@a", "unix:///run/redis.sock", "unix:///r?db=1"]
)
def test_valid_redis_url_is_accepted(url: str) -> None:
    assert ProxySettings(redis_url=url).redis_url.get_secret_value() == url  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
