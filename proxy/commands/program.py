"""The program ``python -m proxy keys|fleet``, on the Redis of ``PROXY_*``.

Exit status: 0 done, 1 incomplete, 2 wrong usage (an option, a setting or a file), 3 Redis is away, 4 refused.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Sequence
from typing import Final

from pydantic import ValidationError

from proxy.commands import fleet, keys
from proxy.commands.fleet import NotWatchedError
from proxy.commands.output import EXIT_AWAY, EXIT_REFUSED, EXIT_USAGE
from proxy.fleet.store import FleetStore
from proxy.keys.api_key import Grant
from proxy.keys.backup import BackupError
from proxy.keys.store import KeyStore
from proxy.settings import ProxySettings
from proxy.storage.connection import StoreUnavailableError
from shared.protocol.errors import PairwayError
from shared.protocol.validation_errors import operator_errors
from shared.runtime.settings import SettingsError, load_settings

# A person can wait, and the first call on a new connection may be slow.
TIMEOUT_SECONDS: Final = 5.0


def main(arguments: Sequence[str]) -> int:
    """Run one command; return the exit status."""
    options = parse(arguments)
    try:
        return asyncio.run(run(options, load_settings(ProxySettings)))
    except (
        SettingsError,
        ValidationError,
        BackupError,
        NotWatchedError,
        PairwayError,
        StoreUnavailableError,
        OSError,
    ) as error:
        message, status = _explain(error, options.command)
        sys.stderr.write(f"{options.group}: {message}\n")
        return status


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser("python -m proxy", description=(__doc__ or "").splitlines()[0])
    groups = parser.add_subparsers(dest="group", required=True)
    keys.add_commands(groups.add_parser("keys", help="API keys", description="Manage API keys."))
    fleet.add_commands(groups.add_parser("fleet", help="the fleet", description="Manage the fleet."))
    options = parser.parse_args(arguments)
    if options.group == "fleet":
        fleet.check(options)
    return options


async def run(options: argparse.Namespace, settings: ProxySettings) -> int:
    """Connect and run one command; return the exit status."""
    url, prefix = settings.redis_url.get_secret_value(), settings.redis_prefix
    fleet_store = FleetStore(url, prefix, TIMEOUT_SECONDS, time.time)
    store = KeyStore(url, prefix, TIMEOUT_SECONDS, time.time)
    try:
        if options.group == "fleet":
            return await fleet.run(options, fleet_store, settings.replicas)
        return await keys.run(options, store, fleet_store)
    finally:
        await fleet_store.close()
        await store.close()


def _explain(error: Exception, command: str) -> tuple[str, int]:
    """Return an error's message and exit status."""
    match error:
        case SettingsError():
            return str(error), EXIT_USAGE
        case ValidationError():
            wrong = (f"--{field.replace('_', '-')}: {sentence}" for field, sentence in operator_errors(error, Grant))
            return "; ".join(wrong), EXIT_USAGE
        case BackupError():
            return f"{error}. Nothing was changed.", EXIT_REFUSED
        case PairwayError() | NotWatchedError():
            return str(error), EXIT_REFUSED
        case OSError():
            return f"{error.filename or 'standard output'}: {error.strerror}", EXIT_USAGE
        case _:
            again = "; what was imported stays, so import again" if command == "import" else ""
            return f"{error} (PROXY_REDIS_URL){again}", EXIT_AWAY
