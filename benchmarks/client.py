"""What the Python client costs, beside plain httpx and a hand-written loop, and the command `pairway` to start.

    make bench-client                                 # about 2 minutes

A server of its own process answers at once, or after the 20 ms that a demo model takes for a short text. Exit status 1 when a
target is missed. The report is OUT/report.md, the figures OUT/results.json.
"""

from __future__ import annotations

import asyncio
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine, Sequence
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any, Final, cast

import httptools
import httpx
import pairway
import uvloop
from typing_extensions import override

from benchmarks.harness.processes import Server, free_port, running
from benchmarks.harness.program import options_parser, run_guarded
from benchmarks.harness.replicas import TRANSLATION, as_response
from benchmarks.harness.report import Checks, RunFolder, table

MAX_OVERHEAD: Final = 1.3
MIN_THROUGHPUT: Final = 0.9
CONCURRENCY: Final = 16
DELAY_SECONDS: Final = 0.02
READY_SECONDS: Final = 30.0
WARM_UP_CALLS: Final = 50
MAX_HELP_SECONDS: Final = 0.25
HELP: Final = (sys.executable, "-c", "from pairway.command.main import main; main()", "--help")


@cache
def answer(texts: int | None) -> bytes:
    """Return the response for a list of that many texts, None for a single text."""
    one = {"translation": TRANSLATION, "source_lang": "en", "target_lang": "de", "model": "m", "route": ["en", "de"]}
    full = {**one, "warnings": []}
    return as_response(full if texts is None else {"results": [full] * texts})


class Connection(asyncio.Protocol):
    """One connection of a client."""

    def __init__(self, delay: float) -> None:
        self._delay = delay
        self._parser = httptools.HttpRequestParser(self)
        self._body = b""

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    @override
    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_body(self, part: bytes) -> None:
        """Keep what arrives."""
        self._body += part

    def on_message_complete(self) -> None:
        """Answer; texts are counted by what is between them.

        What asks for no translation is answered at once, as a proxy does.
        """
        listed, self._body = self._body.partition(b"]")[0], b""
        texts = listed.count(b'","') + 1 if listed.startswith(b'{"text":[') else None
        delay = self._delay if self._parser.get_method() == b"POST" else 0.0
        asyncio.get_running_loop().call_later(delay, self._transport.write, answer(texts))


async def serve(port: int, delay: float) -> None:
    """Serve until ended."""
    loop = asyncio.get_running_loop()
    await loop.create_server(lambda: Connection(delay), "127.0.0.1", port)
    await loop.create_future()


def body_of(text: object) -> dict[str, object]:
    """Return the body that both sides send."""
    return {"text": text, "source_lang": "en", "target_lang": "de"}


def cpu_per_call(call: Callable[[], object], calls: int) -> float:
    """Return the processor's microseconds of a call."""
    for _ in range(WARM_UP_CALLS):
        call()
    begun = time.process_time()
    for _ in range(calls):
        call()
    return (time.process_time() - begun) / calls * 1e6


def overhead(url: str, rounds: int, calls: int) -> tuple[float, float]:
    """Return the microseconds of a call, with plain httpx and with the client, in turns."""
    text, plain, ours = "Where is the station?", list[float](), list[float]()
    with httpx.Client() as http, pairway.Client(url) as client:
        for _ in range(rounds):
            plain.append(cpu_per_call(lambda: http.post(f"{url}/translate", json=body_of(text)).json(), calls))
            ours.append(cpu_per_call(lambda: client.translate(text, to="de", source="en"), calls))
    return median(plain), median(ours)


async def hand_written(url: str, texts: Sequence[str], batch: int) -> list[str]:
    """Translate a list as one would without the client."""
    batches = iter([(place, texts[place : place + batch]) for place in range(0, len(texts), batch)])
    found: dict[int, list[str]] = {}
    async with httpx.AsyncClient(timeout=60) as http:

        async def work() -> None:
            for place, some in batches:
                response = await http.post(f"{url}/translate", json=body_of(some))
                response.raise_for_status()
                found[place] = [each["translation"] for each in response.json()["results"]]

        await asyncio.gather(*(work() for _ in range(CONCURRENCY)))
    return [each for place in sorted(found) for each in found[place]]


async def with_client(url: str, texts: Sequence[str], batch: int) -> list[str]:
    """Translate a list with the client."""
    async with pairway.AsyncClient(url) as client:
        options: dict[str, Any] = {"batch": batch, "concurrency": CONCURRENCY, "timeout": 600}
        return [str(each) for each in await client.translate(list(texts), to="de", source="en", **options)]


