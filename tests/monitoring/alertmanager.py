"""A real Alertmanager. Debian's reads its templates from /usr/share, where it is not: it was unpacked without root.

So it runs from its own folder, and a copy of it has the same name without the first slash, which is as long with one behind it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import httpx

from tests.conftest import NO_AUTHORITIES
from tests.monitoring.install import program
from tests.support.processes import ROOT, Server, free_port
from tests.support.waiting import wait_until

START_SECONDS: Final = 60.0
_SHARED: Final = b"/usr/share/prometheus/alertmanager"


@asynccontextmanager
async def running_alertmanager(folder: Path, configuration: Path) -> AsyncGenerator[httpx.AsyncClient]:
    """Run Alertmanager while the block lasts; yield a client of its API."""
    installed = program("prometheus-alertmanager")
    copy = folder / installed.name
    copy.write_bytes(installed.read_bytes().replace(_SHARED, _SHARED[1:] + b"/"))
    copy.chmod(0o700)
    port = free_port()
    command = [
        *("env", "-C", str(installed.parents[2]), str(copy)),
        f"--config.file={ROOT / configuration}",
        f"--storage.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--cluster.listen-address=",
    ]
    server = Server(command, folder / "alertmanager.log")
    url = f"http://127.0.0.1:{port}"
    async with httpx.AsyncClient(base_url=url, timeout=30, trust_env=False, verify=NO_AUTHORITIES) as client:
        server.start()
        try:

            async def is_up() -> bool:
                assert not server.has_ended, server.tail()
                try:
                    return (await client.get("/-/ready")).status_code == 200
                except httpx.TransportError:
                    return False

            await wait_until(is_up, START_SECONDS, "Alertmanager")
            yield client
        finally:
            server.stop()
