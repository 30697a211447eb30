"""Exception tree of requests: each class has status, code, outcome class.

Foreign errors are mapped into it in the one file that uses their library.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, Self

from shared.protocol.answers import LOW_CONFIDENCE

# Retry-After has whole seconds.
RETRY_AFTER_MIN: Final = 1.0
# Reasons of an API server's ``overloaded`` that say nothing about the pair: it may have capacity for other requests.
REASONS_OF_ONE_REQUEST: Final = frozenset({"late", "memory"})
# Outcome of a request without an error.
OK: Final = "ok"
# Who acts on an outcome. ok; refused: no capacity, or a limit is reached; client: wrong, or disconnected; failed: an
# operator's task.
OutcomeClass = Literal["ok", "refused", "client", "failed"]
_FIRST_SERVER_ERROR: Final = 500
_classes_by_code: Final[dict[str, OutcomeClass]] = {}
# Codes of all errors whose modules are loaded.
CODES: Final = _classes_by_code.keys()


def outcome_class(outcome: str) -> OutcomeClass:
    """Return the class of an outcome: an error's code, or OK."""
    return OK if outcome == OK else _classes_by_code.get(outcome, "failed")


class PairwayError(Exception):
    """Root of the tree; ``code`` is stable, and has an ``outcome_class``.

    An error that the caller chose is of class client. ``retry_after`` is in seconds; ``facts`` are further members of
    the problem.
    """

    code: str
    http_status: int
    title: str
    outcome_class: OutcomeClass

    def __init_subclass__(
        cls,
        *,
        status: int = 500,
        code: str = "internal",
        title: str = "Internal error",
        outcome_class: OutcomeClass | None = None,
    ) -> None:
        cls.http_status, cls.code, cls.title = status, code, title
        cls.outcome_class = outcome_class or ("client" if status < _FIRST_SERVER_ERROR else "failed")
        _classes_by_code[code] = cls.outcome_class

    def __init__(
        self,
        detail: str,
        *,
        retry_after: float | None = None,
        facts: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        log_fields: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.retry_after = retry_after
        self.facts: dict[str, Any] = dict(facts or {})
        self.headers: Mapping[str, str] = headers or {}
        self.log_fields: Mapping[str, str] = log_fields or {}
        match self.facts:
            case {"warnings": [{"code": code}, *_]} if code == LOW_CONFIDENCE:
                self.outcome_class = "client"
            case _:
                pass

    def with_detail(self, detail: str) -> Self:
        """Return a copy with another detail; other requests may share the error."""
        copy = type(self).__new__(type(self), detail)
        copy.__dict__.update(self.__dict__)
        copy.detail, copy.facts = detail, dict(self.facts)
        return copy


class BadRequestError(PairwayError, status=400, code="bad-request", title="The request cannot be read"):
    """The body is not JSON, or not an object."""


class SlowRequestError(PairwayError, status=408, code="request-timeout", title="The request came too slowly"):
    """The request comes too slowly."""


class UnknownPairError(PairwayError, status=404, code="unknown-pair", title="Unknown language pair"):
    """No configured model serves the pair, which is named as in metrics.

    ``known`` are pairs that exist, ``more`` is the number of those that are not named.
    """

    def __init__(self, pair: str, known: Sequence[str], more: int = 0) -> None:
        self.pair = pair
        existing = ", ".join(known) if known else "none yet"
        others = f" and {more} more; GET /languages lists all" if more else ""
        facts = {"pairs": list(known), **({"more_pairs": more} if more else {})}
        super().__init__(f"No model serves {pair}. Pairs that exist: {existing}{others}.", facts=facts)


class NotFoundError(PairwayError, status=404, code="not-found", title="No such path"):
    """The path does not exist."""


class MethodNotAllowedError(PairwayError, status=405, code="method-not-allowed", title="Method not allowed"):
    """The path exists, but not with this method."""


class TooLargeError(PairwayError, status=413, code="too-large", title="Too large"):
    """A size or number exceeds a limit; ``size`` is None if unknown."""

    def __init__(self, subject: str, *, size: int | None, limit: int, unit: str, detail: str | None = None) -> None:
        self.size, self.limit = size, limit
        count = f"more than {limit}" if size is None else str(size)
        sentence = detail or f"{subject} has {count} {unit}; at most {limit} are allowed."
        super().__init__(sentence, facts={"limit": limit, "unit": unit})


class UnsupportedMediaError(PairwayError, status=415, code="unsupported-media", title="Only plain JSON is accepted"):
    """The body is compressed, or not declared as JSON."""


class InvalidRequestError(PairwayError, status=422, code="invalid-request", title="Invalid request"):
    """Fields are missing, unknown or wrong."""

    def __init__(self, errors: Sequence[tuple[str, str]]) -> None:
        super().__init__(
            "; ".join(f"{field}: {message}" for field, message in errors) + ".",
            facts={"errors": [{"field": field, "message": message} for field, message in errors]},
        )


class LanguageUndetectedError(
    PairwayError, status=422, code="language-undetected", title="The language could not be detected"
):
    """``auto`` found no language that can be translated from.

    ``where`` is ``text`` or ``text[3]``; ``candidates`` are (language, confidence), best first. ``unserved``: the
    language that it seems to be instead, and its confidence.
    """

    def __init__(
        self, where: str, candidates: Sequence[tuple[str, float]], unserved: Mapping[str, object] | None = None
    ) -> None:
        listed = [{"lang": lang, "confidence": round(sure, 3)} for lang, sure in candidates]
        super().__init__(
            f"The language of {where} could not be detected among the served languages; set source_lang.",
            facts={"candidates": listed, **({"unserved": unserved} if unserved else {})},
        )


class ClientGoneError(PairwayError, status=499, code="client-gone", title="The client disconnected"):
    """The client disconnected; only logs and metrics show it."""

    def __init__(self) -> None:
        super().__init__("The client disconnected before its answer was ready.")


class HeadTooLargeError(PairwayError, status=431, code="head-too-large", title="Request head too large"):
    """The request line and headers exceed a limit."""

    def __init__(self, *, limit: int, unit: str = "bytes") -> None:
        super().__init__(f"The request's head has more than {limit} {unit}.", facts={"limit": limit, "unit": unit})


class InternalError(PairwayError):
    """Our own fault; clients get no details."""


class ReplicaFailedError(PairwayError, status=502, code="replica-failed", title="The replica failed"):
    """Every attempt at a replica failed."""


class UnusableOutputError(PairwayError, status=502, code="unusable-output", title="No usable translation"):
    """The model returned no usable output."""


class OverloadedError(PairwayError, status=503, code="overloaded", title="Overloaded", outcome_class="refused"):
    """There is no capacity now."""


class PairUnavailableError(PairwayError, status=503, code="pair-unavailable", title="Language pair unavailable"):
    """No ready model serves the known pair."""

    def __init__(self, pair: str, why: str, *, retry_after: float) -> None:
        super().__init__(f"{pair} cannot be served now: {why}.", retry_after=retry_after)


class DeadlineExceededError(PairwayError, status=504, code="deadline-exceeded", title="Deadline exceeded"):
    """The request's time is over."""


class KeyRequiredError(PairwayError, status=401, code="key-required", title="Key required"):
    """The request needs a key."""


class KeyRefusedError(PairwayError, status=403, code="key-refused", title="Key refused"):
    """The key is wrong or not sufficient."""


class PairRefusedError(PairwayError, status=403, code="pair-refused", title="Language pair refused"):
    """The key does not allow this pair."""

    def __init__(self, pair: str, allowed: Sequence[str]) -> None:
        super().__init__(
            f"This key does not allow {pair}; it allows {', '.join(allowed)}.", facts={"pairs": list(allowed)}
        )


class OriginRefusedError(PairwayError, status=403, code="origin-refused", title="Web page refused"):
    """A web page sent the request, which may not call this server."""


class OperatorOffError(PairwayError, status=403, code="operator-off", title="Changes by operators are off"):
    """No operator token is set."""


class UnknownReplicaError(PairwayError, status=404, code="unknown-replica", title="Unknown replica"):
    """No replica has this URL."""

    def __init__(self, url: str) -> None:
        super().__init__(f"{url} is not a replica of the fleet, nor a host name of one; GET /fleet lists all.")


class UnknownKeyError(PairwayError, status=404, code="unknown-key", title="Unknown key"):
    """No key in force has this id.

    ``key_id`` is None for a malformed id, which is not repeated: it may be a whole key.
    """

    def __init__(self, key_id: str | None) -> None:
        if key_id is None:
            super().__init__("This is not the id of a key, which has 12 hexadecimal digits.")
        else:
            super().__init__(f"No key in force has the id {key_id}; GET /keys lists all, also revoked ones.")


class UnknownGlossaryError(PairwayError, status=404, code="unknown-glossary", title="Unknown glossary"):
    """The caller has no glossary with this id."""

    def __init__(self, glossary_id: str) -> None:
        super().__init__(f"You have no glossary with the id {glossary_id}; the list of your glossaries has their ids.")


class UnknownDictionaryError(PairwayError, status=404, code="unknown-dictionary", title="Unknown dictionary"):
    """The glossary has no dictionary for this pair."""

    def __init__(self, pair: str, known: Sequence[str]) -> None:
        existing = ", ".join(known) if known else "none yet"
        message = f"The glossary has no dictionary for {pair}. Its pairs: {existing}."
        super().__init__(message, facts={"pairs": list(known)})


class ChangeRefusedError(PairwayError, status=409, code="change-refused", title="Model change refused"):
    """The model cannot be changed so, or not now; nothing has changed."""


class CatalogRefusedError(PairwayError, status=409, code="catalog-refused", title="Catalog refused"):
    """The catalog on the server's disk is wrong; nothing has changed."""


class FleetFullError(PairwayError, status=409, code="fleet-full", title="Too many changes"):
    """The limit on operators' changes is reached."""

    def __init__(self, limit: int) -> None:
        message = f"Operators have changed {limit} URLs, which is the maximum; add replicas to PROXY_REPLICAS."
        super().__init__(message, facts={"limit": limit})


class KeysFullError(PairwayError, status=409, code="keys-full", title="Too many keys"):
    """The limit on keys is reached."""

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"There are {limit} keys, which is the maximum; revoked keys are deleted after 30 days.",
            facts={"limit": limit},
        )