def throughput(url: str, rounds: int, texts: int, batch: int) -> tuple[float, float]:
    """Return texts a second of the hand-written loop and of the client: the best of rounds in turns."""
    lines = [f"Line {number}" for number in range(texts)]
    sides: list[Callable[[str, Sequence[str], int], Coroutine[Any, Any, list[str]]]] = [hand_written, with_client]
    rates: list[list[float]] = [[], []]
    for _ in range(rounds):
        for side, measured in zip(sides, rates, strict=True):
            begun = time.perf_counter()
            assert len(asyncio.run(side(url, lines, batch))) == texts  # noqa: S101 -- both do the whole work
            measured.append(texts / (time.perf_counter() - begun))
    # Other work on the machine only slows; a median of few rounds would compare its bursts.
    return max(rates[0]), max(rates[1])


def help_seconds(rounds: int) -> float:
    """Return the processor's seconds of `pairway --help`: the median of rounds, after one that fills caches."""
    found: list[float] = []
    for _ in range(rounds + 1):
        before = _children_seconds()
        subprocess.run(HELP, check=True, stdout=subprocess.DEVNULL)
        found.append(_children_seconds() - before)
    return median(found[1:])


def _children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def server(folder: Path, delay: float) -> tuple[Server, str]:
    """Return the server's process, and its address."""
    port = free_port()
    command = [sys.executable, "-m", "benchmarks.client", "serve", str(port), str(delay)]
    return Server(command, folder / f"server-{delay}.log"), f"http://127.0.0.1:{port}"


async def all_answer(urls: Sequence[str]) -> bool:
    """Say whether all servers answer."""
    async with httpx.AsyncClient() as http:
        try:
            return all([(await http.post(url, json=body_of("Hello"))).is_success for url in urls])
        except httpx.TransportError:
            return False


async def measure(folder: RunFolder, rounds: int, calls: int, texts: int) -> int:
    """Measure, and return the exit status."""
    checks, rows = Checks(), list[tuple[str, str, str, str]]()
    seconds = await asyncio.to_thread(help_seconds, rounds)
    rows.append(("seconds of the processor, `pairway --help`", "", f"{seconds:.2f}", ""))
    checks.at_most("CPU of `pairway --help`", seconds, MAX_HELP_SECONDS, " s")
    quick, slow = server(folder.path, 0.0), server(folder.path, DELAY_SECONDS)
    addresses = [url for _, url in (quick, slow)]
    async with running([quick[0], slow[0]], lambda: all_answer(addresses), READY_SECONDS):
        plain, ours = await asyncio.to_thread(overhead, quick[1], rounds, calls)
        rows.append(("µs of the processor, a call", f"{plain:.0f}", f"{ours:.0f}", f"{ours / plain:.2f}"))
        checks.at_most("CPU of a call over plain httpx", ours / plain, MAX_OVERHEAD)
        for name, (_, url), is_target in (("20 ms", slow, True), ("0 ms", quick, False)):
            for batch in (256, 1):
                loop, client = await asyncio.to_thread(throughput, url, rounds, texts, batch)
                share, label = client / loop, f"texts a second, {batch} in a request, server {name}"
                rows.append((label, f"{loop:.0f}", f"{client:.0f}", f"{share:.2f}"))
                if is_target:
                    checks.at_least(f"{label}: of a hand-written loop", share, MIN_THROUGHPUT)
    note = f"medians of {rounds} rounds (texts a second: the best of them), {calls} calls, {texts} texts, {CONCURRENCY} requests at once"
    lines = table(("", "httpx alone", "client", "ratio"), rows)
    return folder.publish("The Python client", note, lines, {"rows": rows}, checks)


def main() -> int:
    """Run the benchmark, or its server."""
    if sys.argv[1:2] == ["serve"]:
        uvloop.run(serve(int(sys.argv[2]), float(sys.argv[3])))
        return 0
    parser = options_parser("client", (__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="of each measurement")
    parser.add_argument("--calls", type=int, default=2000, help="of each round")
    parser.add_argument("--texts", type=int, default=10_000, help="of each list")
    arguments = parser.parse_args()
    folder = RunFolder(arguments.out)
    return run_guarded(measure(folder, arguments.rounds, arguments.calls, arguments.texts))


if __name__ == "__main__":
    sys.exit(main())
