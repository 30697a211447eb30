"""Exit codes of a process that a signal stops."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from tests.support.processes import ROOT

PROGRAM = """
import time
from shared.runtime.exit_codes import exit_on_signals
exit_on_signals()
print("ready", flush=True)
for _ in range(6000):  # a signal just before one long sleep would be handled after it
    time.sleep(0.01)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_exits_with_0(number: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", PROGRAM], cwd=ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(number)
        assert process.wait(10) == 0
