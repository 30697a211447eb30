"""Whether the host has memory for one more container; pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

_UNITS = {"B": 1, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40, "KB": 10**3, "MB": 10**6, "GB": 10**9}


def parse_available(meminfo: str) -> int | None:
    """Return the available bytes in the text of /proc/meminfo, or None."""
    found = re.search(r"^MemAvailable:\s*(\d+) kB", meminfo, re.MULTILINE)
    return int(found[1]) * 1024 if found else None


def parse_used(lines: Iterable[str]) -> int | None:
    """Return the largest use in lines such as ``1.02GiB / 4GiB`` of `docker stats`, or None."""
    used = [size for line in lines if (size := _bytes(line.partition("/")[0].strip())) is not None]
    return max(used, default=None)


def _bytes(text: str) -> int | None:
    found = re.fullmatch(r"([\d.]+)\s*([A-Za-z]+)", text)
    unit = _UNITS.get(found[2].upper()) if found else None
    return int(float(found[1]) * unit) if found and unit else None


def why_short(available: int | None, used: int | None) -> str | None:
    """Return why one more container would not fit, or None."""
    if available is None or used is None or available >= used:
        return None
    return f"{available / 2**30:.1f} GiB of memory are available, and one uses {used / 2**30:.1f} GiB"
