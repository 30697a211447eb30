"""A stand-in for both servers: answers /report and /health as they do, at the port that the launcher names.

fake_server.py apiserver [--ready-after S] [--never] [--dies-after S] [--stubborn] [--exit-file F]

With an exit file that exists, the server ends at its start, with the status in the file.
fake_server.py proxy
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

# When it was first asked: a busy machine may take long to start it.
FIRST_ASKED: list[float] = []


def read_options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=("apiserver", "proxy"))
    parser.add_argument("--ready-after", type=float, default=0.0)
    parser.add_argument("--never", action="store_true")
    parser.add_argument("--dies-after", type=float)
    parser.add_argument("--stubborn", action="store_true")
    parser.add_argument("--exit-file", type=Path)
    return parser.parse_args()


OPTIONS = read_options()


def report() -> dict[str, object]:
    """Answer as an API server."""
    if not FIRST_ASKED:
        FIRST_ASKED.append(time.monotonic())
    ready = not OPTIONS.never and time.monotonic() - FIRST_ASKED[0] >= OPTIONS.ready_after
    model = os.environ["APISERVER_MODELS"]
    source, target = model.split("-")
    pair = {"source": source, "target": target, "model": model, "ready": ready}
    return {
        "replica_id": f"fake-{os.getpid()}",
        "version": "0",
        "started_at": 0,
        "state": "ready" if ready else "starting",
        "in_flight": 0,
        "pairs": {model: {**pair, "why": None if ready else "the canary failed"}},
        "models": {},
        "runs_by": os.environ["APISERVER_RUNS_BY"],
    }


def health() -> dict[str, object]:
    """Answer as a proxy that asks its replicas."""
    replicas: list[dict[str, object]] = []
    for url in os.environ["PROXY_REPLICAS"].split(","):
        try:
            with urllib.request.urlopen(f"{url}/report", timeout=1) as answer:  # noqa: S310 - our own address
                report = json.load(answer)
        except OSError:
            continue
        replicas.append({"url": url, "why": next(iter(report["pairs"].values()))["why"], **report})
    return {"replicas": replicas}


class Handler(BaseHTTPRequestHandler):
    """Answers any GET."""

    def do_GET(self) -> None:
        """Answer."""
        body = json.dumps(report() if OPTIONS.kind == "apiserver" else health()).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)


def die() -> None:
    """End as a crash does, leaving words."""
    sys.stdout.write("".join(f"line {n}\n" for n in range(1, 31)) + "no memory for the model\n")
    sys.stdout.flush()
    os._exit(3)


if OPTIONS.exit_file is not None and OPTIONS.exit_file.exists():
    sys.exit(int(OPTIONS.exit_file.read_text()))
signal.signal(signal.SIGTERM, signal.SIG_IGN if OPTIONS.stubborn else signal.SIG_DFL)
# As an EngineCore: a child that outlives its parent unless someone cares.
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
if OPTIONS.dies_after is not None:
    threading.Timer(OPTIONS.dies_after, die).start()
port = int(os.environ["APISERVER_PORT" if OPTIONS.kind == "apiserver" else "PROXY_PORT"])
ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
