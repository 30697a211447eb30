"""Outcome classes: who acts on a request's outcome."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

OK: Final = "ok"

# ok; refused: no capacity, or a limit is reached; client: wrong, or disconnected; failed: an operator's task.
OutcomeClass = Literal["ok", "refused", "client", "failed"]

# An error's code, or OK; each has its class.
OUTCOME_CLASSES: Final[Mapping[str, OutcomeClass]] = {
    OK: "ok",
    "overloaded": "refused",
    "rate-limited": "refused",
    "bad-request": "client",
    "catalog-refused": "client",
    "change-refused": "client",
    "client-gone": "client",
    "fleet-full": "client",
    "glossaries-full": "client",
    "head-too-large": "client",
    "invalid-request": "client",
    "key-refused": "client",
    "key-required": "client",
    "keys-full": "client",
    "language-undetected": "client",
    "method-not-allowed": "client",
    "not-found": "client",
    "operator-off": "client",
    "origin-refused": "client",
    "pair-refused": "client",
    "request-timeout": "client",
    "too-large": "client",
    "unknown-dictionary": "client",
    "unknown-glossary": "client",
    "unknown-key": "client",
    "unknown-pair": "client",
    "unknown-replica": "client",
    "unsupported-media": "client",
    "deadline-exceeded": "failed",
    "glossaries-unavailable": "failed",
    "internal": "failed",
    "keys-unavailable": "failed",
    "pair-unavailable": "failed",
    "replica-failed": "failed",
    "unusable-output": "failed",
}
