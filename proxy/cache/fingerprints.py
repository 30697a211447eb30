"""Digests: what makes two requests the same, and two texts' translations. Pure.

Every field of a request counts, those that it may get one day too: what is left out would give one client another's
answer. Digests tell nothing of the texts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from hashlib import blake2b
from typing import Final, TypeVar

from pydantic_core import to_json

from shared.protocol.messages import TranslateRequest

T = TypeVar("T")

# 256 bits: clients choose the texts, and nobody is to find two that meet.
FINGERPRINT_BYTES: Final = 32
# Up to so many characters are digested in place: 64 KiB take 70 µs (measured; 2 MB take 2.2 ms). More go to a thread,
# where hashing lets the event loop run.
INLINE_CHARS: Final = 65_536
# Keeps the cache's digests apart from any others; its number changes with what stands in an entry.
_CACHE_DOMAIN: Final = b"pairway-cache-1"
_LENGTH_BYTES: Final = 8


def request_fingerprint(request: TranslateRequest, key: bytes) -> bytes:
    """Return what all requests that ask for the same have in common, and no others; ``key`` is up to 64 bytes."""
    return blake2b(request.model_dump_json().encode(), digest_size=FINGERPRINT_BYTES, key=key).digest()


def text_fingerprints(request: TranslateRequest, served_by: object) -> list[bytes]:
    """Return a digest for each text, the same in every proxy; ``served_by`` is whatever else decides its translation.

    A single text and the same in a list have the same.
    """
    shared = blake2b(_framed(_options(request)), digest_size=FINGERPRINT_BYTES, person=_CACHE_DOMAIN)
    shared.update(_framed(to_json(served_by)))
    digests: list[bytes] = []
    for text in request.texts:
        digest = shared.copy()
        digest.update(text.encode())
        digests.append(digest.digest())
    return digests


async def in_thread_if_large(request: TranslateRequest, digest: Callable[[], T]) -> T:
    """Return the digest of the request, made in a thread where it takes long."""
    return await asyncio.to_thread(digest) if request.chars > INLINE_CHARS else digest()


def _options(request: TranslateRequest) -> bytes:
    return request.model_dump_json(exclude={"text"}).encode()


def _framed(part: bytes) -> bytes:
    """Put the length before a part, so that no two ways of cutting the same bytes are alike."""
    return len(part).to_bytes(_LENGTH_BYTES, "big") + part
