"""Fingerprints: what makes two texts' translations the same.

Every field of a request counts, those that it may get one day too: what is left out would give one client another's
answer. Fingerprints reveal nothing of the texts.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

from pydantic_core import to_json

from shared.protocol.messages import TranslateRequest

# 256 bits: texts are attacker-controlled, so collisions must be infeasible.
FINGERPRINT_BYTES: Final = 32
# Up to so many characters are hashed in place: 64 KiB take 70 µs. More go to a thread.
INLINE_CHARS: Final = 65_536
# Keeps the cache's fingerprints apart from any others; its number changes with the format of an entry.
_CACHE_DOMAIN: Final = b"pairway-cache-1"
_LENGTH_BYTES: Final = 8


def text_fingerprints(request: TranslateRequest, served_by: object) -> list[bytes]:
    """Return a fingerprint for each text, the same in every proxy, alone or in a list.

    ``served_by`` is whatever else decides its translation.
    """
    options = request.model_dump_json(exclude={"text"}).encode()
    common = blake2b(_with_length(options), digest_size=FINGERPRINT_BYTES, person=_CACHE_DOMAIN)
    common.update(_with_length(to_json(served_by)))
    fingerprints: list[bytes] = []
    for text in request.texts:
        text_hash = common.copy()
        text_hash.update(text.encode())
        fingerprints.append(text_hash.digest())
    return fingerprints


def _with_length(part: bytes) -> bytes:
    """Put the length before a part: no two divisions of the same bytes are then alike."""
    return len(part).to_bytes(_LENGTH_BYTES, "big") + part
