"""``keys``: create, list, change, revoke, export and import API keys."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from proxy.commands.backup_files import read_backup, run_export, run_import
from proxy.commands.key_options import add_grant, key_id
from proxy.commands.output import table, warn
from proxy.fleet.store import FleetStore
from proxy.keys.api_key import Grant, KeyChanges, KeyView, mint, name_warnings, pair_warnings
from proxy.keys.store import KeyStore
from proxy.keys.usage import Usage
from proxy.storage.connection import StoreUnavailableError
from shared.protocol.errors import UnknownKeyError

_COMMANDS: Final = {
    "create": "create a key and show it once",
    "list": "list all keys, or one and its usage",
    "limit": "change a key; absent options keep their values",
    "revoke": "refuse a key from now on",
    "export": "write a backup of all keys: hashes and limits, no secrets",
    "import": "read a backup; a key that was revoked since stays revoked",
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


def add_commands(parser: argparse.ArgumentParser) -> None:
    """Add the commands on keys and their options."""
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in _COMMANDS.items():
        command = commands.add_parser(name, help=text, description=text)
        if name == "export":
            command.add_argument("--output", type=Path, help="file, readable by its owner only; default: stdout")
        else:
            command.add_argument("--json", action="store_true", help="print JSON")
        if name == "import":
            command.add_argument("--input", type=Path, help="file that export wrote; default: stdin")
            undo_help = "make keys valid again that were revoked after the backup"
            command.add_argument("--undo-revocations", action="store_true", help=undo_help)
        if name in {"list", "limit", "revoke"}:
            id_help = "12 hexadecimal digits, the middle of the key"
            command.add_argument("id", type=key_id, nargs="?" if name == "list" else None, help=id_help)
        if name in {"create", "limit"}:
            add_grant(command, required=name == "create")


async def run(options: argparse.Namespace, store: KeyStore, fleet: FleetStore) -> int:
    """Run a command and print its result; return the exit status."""
    if options.command == "export":
        return await run_export(options.output, store)
    if options.command == "import":
        backup = read_backup(options.input)
        result, text = await run_import(backup, store, undo_revocations=options.undo_revocations)
    else:
        result, text = await run_on_keys(options, store, fleet)
    sys.stdout.write(f"{json.dumps(result, indent=2) if options.json else text}\n")
    return 0


async def run_on_keys(options: argparse.Namespace, store: KeyStore, fleet: FleetStore) -> tuple[dict[str, Any], str]:
    """Create, list, change or revoke; return the result as JSON and text."""
    fields = {name: value for name, value in vars(options).items() if name in Grant.model_fields}
    match options.command:
        case "create":
            key, shown = mint(Grant.model_validate(fields), time.time())
            await store.add(key)
            sys.stderr.write(f"The key of {key.name}, shown only once; its id is {key.id}.\n")
            await _check_grant(key.view, fields, store, fleet)
            return key.view.model_dump(mode="json") | {"key": shown}, shown
        case "list" if options.id is None:
            keys = [key.view for key in await store.all()]
            return {"keys": [key.model_dump(mode="json") for key in keys]}, _table(keys)
        case "list":
            return await _show(options.id, store)
        case "limit":
            changes = KeyChanges.model_validate(fields)
            view = (await store.change(options.id, changes.model_dump(exclude_unset=True))).view
            await _check_grant(view, fields, store, fleet)
        case _:
            view = (await store.revoke(options.id)).view
    return view.model_dump(mode="json"), _table([view])


async def _show(key_id: str, store: KeyStore) -> tuple[dict[str, Any], str]:
    key, usage = await store.read(key_id), await store.count(key_id)
    if key is None:
        raise UnknownKeyError(key_id)
    if usage is None:  # a revoked key has no counts
        return {"key": key.view.model_dump(mode="json")}, _table([key.view])
    requests, today, month = (window.used for window in usage.windows)
    used = f"used: {requests} requests this minute, {today} characters today, {month} this month"
    return Usage.of(key.view, usage).model_dump(mode="json"), f"{_table([key.view])}\n{used}"


async def _check_grant(key: KeyView, chosen: Iterable[str], store: KeyStore, fleet: FleetStore) -> None:
    """Warn about chosen pairs that nothing serves, and a name used twice."""
    with suppress(StoreUnavailableError):  # the key is written, and these are hints
        if "pairs" in chosen:
            warn(*pair_warnings(key.pairs, (await fleet.read())[1]))
        if "name" in chosen:
            warn(*name_warnings(key, await store.all(), time.time()))


def _table(keys: Sequence[KeyView]) -> str:
    return table([tuple(map(str.upper, _COLUMNS)), *(tuple(cell(key) for cell in _COLUMNS.values()) for key in keys)])
