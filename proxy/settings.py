"""What an operator can set on a proxy, read from ``PROXY_*``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final, Literal

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import SettingsConfigDict

from proxy import urls
from shared.languages import canonical_tag
from shared.runtime.ip_addresses import is_loopback
from shared.runtime.settings import CommaSeparated, MaxConnections, Port, ServerSettings, Token, split_commas

# A few hundred sentences.
_LEAST_CACHE_BYTES: Final = 1024 * 1024


class ProxySettings(ServerSettings):
    """Every field is the environment variable of its name with ``PROXY_`` before it."""

    model_config = SettingsConfigDict(env_prefix="PROXY_")
    removed: ClassVar[Mapping[str, str]] = {
        "PROXY_PROCESSES": (
            "start several proxies, each with a PROXY_PORT of its own, behind a load balancer "
            "(docs/operations.md, More than one core)"
        )
    }

    port: Port = 8000
    root_path: str = Field(
        default="", pattern=r"^(/[^/\s]+)*$", description="Path under which a web server publishes us."
    )
    replicas: CommaSeparated = Field(
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
    operator_token: Token = Field(
        default=SecretStr(""),
        description="Token for changes of the fleet at run time, 16 to 256 ASCII characters; empty: no changes.",
    )
    keys: Literal["auto", "on", "off"] = Field(
        default="auto",
        description='Whether callers need a key: "on", "off", or "auto": unless PROXY_HOST is a loopback address.',
    )
    keys_without_redis: Literal["open", "closed"] = Field(
        default="open",
        description='While Redis is away: "open" lets in keys read in the last hour, uncounted; "closed" none at all.',
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
    replica_token: Token = Field(
        default=SecretStr(""),
        description="What the API servers' APISERVER_TOKEN is, 16 to 256 ASCII characters; empty: they need none.",
    )
    trusted_proxies: CommaSeparated = Field(
        default=(),
        max_length=100,
        description="Addresses and networks of web servers whose X-Forwarded-For and -Proto are believed, comma-separated.",
    )
    cors_origins: CommaSeparated = Field(
        default=(),
        max_length=100,
        description="Origins whose web pages may ask, comma-separated, as https://example.com; *: any page.",
    )
    max_connections: MaxConnections = Field(
        default=16_384,
        description="Clients' connections at once; also never more than three quarters of the open files allowed.",
    )
    probe_interval: float = Field(
        default=1.0, ge=0.1, le=60, description="Pause between two sweeps over the fleet, seconds."
    )
    probe_timeout: float = Field(
        default=1.0, ge=0.1, le=60, description="Longest wait for one replica's report, seconds."
    )
    connect_timeout: float = Field(default=1.0, gt=0, le=30, description="Longest wait for a connection, seconds.")
    max_attempts: int = Field(default=3, ge=1, le=10, description="Replicas tried for one request before it fails.")
    pivot: bool = Field(
        default=True,
        description="Whether a pair that nothing serves directly may go through a third language; a request can refuse.",
    )
    preferred_pivots: CommaSeparated = Field(
        default=("en",),
        max_length=100,
        description="Languages preferred as the third one, comma-separated; others come after them, the quickest first.",
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
    _parts = field_validator("replicas", "preferred_pivots", "trusted_proxies", "cors_origins", mode="before")(
        split_commas
    )
    _urls = field_validator("replicas")(urls.replica_urls)
    _networks = field_validator("trusted_proxies")(urls.networks)
    _origins = field_validator("cors_origins")(urls.origins)
    _redis = field_validator("redis_url")(urls.redis_url)
    _cache_redis = field_validator("cache_redis_url")(urls.redis_url_or_none)

    @field_validator("cache_bytes")
    @classmethod
    def _is_worth_it(cls, value: int) -> int:
        if 0 < value < _LEAST_CACHE_BYTES:
            least = f"write {_LEAST_CACHE_BYTES} (1 MiB) or more, or 0 for no cache"
            raise ValueError(f"{value} is too little to be of use; {least}")
        return value

    @field_validator("preferred_pivots")
    @classmethod
    def _are_languages(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(canonical_tag, value))

    @model_validator(mode="after")
    def _fit_together(self) -> ProxySettings:
        if self.connect_timeout > self.request_timeout:
            raise ValueError(
                f"PROXY_CONNECT_TIMEOUT ({self.connect_timeout:g} s) must not exceed "
                f"PROXY_REQUEST_TIMEOUT ({self.request_timeout:g} s)"
            )
        has_cache_redis = bool(self.cache_redis_url.get_secret_value())
        if has_cache_redis and not self.cache_bytes:
            raise ValueError(
                "PROXY_CACHE_REDIS_URL needs PROXY_CACHE_BYTES > 0: what comes from it is kept in memory too"
            )
        if has_cache_redis and urls.redis_server(self.cache_redis_url) == urls.redis_server(self.redis_url):
            raise ValueError(
                "PROXY_CACHE_REDIS_URL and PROXY_REDIS_URL must be different servers, not databases of one: "
                "the cache fills its memory, and the fleet's must never be full"
            )
        if self.operator_port == self.port:
            raise ValueError(f"PROXY_OPERATOR_PORT ({self.operator_port}) must differ from PROXY_PORT, or be 0")
        if self.operator_token.get_secret_value() and self.operator_token == self.replica_token:
            raise ValueError(
                "PROXY_OPERATOR_TOKEN and PROXY_REPLICA_TOKEN must differ: every replica is shown the second, "
                "and could change the fleet with it"
            )
        return self

    @property
    def published_without_keys(self) -> bool:
        """Whether keys are off by default only, though a web server before us is believed, so seems to publish us."""
        return self.keys == "auto" and not self.keys_on and bool(self.trusted_proxies)

    @property
    def keys_on(self) -> bool:
        """Whether callers need a key."""
        return self.keys == "on" or (self.keys == "auto" and not is_loopback(self.host))

    @property
    def report_ttl(self) -> float:
        """Seconds a report is believed in Redis: three sweeps and their time-outs, so one lost sweep is no alarm."""
        return 3 * (self.probe_interval + self.probe_timeout)