class GlossariesFullError(PairwayError, status=409, code="glossaries-full", title="Too many glossaries"):
    """A limit on glossaries is reached."""

    def __init__(self, detail: str, *, limit: int, unit: str) -> None:
        super().__init__(detail, facts={"limit": limit, "unit": unit})


class GlossariesUnavailableError(
    PairwayError, status=503, code="glossaries-unavailable", title="Glossaries unavailable"
):
    """Glossaries cannot be read or changed now."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail, retry_after=RETRY_AFTER_MIN)


class RateLimitedError(PairwayError, status=429, code="rate-limited", title="Rate limited", outcome_class="refused"):
    """A limit of the key is reached."""


class CharactersUsedError(
    RateLimitedError, status=429, code="rate-limited", title="Rate limited", outcome_class="refused"
):
    """The key's characters of a day or month are used up."""


class KeysUnavailableError(PairwayError, status=503, code="keys-unavailable", title="Keys unavailable"):
    """Keys cannot be looked up now."""

    def __init__(self, detail: str = "Keys cannot be looked up now.") -> None:
        super().__init__(detail, retry_after=RETRY_AFTER_MIN)


class RelayedError(PairwayError):
    """Problem of a replica that clients get unchanged."""

    def __init__(self, *, code: str, http_status: int, title: str, detail: str, facts: Mapping[str, Any]) -> None:
        self.outcome_class = outcome_class(code)
        super().__init__(detail, facts=facts)
        self.code = code
        self.http_status = http_status
        self.title = title
