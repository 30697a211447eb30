"""A catalog is reloaded by real processes and engines under load: no request fails, nothing is left."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.support.processes import ROOT, free_port, python_server
from tests.support.waiting import wait_until
from tests.system.load import steady_load
from tests.system.test_apiserver_process import START_SECONDS, api_server, client_of, until_ready

pytestmark = [pytest.mark.engine, pytest.mark.xdist_group("engine")]

TOKEN = "an-operators-token-long-enough"
# What two cores bear beside a loading engine, on a machine with other work.
RATE = 4.0
PAIRS = {"en-de", "de-en"}
CATALOG = """
models:
  {name}:
    path: {root}/models/en-de
    pairs: [en-de, de-en]
    prompt: demo-tags
    segment: {{tokens: 48, sentences: 1}}
    engine: {{dtype: bfloat16, max_model_len: 512, max_num_seqs: 16, kv_cache_memory_bytes: 67108864, enforce_eager: true}}
"""


async def run_models(environment: dict[str, str], *arguments: str) -> str:
    """Run the operator's command; return what it printed."""
    command = (str(Path(sys.executable).with_name("pairway")), "models", *arguments)
    program = await asyncio.create_subprocess_exec(
        *command, cwd=ROOT, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    printed, _ = await program.communicate()
    assert program.returncode == 0, printed.decode()
    return printed.decode()


async def model_of(client: httpx.AsyncClient, text: str) -> str:
    answer = await client.post("/translate", json={"text": text, "source_lang": "en", "target_lang": "de"})
    assert answer.status_code == 200, answer.text
    return answer.json()["model"]


async def test_model_is_changed_under_load(tmp_path: Path) -> None:
    catalog = tmp_path / "models.yaml"
    catalog.write_text(CATALOG.format(root=ROOT, name="en-de"))
    port, proxy_port = free_port(), free_port()
    environment = {
        "APISERVER_CATALOG": str(catalog),
        "APISERVER_OPERATOR_TOKEN": TOKEN,
        "APISERVER_PORT": str(port),
        # A loading engine takes a core from the one that serves; this machine may have no other.
        "APISERVER_STALL_SECONDS": "60",
    }
    proxy = python_server(
        "proxy",
        tmp_path,
        {
            "PROXY_PORT": str(proxy_port),
            "PROXY_REPLICAS": f"http://127.0.0.1:{port}",
            "PROXY_REDIS_URL": f"redis://127.0.0.1:{free_port()}/0",
        },
        "proxy",
    )
    with api_server(tmp_path, **environment) as (server, _):
        async with client_of(port) as direct:
            await until_ready(direct, PAIRS, server)
        proxy.start()
        try:
            async with client_of(proxy_port) as client:

                async def is_served() -> bool:
                    try:
                        return (await client.get("/readyz")).status_code == 200 and await model_of(
                            client, "A"
                        ) == "en-de"
                    except (httpx.TransportError, AssertionError):
                        return False

                await wait_until(is_served, START_SECONDS, "the proxy serves")
                async with steady_load(client, "en", "de", RATE) as load:
                    catalog.write_text(CATALOG.format(root=ROOT, name="en-de-v2"))
                    assert "en-de -> en-de-v2: switched" in await run_models(environment, "reload")
                    assert await model_of(client, "Where is the station?") == "en-de-v2"
                    await wait_until(lambda: len(server.children("EngineCore")) == 1, 60, "the old engine is unloaded")
                assert load.samples
                assert not load.failed()
        finally:
            proxy.stop()
