"""Settings in the environment that nobody reads are told about."""

from __future__ import annotations

import pytest

from shared.runtime.settings import UnknownSettingError, refuse_unknown_settings

FIELDS = ["port", "probe_interval"]


@pytest.mark.parametrize("name", ["PROXY_PORTS", "proxy_prot", "PROXY_PROBE_INTERVALL"])
def test_a_misspelt_name_is_refused_with_the_closest_that_exists(name: str) -> None:
    with pytest.raises(UnknownSettingError, match=f"{name} is no setting; did you mean PROXY_P"):
        refuse_unknown_settings("PROXY_", FIELDS, {name: "secret"})


def test_a_name_like_no_other_gets_the_list() -> None:
    with pytest.raises(UnknownSettingError, match="settings: PROXY_PORT, PROXY_PROBE_INTERVAL"):
        refuse_unknown_settings("PROXY_", FIELDS, {"PROXY_QQQQQQQQQQQQ": ""})


def test_the_value_is_never_shown() -> None:
    with pytest.raises(UnknownSettingError) as caught:
        refuse_unknown_settings("PROXY_", FIELDS, {"PROXY_REDIS_URI": "redis://:hunter2@host"})
    assert "hunter2" not in str(caught.value)


def test_right_names_in_any_case_and_names_of_others_are_let_be() -> None:
    refuse_unknown_settings(
        "PROXY_", FIELDS, {"PROXY_PORT": "1", "proxy_probe_interval": "1", "HTTP_PROXY": "x", "PATH": "/"}
    )
