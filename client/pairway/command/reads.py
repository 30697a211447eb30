"""Reads: commands that only ask a server: detect, languages, usage."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from .output import print_json, print_table, show
from .server_options import Server, command
from .translation.inputs import read_arguments, read_file, read_stdin

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    command(app, "detect", 'pairway detect "Où est la gare ?"', "pairway detect *.txt")(detect)
    command(app, "languages", "pairway languages --url http://localhost:8000")(languages)
    command(app, "usage", "pairway usage --key-file ~/.pairway-key")(usage)


def detect(
    server: Server,
    what: Annotated[list[str] | None, typer.Argument(metavar="TEXT|FILE|-", show_default=False)] = None,
    *,
    only_texts: Annotated[bool, typer.Option("--text", help="Arguments are texts, never files.")] = False,
    as_json: AsJson = False,
) -> None:
    """Detect the language of texts, files or the standard input."""
    inputs = read_arguments(what or [], only_texts=only_texts, is_terminal=sys.stdin.isatty())
    named = {str(path): read_file(path) for path in inputs.files}
    texts = [*inputs.texts, *named.values(), *([read_stdin()] if inputs.is_stdin else [])]
    with server.client() as client:
        found = client.detect(texts)
    likeliest = [each.detected for each in found]
    rows = [
        (None if each is None else each.lang, None if each is None else round(each.confidence, 2), name)
        for each, name in zip(likeliest, (" ".join(of.split())[:60] for of in named or texts), strict=True)
    ]
    show(["LANG", "CONFIDENCE", "OF"], rows, as_json=as_json)


def languages(server: Server, *, as_json: AsJson = False) -> None:
    """List the languages that the server translates."""
    with server.client() as client:
        found = client.languages()
    if as_json:
        targets = {
            each.lang: {to.lang: {"ready": to.ready, "pivot": to.pivot} for to in each.targets} for each in found
        }
        print_json(targets)
        return
    rows = [(each.lang, " ".join(to.lang if to.ready else f"({to.lang})" for to in each.targets)) for each in found]
    print_table(["FROM", "TO; those in parentheses are not ready"], rows)


def usage(server: Server, *, as_json: AsJson = False) -> None:
    """Show the limits of your key, and its usage."""
    with server.client() as client:
        limits = client.usage().limits
    rows = [(name, each.limit, each.used, each.remaining, round(each.reset_seconds)) for name, each in limits.items()]
    if as_json:
        names = ("limit", "used", "remaining", "reset_seconds")
        print_json({row[0]: dict(zip(names, row[1:], strict=True)) for row in rows})
    else:
        print_table(["OF", "LIMIT", "USED", "LEFT", "NEW IN SECONDS"], rows)
