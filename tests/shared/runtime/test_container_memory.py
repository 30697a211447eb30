"""Container memory: the limits of control groups of both versions, and what a scrape has of them."""

from __future__ import annotations

from pathlib import Path

from prometheus_client import CollectorRegistry, generate_latest

from shared.runtime.container_memory import ContainerMemoryCollector, MemoryGroup, memory_groups
from tests.shared.runtime.memory_files import group, written


def test_nested_groups_with_a_limit_count(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "0::/a/b\n",
        **group("sys/fs/cgroup/a", "900", 500, 100),
        **group("sys/fs/cgroup/a/b", "max", 100, 0),
    }
    assert list(memory_groups(written(tmp_path, files))) == [MemoryGroup(900, 400)]


def test_group_over_its_limit_has_nothing_left(tmp_path: Path) -> None:
    files = {"proc/self/cgroup": "0::/\n", **group("sys/fs/cgroup", "900", 1000, 0)}
    assert [each.left for each in memory_groups(written(tmp_path, files))] == [0]


def test_groups_of_version_1_count_unless_unlimited(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "3:cpu,cpuacct:/x\n2:memory:/docker/abc\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": "5000",
        "sys/fs/cgroup/memory/memory.usage_in_bytes": "4000",
        "sys/fs/cgroup/memory/memory.stat": "cache 9\ntotal_inactive_file 200\n",
    }
    assert list(memory_groups(written(tmp_path, files))) == [MemoryGroup(5000, 3800)]
    written(tmp_path, {"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712"})
    assert not list(memory_groups(tmp_path))


def exported(root: Path) -> list[str]:
    registry = CollectorRegistry()
    ContainerMemoryCollector("test", registry, root)
    return [line for line in generate_latest(registry).decode().splitlines() if not line.startswith("#")]


def test_group_with_the_least_left_is_exported(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "0::/a/b\n",
        **group("sys/fs/cgroup/a", "900", 500, 0),
        **group("sys/fs/cgroup/a/b", "450", 300, 50),
    }
    assert exported(written(tmp_path, files)) == [
        "test_container_memory_bytes 250.0",
        "test_container_memory_limit_bytes 450.0",
    ]


def test_without_a_limit_there_is_no_series(tmp_path: Path) -> None:
    assert exported(tmp_path) == []
