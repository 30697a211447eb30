"""Options of a key on the command line."""

from __future__ import annotations

import argparse
import re
import time
from datetime import UTC, datetime
from typing import Any, Final

from proxy.keys.api_key import ID, MAX_UNIX, Scope
from shared.protocol.priority import Priority

NONE: Final = "none"
_UNITS: Final = {"h": 3600, "d": 86_400}


def add_grant(command: argparse.ArgumentParser, *, required: bool) -> None:
    """Add a key's options; absent ones are not in the result."""

    def add(name: str, text: str, **more: Any) -> None:
        command.add_argument(name, help=text, default=argparse.SUPPRESS, **more)

    add("--name", "name of the key's holder", required=required)
    add("--scope", "permission; may be repeated", dest="scopes", action="append", choices=list(map(str, Scope)))
    add("--requests-per-minute", f"most requests in a clock minute, or {NONE}", type=_limit, metavar="N")
    add("--chars-per-day", f"most characters in a UTC day, or {NONE}", type=_limit, metavar="N")
    add("--chars-per-month", f"most characters in a UTC month, or {NONE}", type=_limit, metavar="N")
    add("--pairs", f"permitted pairs, such as en-de,en-fr, or {NONE} for all", type=_pairs)
    add("--ceiling", "most urgent priority", choices=list(map(str, Priority)))
    add("--cached", "whether its requests may use the cache", action=argparse.BooleanOptionalAction)
    add("--expires", f"end of the key: 30d, 12h, a date or a time, or {NONE}", dest="expires_at", type=_end)


def key_id(text: str) -> str:
    """Refuse whole keys without repeating them: other users can read command lines."""
    if not ID.fullmatch(text):
        raise argparse.ArgumentTypeError("an id has 12 hexadecimal digits: the middle of a key, never the key itself")
    return text


def _limit(text: str) -> int | None:
    if text == NONE:
        return None
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text[:80]!r} is not a whole number; write one such as 20, or {NONE}"
        ) from None


def _pairs(text: str) -> list[str] | None:
    return None if text == NONE else [part.strip() for part in text.split(",")]


def _end(text: str) -> float | None:
    """Parse 30d, 12h, a future date or time (default UTC)."""
    if text == NONE:
        return None
    right = f"write 30d, 12h, a date such as 2030-01-31, a time such as 2030-01-31T12:00, or {NONE}"
    now = time.time()
    if match := re.fullmatch(r"(\d{1,9})([hd])", text, re.ASCII):
        at = now + int(match[1]) * _UNITS[match[2]]
    else:
        try:
            read = datetime.fromisoformat(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text[:80]!r} is not a time; {right}") from None
        at = (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()
    if at <= now:
        raise argparse.ArgumentTypeError(f"{text[:80]!r} is in the past; {right}")
    if at > MAX_UNIX:
        raise argparse.ArgumentTypeError(f"{text[:80]!r} is after the year 9999; {right}")
    return at
