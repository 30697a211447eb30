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
import contextlib
import itertools
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import psutil

from benchmarks.harness.http_client import HttpClient
from benchmarks.harness.http_load import LoadPlan, LoadProcess
from benchmarks.harness.load import LoadResult, Stream, Timing, failures
from benchmarks.harness.texts import TextSource, read_sentences

SENTENCES_PER_PARAGRAPH: Final = 6
WARM_UP_SECONDS: Final = 2.0
ALONE_SECONDS: Final = 20.0
TIMEOUT_SECONDS: Final = 600.0
MEMORY_SECONDS: Final = 0.2
MEGABYTE: Final = 1 << 20
SERVERS: Final = ("proxy", "apiserver", "EngineCore")


def line(load: LoadResult) -> str:
    """Return a load's figures in words."""
    failed = sum(failures(load.samples).values())
    return f"{len(load.due)}, {failed} failed, p50 {load.latency_ms(50):.0f} ms, p95 {load.latency_ms(95):.0f} ms"


def document(sentences: Sequence[str], chars: int) -> str:
    """Return sentences in paragraphs, as many characters as wanted, give or take a sentence."""
    text = ""
    for number, sentence in enumerate(itertools.cycle(sentences), 1):
        text += sentence + (" " if number % SENTENCES_PER_PARAGRAPH else "\n\n")
        if len(text) >= chars:
            return text.strip()
    raise ValueError("there are no sentences")


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


async def measure(options: argparse.Namespace, folder: Path) -> None:
    """Print both latencies, their ratio, and what grew."""
    url, streams = f"{options.url}/translate", [Stream("short", options.rate, poisson=False)]

    def load(name: str, timing: Timing, first: int) -> LoadProcess:
        texts = TextSource(first=first, pairs=str(options.pairs), alone=True)
        return LoadProcess(LoadPlan(url, streams, texts, timing, timeout=TIMEOUT_SECONDS), folder, name)

    alone = await load("alone", Timing(ALONE_SECONDS, WARM_UP_SECONDS), 0).run()
    text, before = document(read_sentences(options.pairs), options.chars), memory()
    most = dict(before)
    watching = asyncio.create_task(watch_memory(most))
    async with load("beside", Timing(), len(alone.samples)).running() as short:
        began = time.monotonic()
        body = json.dumps({"text": text, "source_lang": "en", "target_lang": "de"}).encode()
        with contextlib.closing(HttpClient(url, timeout=TIMEOUT_SECONDS)) as client:
            response = await client.post(body)
        seconds = time.monotonic() - began
        beside = await short.stop()
    watching.cancel()
    print(f"document: {len(text)} characters, status {response.status}, {seconds:.1f} s")
    print(f"warnings: {json.loads(response.body).get('warnings')}")
    print(f"short requests alone: {line(alone)}\nshort requests beside it: {line(beside)}")
    print(f"p95 beside / alone: {beside.latency_ms(95) / alone.latency_ms(95):.2f}")
    for name, size in most.items():
        print(f"{name}: {before.get(name, 0.0):.0f} MB before, at most {size:.0f} MB")


def main() -> None:
    """Measure and print."""
    formatter = argparse.ArgumentDefaultsHelpFormatter
    parser = argparse.ArgumentParser("python -m benchmarks.quality.long_text", formatter_class=formatter)
    parser.add_argument("--pairs", type=Path, required=True, help="file of english<TAB>german lines")
    parser.add_argument("--url", default="http://127.0.0.1:8000", help="proxy")
    parser.add_argument("--chars", type=int, default=100_000, help="length of the document")
    parser.add_argument("--rate", type=float, default=10.0, help="short requests a second")
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(parser.parse_args(), Path(folder)))


if __name__ == "__main__":
    main()
