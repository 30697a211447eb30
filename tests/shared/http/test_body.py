"""Request bodies within their limits, on a real socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import httpx
import pytest
from pydantic import BaseModel, Field

from shared.http.body import OPERATOR_READER
from shared.parsing.byte_budget import ByteBudget
from shared.protocol.errors import InvalidRequestError, OverloadedError
from tests.support.serving import Serving


async def test_body_at_the_limit_is_read_and_above_it_is_413(client: httpx.AsyncClient) -> None:
    assert (await client.post("/body", content=b"x" * 1000)).content == b"x" * 1000
    response = await client.post("/body", content=b"x" * 1001)
    assert (response.status_code, response.json()["limit"], response.json()["unit"]) == (413, 1000, "bytes")


async def test_content_length_above_the_limit_is_413_at_once(served: Serving) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    writer.write(
        b"POST /body HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 999999999\r\nExpect: 100-continue\r\n\r\n"
    )
    line = await asyncio.wait_for(reader.readline(), 5)
    writer.close()
    assert b" 413 " in line


@pytest.mark.parametrize("size", [1000, 1001])
async def test_chunked_body_is_counted_while_reading(client: httpx.AsyncClient, size: int) -> None:
    async def parts() -> AsyncGenerator[bytes]:
        for _ in range(size // 100):
            yield b"x" * 100
        yield b"x" * (size % 100)

    response = await client.post("/body", content=parts())
    assert response.status_code == (200 if size == 1000 else 413)


@pytest.mark.parametrize(("encoding", "status"), [("gzip", 415), ("br", 415), ("identity", 200), ("Identity", 200)])
async def test_compressed_body_is_415(client: httpx.AsyncClient, encoding: str, status: int) -> None:
    response = await client.post("/body", content=b"x", headers={"Content-Encoding": encoding})
    assert response.status_code == status


async def test_slow_body_is_504(served: Serving) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    writer.write(b"POST /body HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\nx")
    line = await asyncio.wait_for(reader.readline(), 5)
    writer.close()
    assert b" 504 " in line


def test_reservation_above_the_limit_is_refused() -> None:
    budget = ByteBudget(100)
    with budget.reserve() as first, budget.reserve() as second:
        first.take(60)
        second.take(40)
        with pytest.raises(OverloadedError) as refused:
            second.take(1)
        assert refused.value.retry_after is not None
    assert budget.reserved == 0


def test_reservation_is_released_on_every_path() -> None:
    budget = ByteBudget(100)

    def fail() -> None:
        with budget.reserve() as hold:
            hold.take(30)
            hold.take(40)
            assert budget.reserved == 70
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert budget.reserved == 0


class Order(BaseModel):
    """What an operator may send."""

    name: str
    count: int = Field(ge=0)


def test_validated_returns_the_model() -> None:
    assert OPERATOR_READER.validated({"name": "a", "count": 3}, Order).count == 3


def test_wrong_fields_are_all_named() -> None:
    with pytest.raises(InvalidRequestError) as caught:
        OPERATOR_READER.validated({"count": -3}, Order)
    assert {error["field"] for error in caught.value.facts["errors"]} == {"name", "count"}
