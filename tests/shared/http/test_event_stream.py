"""Streams on a real socket: what is sent when, what ends them, and that the work always ends with them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Coroutine

import httpx
import pytest
from fastapi import FastAPI, Request, Response

from shared.http import event_stream
from shared.http.app_setup import configure_app
from shared.http.body import read_json_body
from shared.http.disconnect import while_connected
from shared.parsing.byte_budget import ByteBudget
from shared.protocol.deadline import Deadline
from shared.protocol.errors import DeadlineExceededError, OverloadedError
from shared.protocol.sse_format import OnDelta
from tests.support.event_streams import events_in, open_stream, request_stream
from tests.support.serving import Serving, serving
from tests.support.waiting import wait_until

Work = Callable[[OnDelta], Coroutine[None, None, bytes]]


class Script:
    """What the test app's one handler does, and what became of it."""

    work: Work
    events: Callable[[], AsyncGenerator[bytes]]
    keep_alive = 15.0
    stall = 30.0
    cancelled = 0
    ended = 0


@pytest.fixture(scope="module")
def script() -> Script:
    return Script()


@pytest.fixture(scope="module")
async def served(script: Script) -> AsyncGenerator[Serving]:
    app = FastAPI()
    configure_app(app)

    async def run(request: Request, on_delta: OnDelta | None) -> bytes:
        try:
            with ByteBudget(1 << 20).reserve() as hold:
                await read_json_body(request, 1 << 20, Deadline.after(5, time.monotonic), hold)
            return await while_connected(request, script.work(on_delta or (lambda _index, _text: None)))
        except asyncio.CancelledError:
            script.cancelled += 1
            raise
        finally:
            script.ended += 1

    async def translate(request: Request) -> Response:
        sink = event_stream.open_sink(request)
        work = run(request, sink)
        if sink is None:
            return await event_stream.respond(request, work, sink)
        return event_stream.EventStream(
            request, work, sink, keep_alive_interval=script.keep_alive, stall_seconds=script.stall
        )

    async def follow(request: Request) -> Response:
        return event_stream.EventSeries(request, script.events(), stall_seconds=script.stall)

    app.add_api_route("/translate", translate, methods=["POST"], response_model=None)
    app.add_api_route("/follow", follow, methods=["GET"], response_model=None)
    async with serving(app) as one:
        yield one


@pytest.fixture(autouse=True)
def reset_script(script: Script) -> None:
    script.keep_alive, script.stall, script.cancelled, script.ended = 15.0, 30.0, 0, 0


@pytest.fixture(scope="module")
async def client(served: Serving) -> AsyncGenerator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=served.url, timeout=10, trust_env=False) as one:
        yield one


def saying(*parts: tuple[int, str], then: bytes | Exception = b'{"done": true}') -> Work:
    async def work(on_delta: OnDelta) -> bytes:
        for index, text in parts:
            on_delta(index, text)
            await asyncio.sleep(0.01)
        if isinstance(then, Exception):
            raise then
        return then

    return work


async def test_error_before_the_first_delta_is_a_problem(client: httpx.AsyncClient, script: Script) -> None:
    script.work = saying(then=OverloadedError("full", retry_after=3))
    heard = await request_stream(client, {}, x_request_id="mine")
    assert (heard.status, heard.problem["code"], heard.problem["request_id"]) == (503, "overloaded", "mine")
    assert (heard.headers["retry-after"], heard.headers["content-type"]) == ("3", "application/problem+json")


async def test_internal_error_before_the_first_delta_is_500(client: httpx.AsyncClient, script: Script) -> None:
    script.work = saying(then=RuntimeError("secret"))
    heard = await request_stream(client, {})
    assert (heard.status, heard.problem["code"]) == (500, "internal")
    assert "secret" not in str(heard.problem)


async def test_error_after_an_unsent_delta_is_a_problem(client: httpx.AsyncClient, script: Script) -> None:
    async def work(on_delta: OnDelta) -> bytes:
        on_delta(0, "never seen")
        raise DeadlineExceededError("over")

    script.work = work
    heard = await request_stream(client, {})
    assert heard.status in {200, 504}
    assert (heard.problem or heard.last[1])["code"] == "deadline-exceeded"


async def test_error_after_a_delta_is_the_last_event(client: httpx.AsyncClient, script: Script) -> None:
    script.work = saying((0, "a"), (0, "b"), then=DeadlineExceededError("over"))
    heard = await request_stream(client, {}, x_request_id="mine")
    assert (heard.status, heard.deltas, heard.names[-1]) == (200, {0: "ab"}, "error")
    problem = heard.last[1]
    assert (problem["code"], problem["status"], problem["request_id"]) == ("deadline-exceeded", 504, "mine")


