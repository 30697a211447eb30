"""Machine memory: what the machine and the server's container have left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

# Limit, usage and reclaimable page cache of a control group, by version.
_V2 = ("memory.max", "memory.current", "inactive_file")
_V1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")


@dataclass(frozen=True, slots=True)
class MachineMemory:
    """Memory of this machine and container.

    ``root`` is ``/``. ``device_type`` names the engines' device; it may take seconds.
    """

    device_type: Callable[[], str]
    root: Path = Path("/")

    def available_bytes(self) -> int:
        """Return the bytes that all limits leave to a new process."""
        return min((self._machine_bytes(), *self._group_bytes()))

    def device(self) -> str:
        """Return the engines' device: ``cpu``, ``cuda``."""
        return self.device_type()

    def _machine_bytes(self) -> int:
        for line in (self.root / "proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
        raise OSError("/proc/meminfo has no MemAvailable")

    def _group_bytes(self) -> Iterator[int]:
        """Yield what each control group above this process has left."""
        try:
            lines = (self.root / "proc/self/cgroup").read_text().splitlines()
        except OSError:
            lines = []
        for line in lines:
            _, controllers, path = line.split(":", 2)
            if controllers == "":
                yield from self._left(self.root / "sys/fs/cgroup", path, _V2)
            elif "memory" in controllers.split(","):
                yield from self._left(self.root / "sys/fs/cgroup/memory", path, _V1)

    def _left(self, mount: Path, path: str, files: tuple[str, str, str]) -> Iterator[int]:
        limit_file, usage_file, cache_key = files
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
            yield max(0, limit - usage + int(cache.get(cache_key, 0)))
