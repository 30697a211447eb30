"""What short requests feel of a long document: their latency beside it and without it, and the servers' memory.

    make up                    # in another terminal
    python -m benchmarks.quality.long_text --pairs FILE.tsv [--url http://127.0.0.1:8000] [--chars 100000] [--rate 10]

An open loop of single sentences at ``--rate`` a second, first alone, then while one document of ``--chars`` characters
(sentences of the file, in paragraphs) is translated through the same proxy. Memory is the resident size of every
process below ``make up``.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import httpx
import psutil

from models.corpus import read_pairs

SENTENCES_PER_PARAGRAPH: Final = 6
ALONE_SECONDS: Final = 20.0
PATIENCE_SECONDS: Final = 600.0
MEGABYTE: Final = 1 << 20


@dataclass
class Beat:
    """An open loop of short requests: one every ``pause`` seconds, however long the others take."""

    client: httpx.AsyncClient
    sentences: Sequence[str]
    pause: float
    seconds: list[float] = field(default_factory=list[float])
    failed: int = 0

    async def run(self, until: asyncio.Event) -> None:
        """Send requests until the event is set, and wait for the last."""
        async with asyncio.TaskGroup() as group:
            number = 0
            while not until.is_set():
                group.create_task(self._one(self.sentences[number % len(self.sentences)]))
                number += 1
                await asyncio.sleep(self.pause)

    async def _one(self, text: str) -> None:
        began = time.monotonic()
        answer = await self.client.post("/translate", json={"text": text, "source_lang": "en", "target_lang": "de"})
        self.failed += not answer.is_success
        self.seconds.append(time.monotonic() - began)

    def percentile(self, percent: int) -> float:
        """Return a percentile of the latencies, milliseconds."""
        return statistics.quantiles(self.seconds, n=100)[percent - 1] * 1000


def document(sentences: Sequence[str], chars: int) -> str:
    """Return sentences in paragraphs, as many characters as asked for, give or take a sentence."""
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
        kind = next(
            (kind for kind in ("proxy", "apiserver", "EngineCore") if any(kind in word for word in words)), None
        )
        if kind is not None:
            sizes[f"{kind} {process.pid}"] = process.memory_info().rss / MEGABYTE
    return sizes


async def measure(options: argparse.Namespace) -> None:
    """Print both latencies, their ratio, and what grew."""
    sentences = [pair.english for pair in read_pairs(options.pairs)]
    async with httpx.AsyncClient(base_url=options.url, timeout=PATIENCE_SECONDS) as client:
        warm = asyncio.Event()
        asyncio.get_running_loop().call_later(2, warm.set)
        await Beat(client, sentences, 1 / options.rate).run(warm)
        before = memory()

        alone, enough = Beat(client, sentences, 1 / options.rate), asyncio.Event()
        asyncio.get_running_loop().call_later(ALONE_SECONDS, enough.set)
        await alone.run(enough)

        beside, done = Beat(client, sentences, 1 / options.rate), asyncio.Event()
        beat = asyncio.create_task(beside.run(done))
        text = document(sentences, options.chars)
        most = dict(before)

        async def watch() -> None:
            while not done.is_set():
                for name, size in memory().items():
                    most[name] = max(size, most.get(name, 0.0))
                await asyncio.sleep(0.2)

        watching = asyncio.create_task(watch())
        began = time.monotonic()
        answer = await client.post("/translate", json={"text": text, "source_lang": "en", "target_lang": "de"})
        took = time.monotonic() - began
        done.set()
        await asyncio.gather(beat, watching)
    print(f"document: {len(text)} characters, status {answer.status_code}, {took:.1f} s")
    print(f"warnings: {answer.json().get('warnings')}")
    for name, loop in (("alone", alone), ("beside it", beside)):
        print(
            f"short requests {name}: {len(loop.seconds)}, {loop.failed} failed, "
            f"p50 {loop.percentile(50):.0f} ms, p95 {loop.percentile(95):.0f} ms"
        )
    print(f"p95 beside / alone: {beside.percentile(95) / alone.percentile(95):.2f}")
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
