"""What the machine and the container have left."""

from __future__ import annotations

from pathlib import Path

import pytest

from apiserver.changes.machine_memory import MachineMemory

MEMINFO = "MemTotal: 1000 kB\nMemAvailable:    800 kB\n"


def machine(root: Path, files: dict[str, str]) -> MachineMemory:
    for name, content in {"proc/meminfo": MEMINFO, **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    return MachineMemory(lambda: "cpu", root)


def group(folder: str, limit: str, usage: int, cache: int) -> dict[str, str]:
    return {
        f"{folder}/memory.max": limit,
        f"{folder}/memory.current": str(usage),
        f"{folder}/memory.stat": f"anon 1\ninactive_file {cache}\n",
    }


def test_machine_without_groups_has_its_own_memory(tmp_path: Path) -> None:
    assert machine(tmp_path, {}).available_bytes() == 800 * 1024
    assert machine(tmp_path, {}).device() == "cpu"


def test_containers_limit_counts_without_its_page_cache(tmp_path: Path) -> None:
    files = {"proc/self/cgroup": "0::/docker/abc\n", **group("sys/fs/cgroup", "5000", 3000, 1000)}
    assert machine(tmp_path, files).available_bytes() == 3000


def test_least_of_nested_groups_counts(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "0::/a/b\n",
        **group("sys/fs/cgroup/a", "900", 500, 0),
        **group("sys/fs/cgroup/a/b", "max", 100, 0),
    }
    assert machine(tmp_path, files).available_bytes() == 400


def test_group_over_its_limit_has_nothing_left(tmp_path: Path) -> None:
    files = {"proc/self/cgroup": "0::/\n", **group("sys/fs/cgroup", "900", 1000, 0)}
    assert machine(tmp_path, files).available_bytes() == 0


def test_version_1_groups_count(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "3:cpu,cpuacct:/x\n2:memory:/docker/abc\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": "5000",
        "sys/fs/cgroup/memory/memory.usage_in_bytes": "4000",
        "sys/fs/cgroup/memory/memory.stat": "cache 9\ntotal_inactive_file 200\n",
    }
    assert machine(tmp_path, files).available_bytes() == 1200


def test_meminfo_without_available_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="MemAvailable"):
        machine(tmp_path, {"proc/meminfo": "MemTotal: 1 kB\n"}).available_bytes()


def test_real_machine_has_memory() -> None:
    assert MachineMemory(lambda: "cpu").available_bytes() > 0
