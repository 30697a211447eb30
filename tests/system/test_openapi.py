"""Both OpenAPI documents against real servers: schemathesis asks what they allow, and what they do not.

Its checks of single values are left out: it holds every unknown header for an error that must be refused, and every
text that passes the schema (a URL that nobody can reach, a blank term) for one that must be accepted. So is that of missing
headers: operators' token is always sent here, and with keys off nobody needs one.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from apiserver.settings import ApiServerSettings
from tests.apiserver.conftest import CATALOG, serving
from tests.conftest import RedisServer
from tests.proxy.proxies import proxy
from tests.support.fake_replica import FakeReplica, replicas
from tests.support.scripted_engine import ScriptedFactory

TOKEN = "a-token-that-is-long-enough"
# Seconds, the longest allowed: on a paused machine Redis is not away.
REDIS_TIMEOUT = 5.0
LEFT_OUT = "positive_data_acceptance,negative_data_rejection,missing_required_header"
# With keys off any word is a key of its own for glossaries.
ANY_KEY = f"{LEFT_OUT},ignored_auth"
CHANGES = "^/(fleet/replicas|keys)"
# The gate asks a few of each kind; `make fuzz` walks through every bound of every field, which takes longest, and looks for
# new examples.
GATE, FUZZ = ("examples,fuzzing", 20), ("examples,coverage,fuzzing", 300)

pytestmark = pytest.mark.hypothesis


async def no_failures(url: str, folder: Path, *more: str, left_out: str = LEFT_OUT, **headers: str) -> None:
    """Run schemathesis; an answer that comes too late by the client's own word is no fault, so time enough is given."""
    gate = settings.default is not None and settings.default.derandomize
    phases, count = GATE if gate else FUZZ
    how = ["--generation-deterministic"] if gate else ["--generation-database", "none"]
    sent = {"X-Timeout-Ms": "20000", **headers}
    process = await asyncio.create_subprocess_exec(
        str(Path(sys.executable).parent / "schemathesis"),
        *("run", f"{url}/openapi.json", "--no-color", "--continue-on-failure"),
        *("--phases", phases, "-n", str(count), *how, *more),
        *("--checks", "all", "--exclude-checks", left_out),
        *(part for name, value in sent.items() for part in ("-H", f"{name}: {value}")),
        cwd=folder,
        env={**os.environ, "NO_PROXY": "127.0.0.1"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()


async def test_proxy_matches_its_openapi_document(redis: RedisServer, tmp_path: Path) -> None:
    fake = FakeReplica("en>de")
    async with replicas(fake), proxy([fake], redis.url, redis_timeout=REDIS_TIMEOUT) as running:
        await no_failures(running.url, tmp_path, "--exclude-path-regex", CHANGES, left_out=ANY_KEY)
        assert (await running.translate("Hello"))[0] == 200


async def test_operator_routes_match_the_openapi_document(redis: RedisServer, tmp_path: Path) -> None:
    """On a proxy of their own: what they find they remove, and then nothing can be translated."""
    fake = FakeReplica("en>de")
    async with replicas(fake), proxy([fake], redis.url, redis_timeout=REDIS_TIMEOUT, operator_token=TOKEN) as running:
        await no_failures(running.url, tmp_path, "--include-path-regex", CHANGES, Authorization=f"Bearer {TOKEN}")
        assert (await running.client.get("/fleet")).status_code == 200


async def test_apiserver_matches_its_openapi_document(tmp_path: Path) -> None:
    catalog = tmp_path / "models.yaml"
    catalog.write_text(CATALOG)
    settings_ = ApiServerSettings.model_validate({"catalog": catalog, "drain_seconds": 0.0, "token": TOKEN})
    async with serving(ScriptedFactory(), settings_) as running:
        key = {"Authorization": f"Bearer {TOKEN}"}
        running.client.headers.update(key)
        await running.until_ready()
        await no_failures(f"http://127.0.0.1:{running.port}", tmp_path, **key)
        assert (await running.translate("Hello")).status_code == 200
