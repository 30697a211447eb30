"""The examples of docs/client.md for the command: each is run as it stands."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.client.pairway.command.command_line import Program
from tests.conftest import RedisServer
from tests.proxy.proxies import proxy
from tests.support.fake_replica import FakeReplica, replicas
from tests.support.processes import ROOT

DOCUMENT = (ROOT / "docs/client.md").read_text()
EXAMPLES = "".join(re.findall(r"```console\n(.*?)```", DOCUMENT, flags=re.DOTALL)).splitlines()
FILES = {
    "page.html": "<p>Hello</p>",
    "a.md": "Hello",
    "b.md": "The invoice is late.",
    "terms.csv": "invoice,Rechnung\n",
    "lines.txt": "One\nTwo\n",
}


@pytest.fixture(name="folder")
async def _folder(
    redis: RedisServer, run: Program, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> AsyncGenerator[Path]:
    assert run
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    fake = FakeReplica("en>de", "en>fr", name="fake")
    async with replicas(fake), proxy([fake], redis.url) as one:
        monkeypatch.setenv("PAIRWAY_URL", one.url)
        monkeypatch.setenv("PAIRWAY_KEY", "my-word")
        yield tmp_path


def arguments_of(example: str) -> tuple[list[str], str]:
    """Return the arguments of an example, and the file that is its input, as a shell would."""
    line, _, given = re.sub(r" > \S+", "", example).partition(" < ")
    words = [double or single or plain for double, single, plain in re.findall(r'"([^"]*)"|\'([^\']*)\'|(\S+)', line)]
    return words[1:], given


async def test_examples_run(run: Program, folder: Path) -> None:
    assert len(EXAMPLES) >= 10
    assert folder.name
    for example in EXAMPLES:
        arguments, given = arguments_of(example)
        ended = await asyncio.to_thread(run, *arguments, given=FILES.get(given, ""))
        assert ended.code == 0, f"{example}: {ended.err}"
        assert ended.out or "*.md" in arguments, example


def test_exit_codes_are_documented() -> None:
    assert set(re.findall(r"^\| (\d+) \|", DOCUMENT, flags=re.MULTILINE)) == {"0", "1", "2", "3", "4", "130"}
