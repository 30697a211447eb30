"""What can go wrong with keys, their limits, and operators' orders: the same tree as shared/protocol/errors.py.

PairwayError
├── KeyRequiredError         401 key-required         no key where one is needed
├── KeyRefusedError          403 key-refused          a wrong key
├── PairRefusedError         403 pair-refused         the key is not for this pair
├── OperatorOffError         403 operator-off         no operator token is set, so nothing can be changed
├── UnknownReplicaError      404 unknown-replica      no replica of the fleet has this URL
├── UnknownKeyError          404 unknown-key          no key has this id, or it was revoked
├── FleetFullError           409 fleet-full           operators' changes are bounded, and there are that many
├── KeysFullError            409 keys-full            keys are bounded, and there are that many
├── RateLimitedError         429 rate-limited         over the key's rate or quota
└── KeysUnavailableError     503 keys-unavailable     keys can not be looked up now

API servers raise the first two only, where they have a token.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from shared.protocol import errors
from shared.protocol.errors import RETRY_AFTER_MIN, PairwayError


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
        super().__init__(f"{url} is no replica of the fleet now, nor a name that stands for any; GET /fleet lists all.")


class UnknownKeyError(PairwayError):
    """No key has this id, or it was revoked."""

    code = "unknown-key"
    http_status = 404
    title = "Unknown key"

    def __init__(self, key_id: str | None) -> None:
        """Name the id; None for what can be no id, which is not repeated: it may be a whole key."""
        if key_id is None:
            super().__init__("No key has such an id: it has 12 hexadecimal digits.")
        else:
            super().__init__(f"No key in force has the id {key_id}; GET /keys lists all, revoked ones too.")


class FleetFullError(PairwayError):
    """Operators' changes are bounded, and there are that many."""

    code = "fleet-full"
    http_status = 409
    title = "Too many changes"

    def __init__(self, limit: int) -> None:
        message = f"Operators have changed {limit} URLs, and no more are kept; write replicas into PROXY_REPLICAS."
        super().__init__(message, facts={"limit": limit})


class KeysFullError(PairwayError):
    """Keys are bounded, and there are that many."""

    code = "keys-full"
    http_status = 409
    title = "Too many keys"

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"There are {limit} keys, and no more are kept; revoked ones go after 30 days.", facts={"limit": limit}
        )


class RateLimitedError(PairwayError):
    """The caller has used up what its key allows for now; ``retry_after`` says when there is more."""

    code = "rate-limited"
    http_status = 429
    title = "Rate limited"


class KeysUnavailableError(PairwayError):
    """Keys can not be looked up now, so nobody can be let in by one that is not known here."""

    code = "keys-unavailable"
    http_status = 503
    title = "Keys unavailable"

    def __init__(self, detail: str = "Keys can not be looked up now.") -> None:
        super().__init__(detail, retry_after=RETRY_AFTER_MIN)


# Every code that a server of ours can answer with: those of both files of errors.
CODES: Final = frozenset(
    kind.code
    for kind in (*vars(errors).values(), *tuple(globals().values()))
    if isinstance(kind, type) and issubclass(kind, PairwayError)
)
