"""DeepL's ``/v2/translate``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from fastapi import Request, Response
from pydantic_core import to_json

from proxy.api.compat.compat_api import CompatRoute
from proxy.api.compat.deepl.callers import find_authorization, header_authorization, note_ignored
from proxy.api.compat.deepl.errors import json_answer
from proxy.api.compat.deepl.languages import source_code
from proxy.api.compat.deepl.text_request import READER, TextRequest, read_text_request
from proxy.api.compat.fields import fields_of
from proxy.api.compat.translations import build_request, translate_list
from proxy.api.translation_run import TranslationRun
from proxy.glossaries.term_finder import TRUNCATED
from shared.protocol.answers import Translation
from shared.protocol.errors import BadRequestError

# DeepL's client for Python gives up after 10 s and repeats the request within 2 s.
LINGER_SECONDS: Final = 15.0
# DeepL's client for Node.js and Weblate wait 5 s.
QUEUE_SECONDS: Final = 4.0
# DeepL's own answer for texts without words; its client for Node.js needs a code.
_DEFAULT_SOURCE: Final = "EN"


async def serve_translate(request: Request) -> Response:
    """Answer ``POST /v2/translate``."""
    with TranslationRun(request) as run:
        run.linger_seconds, run.queue_seconds = LINGER_SECONDS, QUEUE_SECONDS
        body = await run.receive(header_authorization(request), partial(find_authorization, request))
        fields = await fields_of(request, body, READER)
        if fields.in_url:
            raise BadRequestError("The body is empty: send text and target_lang in it, as JSON or as a form.")
        asked = read_text_request(fields)
        note_ignored(request, asked.ignored)
        native = build_request(request, asked.texts, asked.source, asked.target, **asked.options)
        truncated = False
        for glossary_id in asked.glossary_ids:  # the first ones' entries win
            native, is_cut = await run.add_terms(glossary_id, native, for_variants=True)
            truncated |= is_cut
        results = await translate_list(run, native, *[TRUNCATED] * truncated)
        return json_answer(request, render_results(asked, results))


def render_results(asked: TextRequest, results: Sequence[Translation]) -> bytes:
    """Return the JSON with a translation for each text, in their order."""
    default = asked.source_code or _first_detected(results)
    items: list[dict[str, object]] = []
    for text, result in zip(asked.texts, results, strict=True):
        detected = asked.source_code or (source_code(result.detected.lang) if result.detected else default)
        items.append(
            {
                "detected_source_language": detected,
                "text": result.translation,
                "billed_characters": len(text),
                **asked.item_members,
            }
        )
    return to_json({"translations": items})


def _first_detected(results: Sequence[Translation]) -> str:
    for result in results:
        if result.detected is not None:
            return source_code(result.detected.lang)
    return _DEFAULT_SOURCE


ROUTES: Final = (CompatRoute(("POST",), "/v2/translate", serve_translate, at_root=True),)
