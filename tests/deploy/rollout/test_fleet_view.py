"""What the proxies see: which container serves, and which one serves a pair alone."""

from __future__ import annotations

import json
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from deploy.rollout import fleet_view
from proxy.fleet.replica import DRAINED

ONE, OTHER = "a" * 64, "b" * 64


def line(container_id: str, *ready: str, state: str = "ready", waiting: tuple[str, ...] = ()) -> dict[str, Any]:
    pairs = {pair: {"ready": pair in ready, "why": None} for pair in (*ready, *waiting)}
    return {"replica_id": f"{container_id[:12]}-0123456789ab", "state": state, "pairs": pairs}


def test_served_is_ready_with_all_pairs() -> None:
    assert fleet_view.why_not_served({"replicas": [line(OTHER, "en-de"), line(ONE, "en-de")]}, ONE) is None
    stopping = line(ONE, "en-de", state="draining") | {"why": "the server is stopping"}
    assert fleet_view.why_not_served({"replicas": [stopping]}, ONE) == "draining: the server is stopping"
    assert fleet_view.why_not_served({"replicas": [line(ONE, "en-de", waiting=("de-en",))]}, ONE) == "de-en: None"


def test_unseen_server_shows_why_the_silent_ones_are() -> None:
    """One that refuses the proxy's token has no id, so it may be one of them."""
    silent: dict[str, Any] = {
        "url": "http://10.0.0.7:8001",
        "replica_id": None,
        "state": "down",
        "why": "wrong token",
        "pairs": {},
    }
    expected = "it is not among the servers that answer; http://10.0.0.7:8001: wrong token"
    assert fleet_view.why_not_served({"replicas": [silent, line(OTHER, "en-de")]}, ONE) == expected
    assert fleet_view.why_not_served({}, ONE) == "it is not among the servers that answer"


def test_drained_server_is_as_its_operator_wants_it() -> None:
    drained = {"replicas": [line(ONE, waiting=("en-de",), state="draining") | {"why": DRAINED}]}
    assert fleet_view.why_not_served(drained, ONE) is None
    assert fleet_view.is_drained(drained, ONE)
    assert not fleet_view.is_drained(drained, OTHER)
    assert fleet_view.ready_pairs(drained) == frozenset()
    assert fleet_view.DRAINED == DRAINED


def test_pairs_served_alone_are_those_no_other_is_ready_for() -> None:
    replicas = [
        line(ONE, "en-de", "de-en", "en-fr", waiting=("fr-en",)),
        line(OTHER, "en-de", waiting=("de-en",)),
        line("c" * 64, "en-fr", state="draining"),
    ]
    assert fleet_view.pairs_served_alone({"replicas": replicas}, ONE) == ["de-en", "en-fr"]
    assert fleet_view.pairs_served_alone({"replicas": replicas}, OTHER) == []
    assert fleet_view.pairs_served_alone({"replicas": replicas}, "d" * 64) == []


class Proxy(BaseHTTPRequestHandler):
    """A proxy whose /readyz is 503."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer with the path."""
        body = json.dumps({"path": self.path}).encode()
        self.send_response(503 if self.path == "/readyz" else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def test_program_for_the_container_prints_health() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        program = fleet_view.READ_HEALTH.replace("8000", str(server.server_port))
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, timeout=60)
        server.shutdown()
    assert json.loads(done.stdout) == {"path": "/health", "accepts": False}
