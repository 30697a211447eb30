"""Settings in the environment that nobody reads are told about."""

from __future__ import annotations

import pytest

from shared.runtime.settings import UnknownSettingError, refuse_unknown_settings

FIELDS = ["port", "probe_interval"]


@pytest.mark.parametrize("name", ["PROXY_PORTS", "proxy_prot", "PROXY_PROBE_INTERVALL"])
def test_misspelt_name_is_refused_with_the_closest(name: str) -> None:
    with pytest.raises(UnknownSettingError, match=f"{name} is no setting; did you mean PROXY_P"):
        refuse_unknown_settings("PROXY_", FIELDS, {name: "secret"})


def test_unknown_name_is_refused_with_the_list() -> None:
    with pytest.raises(UnknownSettingError, match="settings: PROXY_PORT, PROXY_PROBE_INTERVAL"):
        refuse_unknown_settings("PROXY_", FIELDS, {"PROXY_QQQQQQQQQQQQ": ""})


@pytest.mark.parametrize("name", ["PROXY_OLD", "proxy_old"])
def test_removed_name_is_refused_with_what_replaces_it(name: str) -> None:
    with pytest.raises(UnknownSettingError, match=f"{name} was removed; set PROXY_PORT") as caught:
        refuse_unknown_settings("PROXY_", FIELDS, {name: "hunter2"}, {"PROXY_OLD": "set PROXY_PORT"})
    assert "hunter2" not in str(caught.value)


def test_error_never_shows_the_value() -> None:
    with pytest.raises(UnknownSettingError) as caught:
        refuse_unknown_settings("PROXY_", FIELDS, {"PROXY_REDIS_URI": "redis://:hunter2@host"})
    assert "hunter2" not in str(caught.value)


def test_known_names_in_any_case_are_accepted() -> None:
    refuse_unknown_settings(
        "PROXY_", FIELDS, {"PROXY_PORT": "1", "proxy_probe_interval": "1", "HTTP_PROXY": "x", "PATH": "/"}
    )
