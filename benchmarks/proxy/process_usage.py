"""What a process and all its descendants have cost so far, from ``/proc``."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

TICKS_PER_SECOND: Final = os.sysconf("SC_CLK_TCK")
PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
# Of /proc/PID/stat after the name, which may hold spaces and brackets: proc(5) counts from 1 and the name is the 2nd.
PARENT: Final = 4 - 3
USER_TICKS: Final = 14 - 3
RESIDENT_PAGES: Final = 24 - 3


class Stat(NamedTuple):
    """One process: ticks in user and system mode, its own and those of children that it has waited for."""

    pid: int
    parent: int
    ticks: int
    pages: int


class TreeUsage(NamedTuple):
    """CPU seconds so far, and bytes in memory (shared ones counted in each process)."""

    cpu: float
    rss: int


def parse_stat(text: str) -> Stat:
    """Read a line of ``/proc/PID/stat``."""
    front, _, rest = text.rpartition(")")
    fields = rest.split()
    ticks = sum(map(int, fields[USER_TICKS : USER_TICKS + 4]))
    return Stat(int(front.split(" ", 1)[0]), int(fields[PARENT]), ticks, int(fields[RESIDENT_PAGES]))


def tree(stats: Iterable[Stat], root: int) -> list[Stat]:
    """Return the process and its descendants."""
    children: dict[int, list[Stat]] = {}
    descendants: list[Stat] = []
    for stat in stats:
        children.setdefault(stat.parent, []).append(stat)
        if stat.pid == root:
            descendants.append(stat)
    for stat in descendants:  # grows while it is read
        descendants.extend(children.get(stat.pid, ()))
    return descendants


def usage(processes: Sequence[Stat]) -> TreeUsage:
    """Add up."""
    ticks = sum(stat.ticks for stat in processes)
    return TreeUsage(ticks / TICKS_PER_SECOND, sum(stat.pages for stat in processes) * PAGE_BYTES)


def usage_of(root: int) -> TreeUsage:
    """Look now; nothing where there is no such process."""
    stats: list[Stat] = []
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                stats.append(parse_stat(Path(entry.path, "stat").read_text(errors="replace")))
    return usage(tree(stats, root))
