"""A transient fault of the only replica, while a request waits for it to pass."""

from __future__ import annotations

import asyncio

import httpx

from tests.proxy.proxies import RunningProxy
from tests.support.fake_replica import FakeReplica
from tests.support.waiting import wait_until


async def post_during_a_fault(fake: FakeReplica, running: RunningProxy, path: str, body: object) -> httpx.Response:
    """Return the answer to a request whose first attempt the replica refuses."""
    before, fake.translate.problem = len(fake.requests), (503, "overloaded")
    try:
        waiting = asyncio.create_task(running.client.post(path, json=body))
        await wait_until(lambda: len(fake.requests) > before, 10, "a refused attempt")
    finally:
        fake.translate.problem = None
    return await waiting
