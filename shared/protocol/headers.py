"""Headers that both servers read and write: the request's id and the caller's tag."""

from __future__ import annotations

import re
from typing import Final

REQUEST_ID_HEADER: Final = "X-Request-Id"
CALLER_HEADER: Final = "X-Pairway-Caller"
_CALLER_TAG: Final = re.compile(r"[0-9a-f]{16}")


def caller_from_header(value: str | None) -> str:
    """Return the caller's tag; all that come without a right one are one caller."""
    return value if value is not None and _CALLER_TAG.fullmatch(value) else ""
