"""One error of every class."""

from __future__ import annotations

from shared.protocol import errors


def every_error() -> list[errors.PairwayError]:
    return [
        errors.BadRequestError("x"),
        errors.KeyRequiredError("x"),
        errors.KeyRefusedError("x"),
        errors.PairRefusedError("en-de", ["en-fr"]),
        errors.OriginRefusedError("x"),
        errors.OperatorOffError("x"),
        errors.UnknownPairError("en-de", ["en-fr"]),
        errors.UnknownReplicaError("http://a:1"),
        errors.UnknownGlossaryError("x"),
        errors.UnknownDictionaryError("en-de", ["en-fr"]),
        errors.GlossariesFullError("x", limit=9, unit="glossaries"),
        errors.GlossariesUnavailableError("x"),
        errors.ChangeRefusedError("x"),
        errors.CatalogRefusedError("x"),
        errors.SlowRequestError("x"),
        errors.FleetFullError(9),
        errors.UnknownKeyError("0123456789ab"),
        errors.KeysFullError(9),
        errors.PairRefusedError("en-de", ["en-fr"]),
        errors.RateLimitedError("too many", retry_after=3.2),
        errors.KeysUnavailableError("not now"),
        errors.NotFoundError("x"),
        errors.MethodNotAllowedError("x"),
        errors.TooLargeError("text", size=5, limit=4, unit="characters"),
        errors.UnsupportedMediaError("x"),
        errors.RateLimitedError("x", retry_after=3),
        errors.KeysUnavailableError("x"),
        errors.HeadTooLargeError(limit=3),
        errors.InvalidRequestError([("text", "is required")]),
        errors.LanguageUndetectedError("text", [("en", 0.51239)]),
        errors.ClientGoneError(),
        errors.InternalError("x"),
        errors.ReplicaFailedError("x"),
        errors.UnusableOutputError("x"),
        errors.OverloadedError("x", retry_after=0.2),
        errors.PairUnavailableError("en-de", "why", retry_after=1.2),
        errors.DeadlineExceededError("x"),
        errors.RelayedError(code="theirs", http_status=413, title="T", detail="D", facts={"limit": 3}),
    ]
