"""Glossaries: list, create, edit and delete those that a server keeps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ..answers import Glossary
from ..client import Client
from .failures import UsageError
from .output import print_line, show
from .reads import AsJson
from .server_options import Server, command, new_group
from .terms_file import read_terms

Which = Annotated[str, typer.Argument(metavar="GLOSSARY", help="Its name or id.")]
File = Annotated[Path | None, typer.Argument(metavar="[FILE]", help="Entries, .csv or .tbx.", show_default=False)]
Source = Annotated[str | None, typer.Option("--from", metavar="LANG", help="Language of the sources.")]
Target = Annotated[str | None, typer.Option("--to", metavar="LANG", help="Language of the targets.")]


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = new_group("Glossaries that the server keeps for your key.")
    command(group, "list", "pairway glossary list", "pairway glossary list Products --from en --to de")(list_glossaries)
    command(group, "create", "pairway glossary create Products terms.csv --from en --to de")(create)
    command(group, "edit", "pairway glossary edit Products more.csv --from en --to de")(edit)
    command(group, "delete", "pairway glossary delete Products")(delete)
    app.add_typer(group, name="glossary")


def list_glossaries(
    server: Server,
    which: Annotated[str | None, typer.Argument(metavar="[GLOSSARY]", show_default=False)] = None,
    *,
    source: Source = None,
    target: Target = None,
    as_json: AsJson = False,
) -> None:
    """List glossaries, or the entries of one for a language pair."""
    rows: Sequence[Sequence[object]]
    with server.client() as client:
        if which is not None:
            languages = _pair(source, target)
            entries = client.glossary_entries(glossary_named(client, which).id, *languages)
            headings, rows = list(languages), list(entries.items())
        else:
            headings = ["ID", "NAME", "PAIR", "ENTRIES"]
            rows = [
                (each.id, each.name, pair, count)
                for each in client.glossaries()
                for pair, count in [(str(part), part.entry_count) for part in each.dictionaries] or [("", 0)]
            ]
    show(headings, rows, as_json=as_json)


def create(server: Server, name: str, file: File = None, *, source: Source = None, target: Target = None) -> None:
    """Create a glossary, with entries of a file."""
    entries = None if file is None else _entries(file, source, target)
    with server.client() as client:
        print_line(client.create_glossary(name, entries).id)


def edit(
    server: Server,
    which: Which,
    file: File = None,
    *,
    source: Source = None,
    target: Target = None,
    replace: Annotated[bool, typer.Option("--replace", help="Remove the pair's entries that the file lacks.")] = False,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="Its new name.")] = None,
) -> None:
    """Add a file's entries to a glossary, or rename it."""
    if file is None and name is None:
        raise UsageError("There is nothing to edit: give a file of entries, or --name.")
    entries = {} if file is None else _entries(file, source, target)
    with server.client() as client:
        glossary = glossary_named(client, which)
        change = client.replace_glossary_entries if replace else client.add_glossary_entries
        for pair, found in entries.items():
            glossary = change(glossary.id, *pair, found)
        if name is not None:
            glossary = client.rename_glossary(glossary.id, name)
    for each in glossary.dictionaries:
        print_line(f"{glossary.name} {each}: {each.entry_count} entries")


def delete(server: Server, which: Which) -> None:
    """Delete a glossary with all its entries."""
    with server.client() as client:
        client.delete_glossary(glossary_named(client, which).id)


def glossary_named(client: Client, name: str) -> Glossary:
    """Return the glossary of an id or name.

    Raises:
        UsageError: there is none, or there are several.
    """
    known = client.glossaries()
    found = [each for each in known if each.id == name] or [each for each in known if each.name == name]
    if len(found) > 1:
        raise UsageError(f"Several glossaries are called {name!r}; take an id: {', '.join(each.id for each in found)}.")
    if not found:
        names = ", ".join(each.name for each in known) or "none"
        raise UsageError(f"There is no glossary {name!r}; there is {names}.")
    return found[0]


def _pair(source: str | None, target: str | None) -> tuple[str, str]:
    if source is None or target is None:
        raise UsageError("Entries are of a language pair: give --from and --to.")
    return source, target


def _entries(file: Path, source: str | None, target: str | None) -> dict[tuple[str, str], dict[str, str]]:
    pair = _pair(source, target)
    return {pair: read_terms(file, pair[0], [pair[1]])[pair[1]]}
