"""The launcher's Redis: a new enough binary, reachable from this machine alone."""

from __future__ import annotations

import socket
from pathlib import Path

from deploy.process import ManagedProcess
from deploy.redis_server import (
    OLDEST_REDIS,
    find_free_port,
    find_redis_server,
    read_version,
    redis_command,
    redis_url,
    wait_for_redis,
)


def test_found_redis_is_new_enough() -> None:
    binary = find_redis_server()
    assert binary is not None
    assert read_version(str(binary)) >= OLDEST_REDIS


def test_version_of_another_program_is_unknown() -> None:
    assert read_version("true") == ()


def test_free_port_can_be_bound() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", find_free_port()))


async def test_redis_answers_after_its_start(tmp_path: Path) -> None:
    binary = find_redis_server()
    assert binary is not None
    port = find_free_port()
    process = ManagedProcess(redis_command(binary, port, tmp_path), tmp_path / "log")
    process.start()
    try:
        await wait_for_redis(port)
    finally:
        process.stop()
    assert redis_url(port) == f"redis://127.0.0.1:{port}/0"
