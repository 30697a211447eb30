"""Everything that can go wrong, as one tree; each class knows its answer to the client.

PairwayError
├── BadRequestError          400 bad-request          not JSON, or not an object
├── KeyRequiredError         401 key-required         no key where one is needed
├── KeyRefusedError          403 key-refused          a wrong key
├── PairRefusedError         403 pair-refused         the key is not for this pair
├── OperatorOffError         403 operator-off         no operator token is set, so nothing can be changed
├── UnknownPairError         404 unknown-pair         no configured model serves it
├── UnknownReplicaError      404 unknown-replica      no replica of the fleet has this URL
├── UnknownKeyError          404 unknown-key          no key has this id, or it was revoked
├── NotFoundError            404 not-found            no such path
├── MethodNotAllowedError    405 method-not-allowed   the path exists, the method does not
├── SlowRequestError         408 request-timeout      the request comes too slowly
├── FleetFullError           409 fleet-full           operators' changes are bounded, and there are that many
├── KeysFullError            409 keys-full            keys are bounded, and there are that many
├── TooLargeError            413 too-large            body, text or number of texts over the limit
├── UnsupportedMediaError    415 unsupported-media    the body is compressed, or not said to be JSON
├── InvalidRequestError      422 invalid-request      a field is missing, unknown or wrong
├── LanguageUndetectedError  422 language-undetected  "auto" found no served language
├── RateLimitedError         429 rate-limited         over the key's rate or quota
├── HeadTooLargeError        431 head-too-large       request line and headers over the limit
├── InternalError            500 internal             our own fault
├── ClientGoneError          499 client-gone          the client hung up; nobody is left to read it
├── ReplicaFailedError       502 replica-failed       every attempt failed
├── UnusableOutputError      502 unusable-output      the model gave nothing that may be shown
├── OverloadedError          503 overloaded           no room now
├── KeysUnavailableError     503 keys-unavailable     keys can not be looked up now
├── PairUnavailableError     503 pair-unavailable     known, but nothing ready serves it now
├── DeadlineExceededError    504 deadline-exceeded    the time given is over
└── RelayedError             as the replica said      a replica's answer that holds for the client as it is

Foreign errors (HTTP client, Redis, vLLM) are mapped into this tree at the one file that knows the library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class PairwayError(Exception):
    """The root: a stable code, an HTTP status, and a clear sentence."""

    code: str = "internal"
    http_status: int = 500
    title: str = "Internal error"

    def __init__(
        self, detail: str, *, retry_after: float | None = None, facts: Mapping[str, Any] | None = None
    ) -> None:
        """Take the sentence for the client, seconds to wait before a retry, and further members of the problem."""
        super().__init__(detail)
        self.detail = detail
        self.retry_after = retry_after
        self.facts: dict[str, Any] = dict(facts or {})


class BadRequestError(PairwayError):
    """The body is not JSON, or not an object."""

    code = "bad-request"
    http_status = 400
    title = "The request can not be read"


class KeyRequiredError(PairwayError):
    """A key is needed and there was none; the answer says in which form."""

    code = "key-required"
    http_status = 401
    title = "Key required"


class KeyRefusedError(PairwayError):
    """The key is not one that opens this."""

    code = "key-refused"
    http_status = 403
    title = "Key refused"


class PairRefusedError(PairwayError):
    """The key is not for this pair."""

    code = "pair-refused"
    http_status = 403
    title = "Language pair refused"

    def __init__(self, pair: str, allowed: Sequence[str]) -> None:
        """Name the pair, and those that the key is for."""
        super().__init__(f"This key is not for {pair}, but for {', '.join(allowed)}.", facts={"pairs": list(allowed)})


class OperatorOffError(PairwayError):
    """No operator token is set; the sentence says how to set one."""

    code = "operator-off"
    http_status = 403
    title = "Changes of the fleet are off"


class UnknownReplicaError(PairwayError):
    """No replica of the fleet has this URL."""

    code = "unknown-replica"
    http_status = 404
    title = "Unknown replica"

    def __init__(self, url: str) -> None:
        """Name the URL."""
        super().__init__(f"{url} is no replica of the fleet now, nor a name that stands for any; GET /fleet lists all.")


class SlowRequestError(PairwayError):
    """The request comes too slowly, and its connection is given up."""

    code = "request-timeout"
    http_status = 408
    title = "The request came too slowly"


class FleetFullError(PairwayError):
    """Operators' changes are bounded, and there are that many."""

    code = "fleet-full"
    http_status = 409
    title = "Too many changes"

    def __init__(self, limit: int) -> None:
        """Name the bound."""
        message = f"Operators have changed {limit} URLs, and no more are kept; write replicas into PROXY_REPLICAS."
        super().__init__(message, facts={"limit": limit})


class UnknownKeyError(PairwayError):
    """No key has this id, or it was revoked."""

    code = "unknown-key"
    http_status = 404
    title = "Unknown key"

    def __init__(self, key_id: str) -> None:
        """Name the id."""
        super().__init__(f"No key in force has the id {key_id}; GET /keys lists all, revoked ones too.")


class KeysFullError(PairwayError):
    """Keys are bounded, and there are that many."""

    code = "keys-full"
    http_status = 409
    title = "Too many keys"

    def __init__(self, limit: int) -> None:
        """Name the bound."""
        super().__init__(
            f"There are {limit} keys, and no more are kept; revoked ones go after 30 days.", facts={"limit": limit}
        )


