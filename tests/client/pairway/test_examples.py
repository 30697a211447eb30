"""The examples of docs/client.md: each runs, with a proxy at the address that it has."""

from __future__ import annotations

import asyncio
import re
import textwrap
from collections.abc import AsyncGenerator

import pairway
import pytest

from tests.conftest import RedisServer
from tests.proxy.proxies import RunningProxy, proxy
from tests.support.fake_replica import FakeReplica, replicas
from tests.support.processes import ROOT

EXAMPLES = re.findall(r"```python\n(.*?)```", (ROOT / "docs/client.md").read_text(), flags=re.DOTALL)
ADDRESS = "http://localhost:8000"


@pytest.fixture(name="running")
async def _running(redis: RedisServer, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[RunningProxy]:
    fake = FakeReplica("en>de", "en>fr", "fr>en", name="fake")
    async with replicas(fake), proxy([fake], redis.url) as one:
        monkeypatch.setenv("XDG_CONFIG_HOME", "/nowhere")
        monkeypatch.setenv("PAIRWAY_URL", one.url)
        monkeypatch.setenv("PAIRWAY_KEY", "my-word")
        yield one


def run(number: int, url: str) -> dict[str, object]:
    """Run an example, and what those before it in the document have."""
    with pairway.Client() as client:
        names: dict[str, object] = {"client": client, "pairway": pairway}
        exec(compile(EXAMPLES[number].replace(ADDRESS, url), "docs/client.md", "exec"), names)  # noqa: S102 -- ours
        if "translated" in names:
            check = 'shown = translated(["Hello there", "Good morning", "Hello there"], "de")'
            exec(textwrap.dedent(check), names)  # noqa: S102 -- ours
    return names


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
async def test_example_runs(number: int, running: RunningProxy, capsys: pytest.CaptureFixture[str]) -> None:
    names = await asyncio.to_thread(run, number, running.url)
    out = capsys.readouterr().out
    if "shown" in names:
        assert names["shown"] == [f"[en>de by fake] {text}" for text in ("Hello there", "Good morning", "Hello there")]
    else:
        assert out.strip()


def test_document_has_ten_examples() -> None:
    assert len(EXAMPLES) >= 10
