"""The proxy's settings: what is taken, what is rejected, and that secrets stay secret."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr, ValidationError

from apiserver.settings import ApiServerSettings
from proxy.fleet.store import FleetStore
from proxy.settings import ProxySettings
from proxy.storage.lease import RENEW_SECONDS
from shared.runtime.background import PERIOD_JITTER
from shared.runtime.settings import SettingsError, load_settings
from tests.proxy.proxies import proxy
from tests.support.processes import free_port, python_server


def rejection(**values: Any) -> str:
    with pytest.raises(ValidationError) as caught:
        ProxySettings(**values)
    return str(caught.value)


def test_defaults_are_those_of_the_design() -> None:
    settings = ProxySettings()
    assert (settings.port, settings.probe_interval, settings.request_timeout) == (8000, 1.0, 30.0)
    assert (settings.limits.texts, settings.limits.body_bytes) == (256, 2 << 20)
    assert settings.replicas == ("http://127.0.0.1:8001",)


def test_every_setting_is_described() -> None:
    assert all(field.description and field.description.endswith(".") for field in ProxySettings.model_fields.values())


def test_replicas_are_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROXY_REPLICAS", " http://a:1/ ,https://b, http://a:1,,http://[::1]:8001,http://under_score:1")
    monkeypatch.setenv("PROXY_PROBE_INTERVAL", "0.5")
    settings = ProxySettings()
    assert settings.replicas == ("http://a:1", "https://b", "http://[::1]:8001", "http://under_score:1")
    assert settings.probe_interval == 0.5


@pytest.mark.parametrize(
    "values",
    [{"port": 0}, {"port": 70000}, {"probe_interval": 0.01}, {"request_timeout": 0}, {"max_texts": 0}, {"max_attempts": 0},
     {"redis_prefix": ""}, {"redis_prefix": "a b"}, {"log_format": "xml"}, {"log_level": "loud"}, {"root_path": "mt"},
     {"root_path": "/mt/"}, {"unknown": 1}, {"connect_timeout": 20, "request_timeout": 10}, {"drain_seconds": -1},
     {"seconds_per_1000_chars": -1}, {"seconds_per_1000_chars": "nan"}, {"max_request_timeout": 29},
     {"max_request_timeout": "inf"}, {"keys": "maybe"}, {"keys_without_redis": "ajar"}],
)  # fmt: skip
def test_values_out_of_bounds_are_rejected(values: dict[str, Any]) -> None:
    rejection(**values)


def test_max_request_timeout_below_request_timeout_is_rejected() -> None:
    message = rejection(request_timeout=60, max_request_timeout=50)
    assert "PROXY_MAX_REQUEST_TIMEOUT (50 s)" in message
    assert "PROXY_REQUEST_TIMEOUT (60 s)" in message
    assert ProxySettings(request_timeout=60, max_request_timeout=60).time_limits.seconds(10**6) == 60


def test_longest_text_fits_the_default_time_and_body() -> None:
    settings = ProxySettings()
    assert settings.time_limits.seconds(settings.max_text_chars) < settings.max_request_timeout
    assert settings.max_text_chars * len("\\uXXXX") < settings.max_body_bytes


def test_secrets_are_not_in_repr_or_errors() -> None:
    secret = "redis://:hunter2@redis:6379/0"
    assert "hunter2" not in repr(ProxySettings(redis_url=secret))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert "hunter2" not in rejection(redis_url=secret, connect_timeout=20, request_timeout=10)
    assert "hunter2" not in rejection(redis_url=secret, port="x")
    assert "hunter2" not in rejection(replicas="http://user:hunter2@a:1")
    assert "hunter2" not in rejection(replicas="http://user:hunter2@a:1/path")
    assert "hunter2" not in rejection(replicas="user:hunter2@a:1")


def test_lease_and_report_lifetimes_bound_a_leader_change() -> None:
    settings = ProxySettings()
    ttl = FleetStore("redis://nowhere", "x:", 1, time.time).lease("me", settings.redis_timeout, time.monotonic).ttl
    hand_over = ttl + (1 + PERIOD_JITTER) * RENEW_SECONDS + settings.redis_timeout
    assert hand_over < 3
    assert settings.report_ttl > hand_over


@pytest.mark.parametrize(
    "token", ["short", "x" * 15, "x" * 257, "sixteen characters and spaces", "pässwörter-pässwörter"]
)
def test_invalid_operator_token_is_rejected_unshown(token: str) -> None:
    message = rejection(operator_token=token)
    assert "operator_token" in message
    assert token not in message


SECRET_FIELDS = [
    (kind, name)
    for kind in (ProxySettings, ApiServerSettings)
    for name, field in kind.model_fields.items()
    if field.annotation is SecretStr
]


@pytest.mark.parametrize(("kind", "name"), SECRET_FIELDS)
def test_no_error_repeats_a_secret_setting(
    monkeypatch: pytest.MonkeyPatch, kind: type[ProxySettings | ApiServerSettings], name: str
) -> None:
    monkeypatch.setenv(f"{kind.model_config.get('env_prefix', '')}{name}".upper(), "hunter2 hunter2\tand no address")
    with pytest.raises(SettingsError, match=name.upper()) as caught:
        load_settings(kind)
    assert "hunter2" not in str(caught.value)


def test_settings_with_secrets_are_known() -> None:
    assert {name for _, name in SECRET_FIELDS} >= {
        "redis_url",
        "cache_redis_url",
        "operator_token",
        "observer_token",
        "token",
    }


def test_operator_token_is_empty_by_default_and_secret() -> None:
    assert not ProxySettings(operator_token="").operator_token.get_secret_value()  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    token = "0123456789abcdef"
    assert token not in repr(ProxySettings(operator_token=token))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert token not in rejection(operator_token=token, port="x")


@pytest.mark.parametrize(
    ("host", "keys", "on"),
    [
        ("127.0.0.1", "auto", False),
        ("127.9.9.9", "auto", False),
        ("::1", "auto", False),
        ("localhost", "auto", False),
        ("0.0.0.0", "auto", True),
        ("::", "auto", True),
        ("10.0.0.5", "auto", True),
        ("localhost.example", "auto", True),
        ("0.0.0.0", "off", False),
        ("127.0.0.1", "on", True),
    ],
)
def test_keys_are_on_beyond_loopback_by_default(host: str, keys: str, on: bool) -> None:
    assert ProxySettings.model_validate({"host": host, "keys": keys}).keys_on is on


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"PROXY_PROBE_INTERVALL": "1"}, "did you mean PROXY_PROBE_INTERVAL"),
        ({"PROXY_PROCESSES": "1"}, "PROXY_PROCESSES was removed; start several proxies"),
        ({"PROXY_PORT": "http"}, "PROXY_PORT: Input should be a valid integer"),
        ({"PROXY_OPERATOR_TOKEN": "hunter2"}, "PROXY_OPERATOR_TOKEN: must have 16 to 256 ASCII characters"),
        ({"PROXY_REDIS_URL": "hunter2"}, "PROXY_REDIS_URL: is not the URL of a Redis"),
        ({"PROXY_REDIS_URL": "redis://h/0?socket_timeout=hunter2"}, "PROXY_REDIS_URL: is not the URL of a Redis"),
    ],
)
def test_wrong_setting_is_named_without_its_secret(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], message: str
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError) as caught:
        load_settings(ProxySettings)
    assert message in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_wrong_setting_exits_with_78(tmp_path: Path) -> None:
    wrong = {"PROXY_PORT": str(free_port()), "PROXY_OPERATOR_TOKEN": "hunter2"}
    server = python_server("proxy", tmp_path, wrong, "proxy")
    server.start()
    assert server.process is not None
    assert server.process.wait(30) == 78
    assert "PROXY_OPERATOR_TOKEN: must have 16 to 256 ASCII characters" in server.tail()
    assert "Traceback" not in server.tail()
    assert "hunter2" not in server.tail()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("trusted_proxies", "*", "not an IP address or network"),
        ("trusted_proxies", "10.0.0.1/8", "not an IP address or network"),
        ("trusted_proxies", "nginx", "not an IP address or network"),
        ("cors_origins", "example.com", "not an origin"),
        ("cors_origins", "https://example.com/", "not an origin"),
        ("cors_origins", "null", "not an origin"),
        ("cors_origins", "https://example.com:99999", "not an origin"),
        ("cors_origins", "http://[::1", "not an origin"),
        ("cache_bytes", "1048575", r"too little; write 1048576 \(1 MiB\) or more, or 0"),
        ("replica_token", "short", "16 to 256"),
        ("operator_port", "8000", "must differ"),
        ("max_connections", "0", "greater than or equal to 1"),
    ],
)
def test_unusable_values_are_rejected(monkeypatch: pytest.MonkeyPatch, name: str, value: str, message: str) -> None:
    monkeypatch.setenv(f"PROXY_{name.upper()}", value)
    with pytest.raises(ValidationError, match=message):
        ProxySettings()


def test_equal_tokens_and_small_body_budget_are_rejected() -> None:
    token = SecretStr("a-token-that-is-long-enough")
    with pytest.raises(ValidationError, match="must differ"):
        ProxySettings(operator_token=token, replica_token=token)
    for other in ("operator_token", "replica_token"):
        with pytest.raises(ValidationError, match="PROXY_OBSERVER_TOKEN must differ"):
            ProxySettings.model_validate({"observer_token": token, other: token})
    for settings in (ProxySettings, ApiServerSettings):
        with pytest.raises(ValidationError, match=r"MAX_BODY_BYTES \(2097152\) must not exceed"):
            settings.model_validate({"max_bodies_bytes": 1_048_576})
        settings.model_validate({"max_bodies_bytes": 2_097_152})


@pytest.mark.parametrize(
    ("given", "published"),
    [
        ({"trusted_proxies": ("10.0.0.1",)}, True),
        ({"trusted_proxies": ("10.0.0.1",), "keys": "off"}, False),
        ({"trusted_proxies": ("10.0.0.1",), "keys": "on"}, False),
        ({"trusted_proxies": ("10.0.0.1",), "host": "0.0.0.0"}, False),
        ({}, False),
    ],
)
async def test_proxy_published_without_keys_warns(
    given: dict[str, Any], published: bool, caplog: pytest.LogCaptureFixture
) -> None:
    assert ProxySettings.model_validate(given).published_without_keys == published
    async with proxy(["http://127.0.0.1:1"], ready=False, **given):
        pass
    assert ("a web server publishes this proxy" in caplog.text) == published


def test_lists_are_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROXY_TRUSTED_PROXIES", "10.0.0.0/8, fd00::/8,127.0.0.1")
    monkeypatch.setenv("PROXY_CORS_ORIGINS", "https://example.com, http://localhost:3000")
    settings = ProxySettings()
    assert settings.trusted_proxies == ("10.0.0.0/8", "fd00::/8", "127.0.0.1")
    assert settings.cors_origins == ("https://example.com", "http://localhost:3000")


REDIS = "redis://:secret@cache:6379/0"


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"cache_redis_url": "http://cache"}, "is not the URL of a Redis"),
        ({"cache_redis_url": REDIS}, "needs PROXY_CACHE_BYTES"),
        (
            {"cache_bytes": 1024 * 1024, "cache_redis_url": REDIS, "redis_url": "redis://cache"},
            "must be different servers",
        ),
        (
            {"cache_bytes": 1024 * 1024, "cache_redis_url": REDIS, "redis_url": "rediss://CACHE:6379/3"},
            "must be different",
        ),
        ({"cache_bytes": 1024 * 1024, "cache_redis_url": "redis://localhost/1"}, "must be different servers"),
        ({"cache_bytes": 1024 * 1024, "cache_redis_url": "redis://[::1]:6379/1"}, "must be different servers"),
        (
            {"cache_bytes": 1024 * 1024, "cache_redis_url": "unix:///r", "redis_url": "unix:///r"},
            "must be different servers",
        ),
    ],
)
def test_cache_redis_equal_to_the_fleets_redis_is_rejected(values: dict[str, object], why: str) -> None:
    with pytest.raises(ValidationError, match=why) as caught:
        ProxySettings(**values)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("url", ["", REDIS, "unix:///r", "redis://127.0.0.1:6380"])
def test_cache_redis_of_its_own_is_accepted(url: str) -> None:
    settings = ProxySettings(cache_bytes=1024 * 1024, cache_redis_url=url)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert settings.cache_redis_url.get_secret_value() == url
    assert "secret" not in repr(settings)
