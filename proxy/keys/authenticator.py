"""Access: who is let in, and what they have left."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from pydantic import SecretStr

from proxy.keys.api_key import ApiKey, Scope, id_of, opens
from proxy.keys.cached_store import CachedKeyStore, Clocks
from proxy.keys.caller import Caller, at_address
from proxy.keys.metering import CharacterCharge
from proxy.keys.quota import UsageDelta, UsageResult, limit_headers
from proxy.keys.store import KeyStore
from proxy.metrics import ProxyMetrics
from proxy.redis_client import StoreUnavailableError
from shared.protocol import bearer_token
from shared.protocol.access_errors import (
    KeyRefusedError,
    KeyRequiredError,
    KeysUnavailableError,
    OperatorOffError,
    RateLimitedError,
)
from shared.protocol.errors import TooLargeError

log = logging.getLogger(__name__)

# What the log calls whoever shows the operator token.
OPERATOR: Final = "operator token"

RETRY_AFTER_SECONDS: Final = 1.0

REFUSED: Final = "This key is not valid here: it is wrong, revoked or expired."


@dataclass(frozen=True, slots=True)
class Visit:
    """Somebody who was let in, with their key where keys are on."""

    caller: Caller
    key: ApiKey | None = None


class Authenticator:
    """Lets callers in by their keys, or anybody where keys are off; counts what they use.

    ``tell`` takes headers for whatever the answer will be, ``who`` the id of the key that was shown, for the log.
    """

    def __init__(
        self,
        store: KeyStore,
        metrics: ProxyMetrics,
        clocks: Clocks,
        *,
        on: bool,
        goes_on: bool,
        operator_token: SecretStr,
    ) -> None:
        """Take the parts; ``goes_on``: keys seen lately are let in while Redis is away."""
        self._store = store
        self._metrics = metrics
        self._clocks = clocks
        self._token = operator_token
        self._book = CachedKeyStore(store, clocks, goes_on=goes_on)
        self._giving_back: set[asyncio.Task[None]] = set()  # at most one for each request in hand
        self.on = on

    async def close(self) -> None:
        """Wait until what is given back has been, as long as Redis may take."""
        await asyncio.gather(*self._giving_back)

    @staticmethod
    def anybody(address: str) -> Visit:
        """Let in whoever asks from an address, where keys are off."""
        return Visit(at_address(address))

    async def enter(
        self, authorization: str | None, tell: Callable[[Mapping[str, str]], None], who: Callable[[str], None]
    ) -> Visit:
        """Let in the caller with a key for one request, and count it.

        Raises:
            PairwayError: there is no key or it is refused, over its limit, or can not be looked up now.
        """
        key = await self.identify(authorization, Scope.TRANSLATE, who)
        counted = await self._count(key, UsageDelta(requests=1))
        tell(limit_headers(key, counted))
        if not counted.granted:
            self._refused("requests")
            raise RateLimitedError(
                f"This key may send {key.requests_per_minute} requests in 60 s, and has.", retry_after=counted.wait
            )
        return Visit(key.caller, key)

    def spending(self, visit: Visit, chars: int, tell: Callable[[Mapping[str, str]], None]) -> CharacterCharge:
        """Charge characters to the caller's day while the block lasts; they come back if it fails before anything was told."""
        return CharacterCharge(self, visit.key, chars, tell)

    async def charge(self, key: ApiKey, chars: int, tell: Callable[[Mapping[str, str]], None]) -> UsageResult:
        """Charge characters to a key's day.

        Raises:
            RateLimitedError: the day has not so many left.
            TooLargeError: no day has so many.
        """
        limit = key.chars_per_day
        if limit is not None and chars > limit:
            self._refused("characters")
            error = TooLargeError("The request", size=chars, limit=limit, unit="characters")
            error.detail = f"The request has {chars} characters, and this key may translate {limit} a day; send less."
            raise error
        counted = await self._count(key, UsageDelta(chars=chars))
        tell(limit_headers(key, counted, of_day=not counted.fits))
        if not counted.fits:
            self._refused("characters")
            raise RateLimitedError(
                f"This key may translate {limit} characters a day (UTC) and has {max(0, (limit or 0) - counted.chars)} "
                f"left, too few for {chars}.",
                retry_after=counted.day_left,
            )
        return counted

    async def refund(self, key: ApiKey, chars: int, counted: UsageResult) -> None:
        """Give characters back, also when this request is cancelled: the task lives on, for one call of Redis."""
        task = asyncio.create_task(self._give_back(key, chars, counted))
        self._giving_back.add(task)
        task.add_done_callback(self._giving_back.discard)
        await asyncio.shield(task)

    async def used(self, key: ApiKey) -> UsageResult:
        """Return what a key has used."""
        return await self._count(key, UsageDelta())

    async def operate(self, authorization: str | None, who: Callable[[str], None]) -> None:
        """Let in an operator: by the token, or by a key with the scope.

        Raises:
            OperatorOffError: there is neither to have.
            PairwayError: what was shown does not open this.
        """
        wanted = self._token.get_secret_value()
        if not wanted and not self.on:
            raise OperatorOffError("To change the fleet at run time, start every proxy with PROXY_OPERATOR_TOKEN set.")
        shown = self._shown(authorization)
        if wanted and secrets.compare_digest(shown.encode(), wanted.encode()):
            who(OPERATOR)
            return
        if not self.on:
            self._refused("key")
            raise KeyRefusedError("This is not the operator token.")
        await self.identify(authorization, Scope.OPERATE, who)

    async def watch(self, authorization: str | None, who: Callable[[str], None]) -> None:
        """Let in who only looks at the fleet: an operator where keys are on, anybody where they are off.

        Raises:
            PairwayError: what was shown does not open this.
        """
        if self.on:
            await self.operate(authorization, who)

    async def identify(self, authorization: str | None, scope: Scope, who: Callable[[str], None]) -> ApiKey:
        """Return the key that was shown, if it opens this.

        Raises:
            PairwayError: it does not, or can not be looked up now.
        """
        shown = self._shown(authorization)
        key_id = id_of(shown)
        try:
            key = None if key_id is None else await self._book.look_up(key_id)
        except StoreUnavailableError:
            raise self._unavailable() from None
        if not opens(shown, key) or key is None:
            self._refused("key")
            raise KeyRefusedError(REFUSED)
        who(key.id)
        if key.is_over(self._clocks.unix()):
            self._refused("key")
            raise KeyRefusedError(REFUSED)
        if scope not in key.scopes:
            self._refused("scope")
            raise KeyRefusedError(f"This key is not for this: it lacks the scope {scope}.")
        return key

    async def warn(self, *, published: bool) -> None:
        """Log what can hardly be meant: keys that nobody has, or none on a proxy that a web server publishes."""
        if published:
            how = "PROXY_KEYS=on, or off if everybody may"
            log.warning("keys are off, and a web server before us lets others in", extra={"set": how})
        if not self.on:
            return
        try:
            missing = all(key.is_over(self._clocks.unix()) for key in await self._store.all())
        except StoreUnavailableError as error:
            log.warning("keys can not be looked up", extra={"error": str(error)})
            return
        if missing:
            how = "python -m proxy.keys create --name NAME"
            log.warning("keys are on and there is none, so nobody can translate", extra={"create_one": how})

    def _shown(self, authorization: str | None) -> str:
        shown = bearer_token.parse(authorization)
        if shown is None:
            self._refused("none")
            raise KeyRequiredError(f"This needs the header Authorization: {bearer_token.SCHEME} KEY.")
        return shown

    async def _count(self, key: ApiKey, ask: UsageDelta) -> UsageResult:
        """Count, or refuse.

        Raises:
            KeyRefusedError: the key was revoked a moment ago.
            KeysUnavailableError: Redis is away, and nobody is let in without.
        """
        try:
            counted = await self._book.count(key, ask)
        except StoreUnavailableError:
            raise self._unavailable() from None
        if counted is None:
            self._refused("key")
            raise KeyRefusedError(REFUSED)
        return counted

    async def _give_back(self, key: ApiKey, chars: int, counted: UsageResult) -> None:
        try:
            await self._book.give_back(key, chars, counted)
        except StoreUnavailableError:
            log.info("characters not given back", extra={"key": key.id, "chars": chars})

    def _unavailable(self) -> KeysUnavailableError:
        self._refused("unavailable")
        return KeysUnavailableError("Keys can not be looked up now.", retry_after=RETRY_AFTER_SECONDS)

    def _refused(self, reason: str) -> None:
        self._metrics.refusals.labels(reason).inc()
