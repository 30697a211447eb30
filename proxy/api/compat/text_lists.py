"""Lists of texts: native requests, their language, and results."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from pydantic import ValidationError

from proxy.api.compat.languages import extension_code
from proxy.exchange.translation_run import TranslationRun
from proxy.routing.language_detector import Detection
from shared.protocol.answers import Detected, Notice, Translation
from shared.protocol.errors import InvalidRequestError, LanguageUndetectedError, UnusableOutputError
from shared.protocol.translate_request import SentenceSplitting, TextFormat, TranslateRequest

# The best served language of a short text such as "Home" has more, that of a text in another language less.
MIN_CONFIDENCE: Final = 0.1
# A word or two, which dictionaries look up; the language of a longer text is detected, or not served.
MAX_GUESSED_CHARS: Final = 25
# Codes of the warnings of all results, for APIs that have no place for them.
WARNINGS_HEADER: Final = "X-Pairway-Warnings"
# Tags and references of HTML, as extensions write them: <b0></b0>, <a i=1>, &amp;
_MARKUP: Final = re.compile(r"</?[A-Za-z][^<>]{0,200}>|&(?:amp|lt|gt|quot|nbsp|#\d{1,7}|#[xX][0-9A-Fa-f]{1,6});")
_SIGN: Final = re.compile("[&<>]")
# Longer lists are searched for markup in a thread: the slowest take 75 ns a character.
INLINE_CHARS: Final = 50_000
# HTML whose line breaks stay.
_HTML_LINES: Final = {"format": TextFormat.HTML, "split_sentences": SentenceSplitting.LINES_AND_SENTENCES}


def build_request(
    run: TranslationRun, texts: Sequence[str], source: str, target: str, **options: Any
) -> TranslateRequest:
    """Return the native request for a list of texts, between two tags.

    Raises TooLargeError, or InvalidRequestError for wrong options.
    """
    # One text as a client of the native API sends it: both share computations.
    text = texts[0] if len(texts) == 1 else list(texts)
    run.parts.settings.limits.check(text)
    try:
        return TranslateRequest(text=text, source_lang=source, target_lang=target, **options)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "request"
        raise InvalidRequestError([(where, first["msg"])]) from None


async def translate(
    run: TranslationRun, translate_request: TranslateRequest, *notices: Notice
) -> Sequence[Translation]:
    """Translate a list; add codes of notices and warnings to the headers.

    Raises as :meth:`TranslationRun.translate`, and UnusableOutputError where one text fails: these formats cannot say
    so.
    """
    answer = await run.translate(translate_request)
    results = await run.parts.translation.result_turns.read(translate_request, answer)
    codes = sorted({notice.code for result in results for notice in result.warnings} | {each.code for each in notices})
    if codes:
        run.peer.add_answer_headers({WARNINGS_HEADER: ", ".join(codes)})
    for number, result in enumerate(results):
        if result.translation is None:
            reason = "; ".join(notice.message for notice in result.warnings)
            raise UnusableOutputError(f"Text {number} has no usable translation: {reason}")
    return results


async def translate_list(
    run: TranslationRun, translate_request: TranslateRequest, *notices: Notice, allows_foreign: bool = False
) -> Sequence[Translation]:
    """Translate as :func:`translate`, also texts too short to detect.

    All are then translated from the language of most of the text: pages have many such as "Home". Unless
    ``allows_foreign``, a text in no served language still fails the list.
    """
    try:
        return await translate(run, translate_request, *notices)
    except LanguageUndetectedError:
        texts, text_format = translate_request.texts, translate_request.format
        detected = await find_list_language(run, texts, text_format, allows_foreign=allows_foreign)
        if detected is None:
            raise
    translate_request = translate_request.model_copy(update={"source_lang": detected.lang})
    results = await translate(run, translate_request, *notices)
    return [result.model_copy(update={"detected": detected}) for result in results]


async def translate_page_texts(
    run: TranslationRun, texts: Sequence[str], source: str, target: str
) -> list[tuple[str, str | None]]:
    """Translate texts of a web page; return each with its detected language.

    If one has tags or references, all are read as HTML: its tags keep their places better than those of plain text.
    Extensions mark other elements by tags. A text that has bare signs (``a & b``) gets bare signs back.
    """
    if not texts:
        return []
    if sum(map(len, texts)) <= INLINE_CHARS:
        has_bare_signs = _find_bare_signs(texts)
    else:
        has_bare_signs = await run.parts.process.long_bodies.read(run.caller_identity, partial(_find_bare_signs, texts))
    options: dict[str, Any] = _HTML_LINES if has_bare_signs else {}
    results = await translate_list(run, build_request(run, texts, source, target, **options))
    answers: list[tuple[str, str | None]] = []
    for number, result in enumerate(results):
        translation = result.translation or ""
        if has_bare_signs and has_bare_signs[number]:
            translation = translation.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
        answers.append((translation, extension_code(result.detected.lang) if result.detected else None))
    return answers


def _find_bare_signs(texts: Sequence[str]) -> list[bool]:
    """Return which texts have signs outside of markup; [] if none has markup."""
    if not any(map(_MARKUP.search, texts)):
        return []
    return [_SIGN.search(_MARKUP.sub("", text)) is not None for text in texts]


async def find_list_language(
    run: TranslationRun, texts: Sequence[str], text_format: TextFormat, *, allows_foreign: bool
) -> Detected | None:
    """Return a list's likeliest language.

    None if no text has one and they exceed ``MAX_GUESSED_CHARS``; or, unless ``allows_foreign``, if a text seems to be
    in a language that is not served.
    """
    detection, snapshot = run.parts.translation.detection, run.parts.fleet.registry.snapshot
    detections = await detection.detect(run.caller_identity, texts, snapshot, text_format)
    is_detected = any(each.detected for each in detections)
    if not is_detected and sum(map(len, texts)) > MAX_GUESSED_CHARS:
        return None
    for text, each in zip(texts, detections, strict=True):
        if (allows_foreign and is_detected) or (each.candidates and each.candidates[0].confidence >= MIN_CONFIDENCE):
            continue
        if (await detection.score(run.caller_identity, text, text_format)).has_visible_words:
            return None
    return next(iter(average(texts, detections)), None)


def average(texts: Sequence[str], detections: Sequence[Detection]) -> list[Detected]:
    """Return the languages of a list of texts, the likeliest first.

    A confidence is the mean of the texts with this candidate; more text comes first.
    """
    found: dict[str, list[tuple[float, int]]] = {}
    for text, detection in zip(texts, detections, strict=True):
        for candidate in detection.candidates:
            found.setdefault(candidate.lang, []).append((candidate.confidence, len(text)))

    def mean(lang: str) -> float:
        return sum(confidence for confidence, _ in found[lang]) / len(found[lang])

    def weight(lang: str) -> float:
        return mean(lang) * sum(chars for _, chars in found[lang])

    ranked = sorted(found, key=weight, reverse=True)
    return [Detected(lang=lang, confidence=mean(lang)) for lang in ranked]
