"""``python -m proxy.keys``: create, list, show, change and revoke keys.

Redis is that of ``PROXY_*``. Exit status: 0 done, 1 not found or refused, 2 wrong usage, 69 Redis is away, 78 a setting
is wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from pydantic import ValidationError

from proxy.keys.api_key import ID, MAX_UNIX, Grant, KeyChanges, KeyView, Scope, mint
from proxy.keys.quota import Usage
from proxy.keys.store import KeyStore
from proxy.redis_client import StoreUnavailableError
from proxy.settings import ProxySettings
from shared.protocol.errors import PairwayError, UnknownKeyError
from shared.protocol.priority import Priority
from shared.protocol.validation_errors import operator_errors
from shared.runtime.exit_codes import EXIT_CONFIG
from shared.runtime.settings import SettingsError, load_settings

EXIT_REFUSED: Final = 1
EXIT_USAGE: Final = 2
# sysexits.h: EX_UNAVAILABLE.
EXIT_AWAY: Final = 69
# A person can wait, and the first call on a new connection may be slow.
TIMEOUT_SECONDS: Final = 5.0

NONE: Final = "none"
_UNITS: Final = {"h": 3600, "d": 86_400}
_COMMANDS: Final = {
    "create": "create a key and show it once",
    "list": "list all keys",
    "show": "show a key and its usage",
    "limit": "change a key; absent options keep their values",
    "revoke": "refuse a key from now on",
}
_COLUMNS: Final[Mapping[str, Callable[[KeyView], str]]] = {
    "id": lambda key: key.id,
    "name": lambda key: key.name,
    "scopes": lambda key: ",".join(key.scopes),
    "requests/min": lambda key: str(key.requests_per_minute or "-"),
    "chars/day": lambda key: str(key.chars_per_day or "-"),
    "chars/month": lambda key: str(key.chars_per_month or "-"),
    "pairs": lambda key: ",".join(key.pairs or ("-",)),
    "ceiling": lambda key: key.ceiling,
    "cached": lambda key: "yes" if key.cached else "no",
    "until": lambda key: (
        "-" if key.expires_at is None else datetime.fromtimestamp(key.expires_at, UTC).strftime("%Y-%m-%d %H:%M")
    ),
    "state": lambda key: "revoked" if key.revoked_at else "expired" if key.is_over(time.time()) else "in force",
}


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


def _id(text: str) -> str:
    """Refuse whole keys without repeating them: other users can read command lines."""
    if not ID.fullmatch(text):
        raise argparse.ArgumentTypeError("an id has 12 hexadecimal digits: the middle of a key, never the key itself")
    return text


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m proxy.keys", description="Manage API keys.")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in _COMMANDS.items():
        command = commands.add_parser(name, help=text)
        command.add_argument("--json", action="store_true", help="print JSON")
        if name in {"show", "limit", "revoke"}:
            command.add_argument("id", type=_id, help="12 hexadecimal digits, the middle of the key")
        if name in {"create", "limit"}:
            _add_grant(command, required=name == "create")
    return parser.parse_args(arguments)


def _add_grant(command: argparse.ArgumentParser, *, required: bool) -> None:
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


async def run(options: argparse.Namespace, store: KeyStore) -> tuple[dict[str, Any], str]:
    """Run the command; return its result as JSON and as text."""
    fields = {name: value for name, value in vars(options).items() if name in Grant.model_fields}
    match options.command:
        case "create":
            key, shown = mint(Grant.model_validate(fields), time.time())
            await store.add(key)
            sys.stderr.write(f"The key of {key.name}, shown only once; its id is {key.id}.\n")
            return key.view.model_dump(mode="json") | {"key": shown}, shown
        case "list":
            keys = [key.view for key in await store.all()]
            return {"keys": [key.model_dump(mode="json") for key in keys]}, _table(keys)
        case "show":
            key, usage = await store.read(options.id), await store.count(options.id)
            if key is None:
                raise UnknownKeyError(options.id)
            if usage is None:  # a revoked key has no counts
                return {"key": key.view.model_dump(mode="json")}, _table([key.view])
            requests, today, month = (window.used for window in usage.windows)
            used = f"used: {requests} requests this minute, {today} characters today, {month} this month"
            return Usage.of(key.view, usage).model_dump(mode="json"), f"{_table([key.view])}\n{used}"
        case "limit":
            changes = KeyChanges.model_validate(fields)
            view = (await store.change(options.id, changes.model_dump(exclude_unset=True))).view
        case _:
            view = (await store.revoke(options.id)).view
    return view.model_dump(mode="json"), _table([view])


def _table(keys: Sequence[KeyView]) -> str:
    rows = [tuple(_COLUMNS), *(tuple(cell(key) for cell in _COLUMNS.values()) for key in keys)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)) for row in rows)
    return "\n".join(map(str.rstrip, lines))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return the exit status."""
    options = parse(arguments)
    try:
        settings = load_settings(ProxySettings)
    except SettingsError as error:
        return _fail(str(error), EXIT_CONFIG)

    async def run_once() -> None:
        store = KeyStore(settings.redis_url.get_secret_value(), settings.redis_prefix, TIMEOUT_SECONDS, time.time)
        try:
            result, text = await run(options, store)
        finally:
            await store.close()
        sys.stdout.write(f"{json.dumps(result, indent=2) if options.json else text}\n")

    try:
        asyncio.run(run_once())
    except ValidationError as error:
        wrong = (f"--{field.replace('_', '-')}: {sentence}" for field, sentence in operator_errors(error, Grant))
        return _fail("; ".join(wrong), EXIT_USAGE)
    except PairwayError as error:
        return _fail(error.detail, EXIT_REFUSED)
    except StoreUnavailableError as error:
        return _fail(str(error), EXIT_AWAY)
    return 0


def _fail(message: str, status: int) -> int:
    sys.stderr.write(f"keys: {message}\n")
    return status
