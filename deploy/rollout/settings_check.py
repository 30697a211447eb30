"""Check all settings of docker compose: `docker compose run --rm check`.

Runs in the proxy's image, with all of .env and the settings that compose passes to the servers. Exit status: 0 for no
mistake, 78 for any; each mistake is a line.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from apiserver.settings import ApiServerSettings
from proxy.settings import ProxySettings
from shared.runtime.exit_codes import EXIT_CONFIG
from shared.runtime.settings import find_mistakes, unknown_settings

# The list of all settings.
EXAMPLE: Final = Path(".env.example")
PREFIX: Final = "PAIRWAY_"


def compose_mistakes(environ: Mapping[str, str], known: frozenset[str]) -> list[str]:
    """Return a sentence for each mistake in the settings of compose itself; ``known`` has their names."""
    sentences = unknown_settings(PREFIX, known, environ)
    address = environ.get("PAIRWAY_EDGE_ADDRESS", "")
    if address and not _is_loopback(address) and environ.get("PROXY_KEYS") != "on":
        sentences.append(
            f"PAIRWAY_EDGE_ADDRESS={address} can be reached from other machines, and PROXY_KEYS is not on: "
            "create keys and set PROXY_KEYS=on, or use PAIRWAY_EDGE_ADDRESS=127.0.0.1"
        )
    proxies = environ.get("PAIRWAY_PROXIES", "")
    has_range = "-" in environ.get("PAIRWAY_PORT", "") or environ.get("COMPOSE_PROFILES")
    if proxies.isdecimal() and int(proxies) > 1 and not has_range:
        sentences.append(
            f"PAIRWAY_PROXIES={proxies} needs a port for each proxy: set COMPOSE_PROFILES=edge, "
            "or PAIRWAY_PORT to a range such as 8000-8009"
        )
    return sentences


def token_mistakes(environ: Mapping[str, str]) -> list[str]:
    """Return a sentence if the proxies' token is not one that API servers accept."""
    accepted = {environ.get(name, "") for name in ("APISERVER_TOKEN", "APISERVER_TOKEN_PREVIOUS")} - {""}
    if accepted and environ.get("PROXY_REPLICA_TOKEN", "") not in accepted:
        return ["PROXY_REPLICA_TOKEN is neither APISERVER_TOKEN nor APISERVER_TOKEN_PREVIOUS: no proxy could translate"]
    return []


def _is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False


def main() -> int:
    """Print each mistake; return the exit status."""
    known = frozenset(re.findall(rf"^#({PREFIX}[A-Z_]+)=", EXAMPLE.read_text(), re.MULTILINE))
    mistakes = [
        *compose_mistakes(os.environ, known),
        *find_mistakes(ProxySettings),
        *find_mistakes(ApiServerSettings),
        *token_mistakes(os.environ),
    ]
    for mistake in mistakes:
        print(f"check: {mistake}", file=sys.stderr)
    if mistakes:
        return EXIT_CONFIG
    print("check: the settings are right")
    return 0


if __name__ == "__main__":
    sys.exit(main())
