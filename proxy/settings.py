"""Settings of a proxy, read from the environment variables ``PROXY_*``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final, Literal

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import SettingsConfigDict

from proxy import urls
from shared.ip_addresses import is_loopback
from shared.languages import canonical_tag
from shared.runtime.settings import CommaSeparated, MaxConnections, Port, ServerSettings, Token, split_commas

# A few hundred sentences.
_LEAST_CACHE_BYTES: Final = 1024 * 1024

# Formats of others (docs/compat/README.md).
COMPATIBLE_APIS: Final = ("libretranslate", "deepl", "deeplx", "imme", "kiss")


class ProxySettings(ServerSettings):
    """Settings of a proxy; ``port`` is the environment variable ``PROXY_PORT``."""

    model_config = SettingsConfigDict(env_prefix="PROXY_")
    removed: ClassVar[Mapping[str, str]] = {
        "PROXY_PROCESSES": (
            "start several proxies with different PROXY_PORTs behind a load balancer (docs/operations/scaling.md)"
        )
    }

    port: Port = 8000
    root_path: str = Field(
        default="",
        pattern=r"^(/[^/\s]+)*$",
        description="Path under which a web server publishes this proxy, such as /mt; empty: the root.",
    )
    replicas: CommaSeparated = Field(
        default=("http://127.0.0.1:8001",),
        min_length=1,
        max_length=1000,
        description="URLs of the API servers, comma-separated; a host name expands to all its addresses.",
    )
    redis_url: SecretStr = Field(
        default=SecretStr("redis://127.0.0.1:6379/0"),
        description="URL of the Redis that holds the fleet's state and the API keys; it may contain a password.",
    )
    redis_prefix: str = Field(
        default="pairway:",
        pattern=r"^[A-Za-z0-9:_\-]{1,64}$",
        description="Prefix of every key in Redis; two fleets on one Redis need different prefixes.",
    )
    redis_timeout: float = Field(default=0.25, gt=0, le=5, description="Longest wait for one Redis call, in seconds.")
    operator_token: Token = Field(
        default=SecretStr(""),
        description="Token to change the fleet and API keys, 16 to 256 ASCII characters; "
        "empty: changes need a key of scope operate.",
    )
    observer_token: Token = Field(
        default=SecretStr(""),
        description="Token that reads /metrics and the fleet's state and changes nothing, 16 to 256 ASCII characters; "
        "empty: where keys are on, that needs a key of scope observe.",
    )
    keys: Literal["auto", "on", "off"] = Field(
        default="auto",
        description='Whether callers need an API key: "on", "off", or "auto", on unless PROXY_HOST is loopback.',
    )
    keys_without_redis: Literal["open", "closed"] = Field(
        default="open",
        description='While Redis is away, "open" accepts API keys read within the last hour, without counting; '
        '"closed" accepts none.',
    )
    metric_keys: int = Field(
        default=0,
        ge=0,
        le=1000,
        description="Most API keys with counters of their own in /metrics, by id; further ones are counted together, "
        "as none; 0: no counters by key.",
    )
    operator_port: int = Field(
        default=0,
        ge=0,
        le=65535,
        description="Separate TCP port for operators' paths and /metrics; 0: PROXY_PORT serves them too.",
    )
    operator_host: str = Field(
        default="127.0.0.1",
        description="Address of PROXY_OPERATOR_PORT; 127.0.0.1 accepts only connections from this machine.",
    )
    replica_token: Token = Field(
        default=SecretStr(""),
        description="Token sent to API servers, their APISERVER_TOKEN, 16 to 256 ASCII characters; empty: none.",
    )
    trusted_proxies: CommaSeparated = Field(
        default=(),
        max_length=100,
        description="Addresses and networks of web servers whose X-Forwarded-For and -Proto are believed, "
        "comma-separated; empty: none.",
    )
    cors_origins: CommaSeparated = Field(
        default=(),
        max_length=100,
        description="Origins whose pages may call this proxy, comma-separated: https://example.com, "
        "chrome-extension://ID, or chrome-extension://* and moz-extension://* for all extensions; *: all; empty: none.",
    )
    compat: CommaSeparated = Field(
        default=COMPATIBLE_APIS,
        max_length=len(COMPATIBLE_APIS),
        description=f"Compatible APIs that this proxy serves, comma-separated: {', '.join(COMPATIBLE_APIS)}; empty: none.",
    )
    pages: bool = Field(
        default=True,
        description="Whether browsers get pages: to translate on at /, and to watch the fleet on at /status.",
    )
    max_keyless_bytes: int = Field(
        default=134_217_728,
        ge=1_048_576,
        description="Most bytes of unparsed request bodies over 64 KiB whose senders have yet to show their key, "
        "of all networks together.",
    )
    max_connections: MaxConnections = Field(
        default=16_384,
        description="Most client connections at once; never more than three quarters of the open file limit.",
    )
    probe_interval: float = Field(
        default=1.0, ge=0.1, le=60, description="Pause between two sweeps over the fleet, in seconds."
    )
    probe_timeout: float = Field(
        default=1.0, ge=0.1, le=60, description="Longest wait for one replica's report, in seconds."
    )
    connect_timeout: float = Field(
        default=1.0, gt=0, le=30, description="Longest wait for a connection to a replica, in seconds."
    )
    max_attempts: int = Field(
        default=3,
        ge=1,
        le=10,
        description="Most replicas tried for one request, not counting up to 10 that cannot be reached.",
    )
    pivot: bool = Field(
        default=True,
        description="Whether pairs without a model may go through a third language (pivot); requests can refuse this.",
    )
    preferred_pivots: CommaSeparated = Field(
        default=("en",),
        max_length=100,
        description="Preferred pivot languages, comma-separated, best first; others follow, the fastest first.",
    )
    confidence: bool = Field(
        default=False,
        description="Whether every answer of POST /translate has the confidence of each text, as with "
        '"confidence": true; it costs engines some time.',
    )
    cache_bytes: int = Field(
        default=0,
        ge=0,
        description="Memory for cached translations of users' texts, in bytes, 1 MiB or more; 0: no cache.",
    )
    cache_seconds: float = Field(
        default=86_400,
        ge=1,
        le=31_536_000,
        description="Longest time that a translation is cached, in seconds; the default is one day.",
    )
    cache_redis_url: SecretStr = Field(
        default=SecretStr(""),
        description="URL of a Redis that shares the cache among proxies, not the fleet's Redis; "
        "it may contain a password; empty: none.",
    )
    _parts = field_validator(
        "replicas", "preferred_pivots", "trusted_proxies", "cors_origins", "compat", mode="before"
    )(split_commas)
    _urls = field_validator("replicas")(urls.replica_urls)
    _networks = field_validator("trusted_proxies")(urls.networks)
    _origins = field_validator("cors_origins")(urls.origins)
    _redis = field_validator("redis_url")(urls.redis_url)
    _cache_redis = field_validator("cache_redis_url")(urls.redis_url_or_none)

    @field_validator("compat")
    @classmethod
    def _are_apis(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if unknown := [name for name in value if name not in COMPATIBLE_APIS]:
            raise ValueError(f"{', '.join(unknown)}: no such API; the compatible APIs are {', '.join(COMPATIBLE_APIS)}")
        return value

    @field_validator("cache_bytes")
    @classmethod
    def _is_worth_it(cls, value: int) -> int:
        if 0 < value < _LEAST_CACHE_BYTES:
            least = f"write {_LEAST_CACHE_BYTES} (1 MiB) or more, or 0 for no cache"
            raise ValueError(f"{value} is too little; {least}")
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
                "PROXY_CACHE_REDIS_URL needs PROXY_CACHE_BYTES > 0: translations from Redis are cached in memory too"
            )
        if has_cache_redis and urls.redis_server(self.cache_redis_url) == urls.redis_server(self.redis_url):
            raise ValueError(
                "PROXY_CACHE_REDIS_URL and PROXY_REDIS_URL must be different servers, not two databases of one server: "
                "the cache fills its Redis, and the fleet's Redis must never be full"
            )
        if self.max_body_bytes > self.max_keyless_bytes:
            raise ValueError(
                f"PROXY_MAX_BODY_BYTES ({self.max_body_bytes}) must not exceed PROXY_MAX_KEYLESS_BYTES "
                f"({self.max_keyless_bytes}): such a body with its key inside would never be accepted"
            )
        if self.operator_port == self.port:
            raise ValueError(f"PROXY_OPERATOR_PORT ({self.operator_port}) must differ from PROXY_PORT, or be 0")
        if self.operator_token.get_secret_value() and self.operator_token == self.replica_token:
            raise ValueError(
                "PROXY_OPERATOR_TOKEN and PROXY_REPLICA_TOKEN must differ: every replica receives the second "
                "and could change the fleet with it"
            )
        if self.observer_token.get_secret_value() and self.observer_token in (self.operator_token, self.replica_token):
            raise ValueError(
                "PROXY_OBSERVER_TOKEN must differ from PROXY_OPERATOR_TOKEN and PROXY_REPLICA_TOKEN: who reads metrics "
                "could change the fleet or call API servers with it"
            )
        return self

    @property
    def published_without_keys(self) -> bool:
        """Whether trusted web servers publish this proxy without keys, by default."""
        return self.keys == "auto" and not self.keys_on and bool(self.trusted_proxies)

    @property
    def serves_this_machine(self) -> bool:
        """Whether only this machine reaches this proxy, which needs no keys."""
        return not self.keys_on and is_loopback(self.host) and not self.trusted_proxies

    @property
    def keys_on(self) -> bool:
        """Whether callers need a key."""
        return self.keys == "on" or (self.keys == "auto" and not is_loopback(self.host))

    @property
    def report_ttl(self) -> float:
        """Lifetime of a report in Redis, in seconds.

        It is three sweeps with their time-outs, so that a lost sweep does no harm.
        """
        return 3 * (self.probe_interval + self.probe_timeout)
