"""Language codes of other APIs, both ways, and languages' English names."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from shared.languages import (
    CACHED_TAGS,
    MAX_TAG_LENGTH,
    InvalidTagError,
    canonical_tag,
    display_name,
    language_and_script,
)
from shared.protocol.errors import InvalidRequestError
from shared.protocol.translate_request import AUTO

# Lists name the languages of a fleet, under several codes.
CACHED_NAMES: Final = 1024
# Codes that are no BCP-47 tag of their language, in lower case with hyphens.
ALIASES: Final = {
    "iw": "he",
    "tl": "fil",
    "jp": "ja",
    "zt": "zh-Hant",
    "zh-cht": "zh-Hant",
    "zh-chs": "zh-Hans",
    "pb": "pt-BR",
}


class UnsupportedLanguageError(InvalidRequestError, status=422, code="invalid-request", title="Invalid request"):
    """A code names no language; ``value`` is the code as sent, shortened."""

    def __init__(self, field: str, value: str) -> None:
        self.value = value[:40]
        super().__init__([(field, f"{self.value!r} is not a language code; examples: en, pt-BR, zh-Hant")])


def tag_of(code: str) -> str | None:
    """Return the canonical tag of another API's code, None without one.

    Case does not matter, and ``_`` is ``-``.
    """
    if len(code) > MAX_TAG_LENGTH:
        return None
    normal = code.strip().replace("_", "-").lower()
    try:
        return canonical_tag(ALIASES.get(normal, normal))
    except InvalidTagError:
        return None


def parse_code(code: str, field: str) -> str:
    """Return the canonical tag of a code, or raise UnsupportedLanguageError."""
    tag = tag_of(code)
    if tag is None:
        raise UnsupportedLanguageError(field, code)
    return tag


def parse_source(code: str, field: str) -> str:
    """Return the tag of a source language, AUTO for "" and auto.

    Raises:
        UnsupportedLanguageError: as :func:`parse_code`.
    """
    return AUTO if code.strip().lower() in {"", AUTO} else parse_code(code, field)


@lru_cache(maxsize=CACHED_TAGS)
def extension_code(tag: str) -> str:
    """Return the code that browser extensions have for a tag.

    It is the language without script and region, but zh-CN or zh-TW.
    """
    language, script = language_and_script(tag)
    if language == "zh":
        return "zh-TW" if script == "Hant" else "zh-CN"
    return language


@lru_cache(maxsize=CACHED_NAMES)
def english_name(tag: str) -> str:
    """Return a language's name in English, such as Chinese (Traditional)."""
    return display_name(tag, "en")


def is_same_language(tag: str, other: str) -> bool:
    """Return whether two tags have one language and script."""
    return language_and_script(tag) == language_and_script(other)
