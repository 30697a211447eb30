"""Settings come from the environment; a name that nobody reads is a mistake to be told about."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from pydantic import ValidationError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping


class UnknownSettingError(ValueError):
    """The environment holds a name with our prefix that no setting has."""


def refuse_unknown(prefix: str, fields: Collection[str], environ: Mapping[str, str]) -> None:
    """Refuse misspelt settings, which pydantic-settings does not see in the process environment.

    Raises:
        UnknownSettingError: names the variable and the closest setting that exists.
    """
    known = {f"{prefix}{field}".upper() for field in fields}
    for name in sorted(environ):
        if name.upper().startswith(prefix.upper()) and name.upper() not in known:
            close = difflib.get_close_matches(name.upper(), known, n=1)
            hint = f"did you mean {close[0]}?" if close else f"settings: {', '.join(sorted(known))}"
            message = f"{name} is no setting; {hint}"
            raise UnknownSettingError(message)


def describe(error: ValidationError, prefix: str) -> str:
    """Say which variables are wrong and what would be right, never with the value: it may be a secret."""
    wrong: list[str] = []
    for item in error.errors(include_url=False, include_input=False):
        name = f"{prefix}{item['loc'][0]}".upper() if item["loc"] else "the settings"
        wrong.append(f"{name}: {item['msg'].removeprefix('Value error, ')}")
    return "; ".join(wrong)
