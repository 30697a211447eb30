"""An app with one handler for each thing that a request can do, and what the tests set and see of it."""

from __future__ import annotations

import asyncio

from fastapi import FastAPI, Request, Response

from shared.http.app_setup import configure_app
from shared.http.body import read_json_body
from shared.http.disconnect import while_connected
from shared.http.request_context import add_log_fields
from shared.parsing.byte_budget import ByteBudget
from shared.protocol import errors
from shared.protocol.deadline import Deadline


class SampleHandlers:
    """What the test app does: each test sets what it needs."""

    error: BaseException = RuntimeError()
    work_started = asyncio.Event()
    work_ended = asyncio.Event()


def create_sample_app(handlers: SampleHandlers) -> FastAPI:
    app = FastAPI(redirect_slashes=False, docs_url=None, redoc_url=None)
    configure_app(app, quiet_paths=("/health",))

    async def fail() -> Response:
        raise handlers.error

    async def body(request: Request) -> Response:
        deadline = Deadline.after(0.3, asyncio.get_running_loop().time)
        with ByteBudget(4000).reserve() as hold:
            return Response(await read_json_body(request, 1000, deadline, hold))

    async def work(request: Request) -> Response:
        with ByteBudget(400_000).reserve() as hold:
            await read_json_body(request, 300_000, Deadline.after(1, asyncio.get_running_loop().time), hold)

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
    return app
