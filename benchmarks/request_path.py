"""Product files that one warm request en-de enters, on the proxy and on the API server; exits with 1 when there are too many.

    make request-path                                   # a minute: Redis, an API server with the real engine, a proxy

Each server notes every call of a product function with its time (``sys.settrace``; no module body, so no import), but those
that a background loop made. Requests come one by one on one connection after a warm-up; a file counts if each of them entered
it between its first byte and its log line. So what the loops' own tasks do now and then does not count either.
"""

from __future__ import annotations

import asyncio
import importlib
import itertools
import json
import os
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Final

from benchmarks.harness.http_client import HttpClient
from benchmarks.harness.processes import (
    ROOT,
    free_port,
    proxy_server,
    python_server,
    ready_replicas,
    redis_server,
    running,
)
from benchmarks.harness.report import Checks, RunFolder
from benchmarks.harness.texts import read_sentences
from shared.runtime.process_guard import ProcessGuard

# Most files that a request may enter.
MAX_FILES: Final = {"proxy": 44, "apiserver": 50}
READY_SECONDS: Final = 240.0
WARM_UP_REQUESTS: Final = 20
REQUESTS: Final = 12
# What follows the answer (log line, metrics) happens within this.
SETTLE_SECONDS: Final = 0.02
# Between two requests: no loop of a whole or half second meets each of them.
PAUSE_SECONDS: Final = 0.37
# Whatever these call is no request's.
BACKGROUND_LOOPS: Final = frozenset({"Loop.run", "DrainingServer.on_tick"})


def record(module: str, out: Path) -> None:
    """Run ``python -m module``; at its end write the product files that it entered, each with the millisecond of the monotonic clock."""
    entered: set[tuple[str, int]] = set()
    folders = tuple(f"{ROOT / name}/" for name in (module, "shared"))

    def note(frame: FrameType, _event: str, _argument: object) -> None:
        code = frame.f_code
        if not code.co_filename.startswith(folders) or code.co_name == "<module>":
            return
        caller: FrameType | None = frame
        while caller is not None and caller.f_code.co_qualname not in BACKGROUND_LOOPS:
            caller = caller.f_back
        if caller is None:
            entered.add((code.co_filename, int(time.monotonic() * 1000)))

    main = importlib.import_module(f"{module}.__main__").main
    # The server reads its own arguments, and has none.
    sys.argv = [module]
    threading.settrace(note)
    sys.settrace(note)
    try:
        main()
    finally:
        sys.settrace(None)
        # Copied in one step: threads that are traced still add to it.
        out.write_text(json.dumps(sorted(entered.copy())))
        # A thread that is still inside the engine's start would be waited for.
        os._exit(0)


def files_of(entered: Sequence[tuple[str, int]], windows: Sequence[tuple[int, int]]) -> list[str]:
    """Return the files that were entered in every window (its first and last millisecond)."""
    files = [{file for file, at in entered if begin <= at <= end} for begin, end in windows]
    return sorted(str(Path(file).relative_to(ROOT)) for file in set[str].intersection(*files))


async def measure(folder: Path) -> list[tuple[int, int]]:
    """Return the milliseconds in which each warm request was served; the servers have ended then."""
    redis_port, apiserver_port, proxy_port = free_port(), free_port(), free_port()
    url = f"http://127.0.0.1:{proxy_port}"
    settings = {"APISERVER_PORT": str(apiserver_port), "APISERVER_MODELS": "en-de"}
    apiserver = python_server("apiserver", folder, settings, "apiserver")
    proxy = proxy_server(folder, proxy_port, [f"http://127.0.0.1:{apiserver_port}"], redis_port, "proxy")
    for server in (apiserver, proxy):
        server.command[2:] = ["benchmarks.request_path", server.command[-1], str(server.log.with_suffix(".calls"))]
    servers, windows = [redis_server(redis_port, folder), apiserver, proxy], list[tuple[int, int]]()
    async with running(servers, lambda: ready_replicas(url, "en-de"), READY_SECONDS):
        client = HttpClient(f"{url}/translate")
        for text in itertools.islice(read_sentences(None), WARM_UP_REQUESTS + REQUESTS):
            began = time.monotonic()
            response = await client.post(json.dumps({"text": text, "source_lang": "en", "target_lang": "de"}).encode())
            if response.status != 200:
                raise RuntimeError(f"no figure without a translation: {response}")
            await asyncio.sleep(SETTLE_SECONDS)
            windows.append((int(began * 1000), int(time.monotonic() * 1000)))
            await asyncio.sleep(PAUSE_SECONDS)
        client.close()
    return windows[WARM_UP_REQUESTS:]


def main() -> int:
    """Measure, count, print."""
    folder, checks, lines, results = RunFolder(Path(".run/request-path")), Checks(), list[str](), dict[str, list[str]]()
    with ProcessGuard("PAIRWAY_REQUEST_PATH", 0):
        windows = asyncio.run(measure(folder.path))
    for name, most in MAX_FILES.items():
        files = results[name] = files_of(json.loads((folder.path / f"{name}.calls").read_text()), windows)
        lines += ["", f"## {name}: {len(files)} files", "", *(f"- {file}" for file in files)]
        checks.at_most(f"files on the {name}", len(files), most, timing=False)
    return folder.publish("Product files that one warm request enters", "warm requests en-de", lines, results, checks)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        record(sys.argv[1], Path(sys.argv[2]))
    sys.exit(main())
