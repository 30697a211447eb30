"""The client's wheel, in an empty environment of each Python that this machine has."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.clients.wheel import build, environment, pythons, wheelhouse
from tests.proxy.proxies import RunningProxy, fleet_fixtures

pytestmark = [pytest.mark.clients]

_fake, _running, _fresh = fleet_fixtures("en>de")
SCRIPT = "import pairway\nwith pairway.Client() as client:\n    print(client.translate('Hello', to='de', source='en'))"


@pytest.fixture(scope="module", name="wheel")
def _wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    assert wheelhouse().exists(), "what the wheel needs is missing: run `make clients`, which fetches it"
    return build(tmp_path_factory.mktemp("wheel"))


async def printed(command: Sequence[str | Path], url: str, folder: Path) -> str:
    """Return what a program prints, which knows of nothing but its environment's packages and the server."""
    own = {"PAIRWAY_URL": url, "HOME": str(folder), "PATH": "/usr/bin:/bin"}
    process = await asyncio.create_subprocess_exec(
        *command, cwd=folder, env=own, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    out, err = await process.communicate()
    assert (process.returncode, err) == (0, b""), f"{command[0]}: {err.decode()}"
    return out.decode()


async def test_wheel_works_with_each_python(wheel: Path, running: RunningProxy, tmp_path: Path) -> None:
    async def works(version: str, python: Path) -> None:
        requirement = f"pairway[cli] @ {wheel.as_uri()}"
        programs = await asyncio.to_thread(environment, tmp_path / version, python, requirement)
        pairway = programs / "pairway"
        shown = await printed([pairway, "--version"], running.url, tmp_path)
        assert shown.startswith("pairway 0.")
        assert f"at {running.url}" in shown
        assert "Commands:" in await printed([pairway, "--help"], running.url, tmp_path)
        translate = [pairway, "translate", "Hello", "--to", "de", "--from", "en"]
        assert await printed(translate, running.url, tmp_path) == "[en>de by fake] Hello\n", version

    found = pythons()
    assert found
    await asyncio.gather(*(works(*each) for each in found.items()))


async def test_package_alone_needs_httpx_only(wheel: Path, running: RunningProxy, tmp_path: Path) -> None:
    """Without the extra `cli`."""
    python = next(iter(pythons().values()))
    programs = await asyncio.to_thread(environment, tmp_path / "alone", python, f"pairway @ {wheel.as_uri()}")
    assert await printed([programs / "python", "-c", SCRIPT], running.url, tmp_path) == "[en>de by fake] Hello\n"
    assert not list((tmp_path / "alone").glob("lib/*/site-packages/typer"))
