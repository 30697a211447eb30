"""Authenticator: identifies callers, operators and observers."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pydantic import SecretStr

from proxy.keys.api_key import ApiKey, Scope, id_of, key_refusal, opens
from proxy.keys.caller import Caller
from proxy.keys.quota import KeyMeter
from proxy.keys.store import CachedKeyStore, KeyStore
from proxy.keys.usage_recorder import UsageRecorder
from proxy.metrics import ProxyMetrics
from proxy.storage.connection import StoreUnavailableError
from shared.protocol.errors import KeyRefusedError, KeyRequiredError, KeysUnavailableError, OperatorOffError
from shared.protocol.headers import BEARER, parse_bearer

log = logging.getLogger(__name__)

# Whether the request's URL contains a text.
UrlContains = Callable[[str], bool]

# Log names of who shows the operator token, and the observer token.
OPERATOR: Final = "operator token"
OBSERVER: Final = "observer token"


class WrongScopeError(KeyRefusedError, status=403, code="key-refused", title="Key refused"):
    """The key is valid, but its scopes are not for this place."""


def shows(shown: str, token: str) -> bool:
    """Compare with a token in constant time; nobody shows an empty one."""
    return bool(token) and secrets.compare_digest(shown.encode(), token.encode())


@dataclass(slots=True)
class Authentication:
    """An accepted caller; its ``key``, if keys are on.

    ``headers``: the RateLimit headers of every response that is counted.
    """

    caller: Caller
    key: ApiKey | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


class Authenticator:
    """Authenticates callers by their keys, operators and observers also by their tokens.

    ``serves_without_redis``: recently read keys are accepted while Redis is away. ``clock`` is monotonic.
    """

    def __init__(
        self,
        store: KeyStore,
        metrics: ProxyMetrics,
        recorder: UsageRecorder,
        clock: Callable[[], float],
        *,
        on: bool,
        serves_without_redis: bool,
        operator_token: SecretStr,
        observer_token: SecretStr,
    ) -> None:
        self._store = store
        self._metrics = metrics
        self._operator_token = operator_token.get_secret_value()
        self._observer_token = observer_token.get_secret_value()
        self.cached_store = CachedKeyStore(store, clock, serves_without_redis=serves_without_redis)
        self.meter = KeyMeter(self.cached_store, metrics, recorder)
        self.on = on

    async def authenticate(
        self, authorization: str | None, url_contains: UrlContains, *, counts: bool = True
    ) -> Authentication:
        """Identify a caller; if it ``counts``, count the request; or raise PairwayError."""
        key = await self.identify(authorization, (Scope.TRANSLATE,), url_contains)
        return Authentication(key.caller, key, await self.meter.count_request(key) if counts else {})

    async def require_operator(self, authorization: str | None, url_contains: UrlContains) -> str:
        """Return the operator's key id, or ``OPERATOR``; or raise PairwayError."""
        shown = self._token_or_key(authorization, self._operator_token)
        if shows(shown, self._operator_token):
            return OPERATOR
        if shows(shown, self._observer_token):
            detail = "The observer token only reads; this needs the operator token, or a key of scope operate."
            raise self._metrics.refused("scope", WrongScopeError(detail, log_fields={"key": OBSERVER}))
        return await self._by_key(authorization, (Scope.OPERATE,), url_contains)

    async def require_observer(self, authorization: str | None, url_contains: UrlContains) -> str:
        """Return the key id or token's log name; or raise PairwayError."""
        shown = self._token_or_key(authorization, self._operator_token or self._observer_token)
        for name, token in ((OBSERVER, self._observer_token), (OPERATOR, self._operator_token)):
            if shows(shown, token):
                return name
        return await self._by_key(authorization, (Scope.OBSERVE, Scope.OPERATE), url_contains)

    def _token_or_key(self, authorization: str | None, token: str) -> str:
        """Return what is shown; raise OperatorOffError without token and keys."""
        if not token and not self.on:
            raise OperatorOffError("Operators' calls are off: start every proxy with PROXY_OPERATOR_TOKEN set.")
        return self._shown(authorization)

    async def _by_key(self, authorization: str | None, scopes: Sequence[Scope], url_contains: UrlContains) -> str:
        if not self.on:
            raise self._metrics.refused("key", KeyRefusedError("This is not the operator token."))
        return (await self.identify(authorization, scopes, url_contains)).id

    async def identify(self, authorization: str | None, scopes: Sequence[Scope], url_contains: UrlContains) -> ApiKey:
        """Return the presented key with one of the scopes, or raise PairwayError.

        Every look at a key is here, so none forgets that URLs must contain no operators' or observers' key: web servers
        and browsers keep URLs.
        """
        shown = self._shown(authorization)
        key_id = id_of(shown)
        try:
            key = None if key_id is None else await self.cached_store.look_up(key_id)
        except KeysUnavailableError as error:
            raise self._metrics.refused("unavailable", error) from None
        if not opens(shown, key) or key is None:
            raise self._metrics.refused("key", key_refusal())
        if key.is_over(self._store.clock()):
            raise self._metrics.refused("key", key_refusal(key.id))
        if not set(scopes) & set(key.scopes):
            detail = f"This key is not permitted here: it lacks the scope {scopes[0]}."
            raise self._metrics.refused("scope", WrongScopeError(detail, log_fields={"key": key.id}))
        # Sorted, so that the last one opens most.
        beyond = [each for each in key.scopes if each != Scope.TRANSLATE]
        if beyond and url_contains(shown):
            detail = (
                f"This key has the scope {beyond[-1]}, and URLs are kept in logs and histories: revoke the key, "
                f"and use in URLs one that has only the scope {Scope.TRANSLATE}."
            )
            raise self._metrics.refused("scope", WrongScopeError(detail, log_fields={"key": key.id}))
        return key

    async def warn(self, *, published: bool) -> None:
        """Warn if no key is valid, or a ``published`` proxy needs none."""
        if published:
            how = "PROXY_KEYS=on, or off if everybody may translate"
            log.warning("keys are off, but a web server publishes this proxy", extra={"set": how})
        if not self.on:
            return
        try:
            missing = all(key.is_over(self._store.clock()) for key in await self._store.all())
        except StoreUnavailableError as error:
            log.warning("keys cannot be looked up", extra={"error": str(error)})
            return
        if missing:
            how = "python -m proxy keys create --name NAME"
            log.warning("keys are on, but none is valid, so nobody can translate", extra={"create_one": how})

    def _shown(self, authorization: str | None) -> str:
        shown = parse_bearer(authorization)
        if shown is None:
            detail = f"This needs the header Authorization: {BEARER} KEY."
            raise self._metrics.refused("none", KeyRequiredError(detail))
        return shown
