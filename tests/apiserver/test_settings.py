"""Settings: read from the environment, misspelt names refused."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from apiserver.settings import ApiServerSettings
from shared.runtime.settings import SettingsError, load_settings, refuse_unknown_settings


@pytest.mark.parametrize("name", ["APISERVER_MODLES", "APISERVER_", "apiserver_prot", "APISERVER_PROXY_PORT"])
def test_misspelt_setting_is_refused(name: str) -> None:
    with pytest.raises(SettingsError, match=name):
        refuse_unknown_settings("APISERVER_", ApiServerSettings.model_fields, {name: "1", "PATH": "/bin"})


def test_every_setting_is_known_in_any_case() -> None:
    names = [f"APISERVER_{field}" for field in ApiServerSettings.model_fields]
    refuse_unknown_settings(
        "APISERVER_", ApiServerSettings.model_fields, dict.fromkeys([*names, *map(str.upper, names)], "1")
    )


def test_previous_token_needs_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APISERVER_TOKEN_PREVIOUS", "the-previous-token")
    with pytest.raises(ValidationError, match="APISERVER_TOKEN_PREVIOUS needs APISERVER_TOKEN"):
        ApiServerSettings()
    monkeypatch.setenv("APISERVER_TOKEN", "the-token-that-replaces-it")
    assert ApiServerSettings().token_previous.get_secret_value() == "the-previous-token"


def test_models_are_split_at_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APISERVER_MODELS", " en-de, ,en-fr,")
    assert ApiServerSettings().models == ("en-de", "en-fr")


def test_empty_models_mean_all(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ApiServerSettings().models == ()
    monkeypatch.setenv("APISERVER_MODELS", "")
    assert ApiServerSettings().models == ()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PORT", "0"),
        ("PORT", "65536"),
        ("PORT", "http"),
        ("PORT", ""),
        ("REQUEST_TIMEOUT", "0"),
        ("REQUEST_TIMEOUT", "nan"),
        ("REQUEST_TIMEOUT", "inf"),
        ("MAX_WAITING", "-1"),
        ("MAX_TEXTS", "0"),
        ("MAX_BODY_BYTES", "1e99"),
        ("DRAIN_SECONDS", "-1"),
        ("STALL_SECONDS", "0.4"),
        ("STALL_SECONDS", "nan"),
        ("WEIGHT", "0"),
        ("WEIGHT", "101"),
        ("RUNS_BY", "nomad:job"),
        ("RUNS_BY", "compose"),
        ("RUNS_BY", "compose:two words"),
        ("LOG_LEVEL", "loud"),
        ("LOG_LEVEL", "xinfox"),
        ("LOG_FORMAT", "xml"),
    ],
)
def test_wrong_value_is_refused_with_its_field(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(f"APISERVER_{name}", value)
    with pytest.raises(ValidationError, match=name.lower()):
        ApiServerSettings()


def test_queue_seconds_above_request_timeout_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APISERVER_QUEUE_SECONDS", "31")
    with pytest.raises(ValidationError, match=r"QUEUE_SECONDS \(31 s\) .* APISERVER_REQUEST_TIMEOUT \(30 s\)"):
        ApiServerSettings()


def test_memory_that_the_largest_body_would_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APISERVER_MAX_TEXTS_BYTES", "545259519")
    with pytest.raises(SettingsError, match="APISERVER_MAX_BODY_BYTES"):
        load_settings(ApiServerSettings)
    monkeypatch.setenv("APISERVER_MAX_TEXTS_BYTES", "545259520")
    assert load_settings(ApiServerSettings).max_texts_bytes == 256 * (2_097_152 + 128 * 256)


def test_removed_setting_is_refused_with_what_to_do_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APISERVER_SHADOW_SHARE", "0.1")
    with pytest.raises(SettingsError, match=r"APISERVER_SHADOW_SHARE was removed; .*bench-quality"):
        load_settings(ApiServerSettings)
