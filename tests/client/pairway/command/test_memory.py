"""Memory of the command `pairway`: that of a long input is that of a short one."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import PIPE
from pathlib import Path
from typing import Final

from tests.proxy.proxies import RunningProxy, fleet_fixtures
from tests.support.processes import ROOT

_fake, _running, _fresh = fleet_fixtures("en>de", cache_bytes=0)
MAX_GROWTH: Final = 8 << 20
# The kernel's own highest figure for this program; what it says of children counts the parent's memory too.
PROGRAM: Final = """
from pathlib import Path
from pairway.command.main import main
try:
    main()
finally:
    peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:"))
    Path("peak").write_text(peak.split()[1])
"""


async def peak_of(url: str, lines: int, folder: Path) -> int:
    """Return the most memory, in bytes, that the command has for that many different lines."""
    program = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", PROGRAM, "translate", "--lines", "--to", "de", "--from", "en", "--url", url),
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "client"), "HOME": str(folder)},
        stdin=PIPE,
        stdout=PIPE,
    )
    given = [f"Line {number} is another one than all others." for number in range(lines)]
    out, _ = await program.communicate("".join(f"{line}\n" for line in given).encode())
    assert program.returncode == 0
    assert out.decode().splitlines() == [f"[en>de by fake] {line}" for line in given]
    return int((folder / "peak").read_text()) << 10


async def test_ten_thousand_lines_need_no_more_memory(running: RunningProxy, tmp_path: Path) -> None:
    few = await peak_of(running.url, 1_000, tmp_path)
    many = await peak_of(running.url, 10_000, tmp_path)
    assert many - few <= MAX_GROWTH, f"{few >> 10} KiB for 1,000 lines, {many >> 10} KiB for 10,000"
