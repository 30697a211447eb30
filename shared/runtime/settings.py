"""Settings of both servers, from the environment; misspelt names are refused."""

from __future__ import annotations

import argparse
import difflib
import os
from collections.abc import Collection, Mapping
from functools import cached_property
from typing import Annotated, ClassVar, TypeVar

from pydantic import AfterValidator, Field, SecretStr, ValidationError, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from shared.protocol.deadline import TimeLimits
from shared.protocol.headers import validate_token
from shared.protocol.translate_request import Limits
from shared.protocol.validation_errors import sentence_of
from shared.runtime.logging import LogFormat


class SettingsError(ValueError):
    """The environment has a wrong setting, or an unknown one."""


def unknown_settings(
    prefix: str, known: Collection[str], environ: Mapping[str, str], removed: Mapping[str, str] | None = None
) -> list[str]:
    """Return a sentence for each misspelt or removed setting.

    pydantic-settings ignores them in the process environment. ``known`` has full names.
    """
    sentences: list[str] = []
    for name in sorted(environ):
        if removed and name.upper() in removed:
            sentences.append(f"{name} was removed; {removed[name.upper()]}")
        elif name.upper().startswith(prefix.upper()) and name.upper() not in known:
            close = difflib.get_close_matches(name.upper(), known, n=1)
            hint = f"did you mean {close[0]}?" if close else f"settings: {', '.join(sorted(known))}"
            sentences.append(f"{name} is not a setting; {hint}")
    return sentences


def refuse_unknown_settings(
    prefix: str, fields: Collection[str], environ: Mapping[str, str], removed: Mapping[str, str] | None = None
) -> None:
    """Refuse misspelt settings.

    Raises:
        SettingsError: variables are misspelt, or their settings were removed.
    """
    if unknown := unknown_settings(prefix, {f"{prefix}{field}".upper() for field in fields}, environ, removed):
        raise SettingsError("; ".join(unknown))


Port = Annotated[int, Field(ge=1, le=65535, description="TCP port to listen on.")]
MaxConnections = Annotated[
    int,
    Field(
        ge=1,
        le=1_000_000,
        description="Most connections at once; never more than three quarters of the open file limit.",
    ),
]
# Raw text for split_commas: pydantic-settings would parse it as JSON.
CommaSeparated = Annotated[tuple[str, ...], NoDecode]
Token = Annotated[SecretStr, AfterValidator(validate_token)]


def split_commas(value: object) -> object:
    """Return the parts of a comma-separated text; other values are returned unchanged."""
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


class ServerSettings(BaseSettings):
    """Settings of both servers; environment variables have the prefix ``env_prefix``."""

    # Errors must not show inputs: these have all values, and so a Redis password.
    model_config = SettingsConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
    # Advice for settings of earlier versions, by full name.
    removed: ClassVar[Mapping[str, str]] = {}

    host: str = Field(
        default="127.0.0.1",
        description="Address to listen on; 127.0.0.1 accepts only connections from this machine.",
    )
    max_connections: MaxConnections = 16_384
    request_timeout: float = Field(
        default=30.0,
        gt=0,
        le=600,
        description="Longest time for a request of up to 1,000 characters, in seconds; X-Timeout-Ms only shortens it.",
    )
    seconds_per_1000_chars: float = Field(
        default=2.0,
        ge=0,
        le=600,
        description="Seconds added to that time for each further 1,000 characters of a request's texts; 0: none.",
    )
    max_request_timeout: float = Field(
        default=600.0, gt=0, le=86_400, description="Longest time for any request, in seconds, however long its texts."
    )
    max_texts: int = Field(default=256, ge=1, le=10_000, description="Most texts in one request.")
    max_text_chars: int = Field(default=200_000, ge=1, description="Most characters in one text.")
    max_body_bytes: int = Field(
        default=2_097_152,
        ge=1024,
        description="Most bytes in one request's body; the default holds 200,000 characters even as \\uXXXX.",
    )
    max_bodies_bytes: int = Field(
        default=33_554_432, ge=1_048_576, description="Most bytes of all request bodies in memory at once, per server."
    )
    drain_seconds: float = Field(
        default=3.0,
        ge=0,
        le=600,
        description="Time after a stop signal in which requests are still accepted, in seconds; 0: none.",
    )
    log_level: str = Field(
        default="info",
        pattern="(?i)^(debug|info|warning|error)$",
        description="Lowest level that is logged: debug, info, warning or error.",
    )
    log_format: LogFormat = Field(
        default="json", description='Format of log lines: "json", or "text" for reading at a terminal.'
    )

    @model_validator(mode="after")
    def _check_maxima(self) -> ServerSettings:
        prefix = self.model_config.get("env_prefix", "")
        if self.request_timeout > self.max_request_timeout:
            raise ValueError(
                f"{prefix}MAX_REQUEST_TIMEOUT ({self.max_request_timeout:g} s) must not be shorter than "
                f"{prefix}REQUEST_TIMEOUT ({self.request_timeout:g} s)"
            )
        if self.max_body_bytes > self.max_bodies_bytes:
            raise ValueError(
                f"{prefix}MAX_BODY_BYTES ({self.max_body_bytes}) must not exceed "
                f"{prefix}MAX_BODIES_BYTES ({self.max_bodies_bytes}): such a body would never be accepted"
            )
        return self

    @cached_property
    def time_limits(self) -> TimeLimits:
        """Time limits of a request, by the length of its texts."""
        return TimeLimits(self.request_timeout, self.seconds_per_1000_chars, self.max_request_timeout)

    @cached_property
    def limits(self) -> Limits:
        """Size limits of a request."""
        return Limits(body_bytes=self.max_body_bytes, texts=self.max_texts, text_chars=self.max_text_chars)


S = TypeVar("S", bound=ServerSettings)


def load_settings(kind: type[S]) -> S:
    """Read a server's settings from the environment.

    Raises:
        SettingsError: names the wrong variables and valid values, and repeats no secret.
    """
    refuse_unknown_settings(kind.model_config.get("env_prefix", ""), kind.model_fields, os.environ, kind.removed)
    try:
        return kind()
    except ValidationError as error:
        raise SettingsError("; ".join(_wrong(kind, error))) from None


def wants_check(program: str, description: str) -> bool:
    """Parse a server's command line; return whether only to check settings."""
    parser = argparse.ArgumentParser(f"python -m {program}", description=description)
    parser.add_argument("--check", action="store_true", help="check the settings and end: 0 if all are right, else 78")
    return parser.parse_args().check


def find_mistakes(kind: type[ServerSettings]) -> list[str]:
    """Return a sentence for each mistake in the environment."""
    prefix = kind.model_config.get("env_prefix", "")
    known = {f"{prefix}{field}".upper() for field in kind.model_fields}
    sentences = unknown_settings(prefix, known, os.environ, kind.removed)
    try:
        kind()
    except ValidationError as error:
        sentences += _wrong(kind, error)
    return sentences


def _wrong(kind: type[ServerSettings], error: ValidationError) -> list[str]:
    prefix = kind.model_config.get("env_prefix", "")
    sentences: list[str] = []
    for item in error.errors(include_url=False, include_input=False):
        name = f"{prefix}{item['loc'][0]}".upper() if item["loc"] else "the settings"
        sentences.append(f"{name}: {sentence_of(item, {})}")
    return sentences
