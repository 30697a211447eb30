"""The check of all settings: all mistakes at once, and no secret in them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from deploy.rollout import settings_check

KNOWN = frozenset({"PAIRWAY_DE_MODELS", "PAIRWAY_PORT"})


@pytest.fixture
def environ(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Return an environment with the settings that compose always gives."""
    for name in os.environ:
        if name.startswith(("PROXY_", "APISERVER_", "PAIRWAY_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("APISERVER_HOST", "0.0.0.0")
    monkeypatch.setenv("APISERVER_OPEN", "true")
    return monkeypatch


def test_right_settings_pass(environ: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    environ.setenv("PAIRWAY_DE_MODELS", "")
    environ.setenv("PROXY_LOG_LEVEL", "debug")
    assert settings_check.main() == 0
    assert capsys.readouterr().out.endswith("check: the settings are right\n")


def test_all_mistakes_of_all_prefixes_come_at_once(
    environ: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in {
        "PAIRWAY_DE_MODLES": "en-de",
        "PAIRWAY_PROT": "8000",
        "PROXY_LOG_LEVLE": "debug",
        "PROXY_REDIS_TIMEOUT": "hunter2",
        "APISERVER_WIEGHT": "2",
        "APISERVER_QUEUE_SECONDS": "never",
        "APISERVER_TOKEN": "0123456789abcdef",
    }.items():
        environ.setenv(name, value)
    assert settings_check.main() == 78
    lines = capsys.readouterr().err
    for wrong, meant in {
        "PAIRWAY_DE_MODLES": "PAIRWAY_DE_MODELS",
        "PAIRWAY_PROT": "PAIRWAY_PORT",
        "PROXY_LOG_LEVLE": "PROXY_LOG_LEVEL",
        "APISERVER_WIEGHT": "APISERVER_WEIGHT",
    }.items():
        assert f"check: {wrong} is not a setting; did you mean {meant}?\n" in lines
    assert "check: PROXY_REDIS_TIMEOUT: " in lines
    assert "check: APISERVER_QUEUE_SECONDS: " in lines
    assert "PROXY_REPLICA_TOKEN is neither APISERVER_TOKEN" in lines
    assert "hunter2" not in lines
    assert "0123456789abcdef" not in lines
    assert lines.count("\n") == 7


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "10.0.0.1", "example.com", "::1"])
def test_open_edge_needs_keys(address: str) -> None:
    (sentence,) = settings_check.compose_mistakes({"PAIRWAY_EDGE_ADDRESS": address}, KNOWN | {"PAIRWAY_EDGE_ADDRESS"})
    assert f"PAIRWAY_EDGE_ADDRESS={address} can be reached from other machines" in sentence
    with_keys = {"PAIRWAY_EDGE_ADDRESS": address, "PROXY_KEYS": "on"}
    assert settings_check.compose_mistakes(with_keys, KNOWN | {"PAIRWAY_EDGE_ADDRESS"}) == []


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.2", ""])
def test_local_edge_needs_no_keys(address: str) -> None:
    given = {"PAIRWAY_EDGE_ADDRESS": address, "PROXY_KEYS": "off"}
    assert settings_check.compose_mistakes(given, KNOWN | {"PAIRWAY_EDGE_ADDRESS"}) == []


@pytest.mark.parametrize(
    ("ports", "mistakes"),
    [
        ({}, 1),
        ({"PAIRWAY_PORT": "8000"}, 1),
        ({"PAIRWAY_PORT": "8000", "COMPOSE_PROFILES": "edge"}, 1),
        ({"PAIRWAY_PORT": "8000-8000"}, 1),
        ({"PAIRWAY_PORT": "8000-8001"}, 0),
        ({"COMPOSE_PROFILES": "edge"}, 0),
    ],
)
def test_several_proxies_need_several_ports(ports: dict[str, str], mistakes: int) -> None:
    known = KNOWN | {"PAIRWAY_PROXIES"}
    assert len(settings_check.compose_mistakes({"PAIRWAY_PROXIES": "2", **ports}, known)) == mistakes
    assert settings_check.compose_mistakes({"PAIRWAY_PROXIES": "1", **ports}, known) == []


def test_each_proxy_needs_a_port() -> None:
    given = {"PAIRWAY_PROXIES": "3", "PAIRWAY_PORT": "8000-8001"}
    (sentence,) = settings_check.compose_mistakes(given, KNOWN | {"PAIRWAY_PROXIES"})
    assert "PAIRWAY_PROXIES=3 needs a port for each proxy, and PAIRWAY_PORT=8000-8001 has 2" in sentence


@pytest.mark.parametrize("value", ["-1", "two", "1.5", " 2"])
def test_scales_are_numbers(value: str) -> None:
    for name in settings_check.SCALES:
        (sentence,) = settings_check.compose_mistakes({name: value}, KNOWN | {name})
        assert sentence == f"{name}={value} is not a number of containers, 0 or more"
        assert settings_check.compose_mistakes({name: "0"}, KNOWN | {name}) == []


@pytest.mark.parametrize("text", ["", "web", "8019-8000", "0", "65536", "8000-", "127.0.0.1:8000", "-1"])
def test_what_is_no_port(text: str) -> None:
    assert settings_check.count_ports(text) is None
    if text:
        assert "neither a port nor a range" in settings_check.compose_mistakes({"PAIRWAY_PORT": text}, KNOWN)[0]


@pytest.mark.parametrize("name", ["pairway_port", "Proxy_Log_Level", "APISERVER_weight"])
def test_small_letters_are_refused(name: str) -> None:
    """pydantic would read them; docker compose passes none of them on."""
    (sentence,) = settings_check.case_mistakes({name: "9", "PAIRWAY_PORT": "8000", "path": "/"})
    assert f"write {name.upper()}" in sentence


def test_several_env_files_cannot_be_checked_by_hand() -> None:
    (sentence,) = settings_check.compose_mistakes({"COMPOSE_ENV_FILES": "a.env,b.env"}, KNOWN)
    assert "make roll checks all" in sentence
    assert settings_check.compose_mistakes({"COMPOSE_ENV_FILES": "a.env"}, KNOWN) == []


def test_lines_that_reach_nobody_are_named_and_pass(
    environ: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    environ.setenv("CUDA_LAUNCH_BLOCKING", "hunter2")
    environ.setenv("HF_ENDPOINT", "https://example.com")
    environ.setenv("COMPOSE_PROJECT_NAME", "mine")
    assert settings_check.main() == 0
    out = capsys.readouterr().out
    assert "check: warning: CUDA_LAUNCH_BLOCKING reaches no server" in out
    assert "hunter2" not in out
    assert "HF_ENDPOINT" not in out
    assert "COMPOSE_PROJECT_NAME" not in out


def test_names_of_the_image_are_not_warned_of() -> None:
    """Those of the image, as its container has them."""
    names = "PATH LANG GPG_KEY PYTHON_VERSION PYTHON_SHA256 PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE HOSTNAME HOME"
    of_a_company = ("REQUESTS_CA_BUNDLE", "SSL_CERT_FILE")
    assert settings_check.idle_names(dict.fromkeys((*names.split(), *of_a_company, "PROXY_HOST"), ""), KNOWN) == []


def test_replica_token_may_be_the_previous_one() -> None:
    """A rotation: API servers accept both, then the proxies change."""
    rotating = {"APISERVER_TOKEN": "new", "APISERVER_TOKEN_PREVIOUS": "old"}
    for token in ("new", "old"):
        assert settings_check.token_mistakes(rotating | {"PROXY_REPLICA_TOKEN": token}) == []
    assert len(settings_check.token_mistakes(rotating | {"PROXY_REPLICA_TOKEN": "other"})) == 1
    assert len(settings_check.token_mistakes(rotating)) == 1
    assert settings_check.token_mistakes({"PROXY_REPLICA_TOKEN": "unused"}) == []


def test_list_of_settings_is_the_example() -> None:
    assert Path(".env.example") == settings_check.EXAMPLE
