"""What can go wrong with a request, as one tree; each class knows its answer to the client.

PairwayError
├── BadRequestError          400 bad-request          not JSON, or not an object
├── UnknownPairError         404 unknown-pair         no configured model serves it
├── NotFoundError            404 not-found            no such path
├── MethodNotAllowedError    405 method-not-allowed   the path exists, the method does not
├── SlowRequestError         408 request-timeout      the request comes too slowly
├── TooLargeError            413 too-large            body, text or number of texts over the limit
├── UnsupportedMediaError    415 unsupported-media    the body is compressed, or not said to be JSON
├── InvalidRequestError      422 invalid-request      a field is missing, unknown or wrong
├── LanguageUndetectedError  422 language-undetected  "auto" found no served language
├── HeadTooLargeError        431 head-too-large       request line and headers over the limit
├── InternalError            500 internal             our own fault
├── ClientGoneError          499 client-gone          the client hung up; nobody is left to read it
├── ReplicaFailedError       502 replica-failed       every attempt failed
├── UnusableOutputError      502 unusable-output      the model gave nothing that may be shown
├── OverloadedError          503 overloaded           no capacity now
├── PairUnavailableError     503 pair-unavailable     known, but nothing ready serves it now
├── DeadlineExceededError    504 deadline-exceeded    the time given is over
└── RelayedError             as the replica said      a replica's answer that holds for the client as it is

Those of access are a file of their own, shared/protocol/access_errors.py. Foreign errors
(HTTP client, Redis, vLLM) are mapped into this tree at the one file that knows the library.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

# Least seconds of a Retry-After: less is no use in whole seconds.
RETRY_AFTER_MIN: Final = 1.0


class PairwayError(Exception):
    """The root: a stable code, an HTTP status, and a clear sentence."""

    code: str = "internal"
    http_status: int = 500
    title: str = "Internal error"

    def __init__(
        self,
        detail: str,
        *,
        retry_after: float | None = None,
        facts: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        log_fields: Mapping[str, str] | None = None,
    ) -> None:
        """Take the sentence for the client and seconds to wait before a retry.

        ``facts`` are further members of the problem, ``headers`` further headers of the answer, ``log_fields`` are for
        the request's log line.
        """
        super().__init__(detail)
        self.detail = detail
        self.retry_after = retry_after
        self.facts: dict[str, Any] = dict(facts or {})
        self.headers: Mapping[str, str] = headers or {}
        self.log_fields: Mapping[str, str] = log_fields or {}


class BadRequestError(PairwayError):
    """The body is not JSON, or not an object."""

    code = "bad-request"
    http_status = 400
    title = "The request can not be read"


class SlowRequestError(PairwayError):
    """The request comes too slowly, and its connection is given up."""

    code = "request-timeout"
    http_status = 408
    title = "The request came too slowly"


class UnknownPairError(PairwayError):
    """No configured model serves the pair."""

    code = "unknown-pair"
    http_status = 404
    title = "Unknown language pair"

    def __init__(self, pair: str, known: Sequence[str]) -> None:
        """Name the pair and those that exist."""
        existing = ", ".join(known) if known else "none yet"
        super().__init__(f"No model serves {pair}. Pairs that exist: {existing}.", facts={"pairs": list(known)})


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

    def __init__(self, subject: str, *, size: int | None, limit: int, unit: str, detail: str | None = None) -> None:
        """Say what is too large, its size where known, the limit, and their unit; ``detail`` replaces that sentence."""
        count = f"more than {limit}" if size is None else str(size)
        sentence = detail or f"{subject} has {count} {unit}; at most {limit} are taken."
        super().__init__(sentence, facts={"limit": limit, "unit": unit})


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
        super().__init__("The client hung up before its answer was ready.")


class HeadTooLargeError(PairwayError):
    """The request line and the headers pass a limit; it is named."""

    code = "head-too-large"
    http_status = 431
    title = "Request head too large"

    def __init__(self, *, limit: int, unit: str) -> None:
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
    """There is no capacity now; ``retry_after`` says when to come back."""

    code = "overloaded"
    http_status = 503
    title = "Overloaded"


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
