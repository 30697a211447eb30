"""Immersive Translate's custom API: a list of texts with placeholders."""

from __future__ import annotations

from typing import Final

from fastapi import Request, Response
from pydantic_core import to_json

from proxy.api.compat.compat_api import CompatApi, CompatRoute, render_code_and_message
from proxy.api.compat.fields import json_fields_of, query_fields
from proxy.api.compat.language_codes import parse_code, parse_source
from proxy.api.compat.translations import translate_page_texts
from proxy.api.translation_run import TranslationRun
from shared.http.problems import JsonBytesResponse
from shared.parsing.json_reader import JsonReader
from shared.protocol.errors import KeyRequiredError, PairwayError
from shared.protocol.headers import BEARER
from shared.protocol.translate_request import AUTO

# The extension waits for 120 to 300 s; a user looks at the page.
QUEUE_SECONDS: Final = 25.0
READER: Final = JsonReader(("source_lang", "target_lang", "text_list"))


async def serve_translate(request: Request) -> Response:
    """Answer ``POST /imme``; the key is ``?token=``: the extension sends no header."""
    with TranslationRun(request) as run:
        key = query_fields(request).text("token")
        body = await run.receive(f"{BEARER} {key}" if key else None, is_json=True)
        fields = await json_fields_of(request, body, READER)
        run.queue_seconds = QUEUE_SECONDS
        source = fields.optional_string("source_lang") or AUTO
        texts = fields.strings("text_list")
        tags = parse_source(source, "source_lang"), parse_code(fields.optional_string("target_lang"), "target_lang")
        translations = [
            {"detected_source_lang": detected or source, "text": text}
            for text, detected in await translate_page_texts(run, texts, *tags)
        ]
        return JsonBytesResponse(to_json({"translations": translations}))


def render_error(request: Request, error: PairwayError) -> Response:
    """Render an error; that of a missing key names its place."""
    if isinstance(error, KeyRequiredError):
        error = KeyRequiredError("This needs a key in the address: …/imme?token=KEY.")
    return render_code_and_message(request, error)


API: Final = CompatApi("imme", (CompatRoute(("POST",), "/", serve_translate),), render_error)
