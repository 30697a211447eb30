"""Output: lines, tables and JSON."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

# A table in a pipe is cut nowhere; a line is as long as its longest cells.
PIPE_WIDTH = 10_000
# Names in the first column, to be copied, are folded if longer: a UUID has 36.
WHOLE_WIDTH = 40


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


def show(headings: Sequence[str], rows: Sequence[Sequence[object]], *, as_json: bool) -> None:
    """Print rows as a table or as JSON."""
    if as_json:
        print_json([dict(zip(map(str.lower, headings), row, strict=True)) for row in rows])
    else:
        print_table(headings, rows)


def show_records(
    records: Sequence[Mapping[str, Any]], columns: Sequence[str], found: Any = None, *, as_json: bool = False
) -> None:
    """Print columns of records that have a value, or all as JSON."""
    if as_json:
        print_json(found)
        return
    if not records:
        print_error("There are none.")
        return
    shown = [name for name in columns if name == columns[0] or any(_has(each.get(name)) for each in records)]
    rows = [[_cell(name, each.get(name)) for name in shown] for each in records]
    print_table([name.upper().replace("_", " ") for name in shown], rows)


def _has(value: object) -> bool:
    return value is not None and value is not False and value != []


def _cell(name: str, value: Any) -> object:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name.endswith("_at") and value:
        return datetime.fromtimestamp(value, UTC).strftime("%Y-%m-%d %H:%M")
    return " ".join(value) if type(value) in {list, dict} else value


def table_of(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> Any:
    """Return a table of rich; cells are texts, not markup."""
    from rich.table import Table  # noqa: PLC0415 -- as above
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=None, pad_edge=False, header_style="bold")
    for place, heading in enumerate(headings):
        is_whole = place == 0 and max((len(str(row[0])) for row in rows), default=0) <= WHOLE_WIDTH
        table.add_column(heading, overflow="fold", no_wrap=is_whole)
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
    console, is_shared = Console(stderr=True, soft_wrap=True), sys.stdout.isatty()
    with Progress(*columns, console=console, transient=True, redirect_stdout=is_shared) as progress:
        task, done = progress.add_task("", total=total), 0

        def advance() -> None:
            nonlocal done
            done += 1
            rate = done / max(time.monotonic() - began, 0.001)
            progress.update(task, advance=1, description=f"{done} of {total} {unit}, {rate:.1f}/s, left")

        yield advance
