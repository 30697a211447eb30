"""Browser extensions: the custom APIs of Kiss Translator and Immersive Translate."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from fastapi import Request, Response
from pydantic_core import to_json

from proxy.api.compat.codec import CompatApi, CompatRoute, TranslationCodec, render_code_and_message
from proxy.api.compat.languages import parse_code, parse_source
from proxy.api.compat.text_lists import translate_page_texts
from proxy.exchange.exchange import WaitPolicy
from proxy.exchange.fields import BodyFormat, Fields, read_query
from proxy.exchange.key_places import KeyPlaces, as_bearer, header_key
from proxy.exchange.translation_run import TranslationRun
from shared.parsing.json_reader import JsonReader
from shared.protocol.errors import InvalidRequestError, KeyRequiredError, PairwayError
from shared.protocol.headers import BEARER
from shared.protocol.translate_request import AUTO

# Kiss Translator's code of Norwegian.
_KISS_CODES: Final = {"no": "nb"}


async def answer_kiss(run: TranslationRun, fields: Fields) -> bytes:
    """Answer ``POST /kiss``: one text or several; ``src`` is detected or sent."""
    is_batch = fields.members.get("texts") is not None
    texts = fields.strings("texts") if is_batch else [fields.text("text")]
    if not is_batch and not isinstance(fields.members.get("text"), str):
        raise InvalidRequestError([("text", "is required, or texts with a list of strings")])
    source = fields.optional_string("from") or AUTO
    tags = parse_source(source, "from"), parse_code(fields.optional_string("to"), "to")
    translations = [
        {"text": text, "src": _KISS_CODES.get(detected, detected) if detected else source}
        for text, detected in await translate_page_texts(run, texts, *tags)
    ]
    return to_json({"translations": translations} if is_batch else translations[0])


async def answer_immersive(run: TranslationRun, fields: Fields) -> bytes:
    """Return the answer to ``POST /imme``: a list of texts with placeholders."""
    source = fields.optional_string("source_lang") or AUTO
    texts = fields.strings("text_list")
    tags = parse_source(source, "source_lang"), parse_code(fields.optional_string("target_lang"), "target_lang")
    translations = [
        {"detected_source_lang": detected or source, "text": text}
        for text, detected in await translate_page_texts(run, texts, *tags)
    ]
    return to_json({"translations": translations})


def render_immersive_error(request: Request, error: PairwayError) -> Response:
    """Render an error; that of a missing key names its place."""
    if isinstance(error, KeyRequiredError):
        error = KeyRequiredError("This needs a key in the address: …/imme?token=KEY.")
    return render_code_and_message(request, error)


def _post(
    answer: Callable[[TranslationRun, Fields], Awaitable[bytes]], *names: str, keys: KeyPlaces, seconds: float
) -> tuple[CompatRoute]:
    """Return an API's only path; ``names``: its members, ``seconds``: its wait."""
    body, waits = BodyFormat(JsonReader(names), only_json=True), WaitPolicy(queue_seconds=seconds)
    return (CompatRoute(("POST",), "/", TranslationCodec(answer, body, keys, waits).serve),)


_IN_HEADER: Final = KeyPlaces(lambda peer: as_bearer(header_key(peer, BEARER)))
_IN_URL: Final = KeyPlaces(lambda peer: as_bearer(read_query(peer.query).text("token")))
# It waits for 30 s; a translation needs the rest.
KISS: Final = CompatApi(
    "kiss", _post(answer_kiss, "text", "texts", "from", "to", keys=_IN_HEADER, seconds=20.0), render_code_and_message
)
# It sends no header, and waits for 120 to 300 s; a user looks at the page.
IMMERSIVE: Final = CompatApi(
    "imme",
    _post(answer_immersive, "source_lang", "target_lang", "text_list", keys=_IN_URL, seconds=25.0),
    render_immersive_error,
)
