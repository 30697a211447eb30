"""What an HTTP client costs the proxy: CPU per request of httpx and aiohttp against the same small server.

    python -m benchmarks.http_client [--requests 2000] [--rounds 5]

Only this process's CPU counts (user + system); the server is a process of its own. Rounds are interleaved and the
median is printed, with the ratio within the run, so that a noisy machine falls on both alike.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import statistics
import time
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import httpx
import uvicorn
import uvloop

BODY = b'{"text":"Where is the station?","source_lang":"en","target_lang":"de"}'
ANSWER = b'{"translation":"Wo ist der Bahnhof?","source_lang":"en","target_lang":"de","model":"en-de"}'
CONCURRENCIES = (1, 32, 128)
Post = Callable[[], Awaitable[bytes]]


async def answer(scope: dict[str, Any], receive: Callable[[], Awaitable[Any]], send: Any) -> None:
    """Answer every request at once with the same small body."""
    if scope["type"] != "http":
        return
    while (await receive()).get("more_body"):
        pass
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(ANSWER)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": ANSWER})


def serve(port: int) -> None:
    """Run the server until terminated."""
    uvicorn.run(answer, host="127.0.0.1", port=port, log_level="error", lifespan="off", access_log=False)  # pyright: ignore[reportArgumentType] - a plain ASGI function


async def cpu_per_request(post: Post, requests: int, concurrency: int) -> float:
    """Return the microseconds of CPU this process spent per request."""
    left = requests

    async def worker() -> None:
        nonlocal left
        while left > 0:
            left -= 1
            if await post() != ANSWER:
                raise RuntimeError("the server answered something else")

    started = time.process_time()
    await asyncio.gather(*(worker() for _ in range(concurrency)))
    return (time.process_time() - started) / requests * 1e6


async def measure(url: str, requests: int, rounds: int) -> None:
    """Print a table: median CPU per request of each client at each concurrency."""
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    async with (
        httpx.AsyncClient(limits=limits, trust_env=False, timeout=30) as slow,
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as quick,
    ):

        async def with_httpx() -> bytes:
            return (await slow.post(url, content=BODY)).content

        async def with_aiohttp() -> bytes:
            async with quick.post(url, data=BODY) as response:
                return await response.read()

        print(f"{'concurrency':>11} {'httpx µs':>9} {'aiohttp µs':>10} {'ratio':>6}")
        for concurrency in CONCURRENCIES:
            found: dict[str, list[float]] = {"httpx": [], "aiohttp": []}
            for _ in range(rounds):
                found["httpx"].append(await cpu_per_request(with_httpx, requests, concurrency))
                found["aiohttp"].append(await cpu_per_request(with_aiohttp, requests, concurrency))
            ours = {name: statistics.median(values) for name, values in found.items()}
            ratio = ours["httpx"] / ours["aiohttp"]
            print(f"{concurrency:>11} {ours['httpx']:>9.0f} {ours['aiohttp']:>10.0f} {ratio:>6.1f}")


def main() -> None:
    """Start the server, measure, stop it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=2000, help="requests per round")
    parser.add_argument("--rounds", type=int, default=5, help="rounds per client and concurrency")
    parser.add_argument("--port", type=int, default=18099)
    arguments = parser.parse_args()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(arguments.port,), daemon=True)
    server.start()
    time.sleep(2)
    try:
        uvloop.run(measure(f"http://127.0.0.1:{arguments.port}/", arguments.requests, arguments.rounds))
    finally:
        server.terminate()
        server.join()


if __name__ == "__main__":
    main()
