"""Pick one replica. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random


def least_loaded(urls: Sequence[str], load: Callable[[str], int], rng: Random) -> str:
    """Return the URL with the least load; among equals one at random, so that idle replicas share the work."""
    if len(urls) == 1:
        return urls[0]
    loads = [load(url) for url in urls]
    least = min(loads)
    return rng.choice([url for url, own in zip(urls, loads, strict=True) if own == least])
