"""Status: the fleet, live on a terminal, once in a pipe."""

from __future__ import annotations

import sys
import time
from typing import Any, Final

import typer

from ..calls import ask
from ..client import Client
from ..errors import PairwayError
from ..translate_call import understood
from .operator_access import operator_client
from .output import print_json, print_line, print_table, table_of
from .reads import AsJson
from .server_options import Server, command

PAUSE: Final = 2.0
REPLICA_HEADINGS: Final = ("REPLICA", "STATE", "TEXTS", "LATENCY", "WHY")
PAIR_HEADINGS: Final = ("PAIR", "READY", "OF", "A MINUTE", "FAILED")
Rows = list[tuple[object, ...]]


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "status", "pairway status", "pairway status --json | jq .issues")(status)


def status(server: Server, *, as_json: AsJson = False) -> None:
    """Show the fleet; on a terminal live, until Ctrl-C."""
    with operator_client(server) as client:
        found = _read(client)
        if as_json:
            print_json(found)
        elif sys.stdout.isatty():
            _show_live(client, found)
        else:
            for line in lines_of(found):
                print_line(line)
            print_table(REPLICA_HEADINGS, replica_rows(found))
            print_table(PAIR_HEADINGS, pair_rows(found))


def _read(client: Client) -> dict[str, Any]:
    return client.run(ask(client.session, "GET", "/status/data"))


def _show_live(client: Client, found: dict[str, Any]) -> None:
    from rich.console import Group  # noqa: PLC0415 -- a pipe needs none of it
    from rich.live import Live  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    def screen(members: dict[str, Any], trouble: str) -> Group:
        lines = [*lines_of(members), *([trouble] if trouble else []), ""]
        tables = (
            table_of(REPLICA_HEADINGS, replica_rows(members)),
            Text(),
            table_of(PAIR_HEADINGS, pair_rows(members)),
        )
        return Group(Text("\n".join(lines)), *tables)

    trouble = ""
    with Live(screen(found, trouble), screen=True, auto_refresh=False) as live:
        try:
            while True:
                time.sleep(PAUSE)
                try:
                    found, trouble = _read(client), ""
                except PairwayError as error:
                    trouble = str(error)
                live.update(screen(found, trouble), refresh=True)
        except KeyboardInterrupt:  # the usual end
            return


def lines_of(members: dict[str, Any]) -> list[str]:
    """Return the lines above the tables: the status, and what is wrong."""
    with understood():
        issues = [f"{each['level']}: {each['code']} {each['subject']}".rstrip() for each in members["issues"]]
        head = f"{members['status']}, proxies: {len(members['proxies'])}, version {members['version']}"
    return [head, *issues]


def replica_rows(members: dict[str, Any]) -> Rows:
    """Return the rows of replicas, the worst first."""
    with understood():
        return [
            (
                each["url"],
                "drained" if each["drained"] else each["state"],
                each["in_flight"],
                None if each["latency_s"] is None else f"{each['latency_s']:.2f} s",
                each["why"],
            )
            for each in members["replicas"]
        ]


def pair_rows(members: dict[str, Any]) -> Rows:
    """Return the rows of language pairs, the worst first."""
    with understood():
        return [
            (each["pair"], each["ready"], each["total"], each.get("requests"), each.get("failed"))
            for each in members["pairs"]
        ]
