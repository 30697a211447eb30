"""Short requests beside a long document: their latency beside it and without it, and the servers' memory.

    make up                    # in another terminal
    python -m benchmarks.quality.long_text --pairs FILE.tsv [--url http://127.0.0.1:8000] [--chars 100000] [--rate 10]

An open loop of single sentences at ``--rate`` a second, first alone, then while one document of ``--chars`` characters
(sentences of the file, in paragraphs) is translated through the same proxy. Memory is the resident size of every
process below ``make up``.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import aiohttp
import psutil

from benchmarks.harness.load import open_loop, steady
from benchmarks.harness.report import percentile_ms
from models.corpus import read_pairs

SENTENCES_PER_PARAGRAPH: Final = 6
WARM_UP_SECONDS: Final = 2.0
ALONE_SECONDS: Final = 20.0
TIMEOUT_SECONDS: Final = 600.0
MEMORY_SECONDS: Final = 0.2
MEGABYTE: Final = 1 << 20
SERVERS: Final = ("proxy", "apiserver", "EngineCore")


class ShortRequests:
    """Latencies of single sentences that are sent at a steady rate."""

    def __init__(self, session: aiohttp.ClientSession, sentences: Sequence[str], rate: float) -> None:
        self._session = session
        self._sentences = itertools.cycle(sentences)
        self._rate = rate
        self._seconds: list[float] = []
        self._failed = 0

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Send while the block lasts; wait for the last response."""
        stop = asyncio.Event()
        loop = asyncio.create_task(open_loop(steady(self._rate), self._send, stop))
        try:
            yield
        finally:
            stop.set()
            await loop

    async def _send(self, due: float) -> None:
        status, _ = await translate(self._session, next(self._sentences))
        self._failed += status != 200
        self._seconds.append(time.monotonic() - due)

    def p95_ms(self) -> float:
        """Return the 95th percentile of the latencies, milliseconds."""
        return percentile_ms(self._seconds, 95)

    def line(self) -> str:
        """Return the figures in words."""
        p50 = percentile_ms(self._seconds, 50)
        return f"{len(self._seconds)}, {self._failed} failed, p50 {p50:.0f} ms, p95 {self.p95_ms():.0f} ms"


async def translate(session: aiohttp.ClientSession, text: str) -> tuple[int, dict[str, Any]]:
    """Translate a text into German; return status and JSON."""
    body = {"text": text, "source_lang": "en", "target_lang": "de"}
    async with session.post("/translate", json=body) as response:
        return response.status, await response.json(content_type=None)


def document(sentences: Sequence[str], chars: int) -> str:
    """Return sentences in paragraphs, as many characters as wanted, give or take a sentence."""
    parts: list[str] = []
    size = 0
    for number in range(chars):
        sentence = sentences[number % len(sentences)]
        parts += [sentence, "\n\n" if number % SENTENCES_PER_PARAGRAPH == SENTENCES_PER_PARAGRAPH - 1 else " "]
        size += len(sentence) + len(parts[-1])
        if size >= chars:
            break
    return "".join(parts).strip()


def memory() -> dict[str, float]:
    """Return the resident megabytes of each of our servers, EngineCores included."""
    sizes: dict[str, float] = {}
    for process in psutil.process_iter(["cmdline", "name"]):
        words: list[str] = [*(process.info["cmdline"] or []), process.info["name"] or ""]
        kind = next((kind for kind in SERVERS if any(kind in word for word in words)), None)
        if kind is not None:
            sizes[f"{kind} {process.pid}"] = process.memory_info().rss / MEGABYTE
    return sizes


async def watch_memory(most: dict[str, float]) -> None:
    """Keep the largest size of each process, until cancelled."""
    while True:
        for name, size in memory().items():
            most[name] = max(size, most.get(name, 0.0))
        await asyncio.sleep(MEMORY_SECONDS)


async def measure(options: argparse.Namespace) -> None:
    """Print both latencies, their ratio, and what grew."""
    sentences = [pair.english for pair in read_pairs(options.pairs)]
    timeout = aiohttp.ClientTimeout(total=TIMEOUT_SECONDS)
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(options.url, connector=connector, timeout=timeout) as session:
        async with ShortRequests(session, sentences, options.rate).running():
            await asyncio.sleep(WARM_UP_SECONDS)
        before = memory()
        alone = ShortRequests(session, sentences, options.rate)
        async with alone.running():
            await asyncio.sleep(ALONE_SECONDS)
        text = document(sentences, options.chars)
        most = dict(before)
        watching = asyncio.create_task(watch_memory(most))
        beside = ShortRequests(session, sentences, options.rate)
        async with beside.running():
            began = time.monotonic()
            status, content = await translate(session, text)
            seconds = time.monotonic() - began
        watching.cancel()
    print(f"document: {len(text)} characters, status {status}, {seconds:.1f} s")
    print(f"warnings: {content.get('warnings')}")
    print(f"short requests alone: {alone.line()}\nshort requests beside it: {beside.line()}")
    print(f"p95 beside / alone: {beside.p95_ms() / alone.p95_ms():.2f}")
    for name, size in most.items():
        print(f"{name}: {before.get(name, 0.0):.0f} MB before, at most {size:.0f} MB")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.quality.long_text", description="Short requests beside a long one."
    )
    parser.add_argument("--pairs", type=Path, required=True, help="file of english<TAB>german lines")
    parser.add_argument("--url", default="http://127.0.0.1:8000", help="proxy (default: %(default)s)")
    parser.add_argument("--chars", type=int, default=100_000, help="length of the document (default: %(default)s)")
    parser.add_argument("--rate", type=float, default=10.0, help="short requests a second (default: %(default)s)")
    asyncio.run(measure(parser.parse_args(arguments)))


if __name__ == "__main__":
    main()
