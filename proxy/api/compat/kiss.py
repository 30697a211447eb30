"""Kiss Translator's custom API: one text, or a batch of them."""

from __future__ import annotations

from typing import Final

from fastapi import Request, Response
from pydantic_core import to_json

from proxy.api.compat.compat_api import CompatApi, CompatRoute, render_code_and_message
from proxy.api.compat.fields import header_key, json_fields_of
from proxy.api.compat.language_codes import parse_code, parse_source
from proxy.api.compat.translations import translate_page_texts
from proxy.api.translation_run import TranslationRun
from shared.http.problems import JsonBytesResponse
from shared.parsing.json_reader import JsonReader
from shared.protocol.errors import InvalidRequestError
from shared.protocol.headers import BEARER
from shared.protocol.translate_request import AUTO

# It waits for 30 s; a translation needs the rest.
QUEUE_SECONDS: Final = 20.0
READER: Final = JsonReader(("text", "texts", "from", "to"))
# Its code of Norwegian.
_CODES: Final = {"no": "nb"}


async def serve_translate(request: Request) -> Response:
    """Answer ``POST /kiss``; ``src`` is the detected or the sent language."""
    with TranslationRun(request) as run:
        key = header_key(request, BEARER)
        body = await run.receive(f"{BEARER} {key}" if key else None, is_json=True)
        fields = await json_fields_of(request, body, READER)
        run.queue_seconds = QUEUE_SECONDS
        is_batch = fields.members.get("texts") is not None
        texts = fields.strings("texts") if is_batch else [fields.text("text")]
        if not is_batch and not isinstance(fields.members.get("text"), str):
            raise InvalidRequestError([("text", "is required, or texts with a list of strings")])
        source = fields.optional_string("from") or AUTO
        tags = parse_source(source, "from"), parse_code(fields.optional_string("to"), "to")
        translations = [
            {"text": text, "src": _CODES.get(detected, detected) if detected else source}
            for text, detected in await translate_page_texts(run, texts, *tags)
        ]
        return JsonBytesResponse(to_json({"translations": translations} if is_batch else translations[0]))


API: Final = CompatApi("kiss", (CompatRoute(("POST",), "/", serve_translate),), render_code_and_message)
