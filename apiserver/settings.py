"""What an operator can set on an API server, read from ``APISERVER_*``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from shared import token
from shared.address import is_loopback
from shared.deadline import TimeLimits
from shared.telemetry import LogFormat
from shared.wire import Limits

PREFIX: Final = "APISERVER_"


class Settings(BaseSettings):
    """Every field is the environment variable of its name with ``APISERVER_`` before it."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="forbid", frozen=True, hide_input_in_errors=True)

    host: str = Field(default="127.0.0.1", description="Address to listen on.")
    port: int = Field(default=8001, ge=1, le=65535, description="TCP port to listen on.")
    token: SecretStr = Field(
        default=SecretStr(""),
        description="What proxies must show (PROXY_REPLICA_TOKEN), 16 to 256 ASCII characters; empty: anybody may ask.",
    )
    open: bool = Field(
        default=False,
        description="Whether to serve without a token beyond loopback: only on a network that nobody else reaches.",
    )
    max_connections: int = Field(
        default=16_384,
        ge=1,
        le=1_000_000,
        description="Connections at once; also never more than three quarters of the open files allowed.",
    )
    catalog: Path = Field(default=Path("deploy/models/demo.yaml"), description="File that says which models exist.")
    models: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(), description="Names of the catalog's models to host here, comma-separated; empty: all."
    )
    request_timeout: float = Field(
        default=30.0,
        gt=0,
        le=600,
        description="Longest time for one request of up to 1,000 characters, seconds; X-Timeout-Ms can only shorten it.",
    )
    seconds_per_1000_chars: float = Field(
        default=2.0,
        ge=0,
        le=600,
        description="Seconds more for every further 1,000 characters of a request's texts together.",
    )
    max_request_timeout: float = Field(
        default=600.0, gt=0, le=86_400, description="Longest time for one request, however long its texts, seconds."
    )
    queue_seconds: float = Field(
        default=1.0,
        ge=0.05,
        le=600,
        description="Queueing delay to hold, seconds: what waits longer at the engine's measured rate is refused at once.",
    )
    max_waiting: int = Field(
        default=300,
        ge=1,
        le=100_000,
        description="Units of cost (short sentences) that may wait beyond what an engine runs at once, per model.",
    )
    max_texts: int = Field(default=128, ge=1, le=10_000, description="Texts in one request.")
    max_text_chars: int = Field(default=200_000, ge=1, description="Characters in one text.")
    max_body_bytes: int = Field(
        default=2_097_152,
        ge=1024,
        description="Bytes in one request's body; 200,000 characters fit even as \\uXXXX.",
    )
    max_bodies_bytes: int = Field(
        default=33_554_432, ge=1_048_576, description="Bytes of all requests' bodies in hand at once, per server."
    )
    canary_timeout: float = Field(
        default=30.0, gt=0, le=600, description="Time within which a pair's canary translation must come back, seconds."
    )
    stall_seconds: float = Field(
        default=1.5,
        ge=0.5,
        le=600,
        description="Silence after which an engine with work loses its pairs, seconds; longer than its longest step.",
    )
    restart_backoff: float = Field(
        default=1.0, gt=0, le=60, description="Pause before a dead engine is started again, seconds; doubles up to 30."
    )
    weight: float = Field(
        default=1.0,
        gt=0,
        le=100,
        description="Share of the work that this server wants beside the fleet's others, 1 for an ordinary one.",
    )
    drain_seconds: float = Field(
        default=3.0, ge=0, le=600, description="Time between a stop signal and the closing of the socket, seconds."
    )
    log_level: str = Field(
        default="info", pattern="(?i)^(debug|info|warning|error)$", description="Least level logged."
    )
    log_format: LogFormat = Field(default="json", description='"json", or "text" for people.')

    @field_validator("models", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator("token")
    @classmethod
    def _is_token(cls, value: SecretStr) -> SecretStr:
        return token.checked(value)

    @model_validator(mode="after")
    def _is_closed(self) -> Settings:
        if not self.token.get_secret_value() and not self.open and not is_loopback(self.host):
            message = (
                f"APISERVER_HOST ({self.host}) is reached by others than this machine, and there is no token: set "
                "APISERVER_TOKEN (and PROXY_REPLICA_TOKEN to the same), or APISERVER_OPEN=true on a private network"
            )
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _times_fit(self) -> Settings:
        if self.request_timeout > self.max_request_timeout:
            message = (
                f"APISERVER_MAX_REQUEST_TIMEOUT ({self.max_request_timeout:g} s) must not be shorter than "
                f"APISERVER_REQUEST_TIMEOUT ({self.request_timeout:g} s)"
            )
            raise ValueError(message)
        if self.queue_seconds > self.request_timeout:
            message = (
                f"APISERVER_QUEUE_SECONDS ({self.queue_seconds:g} s) must not exceed "
                f"APISERVER_REQUEST_TIMEOUT ({self.request_timeout:g} s): what waits so long is too late"
            )
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _a_body_fits(self) -> Settings:
        if self.max_body_bytes > self.max_bodies_bytes:
            message = (
                f"APISERVER_MAX_BODY_BYTES ({self.max_body_bytes}) must not exceed "
                f"APISERVER_MAX_BODIES_BYTES ({self.max_bodies_bytes}): such a body would never be let in"
            )
            raise ValueError(message)
        return self

    @property
    def time_limits(self) -> TimeLimits:
        """How long a request may take, by the length of its texts."""
        return TimeLimits(self.request_timeout, self.seconds_per_1000_chars, self.max_request_timeout)

    @property
    def limits(self) -> Limits:
        """The bounds of one request."""
        return Limits(body_bytes=self.max_body_bytes, texts=self.max_texts, text_chars=self.max_text_chars)
