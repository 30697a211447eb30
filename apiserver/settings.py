"""What an operator can set on an API server, read from ``APISERVER_*``."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import SettingsConfigDict

from shared.runtime.ip_addresses import is_loopback
from shared.runtime.settings import CommaSeparated, Port, ServerSettings, Token, split_commas


class ApiServerSettings(ServerSettings):
    """Every field is the environment variable of its name with ``APISERVER_`` before it."""

    model_config = SettingsConfigDict(env_prefix="APISERVER_")

    port: Port = 8001
    token: Token = Field(
        default=SecretStr(""),
        description="What proxies must show (PROXY_REPLICA_TOKEN), 16 to 256 ASCII characters; empty: anybody may ask.",
    )
    open: bool = Field(
        default=False,
        description="Whether to serve without a token beyond loopback: only on a network that nobody else reaches.",
    )
    catalog: Path = Field(default=Path("deploy/models/demo.yaml"), description="File that says which models exist.")
    models: CommaSeparated = Field(
        default=(), description="Names of the catalog's models to host here, comma-separated; empty: all."
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
    _parts = field_validator("models", mode="before")(split_commas)

    @model_validator(mode="after")
    def _is_closed(self) -> ApiServerSettings:
        if not self.token.get_secret_value() and not self.open and not is_loopback(self.host):
            message = (
                f"APISERVER_HOST ({self.host}) is reached by others than this machine, and there is no token: set "
                "APISERVER_TOKEN (and PROXY_REPLICA_TOKEN to the same), or APISERVER_OPEN=true on a private network"
            )
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _times_fit(self) -> ApiServerSettings:
        if self.queue_seconds > self.request_timeout:
            message = (
                f"APISERVER_QUEUE_SECONDS ({self.queue_seconds:g} s) must not exceed "
                f"APISERVER_REQUEST_TIMEOUT ({self.request_timeout:g} s): what waits so long is too late"
            )
            raise ValueError(message)
        return self
