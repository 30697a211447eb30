"""Fingerprints: digests of texts with everything that decides their translations.

Every field of a request must count, also future ones: otherwise a client gets the answer to another request.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

from pydantic_core import to_json

from shared.protocol.translate_request import TranslateRequest

# 256 bits: texts are attacker-controlled, so collisions must be infeasible.
FINGERPRINT_BYTES: Final = 32
# Longer texts are hashed in a thread: 64 KiB take 70 µs.
INLINE_CHARS: Final = 65_536
# The number changes with the format of an entry.
_CACHE_DOMAIN: Final = b"pairway-cache-1"
_LENGTH_BYTES: Final = 8


def text_fingerprints(request: TranslateRequest, served_by: object) -> list[bytes]:
    """Return each text's fingerprint, equal in all proxies; ``served_by`` is JSON-serializable."""
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
    # Makes concatenations unambiguous.
    return len(part).to_bytes(_LENGTH_BYTES, "big") + part
