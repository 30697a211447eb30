"""``POST /translate``, with ``q``, ``source`` and ``target``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from fastapi import Request, Response
from pydantic_core import to_json

from proxy.api.compat.fields import Fields, fields_of
from proxy.api.compat.language_codes import english_name
from proxy.api.compat.libretranslate.detect import language_answer
from proxy.api.compat.libretranslate.errors import RefusalError, not_supported, over_limit
from proxy.api.compat.libretranslate.languages import code_of
from proxy.api.compat.libretranslate.question import (
    READER,
    Question,
    early_authorization,
    find_authorization,
    insert_comma,
    read_question,
)
from proxy.api.compat.translations import build_request, translate_list
from proxy.api.translation_run import TranslationRun
from proxy.context import context
from proxy.routing.routes import pairs_of_kin
from shared.http.problems import JsonBytesResponse
from shared.http.request_context import request_header
from shared.protocol.answers import Translation
from shared.protocol.errors import LanguageUndetectedError, TooLargeError, UnknownPairError
from shared.protocol.translate_request import AUTO, TextFormat

# Mastodon and wagtail-localize wait for 10 s, Weblate for 20; none asks again.
QUEUE_SECONDS: Final = 8.0


async def serve_translate(request: Request) -> Response:
    """Answer ``POST /translate``."""
    with TranslationRun(request) as run:
        run.queue_seconds = QUEUE_SECONDS
        body = await run.receive(early_authorization(request), partial(find_authorization, request))
        return JsonBytesResponse(await answer_translate(run, await fields_of(request, body, READER, insert_comma)))


async def answer_translate(run: TranslationRun, fields: Fields) -> bytes:
    """Return the JSON answer to a known caller's fields.

    Raises:
        PairwayError: a field is missing or wrong, or there is no translation.
    """
    run.queue_seconds = QUEUE_SECONDS
    question = read_question(fields)
    results = await _translate(run, question)
    return _render(question, results, names_source=_names_source(run.request))


async def _translate(run: TranslationRun, question: Question) -> Sequence[Translation]:
    options: dict[str, object] = {}
    if question.text_format is TextFormat.HTML:
        options["format"] = TextFormat.HTML
    elif question.alternatives:
        options["alternatives"] = question.alternatives
    try:
        native = build_request(run.request, question.texts, question.source, question.target, **options)
    except TooLargeError as error:
        raise over_limit(error.size or 0, error.limit) from None
    try:
        return await translate_list(run, native, allows_foreign=True)
    except LanguageUndetectedError:
        text = "The language of q could not be detected among the served languages; set source"
        raise RefusalError(text) from None
    except UnknownPairError as error:
        raise _unknown_pair(run.request, error, question.target) from None


def _unknown_pair(request: Request, error: UnknownPairError, target: str) -> RefusalError:
    """Return the error that names the unknown language, or else the pair."""
    snapshot = context(request).fleet.registry.snapshot
    source = error.pair.removesuffix(f"-{target}")
    if not pairs_of_kin(snapshot.by_source, source):
        return not_supported(code_of(source))
    if not pairs_of_kin(snapshot.by_target, target):
        return not_supported(code_of(target))
    named = (f"{english_name(tag)} ({code_of(tag)})" for tag in (target, source))
    return RefusalError(" is not available as a target language from ".join(named))


def _names_source(request: Request) -> bool:
    """Return whether the client needs ``detectedLanguage`` of every answer.

    The extension Translate Web Pages reads it even if it named the language itself.
    """
    return "-extension://" in (request_header(request, "origin") or "")


def _render(question: Question, results: Sequence[Translation], *, names_source: bool) -> bytes:
    is_list = question.is_list
    translations = [result.translation or "" for result in results]
    answer: dict[str, object] = {"translatedText": translations if is_list else translations[0]}
    if question.alternatives:
        alternatives = [_distinct(result) for result in results]
        answer["alternatives"] = alternatives if is_list else alternatives[0]
    if question.source == AUTO:
        languages = [language_answer(result.detected) for result in results]
        answer["detectedLanguage"] = languages if is_list else languages[0]
    elif names_source and not is_list:
        answer["detectedLanguage"] = {"confidence": 100.0, "language": question.source_code}
    return to_json(answer)


def _distinct(result: Translation) -> list[str]:
    return [text for text in dict.fromkeys(result.alternatives or ()) if text and text != result.translation]