class UnknownPairError(PairwayError):
    """No configured model serves the pair."""

    code = "unknown-pair"
    http_status = 404
    title = "Unknown language pair"

    def __init__(self, pair: str, known: Sequence[str]) -> None:
        """Name the pair and those that exist."""
        exist = ", ".join(known) if known else "none yet"
        super().__init__(f"No model serves {pair}. Pairs that exist: {exist}.", facts={"pairs": list(known)})


class NotFoundError(PairwayError):
    """There is no such path."""

    code = "not-found"
    http_status = 404
    title = "No such path"


class MethodNotAllowedError(PairwayError):
    """The path exists, but not with this method."""

    code = "method-not-allowed"
    http_status = 405
    title = "Method not allowed"


class TooLargeError(PairwayError):
    """A limit on size or number was passed; the limit is named."""

    code = "too-large"
    http_status = 413
    title = "Too large"

    def __init__(self, what: str, *, size: int | None, limit: int, unit: str) -> None:
        """Say what is too large, its size where known, the limit, and their unit."""
        has = f"more than {limit}" if size is None else str(size)
        super().__init__(f"{what} has {has} {unit}; at most {limit} are taken.", facts={"limit": limit, "unit": unit})


class UnsupportedMediaError(PairwayError):
    """The body is compressed, or not said to be JSON."""

    code = "unsupported-media"
    http_status = 415
    title = "Only plain JSON is read"


class InvalidRequestError(PairwayError):
    """A field is missing, unknown or wrong; every such field is named."""

    code = "invalid-request"
    http_status = 422
    title = "Invalid request"

    def __init__(self, errors: Sequence[tuple[str, str]]) -> None:
        """Take (field, what would be right) for each wrong field."""
        super().__init__(
            "; ".join(f"{field}: {message}" for field, message in errors) + ".",
            facts={"errors": [{"field": field, "message": message} for field, message in errors]},
        )


class LanguageUndetectedError(PairwayError):
    """``auto`` found none of the languages that can be translated from."""

    code = "language-undetected"
    http_status = 422
    title = "The language could not be detected"

    def __init__(self, where: str, candidates: Sequence[tuple[str, float]]) -> None:
        """Name the text (``text`` or ``text[3]``) and the (language, confidence) considered, best first."""
        super().__init__(
            f"The language of {where} could not be detected among those served; name it in source_lang.",
            facts={"candidates": [{"lang": lang, "confidence": round(sure, 3)} for lang, sure in candidates]},
        )


class ClientGoneError(PairwayError):
    """The client hung up before its answer was ready; the code is for logs and metrics (499 is nginx's number)."""

    code = "client-gone"
    http_status = 499
    title = "The client hung up"

    def __init__(self) -> None:
        """Say so; nobody will read it."""
        super().__init__("The client hung up before its answer was ready.")


class RateLimitedError(PairwayError):
    """The caller has used up what its key allows for now; ``retry_after`` says when there is more."""

    code = "rate-limited"
    http_status = 429
    title = "Rate limited"


class HeadTooLargeError(PairwayError):
    """The request line and the headers pass a limit; it is named."""

    code = "head-too-large"
    http_status = 431
    title = "Request head too large"

    def __init__(self, *, limit: int, unit: str) -> None:
        """Name the limit and its unit."""
        super().__init__(f"The request's head has more than {limit} {unit}.", facts={"limit": limit, "unit": unit})


class InternalError(PairwayError):
    """Our own fault; the client learns the request id and nothing of the inside."""


class ReplicaFailedError(PairwayError):
    """Every attempt at a replica failed."""

    code = "replica-failed"
    http_status = 502
    title = "The replica failed"


class UnusableOutputError(PairwayError):
    """The model gave nothing that may be shown as a translation."""

    code = "unusable-output"
    http_status = 502
    title = "No usable translation"


class OverloadedError(PairwayError):
    """There is no room now; ``retry_after`` says when to come back."""

    code = "overloaded"
    http_status = 503
    title = "Overloaded"


class KeysUnavailableError(PairwayError):
    """Keys can not be looked up now, so nobody can be let in by one that is not known here."""

    code = "keys-unavailable"
    http_status = 503
    title = "Keys unavailable"


class PairUnavailableError(PairwayError):
    """The pair is known, but nothing ready serves it now."""

    code = "pair-unavailable"
    http_status = 503
    title = "Language pair unavailable"

    def __init__(self, pair: str, why: str, *, retry_after: float) -> None:
        """Name the pair, the reason, and the seconds after which a retry makes sense."""
        super().__init__(f"{pair} can not be served now: {why}.", retry_after=retry_after)


class DeadlineExceededError(PairwayError):
    """The time given for the request is over."""

    code = "deadline-exceeded"
    http_status = 504
    title = "Deadline exceeded"


class RelayedError(PairwayError):
    """A replica's own problem that holds for the client as it is (too large, unusable output)."""

    def __init__(self, *, code: str, http_status: int, title: str, detail: str, facts: Mapping[str, Any]) -> None:
        """Take the problem's members; the request id is ours already."""
        super().__init__(detail, facts=facts)
        self.code = code
        self.http_status = http_status
        self.title = title


def _codes(kind: type[PairwayError]) -> frozenset[str]:
    return frozenset({kind.code}).union(*(_codes(each) for each in kind.__subclasses__()))


# Every code that a server of ours can answer with.
CODES: Final = _codes(PairwayError)
