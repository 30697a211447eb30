"""Reads: commands that only ask a server: detect, languages, usage."""

from __future__ import annotations

from typing import Annotated

import typer

from .output import print_json, print_table
from .server_options import Server, command

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    command(app, "languages", "pairway languages")(languages)
    command(app, "usage", "PAIRWAY_KEY=pw_… pairway usage")(usage)


def languages(server: Server, *, as_json: AsJson = False) -> None:
    """List the languages that the server translates."""
    with server.client() as client:
        found = client.languages()
    if as_json:
        print_json(
            {each.lang: {to.lang: {"ready": to.ready, "pivot": to.pivot} for to in each.targets} for each in found}
        )
    else:
        print_table(["FROM", "TO"], [(each.lang, " ".join(map(str, each.targets))) for each in found])


def usage(server: Server, *, as_json: AsJson = False) -> None:
    """Show the limits of your key, and its usage."""
    with server.client() as client:
        limits = client.usage().limits
    if as_json:
        print_json(
            {
                name: {"limit": each.limit, "used": each.used, "remaining": each.remaining}
                for name, each in limits.items()
            }
        )
    else:
        print_table(["LIMIT", "OF", "USED", "LEFT"], [(n, e.limit, e.used, e.remaining) for n, e in limits.items()])
