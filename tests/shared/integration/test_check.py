"""``python -m proxy --check`` and ``python -m apiserver --check``: they check, name mistakes, and serve nothing."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from shared.runtime.exit_codes import EXIT_CONFIG
from tests.support.processes import ROOT

SERVERS = {"proxy": "the settings are right", "apiserver": "the settings and the catalog are right"}


def run(server: str, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", server, *arguments]
    environment = {**os.environ, **settings}
    return subprocess.run(command, cwd=ROOT, env=environment, text=True, capture_output=True, check=False, timeout=300)


@pytest.mark.parametrize(("server", "words"), SERVERS.items())
def test_right_settings_pass_a_check(server: str, words: str) -> None:
    done = run(server, "--check")
    assert (done.returncode, done.stdout) == (0, f"{server}: {words}\n"), done.stderr


@pytest.mark.parametrize(
    ("server", "setting", "value", "named"),
    [
        ("proxy", "PROXY_PORT", "80000", "PROXY_PORT"),
        ("apiserver", "APISERVER_CATALOG", "/does/not/exist.yaml", "/does/not/exist.yaml"),
    ],
)
def test_wrong_settings_fail_a_check(server: str, setting: str, value: str, named: str) -> None:
    done = run(server, "--check", **{setting: value})
    assert (done.returncode, done.stdout) == (EXIT_CONFIG, "")
    assert named in done.stderr


def test_unknown_argument_is_refused() -> None:
    done = run("proxy", "--chek")
    assert (done.returncode, "--chek" in done.stderr) == (2, True)
