"""Product files that one warm request en-de enters, on the proxy and on the API server; exits with 1 when there are too many.

    make request-path                                   # a minute: Redis, an API server with the real engine, a proxy

Each server notes every call of a product function with its time (``sys.settrace``; no module body, so no import), but those
that a background loop made. Requests come one by one on one connection after a warm-up; a file counts if each of them entered
it between its first byte and its log line. So what the loops' own tasks do now and then does not count either.
"""

from __future__ import annotations

import asyncio
import http.client
import importlib
import json
import os
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Final

from benchmarks.harness.processes import (
    ROOT,
    free_port,
    proxy_server,
    python_server,
    ready_replicas,
    redis_server,
    running,
)
from benchmarks.harness.report import Checks, RunFolder, table, target_table
from benchmarks.harness.texts import read_sentences
from shared.runtime.process_guard import ProcessGuard

# Most files that a request may enter.
MAX_FILES: Final = {"proxy": 45, "apiserver": 50}
OUT: Final = Path(".run/request-path")
READY_SECONDS: Final = 240.0
REQUEST_SECONDS: Final = 60.0
WARM_UP_REQUESTS: Final = 20
REQUESTS: Final = 12
# What follows the answer (log line, metrics) happens within this.
SETTLE_SECONDS: Final = 0.02
# Between two requests: no loop of a whole or half second meets each of them.
PAUSE_SECONDS: Final = 0.37
# Whatever these call is no request's.
BACKGROUND_LOOPS: Final = frozenset({"Loop.run", "DrainingServer.on_tick"})

# A file, a function in it, and the millisecond of the monotonic clock.
Entered = tuple[str, str, int]


def record(module: str, out: Path) -> None:
    """Run ``python -m module``, and write the calls of its product functions when it ends."""
    entered: set[Entered] = set()
    folders = tuple(f"{ROOT / name}/" for name in (module, "shared"))

    def note(frame: FrameType, _event: str, _argument: object) -> None:
        code = frame.f_code
        if not code.co_filename.startswith(folders) or code.co_name == "<module>":
            return
        caller: FrameType | None = frame
        while caller is not None and caller.f_code.co_qualname not in BACKGROUND_LOOPS:
            caller = caller.f_back
        if caller is None:
            entered.add((code.co_filename, code.co_qualname, int(time.monotonic() * 1000)))

    main = importlib.import_module(f"{module}.__main__").main
    # Threads take it when they start.
    threading.settrace(note)
    sys.settrace(note)
    try:
        main()
    finally:
        sys.settrace(None)
        out.write_text(json.dumps(sorted(entered)))
        # A thread that is still inside the engine's start would be waited for.
        os._exit(0)


def send(port: int) -> list[tuple[int, int]]:
    """Translate one sentence after the other; return the milliseconds in which each warm one was served."""
    windows: list[tuple[int, int]] = []
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=REQUEST_SECONDS)
    for text in read_sentences(None)[: WARM_UP_REQUESTS + REQUESTS]:
        body = json.dumps({"text": text, "source_lang": "en", "target_lang": "de"}).encode()
        began = time.monotonic()
        connection.request("POST", "/translate", body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        response.read()
        assert response.status == 200, response.status  # noqa: S101 - no figure without a translation
        time.sleep(SETTLE_SECONDS)
        windows.append((int(began * 1000), int(time.monotonic() * 1000)))
        time.sleep(PAUSE_SECONDS)
    connection.close()
    return windows[WARM_UP_REQUESTS:]


def files_of(entered: Sequence[Entered], windows: Sequence[tuple[int, int]]) -> dict[str, list[str]]:
    """Return the files that were entered in every window, with the functions that were."""
    names = [{(file, name) for file, name, at in entered if begin <= at <= end} for begin, end in windows]
    files = [{file for file, _ in window} for window in names]
    functions: defaultdict[str, list[str]] = defaultdict(list)
    for file, name in sorted(set[tuple[str, str]].intersection(*names)):
        functions[file].append(name)
    return {str(Path(file).relative_to(ROOT)): functions[file] for file in sorted(set[str].intersection(*files))}


async def measure(folder: Path) -> list[tuple[int, int]]:
    """Start the servers, send the requests, stop the servers; return when each request was served."""
    redis_port, apiserver_port, proxy_port = free_port(), free_port(), free_port()
    settings = {"APISERVER_PORT": str(apiserver_port), "APISERVER_MODELS": "en-de"}
    apiserver = python_server("apiserver", folder, settings, "apiserver")
    proxy = proxy_server(folder, proxy_port, [f"http://127.0.0.1:{apiserver_port}"], redis_port, "proxy")
    for server in (apiserver, proxy):
        server.command[2:] = ["benchmarks.request_path", server.command[-1], str(server.log.with_suffix(".calls"))]

    def is_ready() -> int:
        return ready_replicas(f"http://127.0.0.1:{proxy_port}", "en-de")

    async with running([redis_server(redis_port, folder), apiserver, proxy], is_ready, READY_SECONDS):
        return await asyncio.to_thread(send, proxy_port)


def main() -> int:
    """Measure, count, print."""
    if not (ROOT / "models/en-de/model.safetensors").is_file():
        raise SystemExit("request-path: the demo model models/en-de is not there")
    folder, checks, results = RunFolder(OUT), Checks(), dict[str, dict[str, list[str]]]()
    with ProcessGuard("PAIRWAY_REQUEST_PATH", 0):
        windows = asyncio.run(measure(folder.path))
    lines = ["# Product files that one warm request enters", "", folder.machine]
    for name, most in MAX_FILES.items():
        files = results[name] = files_of(json.loads((folder.path / f"{name}.calls").read_text()), windows)
        rows = ((file, ", ".join(functions)) for file, functions in files.items())
        lines += ["", f"## {name}: {len(files)} files", "", *table(("file", "functions in every request"), rows)]
        checks.at_most(f"files on the {name}", len(files), most, timing=False)
    return folder.write("\n".join([*lines, "", *target_table(checks), ""]), results, checks)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        record(sys.argv[1], Path(sys.argv[2]))
    sys.exit(main())
