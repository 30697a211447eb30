"""Private files in a run's folder: the URL of its Redis, and its tokens."""

from __future__ import annotations

from pathlib import Path

REDIS_URL = "redis-url"
# `pairway` reads it (client/pairway/command/operator_access.py).
OPERATOR_TOKEN = "operator-token"  # noqa: S105 - a file's name
# Prometheus reads these two (deploy/prometheus_server.py).
OBSERVER_TOKEN = "observer-token"  # noqa: S105
APISERVER_TOKEN = "apiserver-token"  # noqa: S105


def write(folder: Path, name: str, content: str) -> None:
    """Write a file that only its owner reads: a new one, because an old one keeps its mode."""
    file = folder / name
    file.unlink(missing_ok=True)
    file.touch(mode=0o600, exist_ok=False)
    file.write_text(content)


def remove_all(folder: Path) -> None:
    """Remove what leads nowhere after the run."""
    for name in (REDIS_URL, OPERATOR_TOKEN, OBSERVER_TOKEN, APISERVER_TOKEN):
        (folder / name).unlink(missing_ok=True)
