"""Fleet: see and change the replicas, and how many there should be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final
from urllib.parse import quote

import typer

from ..translate_call import understood
from .failures import UsageError
from .operator_access import operators_ask
from .output import print_error, print_json, print_line, show_records
from .reads import AsJson
from .server_options import Server, command, new_group

COLUMNS: Final = ("url", "state", "drained", "in_flight", "weight", "why")
CHANGES: Final = ("url", "verdict", "weight")
SERVICES: Final = ("service", "ready", "expected", "why")
NONE: Final = "none"
Replica = Annotated[str, typer.Argument(metavar="URL", help="http://HOST:PORT; a name is all its addresses.")]
Weight = Annotated[str | None, typer.Option(metavar="N", help=f"Share of requests; {NONE}: as it reports.")]
Counts = Annotated[
    list[str] | None, typer.Argument(metavar="SERVICE=N", help=f"Or SERVICE={NONE}.", show_default=False)
]


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = new_group("Replicas of the fleet, for operators.")
    command(group, "list", "pairway fleet list")(list_replicas)
    command(group, "drain", "pairway fleet drain http://10.0.0.5:8001")(drain)
    command(group, "resume", "pairway fleet resume http://10.0.0.5:8001")(resume)
    command(group, "add", "pairway fleet add http://10.0.0.7:8001 --weight 2")(add)
    command(group, "remove", "pairway fleet remove http://10.0.0.7:8001")(remove)
    examples = "pairway fleet expect apiserver-de=3 apiserver-fr=none", "pairway fleet expect --now"
    command(group, "expect", *examples)(expect)
    app.add_typer(group, name="fleet")


@understood()
def list_replicas(server: Server, *, as_json: AsJson = False) -> None:
    """List the replicas, and the changes of operators in force."""
    found = operators_ask(server, "GET", "/fleet")
    show_records(found["replicas"], COLUMNS, found, as_json=as_json)
    if found["changes"] and not as_json:
        print_line("Changes of operators in force:")
        show_records(found["changes"], CHANGES)


def drain(server: Server, replica: Replica, *, as_json: AsJson = False) -> None:
    """Send a replica no new requests; those in flight go on."""
    _change(server, "POST", "/fleet/replicas/drain", {"url": replica}, as_json=as_json)


def resume(server: Server, replica: Replica, *, as_json: AsJson = False) -> None:
    """Send requests to a drained replica again."""
    _change(server, "POST", "/fleet/replicas/resume", {"url": replica}, as_json=as_json)


def add(server: Server, replica: Replica, *, weight: Weight = None, as_json: AsJson = False) -> None:
    """Add a replica, or change its weight."""
    body: dict[str, Any] = {} if weight is None else {"weight": number(weight, float)}
    _change(server, "POST", "/fleet/replicas", {"url": replica, **body}, as_json=as_json)


def remove(server: Server, replica: Replica, *, as_json: AsJson = False) -> None:
    """Remove a replica until it is added again."""
    found = _changed(server, "DELETE", f"/fleet/replicas?url={quote(replica, safe='')}", None)
    if as_json:
        print_json(found)
    else:
        print_line(f"{replica} is removed")


@understood()
def expect(
    server: Server,
    counts: Counts = None,
    *,
    now: Annotated[bool, typer.Option("--now", help="For all services: as many as are ready now.")] = False,
    only_show: Annotated[bool, typer.Option("--show", help="Only show.")] = False,
    as_json: AsJson = False,
) -> None:
    """State how many replicas services should have."""
    if sum((bool(counts), now, only_show)) != 1:
        raise UsageError("Give one of SERVICE=NUMBER …, --now and --show.")
    stated = dict(map(_count, counts or ()))
    services: dict[str, dict[str, Any]] = {} if counts else operators_ask(server, "GET", "/fleet")["services"]
    if not only_show:
        stated = stated or {name: each["ready"] for name, each in services.items()}
        services = _changed(server, "PUT", "/fleet/expected", stated)["services"]
    rows = [{"service": name, **each} for name, each in services.items()]
    show_records(rows, SERVICES, {"services": services}, as_json=as_json)


def number(text: str, kind: type[int | float]) -> float | None:
    """Return an option's number, None for the word none."""
    try:
        return None if text == NONE else kind(text)
    except ValueError:
        raise UsageError(f"{text[:80]!r} is not a number; write one, or {NONE}.") from None


def _count(text: str) -> tuple[str, float | None]:
    service, sign, value = text.partition("=")
    return service, number(value if sign else text, int)


@understood()
def _change(server: Server, method: str, path: str, body: object = None, *, as_json: bool) -> None:
    found = _changed(server, method, path, body)
    show_records(found["replicas"], COLUMNS, found, as_json=as_json)


def _changed(server: Server, method: str, path: str, body: object) -> Mapping[str, Any]:
    found = operators_ask(server, method, path, body)
    if not found["shared"]:
        print_error("Redis is away: this proxy has the change, the others get it once Redis answers.")
    return found
