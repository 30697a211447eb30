"""Models: see and reload those of API servers."""

from __future__ import annotations

import time
from typing import Annotated, Any, Final

import typer

from ..calls import ask
from ..client import Client
from ..translate_call import understood
from .failures import FailedError, UsageError
from .operator_access import APISERVER, operator_client, own_url
from .output import print_error, print_json, print_line, show_records
from .reads import AsJson
from .server_options import Server, command, new_group

LOOK_SECONDS: Final = 0.5
# Several models of a reload, each with a download.
MAX_WAIT_SECONDS: Final = 6 * 3600.0
MIB: Final = 1_048_576
COLUMNS: Final = ("name", "state", "revision", "memory", "pairs")
Replicas = Annotated[
    list[str] | None,
    typer.Option("--replica", metavar="URL", help="API server; may be repeated. Default: this environment's."),
]


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = new_group("Models of API servers, for operators.")
    command(group, "list", "pairway models list --replica http://10.0.0.5:8001")(list_models)
    example = "pairway models reload --replica http://10.0.0.5:8001 --replica http://10.0.0.6:8001"
    command(group, "reload", example)(reload)
    app.add_typer(group, name="models")


@understood()
def list_models(server: Server, *, replica: Replicas = None, as_json: AsJson = False) -> None:
    """List models, what the catalog says, the last reload."""
    for url in replica or (server.url or own_url(APISERVER),):
        with operator_client(server, APISERVER, url) as client:
            found = client.run(ask(client.session, "GET", "/models"))
        if as_json:
            print_json({"replica": client.url, **found})
        else:
            _show(client.url, found)


@understood()
def reload(
    server: Server,
    *,
    replica: Replicas = None,
    swap: Annotated[bool, typer.Option("--swap", help="Unload first what an entry replaces.")] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Unload models whose entry is gone.")] = False,
    cancel: Annotated[bool, typer.Option("--cancel", help="End the reload that runs.")] = False,
) -> None:
    """Serve what the catalog says; stop at a failure."""
    if cancel and (swap or remove):
        raise UsageError("--cancel ends the reload that runs; give it without --swap and --remove.")
    order = ("DELETE", None) if cancel else ("POST", {"swap": swap, "remove": remove})
    for url in replica or (server.url or own_url(APISERVER),):
        with operator_client(server, APISERVER, url) as client:
            print_line(f"{client.url}:")
            began = client.run(ask(client.session, order[0], "/models/reload", order[1], safe=False))
            if began["reload"] is None and not began["last_reload"]["changes"]:
                print_line("no model differs from the catalog on disk; its order of entries is taken over")
            elif _followed(client, began) != ("cancelled" if cancel else "done"):
                raise FailedError


def _followed(client: Client, models: dict[str, Any]) -> str:
    """Print a reload's steps until its end; return its outcome."""
    began = (models["reload"] or models["last_reload"])["started_at"]
    printed: set[tuple[int, str]] = set()
    ends = time.monotonic() + MAX_WAIT_SECONDS
    while time.monotonic() < ends:
        known = filter(None, (models["reload"], models["last_reload"]))
        own = next((each for each in known if each["started_at"] == began), None)
        if own is None:
            print_error("The reload ended unseen, and another operator's followed: see pairway models list.")
            raise FailedError
        for number, change in enumerate(own["changes"]):
            if (line := (number, change["step"])) not in printed and change["step"] != "waiting":
                printed.add(line)
                _show_change(change)
        if own["outcome"] is not None and own is not models["reload"]:
            outcome: str = own["outcome"]
            return outcome
        time.sleep(LOOK_SECONDS)
        models = client.run(ask(client.session, "GET", "/models"))
    print_error("The reload has not ended: see pairway models list.")
    raise FailedError


def _show_change(change: dict[str, Any]) -> None:
    seconds = ", ".join(f"{step} {passed:g} s" for step, passed in change["seconds"].items())
    names = " -> ".join(filter(None, (", ".join(change["replaces"]), change["entry"])))
    print_line(f"{names}: {change['outcome'] or change['step']} ({seconds})")
    if change["why"]:
        print_line(f"  {change['why']}")


def _show(url: str, found: dict[str, Any]) -> None:
    print_line(f"{url}:")
    for each in found["models"]:
        each["memory"] = each["needed_bytes"] and f"{each['needed_bytes'] // MIB} MiB"
    show_records(found["models"], COLUMNS)
    pairs = [(name, pair) for each in found["models"] for name, pair in each["pairs"].items()]
    lines = [f"{name}: {pair['why']}" for name, pair in pairs if not pair["ready"]]
    entries = [each for each in found["catalog"]["entries"] if each["state"] != "same"]
    lines += [f"on disk: {each['name']} is {each['state']}" for each in entries]
    for line in (*lines, *(f"on disk: {issue}" for issue in found["catalog"]["issues"])):
        print_line(line)
    for each in filter(None, (found["reload"], found["last_reload"])):
        print_line(f"last reload: {each['outcome']}" if each["outcome"] else "reload that runs:")
        for change in each["changes"]:
            _show_change(change)
