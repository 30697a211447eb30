"""The edge of docker compose without Docker: the files of ``deploy/edge``, with other addresses, in a folder of its own."""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final, cast

import psutil
from typing_extensions import override

from benchmarks.harness.processes import ROOT, Server, free_port

SOURCE: Final = ROOT / "deploy/edge"
_BLOCK_BYTES: Final = 512
_TTL_SECONDS: Final = 1
_HEAD: Final = struct.Struct("!6H")
# Of a DNS message: an answer without an error; a record of an IPv4 address whose name is the question's.
_ANSWERED: Final = 0x8180
_RECORD: Final = struct.Struct("!3HIH4s")
_NAME_OF_QUESTION: Final = 0xC00C


class Edge:
    """nginx as docker compose starts it; ``proxies`` are the addresses behind the name, at one port."""

    def __init__(
        self, nginx: Path, folder: Path, proxies: Sequence[str], port: int, settings: Mapping[str, str] | None = None
    ) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.run = folder / "run"
        self._proxies = proxies
        self._dns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._dns.bind(("127.0.0.1", 0))
        programs, files = folder / "bin", folder / "files"
        for each in (programs, files):
            each.mkdir(parents=True)
        words = {
            "/tmp/edge": str(self.run),  # noqa: S108 - what stands in the files
            "/etc/pairway": str(files),
            "proxy:8000": f"proxy:{port}",
            "listen 8080": f"listen 127.0.0.1:{self.port}",
            "8081": str(free_port()),
            "resolver 127.0.0.11": f"resolver 127.0.0.1:{self._dns.getsockname()[1]}",
        }
        for source in SOURCE.iterdir():
            text = source.read_text()
            for word, other in words.items():
                text = text.replace(word, other)
            (files / source.name).write_text(text)
        # As root nginx would take another user's rights, who cannot reach the folder; docker compose starts it with those.
        user = "" if os.getuid() else "-g 'user root;' "
        program = programs / "nginx"
        program.write_text(f'#!/bin/sh\nexec {nginx} {user}"$@"\n')
        program.chmod(0o755)
        path = {"PATH": f"{programs}:{os.environ['PATH']}"}
        self.server = Server(["sh", str(files / "start.sh")], folder / "edge.log", {**path, **(settings or {})})

    @asynccontextmanager
    async def names(self) -> AsyncGenerator[None]:
        """Answer the edge's questions for the name of the proxies."""
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_datagram_endpoint(lambda: NameServer(self._proxies), sock=self._dns)
        try:
            yield
        finally:
            transport.close()

    def processes(self) -> list[psutil.Process]:
        """Return nginx's processes, the first one first."""
        first = psutil.Process(self.server.pid)
        return [first, *first.children()]

    def worker(self) -> psutil.Process:
        """Return the process that serves."""
        (worker,) = self.processes()[1:]
        return worker

    def folder_bytes(self) -> int:
        """Return what the bodies in the folder take; no file there has a name, so the open ones are counted."""
        total = 0
        for process in self.processes():
            for opened in Path(f"/proc/{process.pid}/fd").iterdir():
                with suppress(FileNotFoundError):
                    if opened.readlink().is_relative_to(self.run):
                        total += opened.stat().st_blocks * _BLOCK_BYTES
        return total

    def memory_bytes(self) -> int:
        """Return the memory of all processes, each shared page once."""
        return sum(process.memory_full_info().pss for process in self.processes())


class NameServer(asyncio.DatagramProtocol):
    """DNS for one name: it answers every question with the same IPv4 addresses."""

    def __init__(self, addresses: Sequence[str]) -> None:
        self._records = b"".join(
            _RECORD.pack(_NAME_OF_QUESTION, 1, 1, _TTL_SECONDS, 4, socket.inet_aton(address)) for address in addresses
        )
        self._count = len(addresses)

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)

    @override
    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        number = _HEAD.unpack_from(data)[0]
        question = data[_HEAD.size :].partition(b"\0")[0] + b"\0\0\1\0\1"
        self._transport.sendto(_HEAD.pack(number, _ANSWERED, 1, self._count, 0, 0) + question + self._records, addr)
