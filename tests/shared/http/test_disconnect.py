"""Client disconnects: callbacks, and the end of the work."""

from __future__ import annotations

import asyncio
import logging

import httpx
import pytest
from fastapi import Request

from shared.http.disconnect import DISCONNECT_EXTENSION, DisconnectSignal, while_connected
from shared.protocol import errors
from tests.shared.http.sample_app import SampleHandlers
from tests.support.serving import Serving
from tests.support.waiting import wait_until


def test_signal_calls_every_callback_once() -> None:
    signal, calls = DisconnectSignal(), list[str]()
    signal.add_callback(lambda: calls.append("one"))
    signal.add_callback(lambda: calls.append("two"))
    signal.set()
    signal.set()
    assert calls == ["one", "two"]


def test_removed_callback_is_not_called() -> None:
    signal, calls = DisconnectSignal(), list[str]()

    def forgotten() -> None:
        calls.append("forgotten")

    signal.add_callback(forgotten)
    signal.remove_callback(forgotten)
    signal.remove_callback(forgotten)
    signal.set()
    assert calls == []
    assert signal.is_set


@pytest.mark.parametrize("size", [1, 60_000, 200_000])
async def test_while_connected_cancels_when_the_client_hangs_up(
    served: Serving, handlers: SampleHandlers, caplog: pytest.LogCaptureFixture, size: int
) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", served.port)
    with caplog.at_level(logging.INFO):
        writer.write(
            b"POST /work?seconds=60 HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n%s" % (size, b"x" * size)
        )
        await wait_until(handlers.work_started.is_set, 3, "the work has started")
        writer.close()
        await wait_until(handlers.work_ended.is_set, 3, "the work has ended")
        lines = await wait_until(lambda: [each for each in caplog.records if each.getMessage() == "request"], 3)
    assert (vars(lines[0])["status"], vars(lines[0])["code"], vars(lines[0])["pair"]) == (499, "client-gone", "en-de")


async def test_while_connected_starts_nothing_after_a_disconnect() -> None:
    signal = DisconnectSignal()
    signal.set()
    request = Request({"type": "http", "headers": [], "extensions": {DISCONNECT_EXTENSION: signal}})
    begun = False

    async def hard() -> None:
        nonlocal begun
        begun = True

    with pytest.raises(errors.ClientGoneError):
        await while_connected(request, hard())
    assert not begun


async def test_while_connected_leaves_no_task_behind(client: httpx.AsyncClient) -> None:
    before = len(asyncio.all_tasks())
    for _ in range(5):
        assert (await client.post("/work?seconds=0", content=b"x")).text == "done"
    await wait_until(lambda: len(asyncio.all_tasks()) <= before + 2, 60, "no tasks left")


async def test_while_connected_raises_the_work_error(client: httpx.AsyncClient) -> None:
    response = await client.post("/work?seconds=0&fail=1", content=b"x")
    assert (response.status_code, response.headers["retry-after"]) == (503, "2")
