"""Measures the pages in headless Chromium, with the demo model and usual settings.

    make bench-page                                   # about three minutes
    python -m tests.pages.bench --rounds 3 --out .run/page

Real processes: Redis, an API server with the model en-de, two proxies, and two replicas that cost nothing, one of which is killed.
Exit status 1 when a target is missed. The report is OUT/report.md, the figures OUT/results.json.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final

import httpx

from benchmarks.harness.processes import (
    ROOT,
    Server,
    free_port,
    proxy_server,
    python_server,
    ready_replicas,
    redis_server,
    running,
    usage_of,
)
from benchmarks.harness.program import options_parser, run_guarded
from benchmarks.harness.replicas import SimulatedFleet
from benchmarks.harness.report import Checks, RunFolder, table
from tests.pages.bench_loading import key_ms, layout_shift, transferred, usable_ms
from tests.pages.tabs import Chromium, chromium
from tests.support.waiting import wait_until

READY_SECONDS: Final = 400.0
KEYS_A_SECOND: Final = 5
VIEWERS: Final = 50
REPLICAS: Final = 2
# Requests go on all the time, so that viewers have news.
REQUESTS_A_SECOND: Final = 10
# At most sixty characters, and no two alike: a proxy keeps translations. Of several lengths, so that the last key does not always
# come just before the page's next request of every two seconds.
SENTENCES: Final = (
    "The old house stands beside the river near the green forest.",
    "My brother reads a long book in the garden every week.",
    "The children play in the park after school with a puppy.",
    "We drink coffee in the kitchen and talk about the year.",
    "The train to the city leaves at seven from the main station.",
)
# A stream takes a tenth of a second, and its time varies by as much as confidence costs.
STREAMS_A_ROUND: Final = 20
KILOBYTE: Final = 1000
MAX_KILOBYTES: Final = 150
MAX_REQUESTS: Final = 8
MAX_LOADS: Final = 8
MAX_USABLE_SECONDS: Final = 2.0
MAX_SHIFT: Final = 0.01
MAX_KEY_MS: Final = 15.0
MAX_ADDED_MS: Final = 300.0
MAX_CONFIDENCE_PERCENT: Final = 15.0
MAX_DEAD_SECONDS: Final = 3.0
MAX_CPU_PERCENT: Final = 2.0
PERCENT: Final = 100
SECOND_MS: Final = 1000.0
# Notes when keys were pressed, requests sent, and the translation changed, in milliseconds of the page's clock.
NOTE_TYPING: Final = """sentence => {
  window.noted = {key: 0, sent: [], whole: Infinity, shown: []};
  const send = window.fetch;
  window.fetch = (address, options) => {
    if (options?.method === "POST") {
      noted.sent.push(performance.now());
      if (JSON.parse(options.body).text === sentence) noted.whole = noted.sent.at(-1);
    }
    return send(address, options);
  };
  addEventListener("input", () => { noted.key = performance.now(); }, true);
  const isOutput = ({target}) => (target instanceof Element ? target : target.parentElement)?.closest("#translation");
  new MutationObserver(records => { if (records.some(isOutput)) noted.shown.push(performance.now()); })
    .observe(document.body, {subtree: true, childList: true, characterData: true});
}"""
# Notes the Unix time at which the page first says that something is down.
NOTE_DEATH: Final = """() => {
  window.deadAt = 0;
  const look = () => {
    if (!window.deadAt && document.querySelector("table.replicas tr.bad")) window.deadAt = Date.now() / 1000;
  };
  window.watch = new MutationObserver(look);
  window.watch.observe(document.body, {subtree: true, childList: true, attributes: true, characterData: true});
}"""


@dataclass
class Figures:
    """What was measured; milliseconds, seconds and bytes as the names say."""

    page_bytes: int = 0
    status_bytes: int = 0
    # Of both pages, by their names.
    loads: dict[str, int] = field(default_factory=dict[str, int])
    usable_ms: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    shifts: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    # In a text of 100,000 characters: on the page, and in a bare text field.
    key_ms: list[float] = field(default_factory=list[float])
    bare_key_ms: list[float] = field(default_factory=list[float])
    requests: list[int] = field(default_factory=list[int])
    first_words_ms: list[float] = field(default_factory=list[float])
    engine_ms: list[float] = field(default_factory=list[float])
    # Whole streams of the API server alone, without confidence and with it.
    plain_ms: list[float] = field(default_factory=list[float])
    confident_ms: list[float] = field(default_factory=list[float])
    dead_seconds: list[float] = field(default_factory=list[float])
    alone_percent: float = 0.0
    viewed_percent: float = 0.0
    # Of all viewers, while the CPU was measured for so many seconds.
    statuses_sent: int = 0
    viewing_seconds: float = 0.0

    def judge(self, checks: Checks) -> None:
        """Add the targets."""
        added = median(self.first_words_ms) - median(self.engine_ms)
        checks.at_most(
            "transferred for `/`, headers included", self.page_bytes / KILOBYTE, MAX_KILOBYTES, " kB", timing=False
        )
        for page, count in self.loads.items():
            checks.at_most(f"requests for {page}", count, MAX_LOADS)
            checks.at_most(
                f"far {page} usable, median", median(self.usable_ms[page]) / SECOND_MS, MAX_USABLE_SECONDS, " s"
            )
            checks.at_most(f"layout shift of {page}, most", max(self.shifts[page]), MAX_SHIFT)
        share = median(self.key_ms) - median(self.bare_key_ms)
        checks.at_most(
            "processor time of a key in a long text, beyond a bare field's, median", share, MAX_KEY_MS, " ms"
        )
        checks.at_most("requests for a sentence of up to 60 characters, most", max(self.requests), MAX_REQUESTS)
        checks.at_most("last key to first words, beyond the engine's own, median", added, MAX_ADDED_MS, " ms")
        cost = median(self.confident_ms) / median(self.plain_ms) - 1
        checks.at_most("confidence: longer whole stream, median", PERCENT * cost, MAX_CONFIDENCE_PERCENT, " %")
        checks.at_most("dead replica on `/status`, median", median(self.dead_seconds), MAX_DEAD_SECONDS, " s")
        viewers = self.viewed_percent - self.alone_percent
        checks.holds("viewers got statuses", self.statuses_sent >= VIEWERS)
        checks.at_most(f"CPU of {VIEWERS} open `/status`", viewers, MAX_CPU_PERCENT, " % of a core")

    def lines(self) -> list[str]:
        """Return the table."""

        def shown(values: list[float], style: str) -> str:
            return f"{', '.join(format(each, style) for each in sorted(values))}; median {median(values):{style}}"

        plain, confident = median(self.plain_ms), median(self.confident_ms)
        rows = [
            ("transferred, headers included", f"`/` {self.page_bytes:,} bytes; `/status` {self.status_bytes:,} bytes"),
            ("requests for a page", "; ".join(f"{page} {count}" for page, count in self.loads.items())),
            *(
                (f"{page} usable at 300 ms a round trip, ms", shown(values, ".0f"))
                for page, values in self.usable_ms.items()
            ),
            *((f"layout shift of {page}", shown(values, ".3f")) for page, values in self.shifts.items()),
            ("processor time of a key in 100,000 characters, ms", shown(self.key_ms, ".1f")),
            ("the same in a bare text field, ms", shown(self.bare_key_ms, ".1f")),
            ("requests for a sentence", ", ".join(map(str, self.requests))),
            ("last key to first words, ms", shown(self.first_words_ms, ".0f")),
            ("the engine's own first words, ms", shown(self.engine_ms, ".0f")),
            ("confidence: the engine's whole stream, medians", f"{plain:.1f} ms without, {confident:.1f} ms with it"),
            ("killed replica to its row, s", shown(self.dead_seconds, ".2f")),
            (
                "CPU of the proxy, % of a core",
                f"{self.alone_percent:.1f} without and {self.viewed_percent:.1f} with {VIEWERS} viewers",
            ),
            ("statuses a viewer got in a second", f"{self.statuses_sent / VIEWERS / self.viewing_seconds:.1f}"),
        ]
        return table(("figure", "each round"), rows)


class Fleet:
    """The processes: a proxy in front of the model, and one in front of replicas that cost nothing."""

    def __init__(self, out: Path) -> None:
        redis_port, port = free_port(), free_port()
        ports = [free_port() for _ in range(REPLICAS + 2)]
        fleets = [SimulatedFleet(each, 1) for each in ports[:REPLICAS]]
        self.api_server_url = f"http://127.0.0.1:{port}"
        self.url, self.status_url = (f"http://127.0.0.1:{each}" for each in ports[REPLICAS:])
        environment = {
            "APISERVER_CATALOG": str(ROOT / "deploy/models/demo.yaml"),
            "APISERVER_MODELS": "en-de",
            "APISERVER_PORT": str(port),
        }
        self.victim, other = (fleet.server(out) for fleet in fleets)
        urls = [fleet.urls()[0] for fleet in fleets]
        settings = {"PROXY_REDIS_PREFIX": "other:"}
        self.status_proxy = proxy_server(out, ports[-1], urls, redis_port, "status-proxy", settings)
        self.servers: list[Server] = [
            redis_server(redis_port, out),
            python_server("apiserver", out, environment, "apiserver"),
            self.victim,
            other,
            proxy_server(out, ports[-2], [self.api_server_url], redis_port, "proxy"),
            self.status_proxy,
        ]

    def is_ready(self) -> bool:
        """Say whether all replicas are ready."""
        return ready_replicas(self.url, "en-de") == 1 and self.has_both()

    def has_both(self) -> bool:
        """Say whether both replicas of the second proxy are ready."""
        return ready_replicas(self.status_url, "en-de") == REPLICAS


async def measure(out: Path, options: argparse.Namespace) -> Figures:
    """Measure everything once, or in rounds."""
    fleet, figures = Fleet(out), Figures(viewing_seconds=options.seconds)
    async with running(fleet.servers, fleet.is_ready, READY_SECONDS), chromium() as browser:
        await load_pages(browser, fleet, figures, options.rounds)
        for number in range(options.rounds):
            await type_sentence(browser, fleet, SENTENCES[number % len(SENTENCES)], figures)
        await compare_streams(fleet, figures, options.rounds)
        await kill_replicas(browser, fleet, figures, options.rounds)
        await view_status(fleet, figures)
    return figures


async def load_pages(browser: Chromium, fleet: Fleet, figures: Figures, rounds: int) -> None:
    """Note what loading the pages costs, and keys in a long text."""
    translate, status = f"{fleet.url}/", f"{fleet.status_url}/status"
    figures.loads["`/`"], figures.page_bytes = await transferred(browser, translate, "translate")
    figures.loads["`/status`"], figures.status_bytes = await transferred(browser, status, "status")
    for _ in range(rounds):
        for name, url, page in (("`/`", translate, "translate"), ("`/status`", status, "status")):
            figures.usable_ms.setdefault(name, []).append(await usable_ms(browser, url, page))
            figures.shifts.setdefault(name, []).append(await layout_shift(browser, url, page))
        on_page, bare = await key_ms(browser, translate)
        figures.key_ms.append(on_page)
        figures.bare_key_ms.append(bare)


async def type_sentence(browser: Chromium, fleet: Fleet, sentence: str, figures: Figures) -> None:
    """Type a sentence; note its requests, and the time from its last key to the first words; then ask the engine alone."""
    async with browser.person() as tab:
        await tab.open(f"{fleet.url}/")
        await tab.until("document.querySelectorAll('#target-language option').length > 0")
        await tab.choose("#source-language", "en")
        await tab.choose("#target-language", "de")
        await tab.run(NOTE_TYPING, sentence)
        await tab.type("#source-text", sentence, pause_ms=SECOND_MS / KEYS_A_SECOND)
        await tab.until("noted.shown.some(at => at > noted.whole)")
        noted: dict[str, Any] = await tab.run("noted")
    first = next(at for at in noted["shown"] if at > noted["whole"])
    figures.requests.append(len(noted["sent"]))
    figures.first_words_ms.append(first - noted["key"])
    figures.engine_ms.append((await stream_ms(fleet.api_server_url, sentence, confidence=True))[0])


async def compare_streams(fleet: Fleet, figures: Figures, rounds: int) -> None:
    """Note what confidence costs a stream; each sentence is asked for with it and without, one after the other."""
    for number in range(rounds * STREAMS_A_ROUND):
        sentence = SENTENCES[number % len(SENTENCES)]
        for confidence in (number % 2 == 0, number % 2 == 1):
            _, whole = await stream_ms(fleet.api_server_url, sentence, confidence=confidence)
            (figures.confident_ms if confidence else figures.plain_ms).append(whole)


async def stream_ms(url: str, sentence: str, *, confidence: bool) -> tuple[float, float]:
    """Return the milliseconds until the API server has the first words of a sentence, and all, asked alone."""
    body = {"text": sentence, "source_lang": "en", "target_lang": "de", "confidence": confidence}
    first = None
    async with httpx.AsyncClient(trust_env=False, timeout=60) as client:
        await client.get(f"{url}/livez")  # opens the connection
        began = time.perf_counter()
        async with client.stream(
            "POST", f"{url}/translate", json=body, headers={"Accept": "text/event-stream"}
        ) as answer:
            async for line in answer.aiter_lines():
                passed = SECOND_MS * (time.perf_counter() - began)
                if line.startswith("event: delta"):
                    first = first or passed
                if line.startswith("event: result") and first is not None:
                    return first, passed
    raise RuntimeError(f"{url} sent no words")


async def kill_replicas(browser: Chromium, fleet: Fleet, figures: Figures, rounds: int) -> None:
    """Kill a replica while a page is open, and note when the page says so; start it again."""
    async with browser.person() as tab:
        await tab.open(f"{fleet.status_url}/status")
        await tab.sees("table.replicas", "ready")
        for _ in range(rounds):
            await tab.run(NOTE_DEATH)
            killed = time.time()
            fleet.victim.kill()
            await tab.until("window.deadAt > 0")
            dead: float = await tab.run("window.deadAt")
            figures.dead_seconds.append(dead - killed)
            await tab.run("window.watch.disconnect()")
            fleet.victim.start()
            await wait_until(fleet.has_both, 60, "the replica is back")
            await tab.until("!document.querySelector('table.replicas tr.bad')")


async def view_status(fleet: Fleet, figures: Figures) -> None:
    """Note the proxy's CPU under a light load, without viewers and with them."""
    async with requests_going_on(fleet.status_url):
        figures.alone_percent = await cpu_percent(fleet.status_proxy, figures.viewing_seconds)
        async with viewers(fleet.status_url) as received:
            before = sum(received)
            figures.viewed_percent = await cpu_percent(fleet.status_proxy, figures.viewing_seconds)
            figures.statuses_sent = sum(received) - before


