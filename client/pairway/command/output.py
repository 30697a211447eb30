"""Output: lines, tables and JSON."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

# A table in a pipe is cut nowhere; a line is as long as its longest cells.
PIPE_WIDTH = 10_000


def print_error(message: str) -> None:
    """Print a line to the error output."""
    print(f"pairway: {message}", file=sys.stderr)  # noqa: T201 -- a command prints


def print_line(line: str) -> None:
    """Print a line, so that a reader has it at once."""
    print(line, flush=True)  # noqa: T201 -- a command prints


def print_json(value: Any) -> None:
    """Print a value as one line of JSON."""
    print_line(json.dumps(value, ensure_ascii=False))


def print_table(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table: folded on a terminal, whole in a pipe."""
    from rich.console import Console  # noqa: PLC0415 -- most commands print no table

    console = Console(width=None if sys.stdout.isatty() else PIPE_WIDTH, highlight=False)
    with console.capture() as capture:
        console.print(table_of(headings, rows))
    for line in capture.get().splitlines():
        print_line(line.rstrip())


def table_of(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> Any:
    """Return a table of rich; cells are texts, not markup."""
    from rich.table import Table  # noqa: PLC0415 -- as above
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*(Text("" if cell is None else str(cell)) for cell in row))
    return table


@contextmanager
def progress_bar(total: int, unit: str) -> Generator[Callable[[], None]]:
    """Show progress on a terminal; the block calls it for each part."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console  # noqa: PLC0415 -- as above
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    began = time.monotonic()
    columns = (BarColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
    # The bar prints lines of a terminal above itself; results that go elsewhere are not its own.
    console, is_shared = Console(stderr=True), sys.stdout.isatty()
    with Progress(*columns, console=console, transient=True, redirect_stdout=is_shared) as progress:
        task, done = progress.add_task("", total=total), 0

        def advance() -> None:
            nonlocal done
            done += 1
            rate = done / max(time.monotonic() - began, 0.001)
            progress.update(task, advance=1, description=f"{done} of {total} {unit}, {rate:.1f}/s, left")

        yield advance
