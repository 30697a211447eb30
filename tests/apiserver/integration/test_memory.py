"""Memory of an API server with eight large requests at once, in a process of its own."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from apiserver.scheduling.text_memory import PLANNING_BYTES_PER_CHAR, chars_in_memory
from apiserver.settings import BYTES_PER_CHAR
from shared.protocol.headers import CALLER_HEADER
from shared.protocol.translate_request import TranslateRequest
from tests.support.processes import free_port
from tests.support.waiting import wait_until

pytestmark = pytest.mark.system

CATALOG = """
models:
  m: {path: o/m, pairs: [en-de], prompt: demo-tags, engine: {max_num_seqs: 64}, segment: {tokens: 60, sentences: 1}}
"""
CHARS = 100_000
OK = (200, "")
PAIR = {"source_lang": "en", "target_lang": "de"}


def repeated(unit: str, chars: int = CHARS) -> str:
    return unit * (chars // len(unit))


# Distinct lines of two Chinese characters: the most segments that are not equal.
LINES = "\n".join(chr(0x4E00 + number % 20_000) + chr(0x4E00 + number // 7) for number in range(4_000))
SHORT_TEXTS = {"text": [repeated("Tea is here. ", CHARS // 256)] * 256}
BODIES: dict[str, dict[str, Any]] = {
    "one emoji": {"text": "😀" + repeated("The house is here. ")},
    "html": {"text": repeated("<p>x"), "format": "html"},
    "html in one block": {"text": repeated("<i>x"), "format": "html"},
    "markdown": {"text": repeated("*1**") + " here", "format": "markdown"},
    "xml": {"text": f"<r>{repeated('<b>x</b>')}</r>", "format": "xml"},
    "lines": {"text": LINES},
}


@dataclass
class Process:
    """The server's process and a client."""

    pid: int
    client: httpx.AsyncClient

    async def translate(self, fields: dict[str, Any], caller: int = 0) -> tuple[int, str]:
        """Return a request's status, and the code of its problem."""
        headers = {CALLER_HEADER: f"{caller:016x}"}
        answer = await self.client.post("/translate", json={**PAIR, **fields}, headers=headers)
        return answer.status_code, "" if answer.is_success else answer.text[:400]

    async def has_running(self, count: int) -> bool:
        """Return whether so many requests are in the engine."""
        return (await self.client.get("/report")).json()["models"]["m"]["running"] >= count

    async def is_full(self) -> bool:
        """Return whether the engine has as many requests of long texts as it takes; there are more of others."""
        return await self.has_running(16)

    def bytes_of(self, name: str) -> int:
        """Return a figure of ``/proc``."""
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(name))

    def reset_peak(self) -> None:
        Path(f"/proc/{self.pid}/clear_refs").write_text("5")


@asynccontextmanager
async def process(folder: Path) -> AsyncGenerator[Process]:
    (folder / "models.yaml").write_text(CATALOG)
    port = free_port()
    program = ("-m", "tests.apiserver.integration.gated_server", str(port), str(folder / "models.yaml"))
    server = await asyncio.create_subprocess_exec(sys.executable, *program)
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=300, trust_env=False) as client:

        async def ready() -> bool:
            try:
                return (await client.get("/readyz")).status_code == 200
            except httpx.TransportError:
                return False

        try:
            await wait_until(ready, 60, "the server is ready")
            yield Process(server.pid, client)
        finally:
            server.kill()
            await server.wait()


@pytest.mark.no_cover
@pytest.mark.timeout(300)
async def test_memory_follows_the_characters(tmp_path: Path) -> None:
    async with process(tmp_path) as server:
        for fields in BODIES.values():  # what is loaded at the first use
            short = "<r>Tea is here.</r>" if fields.get("format") == "xml" else fields["text"][:96]
            assert await server.translate({**fields, "text": short}) == OK
        rest = server.bytes_of("VmRSS")
        server.reset_peak()
        signal_gate(server)  # so all are held at once
        requests = [asyncio.create_task(server.translate(each, caller)) for caller, each in enumerate(BODIES.values())]
        # Each long text has one segment in the engine until that answers; the short ones come last, as many as it takes.
        await wait_until(lambda: server.has_running(len(requests)), 250, "every text is planned")
        requests.append(asyncio.create_task(server.translate(SHORT_TEXTS, len(requests))))
        await wait_until(lambda: server.has_running(len(requests)), 250, "every request is in the engine")
        signal_gate(server)
        assert await asyncio.gather(*requests) == [OK] * len(requests)
        chars = sum(len(fields["text"]) for fields in BODIES.values()) + 256 * len(SHORT_TEXTS["text"][0])
        peak = server.bytes_of("VmHWM") - rest
        assert peak <= BYTES_PER_CHAR * chars + PLANNING_BYTES_PER_CHAR * CHARS, f"{peak / chars:.0f} bytes a character"
        assert await server.translate({"text": "Tea is here."}) == OK


# Lists in which much is done for few characters: at least 128 count for a text.
NUMBERED = range(256)
LISTS: dict[str, dict[str, Any]] = {
    "short lines": {
        "text": ["\n".join(f"a{chr(0x4E00 + number)}{line:x}" for line in range(16)) for number in NUMBERED]
    },
    "many short lines": {
        "text": ["\n".join(f"a{chr(0x4E00 + number)}{line:x}" for line in range(20)) for number in NUMBERED]
    },
    "tags": {"text": [f"<p>a{number} <b>b</b><p>c <i>d</i>" for number in NUMBERED], "format": "html"},
}
OF_EACH = 4


@pytest.mark.no_cover
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", LISTS)
async def test_memory_of_lists_follows_what_they_count_for(tmp_path: Path, name: str) -> None:
    """A process each: what one list leaves would count for the next."""
    fields = LISTS[name]
    async with process(tmp_path) as server:
        assert await server.translate({**fields, "text": fields["text"][:2]}) == OK  # what is loaded at the first use
        rest = server.bytes_of("VmRSS")
        server.reset_peak()
        signal_gate(server)
        requests = [asyncio.create_task(server.translate(fields, caller)) for caller in range(OF_EACH)]
        await wait_until(server.is_full, 60, "the engine has as many as it takes")
        signal_gate(server)
        assert await asyncio.gather(*requests) == [OK] * OF_EACH
        chars = OF_EACH * chars_in_memory(TranslateRequest.model_validate({**PAIR, **fields}))
        peak = server.bytes_of("VmHWM") - rest
        assert peak <= BYTES_PER_CHAR * chars, f"{peak / chars:.0f} bytes a character"


def signal_gate(server: Process) -> None:
    """Close or open the engine's gate."""
    os.kill(server.pid, signal.SIGUSR1)
