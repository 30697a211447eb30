"""Settings: which of arguments, environment and profile wins, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from pairway import Client
from pairway.errors import SettingsError
from pairway.settings import DEFAULT_URL, Settings, config_file, load_settings

PROFILES = """
[default]
url = "http://home.test"
key = "pw_home"
[work]
url = "https://work.test/pairway/"
key = "pw_work"
"""


def saved(folder: Path, text: str = PROFILES, mode: int = 0o600) -> dict[str, str]:
    path = folder / "pairway" / "config.toml"
    path.parent.mkdir()
    path.write_text(text)
    path.chmod(mode)
    return {"XDG_CONFIG_HOME": str(folder)}


def test_arguments_win_over_environment_and_that_over_profiles(tmp_path: Path) -> None:
    profiles = saved(tmp_path)
    environment = {**profiles, "PAIRWAY_URL": "http://env.test", "PAIRWAY_KEY": "pw_env"}
    assert load_settings(None, None, None, {"XDG_CONFIG_HOME": "/nowhere"}) == Settings(DEFAULT_URL)
    assert load_settings(None, None, None, profiles) == Settings("http://home.test", "pw_home")
    assert load_settings(None, None, None, environment) == Settings("http://env.test", "pw_env")
    assert load_settings("http://arg.test", "pw_arg", None, environment) == Settings("http://arg.test", "pw_arg")
    assert load_settings(None, None, "work", environment) == Settings("https://work.test/pairway", "pw_work")


def test_key_of_a_profile_goes_to_its_own_address_only(tmp_path: Path) -> None:
    profiles = saved(tmp_path)
    assert load_settings("http://other.test", None, None, profiles).key is None
    assert load_settings(None, None, None, {**profiles, "PAIRWAY_URL": "http://other.test"}).key is None
    assert load_settings("http://other.test", None, "work", profiles).key is None


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604])
def test_key_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    with pytest.raises(SettingsError, match="chmod 600") as raised:
        load_settings(None, None, None, saved(tmp_path, mode=mode))
    assert "pw_" not in str(raised.value)


def test_profile_without_a_key_may_be_read_by_all(tmp_path: Path) -> None:
    environment = saved(tmp_path, '[default]\nurl = "http://home.test"', 0o644)
    assert load_settings(None, None, None, environment) == Settings("http://home.test")


@pytest.mark.parametrize("text", ["key = 'pw_secret", "[default]\nkey = 1", "[default]\nurl = 'ftp://pw_secret'"])
def test_profile_that_cannot_be_used_is_named_without_its_text(tmp_path: Path, text: str) -> None:
    with pytest.raises(SettingsError) as raised:
        load_settings(None, None, None, saved(tmp_path, text))
    assert "pw_secret" not in str(raised.value)


def test_unknown_profile_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="default, work"):
        load_settings(None, None, "play", saved(tmp_path))


def test_it_works_without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("no home")

    monkeypatch.setattr(Path, "home", no_home)
    assert config_file({"XDG_CONFIG_HOME": "relative"}) is None
    assert load_settings(None, None, None, {}) == Settings(DEFAULT_URL)


@pytest.mark.parametrize(
    "url", ["server.test", "ftp://server.test", "http://", "http://me:secret@server.test", "http://[::1", "http://\0"]
)
def test_wrong_address_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(SettingsError) as raised:
        load_settings(url, None, None, {})
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("key", ["pw secret", "pw_secret\r\nX: y", "pw_sécret"])
def test_key_that_no_header_can_have_is_refused_without_it(key: str) -> None:
    with pytest.raises(SettingsError) as raised:
        load_settings(None, key, None, {})
    assert "cret" not in str(raised.value)


def test_key_is_in_no_representation() -> None:
    with Client("http://server.test", "pw_secret") as client:
        shown = [repr(client), repr(client.session), repr(client.session.settings)]
    assert not [text for text in shown if "secret" in text]
    assert "server.test" in shown[0]