async def test_internal_error_after_a_delta_hides_details(
    client: httpx.AsyncClient, script: Script, caplog: pytest.LogCaptureFixture
) -> None:
    script.work = saying((0, "a"), then=RuntimeError("secret"))
    with caplog.at_level("INFO"):
        heard = await request_stream(client, {})
        lines = await wait_until(lambda: [each for each in caplog.records if each.message == "request"], 3)
    assert (heard.names[-1], heard.last[1]["code"], heard.last[1]["status"]) == ("error", "internal", 500)
    assert "secret" not in str(heard.last)
    assert [record.message for record in caplog.records if record.exc_info] == ["request failed in mid-stream"]
    (line,) = lines
    assert (getattr(line, "status", 0), getattr(line, "code", "")) == (200, "internal")


async def test_stream_sends_deltas_then_the_result(client: httpx.AsyncClient, script: Script) -> None:
    odd = "a\n\u2028\x85\U0001f600"
    script.work = saying((0, "Hallo "), (1, odd), (0, "Welt"), then=b'{"done":\n"x"}')
    heard = await request_stream(client, {})
    assert heard.deltas == {0: "Hallo Welt", 1: odd}
    assert heard.last == ("result", {"done": "x"})
    assert heard.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert (heard.headers["cache-control"], heard.headers["x-accel-buffering"]) == ("no-store", "no")
    assert "content-length" not in heard.headers
    assert heard.headers["x-request-id"]


async def test_result_without_deltas_is_one_event(client: httpx.AsyncClient, script: Script) -> None:
    for work in (saying(), saying((0, ""))):
        script.work = work
        assert (await request_stream(client, {})).events == [("result", {"done": True})]


async def test_json_is_sent_without_accept_of_events(client: httpx.AsyncClient, script: Script) -> None:
    script.work = saying((0, "a"))
    response = await client.post("/translate", json={})
    assert (response.headers["content-type"], response.json()) == ("application/json", {"done": True})


async def test_comments_keep_the_stream_open_after_the_first_delta(served: Serving, script: Script) -> None:
    gate, end = asyncio.Event(), asyncio.Event()

    async def work(on_delta: OnDelta) -> bytes:
        await gate.wait()
        on_delta(0, "first")
        await end.wait()
        return b"{}"

    script.work, script.keep_alive = work, 0.02
    async with open_stream(served.port, {}) as listener:
        with pytest.raises(TimeoutError):
            await listener.until(b"HTTP/1.1 200", within=0.2)
        gate.set()
        await listener.until(b'"text":"first"')
        await listener.until(b"\n: still at work\n\n")
        end.set()
        taken = await listener.until(b"event: result\ndata: {}\n\n")
        assert taken.endswith(b"\r\n0\r\n\r\n") or (await listener.until(b"\r\n0\r\n\r\n"))
        listener.hang_up()


@pytest.mark.parametrize("begun", [False, True])
async def test_disconnect_ends_the_work(
    served: Serving, script: Script, begun: bool, caplog: pytest.LogCaptureFixture
) -> None:
    work_started = asyncio.Event()
    cancelled = asyncio.Event()

    async def work(on_delta: OnDelta) -> bytes:
        try:
            if begun:
                on_delta(0, "first")
            work_started.set()
            return await asyncio.Event().wait() and b""
        except asyncio.CancelledError:
            cancelled.set()
            raise

    script.work = work
    async with open_stream(served.port, {}) as listener:
        await asyncio.wait_for(work_started.wait(), 5)
        if begun:
            await listener.until(b"first")
        with caplog.at_level("INFO"):
            listener.hang_up()
            await asyncio.wait_for(cancelled.wait(), 5)
            await wait_until(
                lambda: [each for each in caplog.records if getattr(each, "code", "") == "client-gone"],
                5,
                "the log line",
            )
        assert {each.levelname for each in caplog.records} == {"INFO"}


async def test_disconnect_while_writing_leaves_nothing_behind(
    served: Serving, client: httpx.AsyncClient, script: Script
) -> None:
    script.work = saying((0, "x" * 20_000_000))
    async with open_stream(served.port, {}, read_ahead=1024) as listener:
        await listener.until(b"event: delta")
        await wait_until(lambda: script.ended == 1, 5, "the work has ended")
        listener.hang_up()
        script.work = saying((0, "next"))
        assert (await request_stream(client, {})).deltas == {0: "next"}


