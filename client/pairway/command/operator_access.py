"""Operators' access: the server, its token, and what refusals mean."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import httpx

from ..calls import ask
from ..client import Client
from ..errors import RequestError, UnreachableError
from ..settings import load_settings
from .server_options import Server

# A kind of server, as the names of its settings begin.
PROXY: Final = "PROXY"
APISERVER: Final = "APISERVER"
APISERVER_PORT: Final = "8001"
# Of a call with its repeats: an operator is not kept waiting for Redis; a reload may wait 20 s for an old engine's end.
SECONDS: Final = {PROXY: 10.0, APISERVER: 60.0}
# That of the `make up` in this folder (deploy/run_folder.py); it goes to no other machine.
RUN_TOKEN: Final = Path(".run", "operator-token")
LOOPBACK: Final = "127.0.0.1"
HERE: Final = {LOOPBACK, "localhost", "::1"}
HINTS: Final = {
    "operator-off": "In compose: {kind}_OPERATOR_TOKEN=… in .env, then make roll.",
    "key-required": "Set {kind}_OPERATOR_TOKEN, or give --key-file with the token or a key of scope operate.",
    "key-refused": "Is {kind}_OPERATOR_TOKEN, or what --key-file has, that of this server?",
    "not-found": "Where PROXY_OPERATOR_PORT is set, operators' calls are at that port.",
}
REDIS_WORKS: Final = " Without it, in a proxy's container: python -m proxy keys, or fleet expect."


@contextmanager
def operator_client(server: Server, kind: str = PROXY, url: str | None = None) -> Generator[Client]:
    """Yield a client with the operator's token.

    Raises:
        PairwayError: the server refused or is away, with what an operator can do.
    """
    if url or not (server.url or server.profile or os.environ.get("PAIRWAY_URL")):
        server = replace(server, url=url or own_url(kind))
    token = None if server.profile else os.environ.get(f"{kind}_OPERATOR_TOKEN")
    is_here = httpx.URL(load_settings(server.url, None, server.profile).url).host in HERE
    if is_here and not (token or server.key_file or server.profile) and os.access(RUN_TOKEN, os.R_OK):
        server = replace(server, key_file=RUN_TOKEN)
    with server.client(key=token, timeout=SECONDS[kind]) as client:
        if is_here or client.url == own_url(kind):  # an HTTP proxy would see the token, and does not reach it
            client.mounts = {f"all://{httpx.URL(client.url).netloc.decode()}": None}
        try:
            yield client
        except UnreachableError as error:
            if kind == PROXY:
                raise
            reason = error.message.partition("; set ")[0]
            raise UnreachableError(f"{reason}; name the API servers to ask by --replica") from error
        except RequestError as error:
            hint = HINTS.get(error.code, "").format(kind=kind)
            if error.code == "operator-off" and kind == PROXY:
                hint += REDIS_WORKS
            detail = f"{error.detail} {hint}".rstrip()
            raise RequestError(detail, code=error.code, status=error.status, request_id=error.request_id) from error


def operators_ask(server: Server, method: str, path: str, body: object = None, *, safe: bool = True) -> dict[str, Any]:
    """Ask a proxy for one thing, as its operator."""
    with operator_client(server) as client:
        return client.run(ask(client.session, method, path, body, safe=safe))


def own_url(kind: str) -> str | None:
    """Return the address of the server of this environment, if any."""
    ports = {f"{kind}_OPERATOR": "0", kind: APISERVER_PORT if kind == APISERVER else "0"}
    for prefix, default in ports.items():
        if (port := os.environ.get(f"{prefix}_PORT") or default) != "0":
            host = os.environ.get(f"{prefix}_HOST") or LOOPBACK
            host = LOOPBACK if host in {"0.0.0.0", "::"} else host  # noqa: S104 -- compared, not bound
            return str(httpx.URL(scheme="http", host=host, port=int(port)))
    return None
