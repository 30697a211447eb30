"""A run: rows measured one after the other, with the glossaries that they need."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute, Route

from apiserver.app import create_app as create_apiserver
from apiserver.settings import ApiServerSettings
from proxy.app import create_app as create_proxy
from proxy.settings import ProxySettings
from tests.hostile.bursts import burst_rows
from tests.hostile.endpoints import (
    GLOSSARIES,
    HEAD_KINDS,
    OWNER,
    body_rows,
    head_rows,
    large_glossary,
)
from tests.hostile.lists import list_rows
from tests.hostile.measuring import Result, Row, Sent, as_json, grow, send
from tests.hostile.servers import HostileFleet, WatchedServer


def endpoints_of(app: FastAPI) -> list[tuple[str, str]]:
    """Return method and route of every endpoint of an app."""

    def of(route: BaseRoute) -> Iterator[tuple[str, str]]:
        if not isinstance(route, (APIRoute, Route)):
            raise TypeError(f"{route!r} is neither a route nor an endpoint: teach this function what it serves")
        for method in sorted(route.methods or ()):
            yield method, route.path

    return list(dict.fromkeys(itertools.chain.from_iterable(map(of, app.routes))))


def proxy_endpoints() -> list[tuple[str, str]]:
    """Return the endpoints of a proxy that serves all there is."""
    return endpoints_of(create_proxy(ProxySettings()))


def apiserver_endpoints() -> list[tuple[str, str]]:
    """Return the endpoints of an API server."""
    return endpoints_of(create_apiserver(ApiServerSettings()))


def all_rows(heads: Iterable[str] = HEAD_KINDS) -> list[Row]:
    """Return the rows of every endpoint of both servers."""
    kinds = frozenset(heads)
    return [
        *body_rows(),
        *burst_rows(proxy_endpoints()),
        *list_rows(),
        *head_rows("proxy", iter(proxy_endpoints()), kinds),
        *head_rows("apiserver", iter(apiserver_endpoints()), kinds),
    ]


def measured(
    fleet: HostileFleet,
    rows: Iterable[Row],
    max_stall: float,
    doublings: int,
    done: Callable[[Result], None] = lambda _: None,
) -> list[Result]:
    """Measure rows, each in doubling sizes up to its limit; ``done`` gets each result."""
    results: list[Result] = []
    for row in rows:
        results.append(grow(fleet.watched[row.server], row, max_stall, doublings))
        done(results[-1])
        if "glossaries" in row.endpoint and row.endpoint.startswith("POST"):
            _clean(fleet.proxy)
    return results


def prepare(proxy: WatchedServer) -> None:
    """Give the owner a glossary with as many entries as allowed."""
    sent = Sent("POST", "/glossaries", as_json(large_glossary()), {"Content-Type": "application/json", **OWNER})
    status, answer = send(proxy, sent)
    if status not in {200, 201}:
        raise RuntimeError(f"the glossary was refused: {status} {answer[:200]!r}")
    GLOSSARIES[:] = [json.loads(answer)["id"]]


def _clean(proxy: WatchedServer) -> None:
    """Delete the owner's other glossaries."""
    _, answer = send(proxy, Sent("GET", "/glossaries", b"", OWNER))
    for glossary in json.loads(answer)["glossaries"]:
        if glossary["id"] not in GLOSSARIES:
            send(proxy, Sent("DELETE", f"/glossaries/{glossary['id']}", b"", OWNER))