async def test_slow_reader_gets_joined_deltas(served: Serving, script: Script) -> None:
    filler = "x" * 1_000_000

    async def work(on_delta: OnDelta) -> bytes:
        for _ in range(8):  # more than sockets hold, so that the rest waits here
            on_delta(0, filler)
            await asyncio.sleep(0.01)
        for number in range(1000):
            on_delta(number % 2, f"{number} ")
            await asyncio.sleep(0)
        return b"{}"

    script.work = work
    async with open_stream(served.port, {}, read_ahead=1024) as listener:
        await wait_until(lambda: script.ended == 1, 10, "the work has ended, though nobody reads")
        taken = await listener.until(b"\r\n0\r\n\r\n", within=20)
        chunks = _dechunked(taken.partition(b"\r\n\r\n")[2])
        heard = events_in(chunks.decode())
        assert [name for name, _ in heard[-3:]] == ["delta", "delta", "result"]
        assert len(heard) <= 12
        joined = {index: "".join(data["text"] for _, data in heard[:-1] if data["index"] == index) for index in (0, 1)}
        assert joined[0] == filler * 8 + "".join(f"{number} " for number in range(0, 1000, 2))
        assert joined[1] == "".join(f"{number} " for number in range(1, 1000, 2))


def _dechunked(body: bytes) -> bytes:
    found: list[bytes] = []
    while body:
        size, _, body = body.partition(b"\r\n")
        found.append(body[: int(size, 16)])
        body = body[int(size, 16) + 2 :]
    return b"".join(found)


async def test_stalled_reader_ends_the_work_and_the_stream(
    served: Serving, script: Script, caplog: pytest.LogCaptureFixture
) -> None:
    async def work(on_delta: OnDelta) -> bytes:
        while True:
            on_delta(0, "x" * 1_000_000)
            await asyncio.sleep(0.01)

    script.work, script.stall = work, 0.3
    async with open_stream(served.port, {}, read_ahead=1024) as listener:
        await wait_until(lambda: script.cancelled == 1, 10, "the work was cancelled")
        assert [each.levelname for each in caplog.records if each.message == "reader stalled"] == ["WARNING"]
        taken = await listener.rest()
        assert not taken.endswith(b"0\r\n\r\n")


async def test_slow_reader_learns_of_the_deadline(served: Serving, script: Script) -> None:
    async def work(on_delta: OnDelta) -> bytes:
        for _ in range(8):
            on_delta(0, "x" * 1_000_000)
            await asyncio.sleep(0.01)
        raise DeadlineExceededError("over")

    script.work = work
    async with open_stream(served.port, {}, read_ahead=1024) as listener:
        await wait_until(lambda: script.ended == 1, 10, "the work has ended")
        taken = await listener.until(b"\r\n0\r\n\r\n", within=20)
        listener.hang_up()
        assert b'event: error\ndata: {"type":"urn:pairway:deadline-exceeded"' in taken[-1000:]


def series(script: Script, *events: bytes, then: Exception | None = None) -> None:
    """Let the series have these events; counts its end."""

    async def generate() -> AsyncGenerator[bytes]:
        try:
            for event in events:
                yield event
            if then is not None:
                raise then
        finally:
            script.ended += 1

    script.events = generate


async def test_series_sends_its_events(client: httpx.AsyncClient, script: Script) -> None:
    series(script, b"data: 1\n\n", b"data: 2\n\n")
    answer = await client.get("/follow")
    assert (answer.text, answer.headers["x-accel-buffering"]) == ("data: 1\n\ndata: 2\n\n", "no")
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert script.ended == 1


async def test_series_refused_before_its_first_event_is_a_problem(client: httpx.AsyncClient, script: Script) -> None:
    series(script, then=OverloadedError("full", retry_after=3))
    answer = await client.get("/follow")
    assert (answer.status_code, answer.json()["code"], answer.headers["retry-after"]) == (503, "overloaded", "3")


async def test_stalled_reader_ends_its_series(served: Serving, script: Script) -> None:
    script.stall = 0.2
    series(script, *[b"data: " + b"x" * 1_000_000 + b"\n\n"] * 100)
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port, limit=1024)
    writer.write(b"GET /follow HTTP/1.1\r\nHost: x\r\n\r\n")
    await reader.readuntil(b"data: ")
    await wait_until(lambda: script.ended == 1, 20)
    writer.close()


async def test_reader_who_leaves_ends_its_series(served: Serving, script: Script) -> None:
    async def generate() -> AsyncGenerator[bytes]:
        try:
            yield b"data: 1\n\n"
            await asyncio.Event().wait()
        finally:
            script.ended += 1

    script.events = generate
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    writer.write(b"GET /follow HTTP/1.1\r\nHost: x\r\n\r\n")
    await reader.readuntil(b"data: 1")
    writer.close()
    await wait_until(lambda: script.ended == 1, 20)
