"""Quotas: each key's usage is counted, and requests over its limits refused."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from proxy.keys.api_key import ApiKey, Grant, key_refusal
from proxy.keys.store import CachedKeyStore
from proxy.keys.usage import CHARS_PER_DAY, CHARS_PER_MONTH, REQUESTS_PER_MINUTE, UsageResult, Window
from proxy.keys.usage_recorder import UsageRecorder
from proxy.metrics import ProxyMetrics
from shared.protocol.errors import CharactersUsedError, KeysUnavailableError, RateLimitedError, TooLargeError

log = logging.getLogger(__name__)


def limit_headers(key: Grant, usage: UsageResult) -> dict[str, str]:
    """Return a key's RateLimit headers, {} if it has no limits.

    By draft-ietf-httpapi-ratelimit-headers-06; all but RateLimit-Policy describe the exceeded or first limit.
    """
    policies: list[str] = []
    headers: dict[str, str] = {}
    for window in usage.windows:
        most = window.limit.of(key)
        if most is None:
            continue
        comment = "" if window.limit is REQUESTS_PER_MINUTE else f';comment="{window.limit.unit}"'
        policies.append(f"{most};w={window.end - window.start}{comment}")
        if not headers or window is usage.exceeded:
            headers = {
                "RateLimit-Limit": str(most),
                "RateLimit-Remaining": str(max(0, most - window.used)),
                "RateLimit-Reset": str(math.ceil(window.end - usage.now)),
            }
    return headers | {"RateLimit-Policy": ", ".join(policies)} if policies else {}


@dataclass(slots=True)
class Charge:
    """One request's charge on a UTC ``day``.

    It has no ``counters`` if Redis was away.
    """

    key_id: str
    chars: int
    day: str
    counters: Sequence[str]
    headers: Mapping[str, str]


@dataclass(eq=False, slots=True)
class KeyMeter:
    """Counts requests and characters of keys; limits nothing while Redis is away.

    At most one refund per request is in progress.
    """

    _store: CachedKeyStore
    _metrics: ProxyMetrics
    recorder: UsageRecorder
    _refunds: set[asyncio.Task[None]] = field(default_factory=set["asyncio.Task[None]"])

    async def close(self) -> None:
        """Wait for refunds, each bounded by Redis' time-outs."""
        await asyncio.gather(*self._refunds)

    async def count_request(self, key: ApiKey) -> Mapping[str, str]:
        """Count a request; return the RateLimit headers, or raise PairwayError."""
        usage = await self._count(key, requests=1)
        self.recorder.add(key.id, requests=1)
        self._metrics.count_key_requests(key.id)
        return {} if usage is None else limit_headers(key, usage)

    async def charge(self, key: ApiKey, chars: int) -> Charge:
        """Charge characters to a key's day and month.

        Raises RateLimitedError if too few are left, TooLargeError for more than a whole day's or month's, PairwayError
        if the key was revoked or cannot be looked up.
        """
        for limit in (CHARS_PER_DAY, CHARS_PER_MONTH):
            most = limit.of(key)
            if most is not None and chars > most:
                detail = f"The request has {chars} characters, and this key may translate {most} a {limit.window}; send less."
                error = TooLargeError("The request", size=chars, limit=most, unit=limit.unit, detail=detail)
                raise self._metrics.refused("characters", error)
        usage = await self._count(key, chars=chars)
        day = self.recorder.add(key.id, chars=chars)
        self._metrics.count_key_characters(key.id, chars)
        if usage is None:
            return Charge(key.id, chars, day, (), {})
        return Charge(key.id, chars, day, usage.counters[1:], limit_headers(key, usage))

    async def refund(self, charge: Charge) -> None:
        """Refund a charge, also if the request is cancelled."""
        self.recorder.add(charge.key_id, chars=-charge.chars, day=charge.day)
        self._metrics.count_key_refund(charge.key_id, charge.chars)
        if charge.counters:
            # Outlives a cancelled request by one Redis call.
            task = asyncio.create_task(self._give_back(charge))
            self._refunds.add(task)
            task.add_done_callback(self._refunds.discard)
            await asyncio.shield(task)

    async def usage(self, key: ApiKey) -> UsageResult:
        """Return a key's usage; raise PairwayError if revoked or Redis is away."""
        usage = await self._count(key)
        if usage is None:
            raise self._metrics.refused("unavailable", KeysUnavailableError())
        return usage

    async def _count(self, key: ApiKey, *, requests: int = 0, chars: int = 0) -> UsageResult | None:
        try:
            usage = await self._store.count(key.id, requests=requests, chars=chars)
        except KeysUnavailableError as error:
            if self._store.serves_without_redis:
                return None
            raise self._metrics.refused("unavailable", error) from None
        if usage is None:
            raise self._metrics.refused("key", key_refusal(key.id))
        if usage.exceeded is not None:
            raise self._over_limit(key, usage, usage.exceeded, chars)
        return usage

    def _over_limit(self, key: ApiKey, usage: UsageResult, window: Window, chars: int) -> RateLimitedError:
        limit, most = window.limit, window.limit.of(key) or 0
        kind = CharactersUsedError
        if limit is REQUESTS_PER_MINUTE:
            kind = RateLimitedError
            detail = f"This key may send {most} requests a minute, and has sent them."
        else:
            left = max(0, most - window.used)
            detail = f"This key may translate {most} characters a {limit.window} (UTC) and has {left} left, too few for {chars}."
        headers, wait = limit_headers(key, usage), window.end - usage.now
        error = kind(detail, retry_after=wait, headers=headers, log_fields={"key": key.id})
        return self._metrics.refused(limit.unit, error)

    async def _give_back(self, charge: Charge) -> None:
        try:
            await self._store.refund(charge.counters, charge.chars)
            await self.recorder.flush()  # a killed proxy charges nothing that its caller knows to have failed
        except KeysUnavailableError:
            log.info("characters not refunded", extra={"key": charge.key_id, "chars": charge.chars})
