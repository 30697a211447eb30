"""Errors as clients see them: one form for all, on a real socket."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from types import ModuleType

import httpx
import pytest
from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException

from shared.http.body import read_body
from shared.http.body_budget import ByteBudget
from shared.http.disconnect import DISCONNECT_EXTENSION, DisconnectSignal, while_connected
from shared.http.problems import configure_app
from shared.http.request_context import add_log_fields
from shared.protocol import access_errors, errors
from shared.protocol.deadline import Deadline
from shared.protocol.error_codes import CODES
from shared.runtime.logging import request_id
from tests.fakes import Serving, serving
from tests.waiting import wait_until

JSON = {"Content-Type": "application/json"}


def every_error() -> list[errors.PairwayError]:
    return [
        errors.BadRequestError("x"),
        access_errors.KeyRequiredError("x"),
        access_errors.KeyRefusedError("x"),
        access_errors.PairRefusedError("en-de", ["en-fr"]),
        access_errors.OperatorOffError("x"),
        errors.UnknownPairError("en-de", ["en-fr"]),
        access_errors.UnknownReplicaError("http://a:1"),
        errors.SlowRequestError("x"),
        access_errors.FleetFullError(9),
        access_errors.UnknownKeyError("0123456789ab"),
        access_errors.KeysFullError(9),
        access_errors.PairRefusedError("en-de", ["en-fr"]),
        access_errors.RateLimitedError("too many", retry_after=3.2),
        access_errors.KeysUnavailableError("not now", retry_after=1.0),
        errors.NotFoundError("x"),
        errors.MethodNotAllowedError("x"),
        errors.TooLargeError("text", size=5, limit=4, unit="characters"),
        errors.UnsupportedMediaError("x"),
        access_errors.RateLimitedError("x", retry_after=3),
        access_errors.KeysUnavailableError("x"),
        errors.HeadTooLargeError(limit=3, unit="bytes"),
        errors.InvalidRequestError([("text", "is required")]),
        errors.LanguageUndetectedError("text", [("en", 0.51239)]),
        errors.ClientGoneError(),
        errors.InternalError("x"),
        errors.ReplicaFailedError("x"),
        errors.UnusableOutputError("x"),
        errors.OverloadedError("x", retry_after=0.2),
        errors.PairUnavailableError("en-de", "why", retry_after=1.2),
        errors.DeadlineExceededError("x"),
        errors.RelayedError(code="theirs", http_status=413, title="T", detail="D", facts={"limit": 3}),
    ]


class Handlers:
    """What the test app does: each test sets what it needs."""

    error: BaseException = RuntimeError()
    work_started = asyncio.Event()
    work_ended = asyncio.Event()
    read: list[bytes]


@pytest.fixture(scope="module")
def handlers() -> Handlers:
    return Handlers()


@pytest.fixture(scope="module")
async def served(handlers: Handlers) -> AsyncGenerator[Serving]:
    app = FastAPI()
    configure_app(app)

    async def fail() -> Response:
        raise handlers.error

    async def body(request: Request) -> Response:
        deadline = Deadline.after(0.3, asyncio.get_running_loop().time)
        with ByteBudget(4000).reserve() as hold:
            return Response(await read_body(request, 1000, deadline, hold))

    async def work(request: Request) -> Response:
        with ByteBudget(400_000).reserve() as hold:
            await read_body(request, 300_000, Deadline.after(1, asyncio.get_running_loop().time), hold)

        async def hard() -> str:
            handlers.work_started.set()
            try:
                await asyncio.sleep(float(request.query_params["seconds"]))
                if "fail" in request.query_params:
                    raise errors.OverloadedError("full", retry_after=2)
            finally:
                handlers.work_ended.set()
            return "done"

        add_log_fields(request, pair="en-de")
        return Response(await while_connected(request, hard()))

    app.add_api_route("/fail", fail)
    app.add_api_route("/health", fail)
    app.add_api_route("/body", body, methods=["POST"])
    app.add_api_route("/work", work, methods=["POST"])
    async with serving(app) as server:
        yield server


@pytest.fixture(scope="module")
async def client(served: Serving) -> AsyncGenerator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=served.url, trust_env=False, timeout=10, headers=JSON) as one:
        yield one


@pytest.fixture(autouse=True)
def fresh(handlers: Handlers) -> None:
    handlers.work_started.clear()
    handlers.work_ended.clear()


@pytest.mark.parametrize("file", [errors, access_errors])
def test_the_tree_in_the_docstring_is_the_tree(file: ModuleType) -> None:
    told = {line.split()[1]: line.split()[2:4] for line in (file.__doc__ or "").splitlines() if "── " in line}
    told.pop("RelayedError", None)
    kinds = [kind for kind in errors.PairwayError.__subclasses__() if kind.__module__ == file.__name__]
    real = {kind.__name__: [str(kind.http_status), kind.code] for kind in kinds}
    real.pop("RelayedError", None)
    assert told == real
    assert told


def test_every_code_is_listed() -> None:
    kinds = set(errors.PairwayError.__subclasses__())
    assert {type(error) for error in every_error()} == kinds
    assert {kind.code for kind in kinds} == CODES
    assert {"internal", "bad-request", "key-refused", "deadline-exceeded"} < CODES


@pytest.mark.parametrize("error", every_error(), ids=lambda error: type(error).__name__)
async def test_every_error_is_rendered_as_a_problem(
    client: httpx.AsyncClient, handlers: Handlers, error: errors.PairwayError
) -> None:
    handlers.error = error
    response = await client.get("/fail", headers={"X-Request-Id": "id-1"})
    problem = response.json()
    assert response.status_code == problem["status"] == error.http_status
    assert response.headers["content-type"] == "application/problem+json"
    assert problem["type"] == f"urn:pairway:{error.code}"
    assert (problem["code"], problem["title"], problem["detail"]) == (error.code, error.title, error.detail)
    assert problem["request_id"] == response.headers["x-request-id"] == "id-1"
    assert all(problem[name] == value for name, value in error.facts.items())


@pytest.mark.parametrize(("seconds", "header"), [(0.0, "1"), (0.2, "1"), (1.0, "1"), (1.2, "2"), (30.0, "30")])
async def test_retry_after_is_whole_seconds_and_at_least_one(
    client: httpx.AsyncClient, handlers: Handlers, seconds: float, header: str
) -> None:
    handlers.error = errors.OverloadedError("x", retry_after=seconds)
    assert (await client.get("/fail")).headers["retry-after"] == header


async def test_our_own_fault_shows_nothing_of_the_inside_and_its_traceback_can_be_found_by_the_id(
    client: httpx.AsyncClient, handlers: Handlers
) -> None:
    seen: list[str | None] = []

    class Note(logging.Filter):
        def filter(self, record: logging.LogRecord) -> bool:
            if record.exc_info:
                seen.append(request_id.get())
            return True

    note = Note()
    logging.getLogger("uvicorn.error").addFilter(note)
    try:
        handlers.error = RuntimeError("the secret inside")
        response = await client.get("/fail", headers={"X-Request-Id": "id-2"})
        await wait_until(lambda: seen, 3, "the traceback")
    finally:
        logging.getLogger("uvicorn.error").removeFilter(note)
    assert (response.status_code, response.json()["code"]) == (500, "internal")
    assert "secret" not in response.text
    assert response.headers["x-request-id"] == response.json()["request_id"] == "id-2"
    assert seen == ["id-2"]


async def test_a_foreign_http_error_is_our_fault_and_a_problem(client: httpx.AsyncClient, handlers: Handlers) -> None:
    handlers.error = HTTPException(418, "teapot")
    response = await client.get("/fail")
    assert (response.status_code, response.json()["code"]) == (500, "internal")


async def test_polled_paths_are_logged_only_when_they_fail_by_our_fault(
    client: httpx.AsyncClient, handlers: Handlers, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        handlers.error = errors.OverloadedError("x")
        await client.get("/health")
        assert [record for record in caplog.records if record.getMessage() == "request"] == []
        handlers.error = RuntimeError()
        await client.get("/health")
        await wait_until(lambda: [record for record in caplog.records if record.getMessage() == "request"], 3)


async def test_ids_are_made_where_none_came_and_differ(client: httpx.AsyncClient) -> None:
    ids = {(await client.get("/nothing")).headers["x-request-id"] for _ in range(5)}
    assert len(ids) == 5


async def test_a_long_path_is_cut_in_the_log(client: httpx.AsyncClient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        await client.get("/" + "x" * 5000)
    lines = [record for record in caplog.records if record.getMessage() == "request"]
    assert len(vars(lines[0])["path"]) == 128


async def test_a_body_at_the_limit_is_read_one_byte_more_is_not(client: httpx.AsyncClient) -> None:
    assert (await client.post("/body", content=b"x" * 1000)).content == b"x" * 1000
    response = await client.post("/body", content=b"x" * 1001)
    assert (response.status_code, response.json()["limit"], response.json()["unit"]) == (413, 1000, "bytes")


async def test_a_body_too_large_by_its_own_word_is_refused_before_it_comes(served: Serving) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    writer.write(
        b"POST /body HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 999999999\r\nExpect: 100-continue\r\n\r\n"
    )
    line = await asyncio.wait_for(reader.readline(), 5)
    writer.close()
    assert b" 413 " in line


@pytest.mark.parametrize("size", [1000, 1001])
async def test_a_body_in_chunks_is_counted_as_it_comes(client: httpx.AsyncClient, size: int) -> None:
    async def parts() -> AsyncGenerator[bytes]:
        for _ in range(size // 100):
            yield b"x" * 100
        yield b"x" * (size % 100)

    response = await client.post("/body", content=parts())
    assert response.status_code == (200 if size == 1000 else 413)


@pytest.mark.parametrize(("encoding", "status"), [("gzip", 415), ("br", 415), ("identity", 200), ("Identity", 200)])
async def test_only_a_plain_body_is_read(client: httpx.AsyncClient, encoding: str, status: int) -> None:
    response = await client.post("/body", content=b"x", headers={"Content-Encoding": encoding})
    assert response.status_code == status


async def test_a_slow_body_is_given_up(served: Serving) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    writer.write(b"POST /body HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\nx")
    line = await asyncio.wait_for(reader.readline(), 5)
    writer.close()
    assert b" 504 " in line


@pytest.mark.parametrize("size", [1, 60_000, 200_000])
async def test_work_is_cancelled_when_the_client_hangs_up(
    served: Serving, handlers: Handlers, caplog: pytest.LogCaptureFixture, size: int
) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", served.port)
    with caplog.at_level(logging.INFO):
        writer.write(
            b"POST /work?seconds=60 HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n%s" % (size, b"x" * size)
        )
        await asyncio.wait_for(handlers.work_started.wait(), 3)
        writer.close()
        await asyncio.wait_for(handlers.work_ended.wait(), 3)
        lines = await wait_until(lambda: [each for each in caplog.records if each.getMessage() == "request"], 3)
    assert (vars(lines[0])["status"], vars(lines[0])["code"], vars(lines[0])["pair"]) == (499, "client-gone", "en-de")


async def test_work_for_a_client_that_has_left_before_is_not_begun() -> None:
    departure = DisconnectSignal()
    departure.set()
    request = Request({"type": "http", "headers": [], "extensions": {DISCONNECT_EXTENSION: departure}})
    begun = False

    async def hard() -> None:
        nonlocal begun
        begun = True

    with pytest.raises(errors.ClientGoneError):
        await while_connected(request, hard())
    assert not begun


async def test_work_that_ends_answers_and_leaves_no_task_behind(client: httpx.AsyncClient) -> None:
    before = len(asyncio.all_tasks())
    for _ in range(5):
        assert (await client.post("/work?seconds=0", content=b"x")).text == "done"
    await wait_until(lambda: len(asyncio.all_tasks()) <= before + 2, 3, "no tasks left")


async def test_work_that_fails_answers_with_its_error(client: httpx.AsyncClient) -> None:
    response = await client.post("/work?seconds=0&fail=1", content=b"x")
    assert (response.status_code, response.headers["retry-after"]) == (503, "2")
