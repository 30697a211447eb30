"""Settings of an API server, read from the environment variables ``APISERVER_*``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Final

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import SettingsConfigDict

from shared.ip_addresses import is_loopback
from shared.protocol.report import MAX_RUNS_BY_CHARS
from shared.runtime.settings import CommaSeparated, Port, ServerSettings, Token, split_commas

# The most that a request holds for each character: texts, plan, results (tests/apiserver/integration/test_memory.py).
BYTES_PER_CHAR: Final = 128
# What a text takes at least, in characters: its plan, results and engine request have 12 KB, with tags or short lines.
TEXT_CHARS: Final = 128


class ApiServerSettings(ServerSettings):
    """Settings of an API server; ``port`` is the environment variable ``APISERVER_PORT``."""

    model_config = SettingsConfigDict(env_prefix="APISERVER_")
    removed: ClassVar[Mapping[str, str]] = {
        "APISERVER_SHADOW_SHARE": (
            "compare a new model on an idle server before it serves (make bench-quality: benchmarks/README.md)"
        )
    }

    port: Port = 8001
    token: Token = Field(
        default=SecretStr(""),
        description="Token that proxies must send (their PROXY_REPLICA_TOKEN), 16 to 256 ASCII characters; "
        "empty: none is needed.",
    )
    token_previous: Token = Field(
        default=SecretStr(""),
        description="Second token that is accepted while APISERVER_TOKEN is rotated, 16 to 256 ASCII characters; "
        "empty: none.",
    )
    operator_token: Token = Field(
        default=SecretStr(""),
        description="Token to change models while serving, 16 to 256 ASCII characters, not APISERVER_TOKEN; "
        "empty: changes are off.",
    )
    open: bool = Field(
        default=False,
        description="Whether to serve beyond loopback without a token; only for networks that nobody else reaches.",
    )
    catalog: Path = Field(
        default=Path("deploy/models/demo.yaml"), description="Path of the catalog, the file that describes the models."
    )
    models: CommaSeparated = Field(
        default=(), description="Names of the catalog's models to host here, comma-separated; empty: all."
    )
    queue_seconds: float = Field(
        default=1.0,
        ge=0.05,
        le=600,
        description="Longest queueing delay, in seconds; "
        "a request that would wait longer at the engine's measured rate is refused at once.",
    )
    max_waiting: int = Field(
        default=300,
        ge=1,
        le=100_000,
        description="Most cost units (short sentences) that wait for a model, not counting those that its engine runs.",
    )
    max_texts_bytes: int = Field(
        default=545_259_520,
        ge=1_048_576,
        description="Most bytes that the texts of all requests in flight may take, 128 for each character of texts and options "
        "(a text: at least 128 characters); one caller takes at most half of what others leave.",
    )
    canary_timeout: float = Field(
        default=30.0, gt=0, le=600, description="Longest wait for a pair's canary translation, in seconds."
    )
    stall_seconds: float = Field(
        default=1.5,
        ge=0.5,
        le=600,
        description="Time without progress until a busy engine's pairs are not ready, in seconds; "
        "more than the engine's longest step.",
    )
    restart_backoff: float = Field(
        default=1.0,
        gt=0,
        le=60,
        description="Pause before a dead engine is restarted, in seconds; it doubles up to 30.",
    )
    weight: float = Field(
        default=1.0,
        gt=0,
        le=100,
        description="Share of the work relative to the fleet's other servers; 1 is an ordinary share.",
    )
    runs_by: str = Field(
        default="",
        max_length=MAX_RUNS_BY_CHARS,
        pattern=r"^((compose|systemd|launcher|kubernetes):\S+)?$",
        description="What runs this server and its name there, for the commands of runbooks: compose:SERVICE, systemd:UNIT, "
        "launcher:NAME or kubernetes:POD; empty: not said.",
    )
    _parts = field_validator("models", mode="before")(split_commas)

    @property
    def serves_this_machine(self) -> bool:
        """Whether only this machine reaches this server, which needs no token."""
        return is_loopback(self.host) and not self.token.get_secret_value()

    @model_validator(mode="after")
    def _is_closed(self) -> ApiServerSettings:
        if not self.token.get_secret_value() and not self.open and not is_loopback(self.host):
            message = (
                f"APISERVER_HOST ({self.host}) can be reached from other machines, and there is no token: set "
                "APISERVER_TOKEN (and PROXY_REPLICA_TOKEN to the same), or APISERVER_OPEN=true on a private network"
            )
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _has_a_token_beside_the_previous_one(self) -> ApiServerSettings:
        if self.token_previous.get_secret_value() and not self.token.get_secret_value():
            raise ValueError("APISERVER_TOKEN_PREVIOUS needs APISERVER_TOKEN, the token that replaces it")
        return self

    @model_validator(mode="after")
    def _tokens_differ(self) -> ApiServerSettings:
        operators = self.operator_token.get_secret_value()
        if operators and operators in {self.token.get_secret_value(), self.token_previous.get_secret_value()}:
            message = "APISERVER_OPERATOR_TOKEN must differ from APISERVER_TOKEN, which every proxy has"
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _largest_body_fits(self) -> ApiServerSettings:
        least = (
            2 * BYTES_PER_CHAR * (self.max_body_bytes + TEXT_CHARS * self.max_texts)
        )  # a caller takes at most half; a character is at least a byte
        if self.max_texts_bytes < least:
            message = (
                f"APISERVER_MAX_TEXTS_BYTES ({self.max_texts_bytes}) must be at least {least} for "
                f"APISERVER_MAX_BODY_BYTES ({self.max_body_bytes}) and APISERVER_MAX_TEXTS ({self.max_texts}): such a body would never be accepted"
            )
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _times_fit(self) -> ApiServerSettings:
        if self.queue_seconds > self.request_timeout:
            message = (
                f"APISERVER_QUEUE_SECONDS ({self.queue_seconds:g} s) must not exceed "
                f"APISERVER_REQUEST_TIMEOUT ({self.request_timeout:g} s): a request that waits so long is too late"
            )
            raise ValueError(message)
        return self
