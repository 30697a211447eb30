"""Runs the programs in ``scripts/``, each with the Python or the Node.js of its environment, and reads what they print."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.clients import install
from tests.support.processes import ROOT

_SCRIPTS: Final = ROOT / "tests/clients/scripts"
# A bound for a hang: the longest takes half a minute on two cores.
_PROGRAM_SECONDS: Final = 300


@dataclass(frozen=True)
class ClientError:
    """What a client raised: its classes, the most special first, its status if it knows one, its words."""

    kinds: list[str]
    status: int | None
    message: str
    body: str


@dataclass(frozen=True)
class Outcomes:
    """What each call of a program returned or raised."""

    seen: dict[str, dict[str, Any]]

    def value(self, name: str) -> Any:
        """Return what the call returned; fail with its error otherwise."""
        assert "value" in self.seen[name], f"{name}: {self.seen[name]}"
        return self.seen[name]["value"]

    def error(self, name: str) -> ClientError:
        """Return what the call raised; fail with its value otherwise."""
        found = self.seen[name]
        assert "error" in found, f"{name} succeeded: {found}"
        return ClientError(found["error"], found["status"], found["message"], found["body"])


async def run_program(script: str, folder: Path, given: dict[str, str], lock: str = "clients") -> Outcomes:
    """Return the outcomes of a program's calls; ``folder`` is its home."""
    if script.endswith(".mjs"):
        command, environment = install.NODE, install.node_modules()
        given = {**given, "packages": str(environment.parent)}
    else:
        command = environment = install.python_of(lock)
    assert environment.exists(), f"{environment.relative_to(ROOT)} is missing: run `make clients`, which installs it"
    process = await asyncio.create_subprocess_exec(
        command,
        _SCRIPTS / script,
        json.dumps(given),
        cwd=folder,
        env={"HOME": str(folder), "PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUTF8": "1"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        output, errors = await asyncio.wait_for(process.communicate(), _PROGRAM_SECONDS)
    finally:
        if process.returncode is None:
            process.kill()
    assert process.returncode == 0, f"{script} ended with {process.returncode}:\n{errors.decode()}"
    return Outcomes(json.loads(output))
