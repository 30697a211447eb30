"""Keyed load of a row: an open loop over every pair, one of them through a pivot."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from typing import Any

from benchmarks.harness.http_client import HttpClient
from benchmarks.harness.load import Sample, Send, Stream, Timing, run_load

# The last has no model: it goes through English.
SENTENCES = {
    "en-de": "I have {} books.",
    "de-en": "Ich habe {} Bücher.",
    "en-fr": "I have {} books.",
    "fr-en": "J'ai {} livres.",
    "en-es": "I have {} books.",
    "es-en": "Tengo {} libros.",
    "de-fr": "Ich habe {} Bücher.",
}
PAIRS = tuple(SENTENCES)
# A small model cannot translate every number.
NUMBERS = range(50, 90)
# Longer than the servers' own limit for such a text.
CLIENT_SECONDS = 35.0
# For the last responses of a load.
LAST_SECONDS = 2 * CLIENT_SECONDS


class Traffic:
    """Requests of all pairs to one URL, at ``rate`` a second together; ``samples`` grows while it sends."""

    def __init__(self, url: str, key: str, rate: float) -> None:
        self.samples: list[Sample] = []
        self._http = HttpClient(f"{url}/translate", timeout=CLIENT_SECONDS)
        self._headers = f"Authorization: Bearer {key}\r\n"
        self._streams = [Stream(pair, rate / len(PAIRS)) for pair in PAIRS]
        self._stop = asyncio.Event()

    @asynccontextmanager
    async def running(self, seed: object) -> AsyncGenerator[Traffic]:
        """Send while the block lasts, then wait for the last responses."""
        sends = [(stream, self._sender(stream.name)) for stream in self._streams]
        task = asyncio.create_task(run_load(sends, self.samples, Timing(), stop=self._stop, seed=seed))
        try:
            yield self
            self._stop.set()
            await asyncio.wait_for(task, LAST_SECONDS)
        finally:
            task.cancel()
            await asyncio.wait({task})
            self._http.close()

    def served_since(self, began: float) -> set[str]:
        """Return the pairs that translated something sent since then."""
        return {sample.stream for sample in self.samples if sample.sent >= began and not sample.failed}

    async def status_without_key(self) -> int:
        """Return how a caller without a key is answered."""
        body = json.dumps({"text": "I have 60 books.", "source_lang": "en", "target_lang": "de"}).encode()
        return (await self._http.post(body)).status

    async def translate(self, pair: str, text: str, number: int = 0, due: float | None = None) -> Sample:
        """Send one text; the sample is no part of the load's."""
        source, target = pair.split("-")
        body = json.dumps({"text": text, "source_lang": source, "target_lang": target}).encode()
        sent = time.monotonic()
        status, code, model, retry_after = 0, "", "", -1.0
        try:
            response = await self._http.post(body, self._headers)
            status = response.status
            wait = response.headers.get(b"retry-after", b"")
            retry_after = float(wait) if wait.isdigit() else -1.0
            code, model = judged(status, response.body)
        except OSError as error:
            code = type(error).__name__
        ended = time.monotonic()
        return Sample(pair, number, 1.0, sent if due is None else due, sent, ended, status, code, model, retry_after)

    def _sender(self, pair: str) -> Send:
        numbers = _numbers()

        async def send(due: float) -> None:
            number, named = next(numbers)
            self.samples.append(await self.translate(pair, SENTENCES[pair].format(named), number, due))

        return send


def _numbers() -> Iterator[tuple[int, int]]:
    return zip(itertools.count(), itertools.cycle(NUMBERS), strict=False)


def judged(status: int, body: bytes) -> tuple[str, str]:
    """Return the problem's code, or what is wrong with a translation (empty for a right one), and the model."""
    try:
        content: dict[str, Any] = json.loads(body)
        if status != 200:
            return str(content.get("code", "no-code")), ""
        return ("" if content.get("translation") else "no-translation"), str(content.get("model", ""))
    except (ValueError, AttributeError):
        return "no-json", ""
