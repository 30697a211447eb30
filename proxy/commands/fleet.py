"""``fleet expect``: state or show services' expected replicas."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Final

from proxy.commands.output import table
from proxy.fleet.discovery import MAX_ADDRESSES, Discovery
from proxy.fleet.expected_replicas import NOT_STATED, ExpectedReplicas, ServiceReplicas
from proxy.fleet.store import FleetStore

NONE: Final = "none"
_HEADER: Final = ("SERVICE", "READY", "EXPECTED")


class NotWatchedError(Exception):
    """No proxy has reported the fleet's state."""


def add_commands(parser: argparse.ArgumentParser) -> None:
    """Add the command and its options."""
    commands = parser.add_subparsers(dest="command", required=True)
    text = "state how many replicas each service should have; /health is degraded while fewer are ready"
    expect = commands.add_parser("expect", help=text, description=text)
    expect.add_argument("counts", nargs="*", type=_count, metavar="SERVICE=NUMBER", help=f"or SERVICE={NONE}")
    expect.add_argument("--now", action="store_true", help="state for all services what is ready now")
    expect.add_argument("--show", action="store_true", help="only show")
    expect.add_argument("--json", action="store_true", help="print JSON")
    expect.set_defaults(parser=expect)


def check(options: argparse.Namespace) -> None:
    """Exit unless the command has one thing to do."""
    if sum((bool(options.counts), options.now, options.show)) != 1:
        options.parser.error("give one of SERVICE=NUMBER …, --now and --show")


async def run(options: argparse.Namespace, store: FleetStore, configured: Sequence[str]) -> int:
    """Run the command and print all services; return the exit status."""
    expected = ExpectedReplicas(configured, time.time)
    services = await _state(options, store, expected, await Discovery().expand(configured))
    sys.stdout.write(f"{_json(services) if options.json else _table(services)}\n")
    return 0


async def _state(
    options: argparse.Namespace, store: FleetStore, expected: ExpectedReplicas, addresses: Mapping[str, Sequence[str]]
) -> list[ServiceReplicas]:
    expected.merge(await store.expected.read(renew=False))
    replicas, _ = await store.read()
    ready = expected.ready(addresses, {replica.url: replica for replica in replicas})
    if options.now and not replicas:
        raise NotWatchedError("no proxy has written the fleet's state to Redis, so nothing was changed")
    counts: Mapping[str, int | None] = ready if options.now else dict(options.counts)
    if counts:
        await store.expected.write(expected.state(counts))
    return expected.compare(ready)


def _count(text: str) -> tuple[str, int | None]:
    """Parse SERVICE=NUMBER or SERVICE=none."""
    service, _, value = text.partition("=")
    if service and value == NONE:
        return service, None
    if not service or not (value.isascii() and value.isdecimal()) or len(value) > len(str(MAX_ADDRESSES)):
        right = f"write SERVICE=NUMBER, such as apiserver-de=3, or SERVICE={NONE}"
        raise argparse.ArgumentTypeError(f"{text[:80]!r} is not a service and a number; {right}")
    if int(value) > MAX_ADDRESSES:
        raise argparse.ArgumentTypeError(f"{value} replicas are too many; the maximum is {MAX_ADDRESSES}")
    return service, int(value)


def _table(services: Sequence[ServiceReplicas]) -> str:
    numbers = ((each.service, each.ready, NOT_STATED if each.expected is None else each.expected) for each in services)
    return table([_HEADER, *(tuple(map(str, row)) for row in numbers)])


def _json(services: Sequence[ServiceReplicas]) -> str:
    lines = {each.service: {"ready": each.ready, "expected": each.expected} for each in services}
    return json.dumps({"services": lines}, indent=2)
