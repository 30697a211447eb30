"""Container memory: limits of this process's control groups, and their metrics."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from typing_extensions import override

# Limit, usage and reclaimable page cache of a control group, by version.
_V2: Final = ("memory.max", "memory.current", "inactive_file")
_V1: Final = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
# Version 1 writes about 2**63 where there is no limit.
_NO_LIMIT_BYTES: Final = 1 << 60


@dataclass(frozen=True, slots=True)
class MemoryGroup:
    """Control group with a limit; ``used`` leaves out what it can drop.

    Both in bytes, of all processes in it.
    """

    limit: int
    used: int

    @property
    def left(self) -> int:
        """Bytes that it may still take."""
        return max(0, self.limit - self.used)


def memory_groups(root: Path) -> Iterator[MemoryGroup]:
    """Yield the groups of this process that have a limit.

    ``root`` is the folder of the system's ``proc`` and ``sys``.
    """
    groups = root / "proc/self/cgroup"
    for line in groups.read_text().splitlines() if groups.is_file() else ():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            yield from _groups_of(root / "sys/fs/cgroup", path, *_V2)
        elif "memory" in controllers.split(","):
            yield from _groups_of(root / "sys/fs/cgroup/memory", path, *_V1)


def _groups_of(mount: Path, path: str, limit_file: str, usage_file: str, cache_key: str) -> Iterator[MemoryGroup]:
    own = mount / path.lstrip("/")
    # Inside a container the path is the host's, and its own group is the mount itself.
    for folder in dict.fromkeys((own, *own.parents)):
        if not folder.is_relative_to(mount):
            break
        try:
            limit = int((folder / limit_file).read_text())
            usage = int((folder / usage_file).read_text())
            cache = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        except (OSError, ValueError):  # no such folder, or "max": no limit
            continue
        if limit < _NO_LIMIT_BYTES:
            yield MemoryGroup(limit, usage - int(cache.get(cache_key, 0)))


class ContainerMemoryCollector(Collector):
    """Gauges of the group with the least memory left."""

    def __init__(self, prefix: str, registry: CollectorRegistry, root: Path = Path("/")) -> None:
        self._prefix, self._root = prefix, root
        registry.register(self)

    def describe(self) -> list[Metric]:
        """Return the metrics without series."""
        used = "Memory of the container that cannot be dropped, in bytes, engines included; absent without a limit."
        limit = "Memory that the container may use, in bytes; absent without a limit."
        return [
            GaugeMetricFamily(f"{self._prefix}_container_memory_bytes", used),
            GaugeMetricFamily(f"{self._prefix}_container_memory_limit_bytes", limit),
        ]

    @override
    def collect(self) -> list[Metric]:
        metrics = self.describe()
        group = min(memory_groups(self._root), key=lambda each: each.left, default=None)
        for metric, value in zip(metrics, (group.used, group.limit) if group else (), strict=False):
            metric.add_sample(metric.name, {}, value)
        return metrics
