"""``python -m proxy.keys``: create, list, show, change, revoke, export and import keys.

Redis is that of ``PROXY_*``. Exit status: 0 done, 1 not found, refused or incomplete, 2 wrong usage, 69 Redis is away,
74 a file cannot be read or written, 78 a setting is wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from proxy.fleet.store import FleetStore
from proxy.keys.api_key import ID, MAX_UNIX, Grant, KeyChanges, KeyView, Scope, mint, name_warnings, pair_warnings
from proxy.keys.backup import (
    MAX_BYTES,
    Backup,
    BackupError,
    ImportedKey,
    Outcome,
    decode,
    encode,
    export_keys,
    import_keys,
)
from proxy.keys.store import KeyStore
from proxy.keys.usage import Usage
from proxy.settings import ProxySettings
from proxy.storage.connection import StoreUnavailableError
from shared.protocol.errors import PairwayError, UnknownKeyError
from shared.protocol.priority import Priority
from shared.protocol.validation_errors import operator_errors
from shared.runtime.exit_codes import EXIT_CONFIG
from shared.runtime.settings import SettingsError, load_settings

NONE: Final = "none"
_UNITS: Final = {"h": 3600, "d": 86_400}
_COMMANDS: Final = {
    "create": "create a key and show it once",
    "list": "list all keys",
    "show": "show a key and its usage",
    "limit": "change a key; absent options keep their values",
    "revoke": "refuse a key from now on",
    "export": "write a backup of all keys: hashes and limits, no secrets",
    "import": "read a backup; a key that was revoked since stays revoked",
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
        if name == "export":
            command.add_argument("--output", type=Path, help="file, readable by its owner only; default: stdout")
        else:
            command.add_argument("--json", action="store_true", help="print JSON")
        if name == "import":
            command.add_argument("--input", type=Path, help="file that export wrote; default: stdin")
            command.add_argument(
                "--undo-revocations",
                action="store_true",
                help="make keys valid again that were revoked after the backup",
            )
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


EXIT_REFUSED: Final = 1
EXIT_USAGE: Final = 2
# sysexits.h: EX_UNAVAILABLE.
EXIT_AWAY: Final = 69
# sysexits.h: EX_IOERR.
EXIT_FILE: Final = 74
# A person can wait, and the first call on a new connection may be slow.
TIMEOUT_SECONDS: Final = 5.0

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


async def run(options: argparse.Namespace, store: KeyStore, fleet: FleetStore) -> tuple[dict[str, Any], str]:
    """Run a command on keys; return its result as JSON and text."""
    fields = {name: value for name, value in vars(options).items() if name in Grant.model_fields}
    match options.command:
        case "create":
            key, shown = mint(Grant.model_validate(fields), time.time())
            await store.add(key)
            sys.stderr.write(f"The key of {key.name}, shown only once; its id is {key.id}.\n")
            await _check_grant(key.view, fields, store, fleet)
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
            await _check_grant(view, fields, store, fleet)
        case _:
            view = (await store.revoke(options.id)).view
    return view.model_dump(mode="json"), _table([view])


async def _check_grant(key: KeyView, chosen: Iterable[str], store: KeyStore, fleet: FleetStore) -> None:
    """Warn about chosen pairs that nothing serves, and a name used twice."""
    with suppress(StoreUnavailableError):  # the key is written, and these are hints
        if "pairs" in chosen:
            _warn(*pair_warnings(key.pairs, (await fleet.read())[1]))
        if "name" in chosen:
            _warn(*name_warnings(key, await store.all(), time.time()))


async def run_export(output: Path | None, store: KeyStore) -> int:
    """Write a backup; return the exit status."""
    backup, unreadable = await export_keys(store)
    content = encode(backup)
    if output is None:
        _write_stdout(content)
    else:
        _write_private(output, content)
    sys.stderr.write(f"{len(backup.entries)} keys in the backup.\n")
    if unreadable:
        _warn(f"not in the backup, because another version wrote them: {', '.join(unreadable)}")
    return EXIT_REFUSED if unreadable else 0


def _write_stdout(content: bytes) -> None:
    try:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    except OSError:
        # Otherwise Python tries again at its exit, and ends with 120.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


def _write_private(path: Path, content: bytes) -> None:
    """Replace a file by one of mode 0600; it is never half-written."""
    part = path.with_name(f"{path.name}.part")
    part.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise


def read_backup(path: Path | None) -> Backup:
    """Read a backup from a file or stdin; raise BackupError or OSError."""
    if path is None and sys.stdin.isatty():
        raise BackupError("give the backup on standard input (import < keys.jsonl), or by --input")
    if path is None:
        return decode(sys.stdin.buffer.read(MAX_BYTES + 1))
    with path.open("rb") as file:
        return decode(file.read(MAX_BYTES + 1))


async def run_import(backup: Backup, store: KeyStore, *, undo_revocations: bool) -> tuple[dict[str, Any], str]:
    """Import a backup; return the result as JSON and text."""
    imported = await import_keys(store, backup, undo_revocations=undo_revocations)
    counts = Counter(each.outcome for each in imported)
    at = datetime.fromtimestamp(backup.created_at, UTC).strftime("%Y-%m-%d %H:%M UTC")
    if counts[Outcome.ADDED]:
        _warn(f"keys revoked after the backup ({at}) are valid again, if Redis had lost them; revoke those once more")
    if counts[Outcome.STILL_REVOKED]:
        _warn("keys that were revoked after the backup stay revoked; --undo-revocations makes them valid again")
    if counts[Outcome.FORGOTTEN]:
        _warn("keys that were over for more than 30 days were left out")
    touched = [each for each in imported if each.outcome is not Outcome.UNCHANGED]
    result = {
        "created_at": backup.created_at,
        "counts": {outcome: counts[outcome] for outcome in Outcome},
        "keys": [
            {"id": each.key.id, "name": each.key.name, "outcome": each.outcome, "fields": [*each.fields]}
            for each in touched
        ],
    }
    shown = ", ".join(f"{counts[outcome]} {outcome}" for outcome in Outcome)
    return result, "\n".join([f"backup of {at}: {shown}", *map(_imported_line, touched)])


def _imported_line(each: ImportedKey) -> str:
    fields = f" ({', '.join(each.fields)})" if each.fields else ""
    return f"{each.outcome}: {each.key.id} {each.key.name}{fields}"


def _table(keys: Sequence[KeyView]) -> str:
    rows = [tuple(_COLUMNS), *(tuple(cell(key) for cell in _COLUMNS.values()) for key in keys)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)) for row in rows)
    return "\n".join(map(str.rstrip, lines))


async def run_command(options: argparse.Namespace, settings: ProxySettings) -> int:
    """Connect, run one command and print its result; return the exit status."""
    backup = read_backup(options.input) if options.command == "import" else None
    url, prefix = settings.redis_url.get_secret_value(), settings.redis_prefix
    store = KeyStore(url, prefix, TIMEOUT_SECONDS, time.time)
    fleet = FleetStore(url, prefix, TIMEOUT_SECONDS, time.time)
    try:
        if options.command == "export":
            return await run_export(options.output, store)
        if backup is None:
            result, text = await run(options, store, fleet)
        else:
            result, text = await run_import(backup, store, undo_revocations=options.undo_revocations)
    finally:
        await fleet.close()
        await store.close()
    sys.stdout.write(f"{json.dumps(result, indent=2) if options.json else text}\n")
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return the exit status."""
    options = parse(arguments)
    try:
        return asyncio.run(run_command(options, load_settings(ProxySettings)))
    except (SettingsError, ValidationError, BackupError, PairwayError, StoreUnavailableError, OSError) as error:
        message, status = _explain(error, options.command)
        sys.stderr.write(f"keys: {message}\n")
        return status


def _explain(error: Exception, command: str) -> tuple[str, int]:
    """Return an error's message and exit status."""
    match error:
        case SettingsError():
            return str(error), EXIT_CONFIG
        case ValidationError():
            wrong = (f"--{field.replace('_', '-')}: {sentence}" for field, sentence in operator_errors(error, Grant))
            return "; ".join(wrong), EXIT_USAGE
        case BackupError():
            return f"{error}. Nothing was changed.", EXIT_REFUSED
        case PairwayError():
            return error.detail, EXIT_REFUSED
        case OSError():
            return f"{error.filename or 'standard output'}: {error.strerror}", EXIT_FILE
        case _:
            again = "; what was imported stays, so import again" if command == "import" else ""
            return f"{error}{again}", EXIT_AWAY


def _warn(*warnings: str) -> None:
    sys.stderr.writelines(f"keys: warning: {warning}\n" for warning in warnings)


if __name__ == "__main__":
    sys.exit(main())
