"""The command `translate`: its options, and which run they ask for."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

from ..translate_call import Format, Priority, TranslateOptions
from ..transport import DEFAULT_TIMEOUT
from .failures import UsageError
from .glossaries import glossary_named
from .output import print_error, print_line, progress_bar, show
from .reads import AsJson
from .server_options import Server, command
from .terms_file import read_terms
from .translation.inputs import (
    DEFAULT_OUT,
    Inputs,
    Job,
    checked_format,
    plan,
    read_arguments,
    read_file,
    read_stdin,
    split_targets,
)
from .translation.progress_file import ProgressFiles
from .translation.report import Report
from .translation.runs import Run, translate_files, translate_lines
from .translation.translator import Translator

# The API's bound of a request; more are for a glossary.
MAX_TERMS: Final = 256
WAIT_SECONDS: Final = 600.0


def register(app: typer.Typer) -> None:
    """Add the command."""
    examples = (
        'pairway translate "Where is the station?" --to de',
        "pairway translate 'docs/*.md' --to de,fr --out '{dir}/{lang}/{stem}{ext}'",
        "tail -f log | pairway translate --lines --to en",
    )
    command(app, "translate", *examples)(translate)


def translate(
    server: Server,
    what: Annotated[list[str] | None, typer.Argument(metavar="TEXT|FILE|-", show_default=False)] = None,
    *,
    to: Annotated[list[str], typer.Option("--to", metavar="LANG,...", help="Languages to translate into.")],
    source: Annotated[
        str | None, typer.Option("--from", metavar="LANG", help="Language of the text; else detected.")
    ] = None,
    format_name: Annotated[
        str | None, typer.Option("--format", metavar="FORMAT", help="text, html, markdown or xml.")
    ] = None,
    glossary: Annotated[str | None, typer.Option(metavar="NAME", help="Glossary, by name or id; needs --from.")] = None,
    terms: Annotated[Path | None, typer.Option(metavar="FILE", help="Terms, .csv (source,target) or .tbx.")] = None,
    out: Annotated[
        str | None, typer.Option(metavar="PATTERN", help=f"Names of outputs: {DEFAULT_OUT}; {{dir}}.")
    ] = None,
    only_texts: Annotated[bool, typer.Option("--text", help="Arguments are texts, never files.")] = False,
    lines: Annotated[bool, typer.Option("--lines", help="Translate each line of the input as it comes.")] = False,
    wait: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="How long to wait for a server that went away.")
    ] = WAIT_SECONDS,
    timeout: Annotated[float, typer.Option(min=0.001, metavar="SECONDS", help="For each text.")] = DEFAULT_TIMEOUT,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be translated.")] = False,
    as_json: AsJson = False,
) -> None:
    """Translate texts, files or the standard input."""
    targets, known = split_targets(to), checked_format(format_name)
    inputs = read_arguments(what or [], only_texts=only_texts, is_terminal=sys.stdin.isatty())
    if lines and not inputs.is_stdin:
        raise UsageError("--lines reads the standard input: pairway translate --lines --to de < FILE")
    if out and not inputs.files:
        raise UsageError("--out names the outputs of files; other translations are printed.")
    progress = ProgressFiles()
    jobs = plan(inputs.files, targets, out or DEFAULT_OUT, known, progress)
    options = _options(source, known, inputs, terms, targets)
    if dry_run:
        _print_plan(inputs, jobs, source, targets, as_json=as_json)
        return
    if glossary is not None:
        _use_glossary(server, glossary, options)
    run = Run(Translator(server.async_client(timeout=timeout), wait), options, Report(), as_json)
    try:
        asyncio.run(_work(run, inputs, jobs, progress, lines=lines))
    except KeyboardInterrupt:
        if jobs:
            print_error("interrupted; the same command goes on where it stopped")
        raise


def _options(
    source: str | None, known: Format | None, inputs: Inputs, terms: Path | None, targets: Sequence[str]
) -> dict[str, TranslateOptions]:
    """Return the options of each target's requests."""
    priority: Priority = "interactive" if inputs.texts else "bulk"
    common: TranslateOptions = {"priority": priority, "format": known or "text"}
    if source is not None:
        common["source"] = source
    found: dict[str, TranslateOptions] = {target: common.copy() for target in targets}
    if terms is not None:
        for target, entries in read_terms(terms, source, targets).items():
            if len(entries) > MAX_TERMS:
                raise UsageError(
                    f"{terms} has {len(entries)} terms, a request {MAX_TERMS} at most; make it a glossary: "
                    f"pairway glossary create NAME {terms} --from LANG --to {target}"
                )
            found[target]["terms"] = entries
    return found


def _use_glossary(server: Server, name: str, options: dict[str, TranslateOptions]) -> None:
    if any("source" not in each for each in options.values()):
        raise UsageError("--glossary needs --from: a glossary is for one source language.")
    with server.client() as client:
        glossary = glossary_named(client, name)
    for each in options.values():
        each["glossary"] = glossary.id


def _print_plan(
    inputs: Inputs, jobs: Sequence[Job], source: str | None, targets: Sequence[str], *, as_json: bool
) -> None:
    rows: list[tuple[str, str, int, str, str]]
    if jobs:
        characters = {job.source: len(read_file(job.source)) for job in jobs}
        rows = [
            (str(job.source), str(job.output), characters[job.source], source or "auto", job.target) for job in jobs
        ]
    else:
        texts = [read_stdin()] if inputs.is_stdin else inputs.texts
        rows = [(text[:30], "-", len(text), source or "auto", to) for text in texts for to in targets]
    headings = ["INPUT", "OUTPUT", "CHARACTERS", "FROM", "TO"]
    show(headings, rows, as_json=as_json)
    if not as_json:
        print_line(f"{sum(row[2] for row in rows)} characters in {len(rows)} translations")


async def _work(run: Run, inputs: Inputs, jobs: Sequence[Job], progress: ProgressFiles, *, lines: bool) -> None:
    async with run.translator.client:
        if inputs.files:
            await translate_files(run, jobs, progress, progress_bar(len(jobs), "files"))
        elif lines:
            await translate_lines(run, sys.stdin.fileno())
        else:
            texts = [read_stdin()] if inputs.is_stdin else list(inputs.texts)
            for text, translations in zip(texts, await run.translated(texts), strict=True):
                run.show(repr(text[:30]), translations)
    run.report.end("files" if inputs.files else "lines" if lines else "texts")
