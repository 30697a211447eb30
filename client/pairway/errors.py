"""Exception tree: everything that the client raises on purpose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class PairwayError(Exception):
    """Root of the tree; ``request_id`` names the request in the server's logs."""

    def __init__(self, message: str, *, request_id: str | None = None) -> None:
        self.message = message
        self.request_id = request_id
        super().__init__(message if request_id is None else f"{message} (request {request_id})")


class SettingsError(PairwayError):
    """Address, key or profile that cannot be used; nothing was sent."""


class UnreachableError(PairwayError):
    """The server cannot be reached, or the connection broke."""


class DeadlineError(PairwayError):
    """The call's deadline passed; ``__cause__`` is the last failure, if any."""


class AnswerError(PairwayError):
    """The answer is not one of a Pairway server."""


class StreamCutError(PairwayError):
    """The stream ended without its result: send the request again."""


class ProblemError(PairwayError):
    """A problem that the server answered.

    ``code`` is stable (docs/api.md); ``retry_after`` is in seconds; ``members`` are all of the problem's members.
    """

    def __init__(
        self,
        detail: str,
        *,
        code: str,
        status: int,
        request_id: str | None = None,
        retry_after: float | None = None,
        members: Mapping[str, Any] | None = None,
    ) -> None:
        self.code = code
        self.status = status
        self.detail = detail
        self.retry_after = retry_after
        self.members = dict(members or {})
        super().__init__(f"{code}: {detail}", request_id=request_id)


class RequestError(ProblemError):
    """The request is wrong: sent again, it fails again."""


class KeyRefusedError(RequestError):
    """A key is missing, wrong, or not sufficient."""


class UnknownPairError(RequestError):
    """No model serves the pair; ``members["pairs"]`` are those that exist."""


class UnknownGlossaryError(RequestError):
    """There is no such glossary, or no dictionary for the pair."""


class TooLargeError(RequestError):
    """A text is over a limit, and cannot be split."""


class LanguageUndetectedError(RequestError):
    """The language could not be detected; ``members["candidates"]`` are the likeliest."""


class UnsupportedError(RequestError):
    """The server lacks a feature that the call uses."""


class RateLimitedError(ProblemError):
    """A limit of the key is reached; ``retry_after`` says until when."""


class UnavailableError(ProblemError):
    """The server has no capacity, or no ready model, now."""


class UnusableOutputError(ProblemError):
    """The model returned no usable translation; ``members["warnings"]`` say why."""


class ServerError(ProblemError):
    """The server, or one behind it, failed."""


_BY_CODE: Mapping[str, type[ProblemError]] = {
    "key-required": KeyRefusedError,
    "key-refused": KeyRefusedError,
    "pair-refused": KeyRefusedError,
    "unknown-pair": UnknownPairError,
    "unknown-glossary": UnknownGlossaryError,
    "unknown-dictionary": UnknownGlossaryError,
    "too-large": TooLargeError,
    "language-undetected": LanguageUndetectedError,
    "unusable-output": UnusableOutputError,
}
_BY_STATUS: Mapping[int, type[ProblemError]] = {
    401: KeyRefusedError,
    413: TooLargeError,
    429: RateLimitedError,
    503: UnavailableError,
}


def problem_of(
    status: int, members: Mapping[str, Any], *, request_id: str | None, retry_after: float | None
) -> ProblemError:
    """Return the error of a problem; unknown codes are classed by status."""
    code = str(members.get("code") or f"http-{status}")
    general = RequestError if status < 500 else ServerError
    kind = _BY_CODE.get(code) or _BY_STATUS.get(status) or general
    return kind(
        str(members.get("detail") or members.get("title") or f"The server answered {status}."),
        code=code,
        status=status,
        request_id=request_id,
        retry_after=retry_after,
        members=members,
    )
