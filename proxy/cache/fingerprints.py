"""Fingerprints: digests that identify texts with equal translations.

They include every field of a request, also future ones: a missing field would give a client the answer to another
request. A digest does not reveal the text.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

from pydantic_core import to_json

from shared.protocol.messages import TranslateRequest

# 256 bits: texts are attacker-controlled, so collisions must be infeasible.
FINGERPRINT_BYTES: Final = 32
# Longer texts are hashed in a thread: 64 KiB take 70 µs.
INLINE_CHARS: Final = 65_536
# Separates these digests from other uses of the hash; the number changes with the format of an entry.
_CACHE_DOMAIN: Final = b"pairway-cache-1"
_LENGTH_BYTES: Final = 8


def text_fingerprints(request: TranslateRequest, served_by: object) -> list[bytes]:
    """Return each text's fingerprint, equal in all proxies and lists.

    ``served_by`` has everything else that decides the translation; it must be JSON-serializable.
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
    """Prefix a part with its length, so that concatenations are unambiguous."""
    return len(part).to_bytes(_LENGTH_BYTES, "big") + part
