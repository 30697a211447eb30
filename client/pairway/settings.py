"""Settings: arguments, then the environment, then a profile's file."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

import httpx

from .errors import SettingsError

# Where `make up` serves.
DEFAULT_URL: Final = "http://127.0.0.1:8000"
DEFAULT_PROFILE: Final = "default"
# Printable ASCII without spaces: all that a header can carry as a token.
_KEY: Final = re.compile(r"[!-~]{1,4096}")
_OTHERS_READ: Final = 0o044


@dataclass(frozen=True, slots=True)
class Settings:
    """The server's address and the key; the key is in no representation."""

    url: str
    key: str | None = field(default=None, repr=False)


def load_settings(
    url: str | None, key: str | None, profile: str | None, environment: Mapping[str, str] = os.environ
) -> Settings:
    """Return the settings of a client.

    A profile that is named wins over the environment. A profile's key goes to its own address only.

    Raises:
        SettingsError: an address, key or profile cannot be used.
    """
    from_environment = {} if profile else {"url": environment.get("PAIRWAY_URL"), "key": environment.get("PAIRWAY_KEY")}
    chosen_url = url or from_environment.get("url")
    chosen_key = key or from_environment.get("key")
    if profile or not chosen_url:
        saved = _profile(profile, environment)
        saved_url = saved.get("url") or DEFAULT_URL
        if not chosen_url or chosen_url == saved_url:
            chosen_url, chosen_key = saved_url, chosen_key or saved.get("key")
    return Settings(_checked_url(chosen_url or DEFAULT_URL), _checked_key(chosen_key))


def config_file(environment: Mapping[str, str]) -> Path | None:
    """Return the path of the profiles, None without a home."""
    base = environment.get("XDG_CONFIG_HOME", "")
    if Path(base).is_absolute():
        return Path(base, "pairway", "config.toml")
    try:
        return Path.home() / ".config" / "pairway" / "config.toml"
    except RuntimeError:
        return None


def _profile(name: str | None, environment: Mapping[str, str]) -> Mapping[str, str]:
    path = config_file(environment)
    profiles = {} if path is None else _profiles(path)
    found = profiles.get(name or DEFAULT_PROFILE)
    if found is None and name:
        known = ", ".join(sorted(profiles)) or "none"
        raise SettingsError(f"There is no profile {name!r} in {path}; there is {known}.")
    return found or {}


def _profiles(path: Path) -> dict[str, Mapping[str, str]]:
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            tables = tomllib.load(file)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as error:
        # What tomllib says can hold a line of the file, and so a key.
        raise SettingsError(f"{path} cannot be read: {type(error).__name__}.") from None
    profiles = {name: cast("dict[str, Any]", table) for name, table in tables.items() if isinstance(table, dict)}
    for name, table in profiles.items():
        if not all(isinstance(table.get(member, ""), str) for member in ("url", "key")):
            raise SettingsError(f"{path}: url and key of {name!r} must be strings.")
    if os.name == "posix" and mode & _OTHERS_READ and any("key" in table for table in profiles.values()):
        raise SettingsError(f"{path} has a key that others can read: run chmod 600 {path}.")
    return {name: {each: table[each] for each in ("url", "key") if each in table} for name, table in profiles.items()}


def _checked_url(url: str) -> str:
    try:
        parsed = httpx.URL(url.rstrip("/"))
    except (httpx.InvalidURL, TypeError):
        parsed = httpx.URL("")
    if parsed.scheme not in {"http", "https"} or not parsed.host:
        raise SettingsError("The server's address must be like http://127.0.0.1:8000, or begin with https://.")
    if parsed.userinfo:
        raise SettingsError("The server's address must not have a name or password; give the key as key=.")
    return str(parsed)


def _checked_key(key: str | None) -> str | None:
    if key is not None and not _KEY.fullmatch(key):
        raise SettingsError("The key must be printable ASCII without spaces.")
    return key or None
