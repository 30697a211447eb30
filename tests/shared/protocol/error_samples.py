"""One error of every class, and the tree that a file of errors documents and defines."""

from __future__ import annotations

from types import ModuleType

from shared.protocol import access_errors, errors


def every_error() -> list[errors.PairwayError]:
    return [
        errors.BadRequestError("x"),
        access_errors.KeyRequiredError("x"),
        access_errors.KeyRefusedError("x"),
        access_errors.PairRefusedError("en-de", ["en-fr"]),
        access_errors.OperatorOffError("x"),
        errors.UnknownPairError("en-de", ["en-fr"]),
        access_errors.UnknownReplicaError("http://a:1"),
        errors.SlowRequestError("x"),
        access_errors.FleetFullError(9),
        access_errors.UnknownKeyError("0123456789ab"),
        access_errors.KeysFullError(9),
        access_errors.PairRefusedError("en-de", ["en-fr"]),
        access_errors.RateLimitedError("too many", retry_after=3.2),
        access_errors.KeysUnavailableError("not now"),
        errors.NotFoundError("x"),
        errors.MethodNotAllowedError("x"),
        errors.TooLargeError("text", size=5, limit=4, unit="characters"),
        errors.UnsupportedMediaError("x"),
        access_errors.RateLimitedError("x", retry_after=3),
        access_errors.KeysUnavailableError("x"),
        errors.HeadTooLargeError(limit=3, unit="bytes"),
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


def documented_tree(file: ModuleType) -> dict[str, list[str]]:
    """Return the classes in the file's docstring, each with its status and code."""
    tree = {line.split()[1]: line.split()[2:4] for line in (file.__doc__ or "").splitlines() if "── " in line}
    tree.pop("RelayedError", None)  # it has those of another server
    return tree


def defined_tree(file: ModuleType) -> dict[str, list[str]]:
    """Return the classes that the file defines, each with its status and code."""
    kinds = [kind for kind in errors.PairwayError.__subclasses__() if kind.__module__ == file.__name__]
    tree = {kind.__name__: [str(kind.http_status), kind.code] for kind in kinds}
    tree.pop("RelayedError", None)
    return tree
