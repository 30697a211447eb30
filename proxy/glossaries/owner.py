"""Owners of glossaries: API keys, or words that callers choose. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

# 128 bits: nobody finds a second word with the same digest.
_DIGEST_BYTES: Final = 16
_DOMAIN: Final = b"pairway-glossary"


@dataclass(frozen=True, slots=True)
class GlossaryOwner:
    """An owner; ``name`` is in the names of its keys in Redis.

    ``expires``: its glossaries are deleted some time after their last use. Otherwise they live as long as the API key.
    """

    name: str
    expires: bool


def owner_of_key(key_id: str) -> GlossaryOwner:
    """Return the owner that an API key is."""
    return GlossaryOwner(f"key-{key_id}", expires=False)


def owner_of_word(word: str) -> GlossaryOwner:
    """Return the owner that a presented word is, where keys are off.

    Redis gets only the digest. It hides long words; short ones can be guessed.
    """
    digest = blake2b(word.encode(errors="surrogatepass"), digest_size=_DIGEST_BYTES, person=_DOMAIN)
    return GlossaryOwner(f"word-{digest.hexdigest()}", expires=True)
