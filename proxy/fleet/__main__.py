"""``python -m proxy.fleet expect``: state or show services' expected replicas.

Redis and services are those of ``PROXY_*``. Exit status: 0 done, 1 refused, 2 wrong usage, 69 Redis is away, 78 a
setting is wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Final

from proxy.fleet.discovery import MAX_ADDRESSES, Discovery
from proxy.fleet.expected_replicas import NOT_STATED, ExpectedReplicas, ServiceReplicas
from proxy.fleet.store import FleetStore
from proxy.settings import ProxySettings
from proxy.storage.connection import StoreUnavailableError
from shared.protocol.errors import InvalidRequestError
from shared.runtime.exit_codes import EXIT_CONFIG
from shared.runtime.settings import SettingsError, load_settings

EXIT_REFUSED: Final = 1
# sysexits.h: EX_UNAVAILABLE.
EXIT_AWAY: Final = 69
# A person can wait, and the first call on a new connection may be slow.
TIMEOUT_SECONDS: Final = 5.0
NONE: Final = "none"
_HEADER: Final = ("service", "ready", "expected")


class NotWatchedError(Exception):
    """No proxy has reported the fleet's state."""


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


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m proxy.fleet", description="Manage the fleet.")
    commands = parser.add_subparsers(dest="command", required=True)
    text = "state how many replicas each service should have; /health is degraded while fewer are ready"
    expect = commands.add_parser("expect", help=text, description=text)
    expect.add_argument("counts", nargs="*", type=_count, metavar="SERVICE=NUMBER", help=f"or SERVICE={NONE}")
    expect.add_argument("--now", action="store_true", help="state for all services what is ready now")
    expect.add_argument("--show", action="store_true", help="only show")
    expect.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    if sum((bool(options.counts), options.now, options.show)) != 1:
        expect.error("give one of SERVICE=NUMBER …, --now and --show")
    return options


async def run(
    options: argparse.Namespace, store: FleetStore, expected: ExpectedReplicas, addresses: Mapping[str, Sequence[str]]
) -> list[ServiceReplicas]:
    """Run the command; return all services."""
    expected.merge(await store.expected.read(renew=False))
    replicas, _ = await store.read()
    ready = expected.ready(addresses, {replica.url: replica for replica in replicas})
    if options.now and not replicas:
        raise NotWatchedError("no proxy has written the fleet's state to Redis, so nothing was changed")
    counts: Mapping[str, int | None] = ready if options.now else dict(options.counts)
    if counts:
        await store.expected.write(expected.state(counts))
    return expected.compare(ready)


def _table(services: Sequence[ServiceReplicas]) -> str:
    numbers = ((each.service, each.ready, NOT_STATED if each.expected is None else each.expected) for each in services)
    rows = [tuple(map(str, row)) for row in (_HEADER, *numbers)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def _json(services: Sequence[ServiceReplicas]) -> str:
    lines = {each.service: {"ready": each.ready, "expected": each.expected} for each in services}
    return json.dumps({"services": lines}, indent=2)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return the exit status."""
    options = parse(arguments)
    try:
        settings = load_settings(ProxySettings)
    except SettingsError as error:
        return _fail(str(error), EXIT_CONFIG)

    async def run_once() -> list[ServiceReplicas]:
        store = FleetStore(settings.redis_url.get_secret_value(), settings.redis_prefix, TIMEOUT_SECONDS, time.time)
        try:
            addresses = await Discovery().expand(settings.replicas)
            return await run(options, store, ExpectedReplicas(settings.replicas, time.time), addresses)
        finally:
            await store.close()

    try:
        services = asyncio.run(run_once())
    except (InvalidRequestError, NotWatchedError) as error:
        return _fail(str(error), EXIT_REFUSED)
    except StoreUnavailableError as error:
        return _fail(str(error), EXIT_AWAY)
    sys.stdout.write(f"{_json(services) if options.json else _table(services)}\n")
    return 0


def _fail(message: str, status: int) -> int:
    sys.stderr.write(f"fleet: {message}\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
