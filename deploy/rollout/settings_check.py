"""Check all settings of docker compose: `docker compose run --rm check`.

Runs in the proxy's image, with all of .env and the settings that compose passes to the servers. Exit status: 0 for no
mistake, 78 for any; each mistake is a line. Lines of .env that reach nobody are named, and are no mistake.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from apiserver.settings import ApiServerSettings
from proxy.settings import ProxySettings
from shared.runtime.exit_codes import EXIT_CONFIG
from shared.runtime.settings import find_mistakes, unknown_settings

# The list of all settings.
EXAMPLE: Final = Path(".env.example")
PREFIX: Final = "PAIRWAY_"
SERVER_PREFIXES: Final = ("PROXY_", "APISERVER_")
SCALES: Final = ("PAIRWAY_DE_REPLICAS", "PAIRWAY_FR_REPLICAS", "PAIRWAY_PROXIES")
MAX_PORT: Final = 65_535
# Of docker and docker compose, and what they, the image and Python set in each container.
OTHERS_PREFIXES: Final = ("COMPOSE_", "DOCKER_", "BUILDKIT_", "PYTHON", "REQUESTS_")
OTHERS: Final = frozenset(
    {"PATH", "HOME", "HOSTNAME", "PWD", "SHLVL", "TERM", "LANG", "LC_CTYPE", "GPG_KEY", "SSL_CERT_FILE", "_"}
)


def compose_mistakes(environ: Mapping[str, str], known: frozenset[str]) -> list[str]:
    """Return a sentence for each mistake in the settings of compose itself; ``known`` has their names."""
    sentences = unknown_settings(PREFIX, known, environ)
    address = environ.get("PAIRWAY_EDGE_ADDRESS", "")
    # As deploy/edge/start.sh.
    if address and not address.startswith("127.") and environ.get("PROXY_KEYS") != "on":
        sentences.append(
            f"PAIRWAY_EDGE_ADDRESS={address} can be reached from other machines, and PROXY_KEYS is not on: create keys "
            "and set PROXY_KEYS=on, or use PAIRWAY_EDGE_ADDRESS=127.0.0.1"
        )
    if "," in environ.get("COMPOSE_ENV_FILES", ""):
        sentences.append("COMPOSE_ENV_FILES names several files, and this check reads one; make roll checks all")
    return [*sentences, *_scale_mistakes(environ)]


def _scale_mistakes(environ: Mapping[str, str]) -> list[str]:
    given = {name: value for name in SCALES if (value := environ.get(name, ""))}
    wrong = {name: value for name, value in given.items() if not value.isdecimal()}
    sentences = [f"{name}={value} is not a number of containers, 0 or more" for name, value in wrong.items()]
    port = environ.get("PAIRWAY_PORT") or ("8000-8019" if environ.get("COMPOSE_PROFILES") else "8000")
    ports = count_ports(port)
    proxies = given.get("PAIRWAY_PROXIES", "1")
    if ports is None:
        sentences.append(f"PAIRWAY_PORT={port} is neither a port nor a range of ports, such as 8000 or 8000-8019")
    elif proxies.isdecimal() and int(proxies) > ports:
        sentences.append(
            f"PAIRWAY_PROXIES={proxies} needs a port for each proxy, and PAIRWAY_PORT={port} has {ports}: "
            "set a range with one port more than proxies, such as 8000-8019 (the default with COMPOSE_PROFILES=edge)"
        )
    return sentences


def count_ports(text: str) -> int | None:
    """Return the number of ports in a port or range, or None if it is neither."""
    found = re.fullmatch(r"(\d{1,5})(?:-(\d{1,5}))?", text, re.ASCII)
    if found is None:
        return None
    first, last = int(found[1]), int(found[2] or found[1])
    return last - first + 1 if 1 <= first <= last <= MAX_PORT else None


def case_mistakes(environ: Mapping[str, str]) -> list[str]:
    """Return a sentence for each setting in small letters, which docker compose would ignore."""
    prefixes = (PREFIX, *SERVER_PREFIXES)
    wrong = [name for name in sorted(environ) if name.upper() != name and name.upper().startswith(prefixes)]
    return [f"{name} is not read, because settings have capital letters; write {name.upper()}" for name in wrong]


def idle_names(environ: Mapping[str, str], known: frozenset[str]) -> list[str]:
    """Return the names that reach no server and not docker compose; ``known`` has those of the example."""
    prefixes = (PREFIX, *SERVER_PREFIXES, *OTHERS_PREFIXES)
    return [name for name in sorted(environ) if name not in known | OTHERS and not name.upper().startswith(prefixes)]


def token_mistakes(environ: Mapping[str, str]) -> list[str]:
    """Return a sentence if the proxies' token is not one that API servers accept."""
    accepted = {environ.get(name, "") for name in ("APISERVER_TOKEN", "APISERVER_TOKEN_PREVIOUS")} - {""}
    if accepted and environ.get("PROXY_REPLICA_TOKEN", "") not in accepted:
        return ["PROXY_REPLICA_TOKEN is neither APISERVER_TOKEN nor APISERVER_TOKEN_PREVIOUS: no proxy could translate"]
    return []


def main() -> int:
    """Print each mistake; return the exit status."""
    example = frozenset(re.findall(r"^#([A-Z][A-Z0-9_]*)=", EXAMPLE.read_text(), re.MULTILINE))
    for name in idle_names(os.environ, example):
        print(
            f"check: warning: {name} reaches no server, because docker-compose.yml passes on the names of .env.example; "
            "remove it, or add it to x-apiserver-environment there"
        )
    mistakes = [
        *compose_mistakes(os.environ, frozenset(name for name in example if name.startswith(PREFIX))),
        *case_mistakes(os.environ),
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
