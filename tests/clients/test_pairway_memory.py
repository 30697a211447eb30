"""Memory of the command `pairway`: that of a long input is that of a short one."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import PIPE
from pathlib import Path
from typing import Final

import pytest

from benchmarks.client import READY_SECONDS, all_answer, server
from benchmarks.harness.processes import running
from benchmarks.harness.replicas import TRANSLATION
from tests.support.processes import ROOT

pytestmark = [pytest.mark.clients]

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
    given = "".join(f"Line {number} is another one than all others.\n" for number in range(lines))
    out, _ = await program.communicate(given.encode())
    assert (program.returncode, out.decode()) == (0, f"{TRANSLATION}\n" * lines)
    return int((folder / "peak").read_text()) << 10


async def test_ten_thousand_lines_need_no_more_memory(tmp_path: Path) -> None:
    """Against a server that answers at once, so that the input is what would grow."""
    replica, url = server(tmp_path, 0.0)
    async with running([replica], lambda: all_answer([url]), READY_SECONDS):
        few = await peak_of(url, 1_000, tmp_path)
        many = await peak_of(url, 10_000, tmp_path)
    assert many - few <= MAX_GROWTH, f"{few >> 10} KiB for 1,000 lines, {many >> 10} KiB for 10,000"