async def cpu_percent(server: Server, seconds: float) -> float:
    """Return what a process takes of a core for so long."""
    began, before = time.monotonic(), usage_of(server.pid).cpu
    await asyncio.sleep(seconds)
    return PERCENT * (usage_of(server.pid).cpu - before) / (time.monotonic() - began)


@asynccontextmanager
async def requests_going_on(url: str) -> AsyncGenerator[None]:
    """Send requests at a steady rate while the block lasts."""

    async def send() -> None:
        async with httpx.AsyncClient(base_url=url, trust_env=False) as client:
            for number in range(sys.maxsize):
                body = {"text": f"Where is station {number}?", "source_lang": "en", "target_lang": "de"}
                await client.post("/translate", json=body)
                await asyncio.sleep(1 / REQUESTS_A_SECOND)

    sending = asyncio.create_task(send())
    try:
        yield
    finally:
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)


@asynccontextmanager
async def viewers(url: str) -> AsyncGenerator[list[int]]:
    """Follow the status many times, each on a connection of its own, as open pages do; give the statuses that each received."""
    received = [0] * VIEWERS

    async def view(client: httpx.AsyncClient, number: int) -> None:
        async with client.stream("GET", f"{url}/status/stream") as answer:
            async for line in answer.aiter_lines():
                received[number] += line.startswith("event: status")

    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(trust_env=False, timeout=None, limits=limits) as client:  # noqa: S113 - it goes on
        viewing = [asyncio.create_task(view(client, number)) for number in range(VIEWERS)]
        try:
            await wait_until(lambda: all(received), 60, "every viewer has a status")
            yield received
        finally:
            for task in viewing:
                task.cancel()
            await asyncio.gather(*viewing, return_exceptions=True)


def main() -> int:
    """Measure, write, print."""
    parser = options_parser("page", "The pages in a browser.")
    parser.prog = "python -m tests.pages.bench"
    parser.add_argument("--rounds", type=int, default=5, help="sentences typed, and replicas killed")
    parser.add_argument("--seconds", type=float, default=20.0, help="of viewers, and of none before")
    options = parser.parse_args()
    folder, checks = RunFolder(options.out), Checks()
    figures = run_guarded(measure(folder.path, options))
    figures.judge(checks)
    note = f"{options.rounds} rounds"
    return folder.publish("Pages", note, figures.lines(), asdict(figures), checks)


if __name__ == "__main__":
    sys.exit(main())
