"""What can go wrong with a request, as one tree; each class knows its answer to the client.

Foreign errors (HTTP client, Redis, vLLM) are mapped into this tree at the one file that knows the library.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

# Least seconds of a Retry-After: less is no use in whole seconds.
RETRY_AFTER_MIN: Final = 1.0


class PairwayError(Exception):
    """The root: a stable code, an HTTP status, and a clear sentence."""

    code: str
    http_status: int
    title: str

    def __init_subclass__(cls, *, status: int = 500, code: str = "internal", title: str = "Internal error") -> None:
        """Take what the class answers with; without arguments it is our own fault."""
        cls.http_status, cls.code, cls.title = status, code, title

    def __init__(
        self,
        detail: str,
        *,
        retry_after: float | None = None,
        facts: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        log_fields: Mapping[str, str] | None = None,
    ) -> None:
        """Take the sentence for the client, seconds to wait before a retry, and ``facts``: further members of the problem."""
        super().__init__(detail)
        self.detail = detail
        self.retry_after = retry_after
        self.facts: dict[str, Any] = dict(facts or {})
        self.headers: Mapping[str, str] = headers or {}
        self.log_fields: Mapping[str, str] = log_fields or {}


class BadRequestError(PairwayError, status=400, code="bad-request", title="The request can not be read"):
    """The body is not JSON, or not an object."""


class SlowRequestError(PairwayError, status=408, code="request-timeout", title="The request came too slowly"):
    """The request comes too slowly, and its connection is given up."""


class UnknownPairError(PairwayError, status=404, code="unknown-pair", title="Unknown language pair"):
    """No configured model serves the pair."""

    def __init__(self, pair: str, known: Sequence[str]) -> None:
        existing = ", ".join(known) if known else "none yet"
        super().__init__(f"No model serves {pair}. Pairs that exist: {existing}.", facts={"pairs": list(known)})


class NotFoundError(PairwayError, status=404, code="not-found", title="No such path"):
    """There is no such path."""


class MethodNotAllowedError(PairwayError, status=405, code="method-not-allowed", title="Method not allowed"):
    """The path exists, but not with this method."""


class TooLargeError(PairwayError, status=413, code="too-large", title="Too large"):
    """A limit on size or number was passed; the limit is named."""

    def __init__(self, subject: str, *, size: int | None, limit: int, unit: str, detail: str | None = None) -> None:
        """Say what is too large, its size where known, the limit, and their unit; ``detail`` replaces that sentence."""
        count = f"more than {limit}" if size is None else str(size)
        sentence = detail or f"{subject} has {count} {unit}; at most {limit} are taken."
        super().__init__(sentence, facts={"limit": limit, "unit": unit})


class UnsupportedMediaError(PairwayError, status=415, code="unsupported-media", title="Only plain JSON is read"):
    """The body is compressed, or not said to be JSON."""


class InvalidRequestError(PairwayError, status=422, code="invalid-request", title="Invalid request"):
    """A field is missing, unknown or wrong; every such field is named."""

    def __init__(self, errors: Sequence[tuple[str, str]]) -> None:
        """Take (field, what would be right) for each wrong field."""
        super().__init__(
            "; ".join(f"{field}: {message}" for field, message in errors) + ".",
            facts={"errors": [{"field": field, "message": message} for field, message in errors]},
        )


class LanguageUndetectedError(
    PairwayError, status=422, code="language-undetected", title="The language could not be detected"
):
    """``auto`` found none of the languages that can be translated from."""

    def __init__(self, where: str, candidates: Sequence[tuple[str, float]]) -> None:
        """Name the text (``text`` or ``text[3]``) and the (language, confidence) considered, best first."""
        super().__init__(
            f"The language of {where} could not be detected among those served; name it in source_lang.",
            facts={"candidates": [{"lang": lang, "confidence": round(sure, 3)} for lang, sure in candidates]},
        )


class ClientGoneError(PairwayError, status=499, code="client-gone", title="The client hung up"):
    """The client hung up before its answer was ready; the code is for logs and metrics (499 is nginx's number)."""

    def __init__(self) -> None:
        super().__init__("The client hung up before its answer was ready.")


class HeadTooLargeError(PairwayError, status=431, code="head-too-large", title="Request head too large"):
    """The request line and the headers pass a limit; it is named."""

    def __init__(self, *, limit: int) -> None:
        super().__init__(f"The request's head has more than {limit} bytes.", facts={"limit": limit, "unit": "bytes"})


class InternalError(PairwayError):
    """Our own fault; the client learns the request id and nothing of the inside."""


class ReplicaFailedError(PairwayError, status=502, code="replica-failed", title="The replica failed"):
    """Every attempt at a replica failed."""


class UnusableOutputError(PairwayError, status=502, code="unusable-output", title="No usable translation"):
    """The model gave nothing that may be shown as a translation."""


class OverloadedError(PairwayError, status=503, code="overloaded", title="Overloaded"):
    """There is no capacity now; ``retry_after`` says when to come back."""


class PairUnavailableError(PairwayError, status=503, code="pair-unavailable", title="Language pair unavailable"):
    """The pair is known, but nothing ready serves it now."""

    def __init__(self, pair: str, why: str, *, retry_after: float) -> None:
        super().__init__(f"{pair} can not be served now: {why}.", retry_after=retry_after)


class DeadlineExceededError(PairwayError, status=504, code="deadline-exceeded", title="Deadline exceeded"):
    """The time given for the request is over."""


class KeyRequiredError(PairwayError, status=401, code="key-required", title="Key required"):
    """A key is needed and there was none; the answer says in which form."""


class KeyRefusedError(PairwayError, status=403, code="key-refused", title="Key refused"):
    """The key is not one that opens this."""


class PairRefusedError(PairwayError, status=403, code="pair-refused", title="Language pair refused"):
    """The key is not for this pair."""

    def __init__(self, pair: str, allowed: Sequence[str]) -> None:
        super().__init__(f"This key is not for {pair}, but for {', '.join(allowed)}.", facts={"pairs": list(allowed)})


class OperatorOffError(PairwayError, status=403, code="operator-off", title="Changes of the fleet are off"):
    """No operator token is set; the sentence says how to set one."""


class UnknownReplicaError(PairwayError, status=404, code="unknown-replica", title="Unknown replica"):
    """No replica of the fleet has this URL."""

    def __init__(self, url: str) -> None:
        super().__init__(f"{url} is no replica of the fleet now, nor a name that stands for any; GET /fleet lists all.")


class UnknownKeyError(PairwayError, status=404, code="unknown-key", title="Unknown key"):
    """No key has this id, or it was revoked."""

    def __init__(self, key_id: str | None) -> None:
        """Name the id; None for what can be no id, which is not repeated: it may be a whole key."""
        if key_id is None:
            super().__init__("No key has such an id: it has 12 hexadecimal digits.")
        else:
            super().__init__(f"No key in force has the id {key_id}; GET /keys lists all, revoked ones too.")


class FleetFullError(PairwayError, status=409, code="fleet-full", title="Too many changes"):
    """Operators' changes are bounded, and there are that many."""

    def __init__(self, limit: int) -> None:
        message = f"Operators have changed {limit} URLs, and no more are kept; write replicas into PROXY_REPLICAS."
        super().__init__(message, facts={"limit": limit})


class KeysFullError(PairwayError, status=409, code="keys-full", title="Too many keys"):
    """Keys are bounded, and there are that many."""

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"There are {limit} keys, and no more are kept; revoked ones go after 30 days.", facts={"limit": limit}
        )


class RateLimitedError(PairwayError, status=429, code="rate-limited", title="Rate limited"):
    """The caller has used up what its key allows for now; ``retry_after`` says when there is more."""


class KeysUnavailableError(PairwayError, status=503, code="keys-unavailable", title="Keys unavailable"):
    """Keys can not be looked up now, so nobody can be let in by one that is not known here."""

    def __init__(self, detail: str = "Keys can not be looked up now.") -> None:
        super().__init__(detail, retry_after=RETRY_AFTER_MIN)


class RelayedError(PairwayError):
    """A replica's own problem that holds for the client as it is (too large, unusable output)."""

    def __init__(self, *, code: str, http_status: int, title: str, detail: str, facts: Mapping[str, Any]) -> None:
        super().__init__(detail, facts=facts)
        self.code = code
        self.http_status = http_status
        self.title = title


# Every code that a server of ours can answer with.
CODES: Final = frozenset(kind.code for kind in PairwayError.__subclasses__())
