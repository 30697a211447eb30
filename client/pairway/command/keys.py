"""Keys: create, list, change and revoke API keys; their usage."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial, wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, Final
from urllib.parse import quote, urlencode

import typer

from ..exchange import exchange
from ..steps import ApiRequest
from ..translate_call import understood
from .failures import UsageError
from .fleet import NONE, number
from .operator_access import operator_client, operators_ask
from .output import print_error, print_json, print_line, show_records
from .reads import AsJson
from .server_options import Server, command, new_group

Id = Annotated[str, typer.Argument(metavar="ID", help="The 12 digits in the middle of the key.")]
AnyId = Annotated[str | None, typer.Argument(metavar="[ID]", show_default=False)]
_UNITS: Final = {"h": 3600, "d": 86_400}


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = new_group("API keys, for operators.")
    command(group, "create", "pairway keys create --name alice --requests-per-minute 60 --pairs en-de")(create)
    command(group, "list", "pairway keys list", "pairway keys list 77d02e6c11aa")(list_keys)
    command(group, "limit", "pairway keys limit 77d02e6c11aa --chars-per-month none --expires 30d")(limit)
    command(group, "revoke", "pairway keys revoke 77d02e6c11aa")(revoke)
    command(group, "usage", "pairway keys usage --months 13 --csv", "pairway keys usage 77d02e6c11aa --days 35")(usage)
    app.add_typer(group, name="keys")


def _end(text: str) -> float | None:
    """Return Unix seconds of 30d, 12h, a date or time (UTC)."""
    if text == NONE:
        return None
    if match := re.fullmatch(r"(\d{1,6})([hd])", text, re.ASCII):
        return time.time() + int(match[1]) * _UNITS[match[2]]
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{text[:80]!r} is not an end; write 30d, 12h, 2030-01-31 or {NONE}.") from None
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()


def _pairs(text: str) -> list[str] | None:
    return None if text == NONE else text.split(",")


_WHOLE: Final = partial(number, kind=int)
# Fields of a key: how an option becomes each, and what typer shows; an option that is not given is None.
_GRANT: Final[Mapping[str, tuple[Callable[[Any], Any], Any, Any]]] = {
    "name": (str, str, typer.Option("--name", metavar="NAME", help="Name of the key's holder.")),
    "scopes": (
        list,
        list[str],
        typer.Option("--scope", metavar="SCOPE", help="translate, observe, operate; repeatable."),
    ),
    "requests_per_minute": (_WHOLE, str, typer.Option(metavar="N", help=f"Most requests a minute, or {NONE}.")),
    "chars_per_day": (_WHOLE, str, typer.Option(metavar="N", help=f"Most characters a UTC day, or {NONE}.")),
    "chars_per_month": (_WHOLE, str, typer.Option(metavar="N", help=f"Most characters a UTC month, or {NONE}.")),
    "pairs": (_pairs, str, typer.Option(metavar="PAIR,...", help=f"Such as en-de,en-fr, or {NONE} for all.")),
    "ceiling": (str, str, typer.Option(metavar="PRIORITY", help="Most urgent: interactive, standard or bulk.")),
    "cached": (bool, bool, typer.Option(help="Whether it may use the cache.")),
    "expires_at": (_end, str, typer.Option("--expires", metavar="END", help=f"30d, 12h, 2030-01-31 or {NONE}.")),
}
_USAGE: Final = ("period", "key", "name", "requests", "characters", "incomplete")
_COLUMNS: Final = ("id", *_GRANT, "revoked_at")


def _with_grant(function: Callable[..., None]) -> Callable[..., None]:
    """Return a command with a key's options, the fields of ``grant``."""

    @wraps(function)
    def run(*args: Any, **kwargs: Any) -> None:
        given = {name: kwargs.pop(name) for name in _GRANT}
        grant: dict[str, Any] = {name: _GRANT[name][0](value) for name, value in given.items() if value is not None}
        function(*args, grant=grant, **kwargs)

    parameters = [each for each in signature(function, eval_str=True).parameters.values() if each.name != "grant"]
    annotated: Any = Annotated  # of a type that is not known before
    for name, (_, kind, shown) in _GRANT.items():
        annotation = annotated[kind | None, shown]
        parameters.append(Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=annotation))
    described: Any = run  # inspect reads an attribute that functions are not known to have
    described.__signature__ = Signature(parameters)
    return run


@_with_grant
@understood()
def create(server: Server, *, grant: Mapping[str, Any], as_json: AsJson = False) -> None:
    """Create a key, and show it once."""
    if "name" not in grant:
        raise UsageError("A key needs --name, the name of its holder.")
    found = _ask(server, "POST", None, grant)
    if as_json:
        print_json(found)
    else:
        print_error(f"The key of {found['name']}, shown only once; its id is {found['id']}.")
        print_line(found["key"])


@understood()
def list_keys(server: Server, key_id: AnyId = None, *, as_json: AsJson = False) -> None:
    """List all keys, or one."""
    found = _ask(server, "GET", key_id)
    show_records(found["keys"] if key_id is None else [found], _COLUMNS, found, as_json=as_json)


@_with_grant
@understood()
def limit(server: Server, key_id: Id, *, grant: Mapping[str, Any], as_json: AsJson = False) -> None:
    """Change a key; what is not given stays."""
    found = _ask(server, "PATCH", key_id, grant)
    show_records([found], _COLUMNS, found, as_json=as_json)


@understood()
def revoke(server: Server, key_id: Id, *, as_json: AsJson = False) -> None:
    """Refuse a key from now on."""
    found = _ask(server, "DELETE", key_id)
    show_records([found], _COLUMNS, found, as_json=as_json)


@understood()
def usage(
    server: Server,
    key_id: AnyId = None,
    *,
    days: Annotated[str, typer.Option(metavar="N", help="How many UTC days, at most 35.")] = "0",
    months: Annotated[str, typer.Option(metavar="N", help="How many UTC months, at most 13; default: 1.")] = "0",
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what all keys used, or one."""
    query = {"days": _WHOLE(days), "months": _WHOLE(months)} | ({} if key_id is None else {"key": key_id})
    path = f"/keys/usage?{urlencode(query)}"
    if as_csv:
        with operator_client(server) as client:
            request = ApiRequest("GET", path, headers={"Accept": "text/csv"})
            sys.stdout.write(client.run(exchange(client.session, request, client.session.deadline(None))).body.decode())
    else:
        rows = operators_ask(server, "GET", path)["usage"]
        show_records(rows, _USAGE, rows, as_json=as_json)


def _ask(server: Server, method: str, key_id: str | None, body: object = None) -> dict[str, Any]:
    path = "/keys" if key_id is None else f"/keys/{quote(key_id, safe='')}"
    found = operators_ask(server, method, path, body, safe=method != "POST")
    for warning in found.get("warnings", ()):
        print_error(f"warning: {warning}")
    return found
