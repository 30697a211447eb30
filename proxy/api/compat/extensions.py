"""Browser extensions: the custom APIs of Kiss Translator and Immersive Translate."""

from __future__ import annotations

from typing import Final

from fastapi import Request, Response
from pydantic_core import to_json

from proxy.api.compat.codec import CompatApi, CompatRoute, TranslationCodec, render_code_and_message
from proxy.api.compat.languages import parse_code, parse_source
from proxy.api.compat.text_lists import translate_page_texts
from proxy.exchange.exchange import WaitPolicy
from proxy.exchange.fields import BodyFormat, Fields, read_query
from proxy.exchange.key_places import KeyPlaces, as_bearer, header_key
from proxy.exchange.peer import Peer
from proxy.exchange.translation_run import TranslationRun
from shared.parsing.json_reader import JsonReader
from shared.protocol.errors import InvalidRequestError, KeyRequiredError, PairwayError
from shared.protocol.headers import BEARER
from shared.protocol.translate_request import AUTO

# Kiss Translator's code of Norwegian.
_KISS_CODES: Final = {"no": "nb"}


async def answer_kiss(run: TranslationRun, fields: Fields) -> bytes:
    """Return the answer to ``POST /kiss``: one text, or a batch of them.

    ``src`` is the detected or the sent language.
    """
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


def _header_authorization(peer: Peer) -> str | None:
    return as_bearer(header_key(peer, BEARER))


def _url_authorization(peer: Peer) -> str | None:
    return as_bearer(read_query(peer.query).text("token"))


KISS: Final = CompatApi(
    "kiss",
    (
        CompatRoute(
            ("POST",),
            "/",
            TranslationCodec(
                answer_kiss,
                BodyFormat(JsonReader(("text", "texts", "from", "to")), only_json=True),
                KeyPlaces(_header_authorization),
                WaitPolicy(queue_seconds=20.0),  # it waits for 30 s; a translation needs the rest
            ).serve,
        ),
    ),
    render_code_and_message,
)
IMMERSIVE: Final = CompatApi(
    "imme",
    (
        CompatRoute(
            ("POST",),
            "/",
            TranslationCodec(
                answer_immersive,
                BodyFormat(JsonReader(("source_lang", "target_lang", "text_list")), only_json=True),
                KeyPlaces(_url_authorization),  # it sends no header
                WaitPolicy(queue_seconds=25.0),  # it waits for 120 to 300 s; a user looks at the page
            ).serve,
        ),
    ),
    render_immersive_error,
)
