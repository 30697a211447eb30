"""``GET /languages``, and the language codes of LibreTranslate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

from fastapi import Request, Response
from pydantic_core import to_json

from proxy.api.compat.language_codes import english_name, tag_of
from proxy.api.compat.served_languages import known_targets, served_list
from proxy.fleet.snapshot import Snapshot
from proxy.routing.routes import Pivots
from shared.http.problems import JsonBytesResponse
from shared.languages import CACHED_TAGS, language_and_script

# Codes that clients compare exactly, by language and script.
_CODES: Final[Mapping[tuple[str, str], Sequence[str]]] = {
    ("zh", "Hans"): ("zh", "zh-CN", "zh-Hans"),
    ("zh", "Hant"): ("zh-HK", "zh-Hant", "zh-TW"),
    ("pt", "Latn"): ("pt", "pt-BR"),
    ("no", "Latn"): ("nb", "no"),
    ("he", "Hebr"): ("he", "iw"),
    ("fil", "Latn"): ("fil", "tl"),
}


async def serve_languages(request: Request) -> Response:
    """Answer ``GET /languages``; no key is needed, and a body is ignored."""
    return JsonBytesResponse(await served_list(request, _rendered))


def _rendered(snapshot: Snapshot, pivots: Pivots | None) -> bytes:
    return to_json(list_languages(known_targets(snapshot, pivots)))


def list_languages(targets: Mapping[str, Sequence[str]]) -> list[dict[str, object]]:
    """Return each source language, under all its codes, with its targets."""
    targets_by_code: dict[str, set[str]] = {}
    for source, tags in targets.items():
        codes = {code for tag in tags for code in codes_of(tag)}
        for code in codes_of(source):
            targets_by_code.setdefault(code, set()).update(codes)
    return [
        {"code": code, "name": name_of(code), "targets": sorted(targets_by_code[code] - set(codes_of(code)))}
        for code in sorted(targets_by_code)
    ]


@lru_cache(maxsize=CACHED_TAGS)
def codes_of(code: str) -> tuple[str, ...]:
    """Return all codes that are listed for a language."""
    tag = tag_of(code) or code
    return tuple(dict.fromkeys((*_CODES.get(language_and_script(tag), ()), tag)))


def code_of(tag: str) -> str:
    """Return the code with which LibreTranslate names a detected language."""
    language, script = language_and_script(tag)
    return f"{language}-{script}" if language == "zh" else tag


def name_of(code: str) -> str:
    """Return the English name of a code's language."""
    return english_name(tag_of(code) or code)
