"""Refusals: errors for callers who are not let in, counted by reason."""

from __future__ import annotations

from typing import Final

from proxy.keys.api_key import KeyView, Scope
from proxy.keys.quota import UsageResult, limit_headers
from proxy.metrics import ProxyMetrics
from shared.protocol import bearer_token
from shared.protocol.access_errors import KeyRefusedError, KeyRequiredError, KeysUnavailableError, RateLimitedError
from shared.protocol.errors import TooLargeError

RETRY_AFTER_SECONDS: Final = 1.0


class Refusals:
    """Returns the error for each reason, and counts it."""

    def __init__(self, metrics: ProxyMetrics) -> None:
        self._metrics = metrics

    def no_key(self) -> KeyRequiredError:
        """Return the error for a request without a key."""
        self._count("none")
        return KeyRequiredError(f"This needs the header Authorization: {bearer_token.SCHEME} KEY.")

    def invalid_key(self, key_id: str | None = None) -> KeyRefusedError:
        """Return the error for a key that is wrong, or over: then with its id for the log."""
        self._count("key")
        log_fields = None if key_id is None else {"key": key_id}
        return KeyRefusedError("This key is not valid here: it is wrong, revoked or expired.", log_fields=log_fields)

    def wrong_token(self) -> KeyRefusedError:
        """Return the error for a wrong operator token."""
        self._count("key")
        return KeyRefusedError("This is not the operator token.")

    def missing_scope(self, key: KeyView, scope: Scope) -> KeyRefusedError:
        """Return the error for a key that lacks a scope."""
        self._count("scope")
        return KeyRefusedError(f"This key is not for this: it lacks the scope {scope}.", log_fields={"key": key.id})

    def unavailable(self) -> KeysUnavailableError:
        """Return the error while Redis cannot be asked for keys."""
        self._count("unavailable")
        return KeysUnavailableError("Keys can not be looked up now.", retry_after=RETRY_AFTER_SECONDS)

    def too_many_requests(self, key: KeyView, usage: UsageResult) -> RateLimitedError:
        """Return the error for a key that has used up its minute."""
        self._count("requests")
        return RateLimitedError(
            f"This key may send {key.requests_per_minute} requests in 60 s, and has.",
            retry_after=usage.wait,
            headers=limit_headers(key, usage),
            log_fields={"key": key.id},
        )

    def too_many_characters(self, key: KeyView, chars: int, usage: UsageResult) -> RateLimitedError:
        """Return the error for a request with more characters than are left."""
        self._count("characters")
        limit = key.chars_per_day
        return RateLimitedError(
            f"This key may translate {limit} characters a day (UTC) and has {max(0, (limit or 0) - usage.chars)} "
            f"left, too few for {chars}.",
            retry_after=usage.day_left,
            headers=limit_headers(key, usage, of_day=True),
            log_fields={"key": key.id},
        )

    def larger_than_a_day(self, chars: int, limit: int) -> TooLargeError:
        """Return the error for a request with more characters than a day has."""
        self._count("characters")
        detail = f"The request has {chars} characters, and this key may translate {limit} a day; send less."
        return TooLargeError("The request", size=chars, limit=limit, unit="characters", detail=detail)

    def _count(self, reason: str) -> None:
        self._metrics.refusals.labels(reason).inc()
