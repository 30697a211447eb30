"""What an operator can set on a proxy, read from ``PROXY_*``."""

from __future__ import annotations

import re
from enum import StrEnum
from ipaddress import ip_network
from typing import Annotated, Final

from pydantic import Field, SecretStr, ValidationInfo, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from proxy.replica_url import replica_url, split_url
from shared import token
from shared.address import is_loopback
from shared.deadline import TimeLimits
from shared.languages import canonical_tag
from shared.telemetry import LogFormat
from shared.wire import Limits

PREFIX: Final = "PROXY_"
_REDIS_PORT: Final = 6379
# A few hundred sentences.
_LEAST_CACHE_BYTES: Final = 1024 * 1024
# scheme://host or scheme://host:port, as a browser writes it in Origin.
_ORIGIN: Final = re.compile(r"\*|https?://[a-z0-9.\-\[\]:]+")


class Keys(StrEnum):
    """Whether callers need a key."""

    AUTO = "auto"
    ON = "on"
    OFF = "off"


class WithoutRedis(StrEnum):
    """What becomes of keys while they can not be looked up."""

    OPEN = "open"
    CLOSED = "closed"


class Settings(BaseSettings):
    """Every field is the environment variable of its name with ``PROXY_`` before it."""

    # Inputs are hidden in errors: beside the wrong value they show the others, a Redis password among them.
    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="forbid", frozen=True, hide_input_in_errors=True)

    host: str = Field(default="127.0.0.1", description="Address to listen on.")
    port: int = Field(default=8000, ge=1, le=65535, description="TCP port to listen on.")
    root_path: str = Field(
        default="", pattern=r"^(/[^/\s]+)*$", description="Path under which a web server publishes us."
    )
    replicas: Annotated[tuple[str, ...], NoDecode] = Field(
        default=("http://127.0.0.1:8001",),
        min_length=1,
        max_length=1000,
        description="URLs of the API servers, comma-separated; a host name expands to all its addresses.",
    )
    redis_url: SecretStr = Field(
        default=SecretStr("redis://127.0.0.1:6379/0"),
        description="Where the fleet's health is kept; may hold a password.",
    )
    redis_prefix: str = Field(
        default="pairway:", pattern=r"^[A-Za-z0-9:_\-]{1,64}$", description="Begins every key in Redis."
    )
    redis_timeout: float = Field(default=0.25, gt=0, le=5, description="Longest wait for one call of Redis, seconds.")
    operator_token: SecretStr = Field(
        default=SecretStr(""),
        description="Token for changes of the fleet at run time, 16 to 256 ASCII characters; empty: no changes.",
    )
    keys: Keys = Field(
        default=Keys.AUTO,
        description='Whether callers need a key: "on", "off", or "auto": unless PROXY_HOST is a loopback address.',
    )
    keys_without_redis: WithoutRedis = Field(
        default=WithoutRedis.OPEN,
        description='While Redis is away: "open" lets in keys seen in the last hour, "closed" none at all.',
    )
    operator_port: int = Field(
        default=0,
        ge=0,
        le=65535,
        description="TCP port where alone operators' paths and /metrics are served; 0: at the port of all others.",
    )
    operator_host: str = Field(
        default="127.0.0.1", description="Address to listen on for operators, where they have a port of their own."
    )
    replica_token: SecretStr = Field(
        default=SecretStr(""),
        description="What the API servers' APISERVER_TOKEN is, 16 to 256 ASCII characters; empty: they need none.",
    )
    trusted_proxies: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        max_length=100,
        description="Addresses and networks of web servers whose X-Forwarded-For and -Proto are believed, comma-separated.",
    )
    cors_origins: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        max_length=100,
        description="Origins whose web pages may ask, comma-separated, as https://example.com; *: any page.",
    )
    max_connections: int = Field(
        default=16_384,
        ge=1,
        le=1_000_000,
        description="Clients' connections at once; also never more than three quarters of the open files allowed.",
    )
    processes: int = Field(
        default=1,
        ge=1,
        le=64,
        description="Processes behind the one port, each with evidence, cache and metrics of its own; with more than one, "
        "PROXY_OPERATOR_PORT and the ports after it are theirs, one each.",
    )
    probe_interval: float = Field(
        default=1.0, ge=0.1, le=60, description="Pause between two sweeps over the fleet, seconds."
    )
    probe_timeout: float = Field(
        default=1.0, ge=0.1, le=60, description="Longest wait for one replica's report, seconds."
    )
    connect_timeout: float = Field(default=1.0, gt=0, le=30, description="Longest wait for a connection, seconds.")
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
    max_attempts: int = Field(default=3, ge=1, le=10, description="Replicas tried for one request before it fails.")
    pivot: bool = Field(
        default=True,
        description="Whether a pair that nothing serves directly may go through a third language; a request can refuse.",
    )
    preferred_pivots: Annotated[tuple[str, ...], NoDecode] = Field(
        default=("en",),
        max_length=100,
        description="Languages preferred as the third one, comma-separated; others come after them, the quickest first.",
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
    cache_bytes: int = Field(
        default=0,
        ge=0,
        description="Bytes of memory (1 MiB and more) for translations, so for what users wrote, to answer the same again; "
        "0: none is kept.",
    )
    cache_seconds: float = Field(
        default=86_400, ge=1, le=31_536_000, description="How long a translation is kept at most, seconds."
    )
    cache_redis_url: SecretStr = Field(
        default=SecretStr(""),
        description="Redis that holds the cache for all proxies, not that of the fleet; may hold a password; empty: none.",
    )
    drain_seconds: float = Field(
        default=3.0, ge=0, le=600, description="Time between a stop signal and the closing of the socket, seconds."
    )
    log_level: str = Field(
        default="info", pattern="(?i)^(debug|info|warning|error)$", description="Least level logged."
    )
    log_format: LogFormat = Field(default="json", description='"json", or "text" for people.')

    @field_validator("replicas", "preferred_pivots", "trusted_proxies", "cors_origins", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator("replicas")
    @classmethod
    def _are_urls(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(replica_url(url) for url in value))

    @field_validator("operator_token", "replica_token")
    @classmethod
    def _is_token(cls, value: SecretStr) -> SecretStr:
        return token.checked(value)

    @field_validator("trusted_proxies")
    @classmethod
    def _are_networks(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for each in value:
            try:
                ip_network(each)
            except ValueError:
                message = f"{each!r} is no IP address or network (10.0.0.5, 10.0.0.0/8, fd00::/8)"
                raise ValueError(message) from None
        return value

    @field_validator("cors_origins")
    @classmethod
    def _are_origins(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for each in value:
            if not _ORIGIN.fullmatch(each) or split_url(each) is None:
                message = f"{each!r} is no origin; write https://HOST or https://HOST:PORT, without a path, or *"
                raise ValueError(message)
        return value

    @field_validator("cache_bytes")
    @classmethod
    def _is_worth_it(cls, value: int) -> int:
        if 0 < value < _LEAST_CACHE_BYTES:
            message = (
                f"{value} is too little to be of use; write {_LEAST_CACHE_BYTES} (1 MiB) or more, or 0 for no cache"
            )
            raise ValueError(message)
        return value

    @field_validator("preferred_pivots")
    @classmethod
    def _are_languages(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(canonical_tag, value))

    @field_validator("redis_url", "cache_redis_url")
    @classmethod
    def _is_redis(cls, value: SecretStr, info: ValidationInfo) -> SecretStr:
        if info.field_name == "cache_redis_url" and not value.get_secret_value():
            return value
        parts = split_url(value.get_secret_value())
        good = parts is not None and (
            (parts.scheme in {"redis", "rediss"} and bool(parts.hostname)) or (parts.scheme == "unix" and parts.path)
        )
        if parts is not None and parts.scheme != "unix":
            good = good and not parts.query and re.fullmatch(r"(/\d{0,3})?", parts.path) is not None
        if not good:
            message = "is no URL of a Redis; write redis://[:PASSWORD@]HOST:PORT/DATABASE (rediss:// for TLS)"
            raise ValueError(message)
        return value

    @model_validator(mode="after")
    def _times_fit(self) -> Settings:
        if self.connect_timeout > self.request_timeout:
            message = (
                f"PROXY_CONNECT_TIMEOUT ({self.connect_timeout:g} s) must not exceed "
                f"PROXY_REQUEST_TIMEOUT ({self.request_timeout:g} s)"
            )
            raise ValueError(message)
        if self.request_timeout > self.max_request_timeout:
            message = (
                f"PROXY_MAX_REQUEST_TIMEOUT ({self.max_request_timeout:g} s) must not be shorter than "
                f"PROXY_REQUEST_TIMEOUT ({self.request_timeout:g} s)"
            )
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _cache_is_apart(self) -> Settings:
        if not self.cache_redis_url.get_secret_value():
            return self
        if not self.cache_bytes:
            raise ValueError(
                "PROXY_CACHE_REDIS_URL needs PROXY_CACHE_BYTES > 0: what comes from it is kept in memory too"
            )
        if _server(self.cache_redis_url) == _server(self.redis_url):
            raise ValueError(
                "PROXY_CACHE_REDIS_URL and PROXY_REDIS_URL must be different servers, not databases of one: "
                "the cache fills its memory, and the fleet's must never be full"
            )
        return self

    @model_validator(mode="after")
    def _processes_are_told_apart(self) -> Settings:
        if self.processes > 1 and not self.operator_port:
            message = (
                f"PROXY_PROCESSES ({self.processes}) needs PROXY_OPERATOR_PORT: each process has metrics of its own, and at "
                "one port for all nobody could tell whose they are"
            )
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _ports_differ(self) -> Settings:
        if self.operator_port and self.operator_port <= self.port < self.operator_port + self.processes:
            message = f"PROXY_OPERATOR_PORT ({self.operator_port}) must differ from PROXY_PORT, or be 0"
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _tokens_differ(self) -> Settings:
        if self.operator_token.get_secret_value() and self.operator_token == self.replica_token:
            raise ValueError(
                "PROXY_OPERATOR_TOKEN and PROXY_REPLICA_TOKEN must differ: every replica is shown the second, "
                "and could change the fleet with it"
            )
        return self

    @model_validator(mode="after")
    def _a_body_fits(self) -> Settings:
        if self.max_body_bytes > self.max_bodies_bytes:
            message = (
                f"PROXY_MAX_BODY_BYTES ({self.max_body_bytes}) must not exceed "
                f"PROXY_MAX_BODIES_BYTES ({self.max_bodies_bytes}): such a body would never be let in"
            )
            raise ValueError(message)
        return self

    @property
    def published_without_keys(self) -> bool:
        """Whether keys are off by default only, though a web server before us is believed, so seems to publish us."""
        return self.keys is Keys.AUTO and not self.keys_on and bool(self.trusted_proxies)

    @property
    def keys_on(self) -> bool:
        """Whether callers need a key."""
        return self.keys is Keys.ON or (self.keys is Keys.AUTO and not is_loopback(self.host))

    @property
    def report_ttl(self) -> float:
        """Seconds a report is believed in Redis: three sweeps and their time-outs, so one lost sweep is no alarm."""
        return 3 * (self.probe_interval + self.probe_timeout)

    @property
    def time_limits(self) -> TimeLimits:
        """How long a request may take, by the length of its texts."""
        return TimeLimits(self.request_timeout, self.seconds_per_1000_chars, self.max_request_timeout)

    @property
    def limits(self) -> Limits:
        """The bounds of one request."""
        return Limits(body_bytes=self.max_body_bytes, texts=self.max_texts, text_chars=self.max_text_chars)


def _server(url: SecretStr) -> object:
    """Return what tells one Redis server from another, as far as a URL says."""
    parts = split_url(url.get_secret_value())
    if parts is None or parts.scheme == "unix":
        return parts and parts.path
    host = parts.hostname or ""
    return "localhost" if is_loopback(host) else host, parts.port or _REDIS_PORT
