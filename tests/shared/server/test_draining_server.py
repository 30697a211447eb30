"""How many connections a server takes, by the files that it may open."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import resource, sys
from shared.server.draining_server import raise_open_files_limit
soft, hard, wanted = map(int, sys.argv[1:])
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
print(raise_open_files_limit(wanted), *resource.getrlimit(resource.RLIMIT_NOFILE))
"""


@pytest.mark.parametrize(
    ("soft", "hard", "wanted", "allowed", "raised"),
    [
        (256, 1024, 300, 300, 400),  # as far as it is needed
        (256, 1024, 16_384, 768, 1024),  # as far as it goes
        (1024, 1024, 100, 100, 1024),  # never lowered
    ],
)
def test_open_files_limit_is_raised_and_caps_connections(
    soft: int, hard: int, wanted: int, allowed: int, raised: int
) -> None:
    command = [sys.executable, "-c", PROGRAM, str(soft), str(hard), str(wanted)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert list(map(int, output.split())) == [allowed, raised, hard]
