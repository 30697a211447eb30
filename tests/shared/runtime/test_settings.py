"""Settings in the environment that nobody reads are told about."""

from __future__ import annotations

import pytest
from pydantic_settings import SettingsConfigDict

from shared.runtime.settings import ServerSettings, SettingsError, load_settings, refuse_unknown_settings

FIELDS = ["port", "probe_interval"]


@pytest.mark.parametrize("name", ["PROXY_PORTS", "proxy_prot", "PROXY_PROBE_INTERVALL"])
def test_misspelt_name_is_refused_with_the_closest(name: str) -> None:
    with pytest.raises(SettingsError, match=f"{name} is not a setting; did you mean PROXY_P"):
        refuse_unknown_settings("PROXY_", FIELDS, {name: "secret"})


def test_unknown_name_is_refused_with_the_list() -> None:
    with pytest.raises(SettingsError, match="settings: PROXY_PORT, PROXY_PROBE_INTERVAL"):
        refuse_unknown_settings("PROXY_", FIELDS, {"PROXY_QQQQQQQQQQQQ": ""})


@pytest.mark.parametrize("name", ["PROXY_OLD", "proxy_old"])
def test_removed_name_is_refused_with_what_replaces_it(name: str) -> None:
    with pytest.raises(SettingsError, match=f"{name} was removed; set PROXY_PORT") as caught:
        refuse_unknown_settings("PROXY_", FIELDS, {name: "hunter2"}, {"PROXY_OLD": "set PROXY_PORT"})
    assert "hunter2" not in str(caught.value)


def test_error_never_shows_the_value() -> None:
    with pytest.raises(SettingsError) as caught:
        refuse_unknown_settings("PROXY_", FIELDS, {"PROXY_REDIS_URI": "redis://:hunter2@host"})
    assert "hunter2" not in str(caught.value)


def test_known_names_in_any_case_are_accepted() -> None:
    refuse_unknown_settings(
        "PROXY_", FIELDS, {"PROXY_PORT": "1", "proxy_probe_interval": "1", "HTTP_PROXY": "x", "PATH": "/"}
    )


class SampleSettings(ServerSettings):
    """Settings of a server of these tests."""

    model_config = SettingsConfigDict(env_prefix="SAMPLE_")
    removed = {"SAMPLE_OLD": "set SAMPLE_HOST"}  # noqa: RUF012 - as its base class declares it


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("SAMPLE_HOTS", "hunter2", "SAMPLE_HOTS is not a setting; did you mean SAMPLE_HOST"),
        ("SAMPLE_OLD", "hunter2", "SAMPLE_OLD was removed; set SAMPLE_HOST"),
        ("SAMPLE_LOG_LEVEL", "hunter2", "^SAMPLE_LOG_LEVEL: "),
        ("SAMPLE_REQUEST_TIMEOUT", "600", "^the settings: .*SAMPLE_MAX_REQUEST_TIMEOUT"),
    ],
)
def test_wrong_setting_is_named_without_its_value(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str
) -> None:
    monkeypatch.setenv("SAMPLE_MAX_REQUEST_TIMEOUT", "60")
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=said) as caught:
        load_settings(SampleSettings)
    assert "hunter2" not in str(caught.value)


def test_settings_are_read_by_their_prefix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAMPLE_HOST", "::1")
    assert load_settings(SampleSettings).host == "::1"
