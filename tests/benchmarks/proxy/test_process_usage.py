"""CPU and memory of a process tree."""

from __future__ import annotations

import os

from benchmarks.proxy.process_usage import PAGE_BYTES, TICKS_PER_SECOND, parse_stat, tree, usage, usage_of


def stat_line(pid: int, parent: int, ticks: tuple[int, int, int, int] = (1, 2, 3, 4), name: str = "python") -> str:
    user = " ".join(map(str, ticks))
    return f"{pid} ({name}) S {parent} 1 1 0 -1 4194304 100 0 0 0 {user} 20 0 1 0 3513357 3133440 394 1 1 1"


def test_parse_stat_with_any_name() -> None:
    stat = parse_stat(stat_line(7, 3, (100, 20, 3, 4), name="a) (b) 9"))
    assert (stat.pid, stat.parent, stat.ticks, stat.pages) == (7, 3, 127, 394)


def test_tree_is_the_process_and_its_descendants() -> None:
    stats = [parse_stat(stat_line(pid, parent)) for pid, parent in ((9, 7), (1, 0), (7, 1), (8, 7), (10, 9), (11, 1))]
    mine = tree(stats, 7)
    assert sorted(stat.pid for stat in mine) == [7, 8, 9, 10]
    assert usage(mine) == (40 / TICKS_PER_SECOND, 4 * 394 * PAGE_BYTES)
    assert tree(stats, 5) == []


def test_usage_of_this_process() -> None:
    assert usage_of(os.getpid()).rss > 1 << 20
