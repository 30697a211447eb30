"""Cleanup: removes the text that a model wrote around its translation.

Everything with a counterpart in the source (a colon, a quote, a tag) stays. Every pattern is bounded, so none is slow.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from shared.languages import LanguagePair, display_name, language_name, own_name

CACHED_LABELS: Final = 512  # a catalog serves a few dozen languages

_CONTROL_NAMES: Final = (
    r"bos|eos|pad|unk|sep|cls|mask|/?s|end_of_turn|start_of_turn|end_of_text|endoftext|eod|eot|/?think(?:ing)?|"
    r"extra_id_\d{1,3}|0x[0-9A-F]{2}|reserved_\d{1,4}|unused\d{1,4}"
)
# As tokenizers spell them: <|im_end|>, <｜end▁of▁sentence｜>, </s>, <end_of_turn>, [INST], <<SYS>>, <0x0A>.
CONTROL: Final = re.compile(
    rf"<\|[^\s<>|]{{1,48}}+\|>|<｜[^\s<>｜]{{1,48}}+｜>|<(?:{_CONTROL_NAMES})>|\[/?INST\]|<</?SYS>>|\[(?:SEP|CLS|PAD|UNK|MASK)\]"
)
_ROLES: Final = r"(?:assistant|model|user|system|human)"
# Control tokens and the role that they announce.
TURN_START: Final = re.compile(
    rf"\s*(?:(?:<\|(?:im_start|start_header_id|assistant|user|system)\|>|<start_of_turn>|\[/INST\]|<(?:bos|s)>)"
    rf"\s*(?:{_ROLES}(?![^\W_]))?|<\|end_header_id\|>)\s*"
)
# An unwanted turn begins on a new line, or with a role's control token.
_TURN_END: Final = r"(?:<\|(?:im_end|eot_id|eom_id|end_of_text|endoftext|end|eos)\|>|<(?:end_of_turn|eos|/s|sep)>|<｜end▁of▁sentence｜>)"
_NEXT_ROLE: Final = (
    r"(?:<\|(?:im_start|start_header_id|user|assistant|system)\|>|<start_of_turn>|\[INST\]|<｜(?:User|Assistant)｜>)"
)
NEXT_TURN: Final = re.compile(rf"{_TURN_END}\s{{0,4}}+(?:{_NEXT_ROLE}|(?<=\n)(?=[^\W_]))|{_NEXT_ROLE}")
# The same in words, on a separate line.
SPOKEN_TURN: Final = re.compile(r"\n\s{0,8}+(?:\#{2,4} ?)?(?:User|Human|Assistant|System|Input|Instruction|Source) ?:")
THINKING_START: Final = re.compile(r"<(?:think|thinking|thought|reasoning|analysis)>", re.IGNORECASE)
THINKING_END: Final = re.compile(r"</(?:think|thinking|thought|reasoning|analysis)>", re.IGNORECASE)

_MARKUP: Final = r"[\s*_#>]{0,8}"
_COLON: Final = r"[\s*_]{0,4}+[:：][*_]{0,3}"
_ENGLISH: Final = (
    r"(?:(?:sure|certainly|of course|okay|ok|absolutely|yes|alright)(?: thing)?[!,.]{0,3}\s{1,3})?"
    r"(?:here(?:['’]s| is| are| you go)(?![^\W_])[^\n:：]{0,80}"
    r"|(?:(?:the|my|your|a) )?(?:[\w-]{1,24} ){0,3}(?:translation|translated (?:text|sentence|version))(?![^\W_])"
    r"[^\n:：]{0,60}|translated (?:in)?to [^\n:：]{1,40}|output|result|answer|target|response)"
)
_GERMAN: Final = (
    r"(?:(?:gerne?|natürlich|klar|sicher|selbstverständlich|okay)[!,.]{0,3}\s{1,3})?"
    r"(?:hier (?:ist|sind|kommt|die)(?![^\W_])[^\n:：]{0,80}"
    r"|(?:(?:die|meine|deine|ihre) )?(?:[\w-]{1,24} ){0,2}übersetzung(?![^\W_])[^\n:：]{0,60})"
)
_FRENCH: Final = (
    r"(?:(?:bien sûr|certainement|d['’]accord|avec plaisir)\s?[!,.]{0,3}\s{1,3})?"
    r"(?:voici(?![^\W_])[^\n:：]{0,80}|(?:(?:la|ma|votre) )?traduction(?![^\W_])[^\n:：]{0,60})"
)
_SPANISH: Final = (
    r"(?:¡?(?:claro|por supuesto|seguro|desde luego)[!,.]{0,3}\s{1,3})?"
    r"(?:aquí (?:está|tienes|tiene|va)(?![^\W_])[^\n:：]{0,80}|(?:(?:la|mi|su) )?traducción(?![^\W_])[^\n:：]{0,60})"
)
_CHINESE: Final = (
    r"(?:(?:好的|当然|當然|没问题)[，。！,!]?\s{0,2})?"
    r"(?:(?:以下[是为為]|这是|這是|下面是)[^\n:：]{0,40}|[^\n:：]{0,8}(?:翻译|翻譯|译文|譯文)[^\n:：]{0,12})"
)
_JAPANESE: Final = (
    r"(?:(?:はい|もちろん(?:です)?|承知(?:しました|いたしました))[、。！,!]?\s{0,2})?"
    r"(?:以下[はがに][^\n:：]{0,40}|[^\n:：]{0,8}(?:翻訳|訳文|日本語訳|和訳)[^\n:：]{0,16})"
)
_KOREAN: Final = (
    r"(?:(?:네|물론(?:입니다|이죠)?|알겠습니다)[,.!]?\s{0,2})?(?:다음은[^\n:：]{0,40}|[^\n:：]{0,8}번역[^\n:：]{0,16})"
)
_PREAMBLES: Final = (_ENGLISH, _GERMAN, _FRENCH, _SPANISH, _CHINESE, _JAPANESE, _KOREAN)
# An announcement of the translation, up to its colon.
PREAMBLE: Final = re.compile(rf"{_MARKUP}(?:{'|'.join(_PREAMBLES)}){_COLON}\s*", re.IGNORECASE)

_NOTE_WORDS: Final = (
    r"(?:(?:please )?notes?|n\.?b|(?:translation|translator['’]?s?) notes?|explanations?|remarks?|comments?|breakdown"
    r"|alternatives?|alternative translations?|anmerkung(?:en)?|hinweise?|erklärung(?:en)?|erläuterung(?:en)?"
    r"|remarques?|explications?|notas?|explicaci(?:ón|ones)|observaci(?:ón|ones)"
    r"|注|注意|注释|注釋|备注|備註|说明|說明|解释|解釋|注記|備考|補足|解説|説明|참고|주의|설명|비고)"
)
NOTE: Final = re.compile(rf"(?<![^\W_]){_NOTE_WORDS}{_COLON}", re.IGNORECASE)
# A separate note: on a new line, or in brackets.
NOTE_APART: Final = re.compile(
    rf"(?:\n\s{{0,8}}+[*_#>(（\[【-]{{0,4}}\s?|\s?[(（\[【][*_]{{0,2}}\s?){_NOTE_WORDS}{_COLON}", re.IGNORECASE
)
# A paragraph that comments on the answer.
CLOSING: Final = re.compile(
    r"\n[^\S\n]{0,8}+\n\s{0,8}+(?:[(（*]{0,3}(?:let me know|i hope|hope this|please let|please note|this translation|the translation"
    r"|in this translation|is there anything|feel free|or, more|literally|alternatively|i have translated|i['’]ve translated)"
    r"(?![^\W_])|[(（])",
    re.IGNORECASE,
)
# A model that refuses, or speaks about itself.
REFUSAL: Final = re.compile(
    r"(?<![^\W_])(?:as an ai(?: language)? model|i (?:can(?:['’]t|not)|am unable to) (?:translate|assist|help with|fulfil|comply)"
    r"|i['’]m unable to (?:translate|assist|help with|fulfil|comply)|please provide (?:the|me with the) text)(?![^\W_])",
    re.IGNORECASE,
)
MAX_WRAPPINGS: Final = 4  # nested: a label, quotes inside bold, a code fence around a preamble
# Everything removed has one of these, except quotes; most outputs have none.
_SIGN: Final = re.compile(r"[<\[:：\n`]")
# French and Swiss spelling needs no-break spaces.
_HARD_SPACE: Final = re.compile(r"\s(?:\s+|(?<=[^ \u00a0\u202f]))")
_QUOTE: Final = re.compile("[\"“”„«»‹›「」『』`]|(?<![^\\W_])['‘’]|['’](?![^\\W_])")
_QUOTES: Final = (*('""', "“”", "„“", "„”", "””", "«»", "»«", "‹›", "「」", "『』", "``", "''", "‘’"), *("****", "__"))
_FENCE: Final = re.compile(r"\s*```[\w-]{0,16}[ \t]*(?:\n|(?<=```))")
_WRAPPING_TAG: Final = re.compile(
    r"\s*<(/?)(target|translation|translated_text|translated|output|result|answer|text|tgt|source_text|target_text)>\s*",
    re.IGNORECASE,
)


class CleanedText(NamedTuple):
    """A translation; ``removed`` has codes for the removed text."""

    text: str
    removed: tuple[str, ...]


def clean(text: str, source: str, pair: LanguagePair) -> CleanedText:
    """Remove everything around a translation; empty if there is none."""
    if _SIGN.search(text) is None and text.lstrip()[:1].isalnum():
        return CleanedText(_HARD_SPACE.sub(" ", text).strip(), ())
    removed: list[str] = []

    def apply(code: str, shorter: str | None) -> None:
        nonlocal text
        if shorter is not None:
            text = shorter
            removed.append(code)

    apply("removed-thinking", _without_thinking(text, source))
    apply("removed-controls", _without_leading_controls(text, source))
    apply("removed-next-turn", _without_next_turn(text, source, pair))
    apply("removed-controls", _without_trailing_controls(text, source))
    apply("removed-note", _without_notes(text, source))
    for _ in range(MAX_WRAPPINGS):
        before = text
        apply("removed-wrapping", _without_fence(text, source))
        apply("removed-wrapping", _without_tags(text, source))
        apply("removed-preamble", _without_preamble(text, source, pair))
        apply("removed-quotes", _without_quotes(text, source))
        if text == before:
            break
    return CleanedText(_HARD_SPACE.sub(" ", text).strip(), tuple(dict.fromkeys(removed)))


def has_leftover_chat(text: str, source: str) -> bool:
    """Return whether a note, preamble, fence or refusal remains."""
    has_more_colons = _colons(text) > _colons(source)
    if has_more_colons and (len(NOTE.findall(text)) > len(NOTE.findall(source)) or PREAMBLE.match(text)):
        return True
    if "```" in text and "```" not in source:
        return True
    return bool(REFUSAL.search(text)) and not REFUSAL.search(source)


def has_control_tokens(text: str, source: str) -> bool:
    """Return whether a text spells a control token that its source lacks."""
    return any(match.group() not in source for match in CONTROL.finditer(text))


def _colons(text: str) -> int:
    return text.count(":") + text.count("：")


def _without_thinking(text: str, source: str) -> str | None:
    if THINKING_START.search(source) or THINKING_END.search(source):
        return None
    ends = [match.end() for match in THINKING_END.finditer(text)]
    if ends:
        return text[ends[-1] :]
    return "" if THINKING_START.match(text.lstrip()) else None


def _without_leading_controls(text: str, source: str) -> str | None:
    start = 0
    while (match := TURN_START.match(text, start)) is not None and match.group().strip() not in source:
        start = match.end()
    return text[start:] if start else None


def _without_next_turn(text: str, source: str, pair: LanguagePair) -> str | None:
    """Cut at another turn; quality_guard.py finds control tokens inside a sentence."""
    examples = (next_example_pattern(pair.source), next_example_pattern(pair.target)) if "\n" in text else ()
    for pattern in (NEXT_TURN, SPOKEN_TURN, *examples):
        match = pattern.search(text) if pattern in examples else _first_not_in(source, pattern, text)
        if match is not None and text[: match.start()].strip():
            return text[: match.start()]
    return None


def _first_not_in(source: str, pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    return next((match for match in pattern.finditer(text) if match.group().strip() not in source), None)


def _without_trailing_controls(text: str, source: str) -> str | None:
    start, end = 0, len(text)
    for match in CONTROL.finditer(text):
        if match.group() not in source and not text[start : match.start()].strip():
            start = match.end()
    for match in reversed(list(CONTROL.finditer(text, start))):
        if match.group() in source or text[match.end() : end].strip():
            break
        end = match.start()
    return text[start:end] if (start, end) != (0, len(text)) else None


def _without_notes(text: str, source: str) -> str | None:
    starts = [match.start() for pattern in (NOTE_APART, CLOSING) if (match := pattern.search(text)) is not None]
    if not starts:
        return None
    kept, note = text[: min(starts)], text[min(starts) :]
    if not kept.strip() or _colons(kept) < _colons(source) or ("(" in note and kept.count("(") < source.count("(")):
        return None
    return kept


def _without_fence(text: str, source: str) -> str | None:
    stripped = text.rstrip()
    if "```" in source or not stripped.endswith("```"):
        return None
    opening = _FENCE.match(stripped)
    if opening is None or opening.end() > len(stripped) - 3:
        return None
    return stripped[opening.end() : -3]


def _without_tags(text: str, source: str) -> str | None:
    """Remove a prompt's tags: an opening one first, a closing one last."""
    start, end = 0, len(text.rstrip())
    opening = _WRAPPING_TAG.match(text)
    if opening is not None and not opening.group(1) and opening.group().strip() not in source:
        start = opening.end()
    closing = text.rfind("<", start, end)
    if closing >= 0 and (match := _WRAPPING_TAG.match(text, closing)) is not None and match.end() >= end:
        end = closing if match.group(1) and match.group().strip() not in source else end
    return text[start:end] if (start, end) != (0, len(text.rstrip())) else None


def _without_preamble(text: str, source: str, pair: LanguagePair) -> str | None:
    """Remove an announcement if the rest has the source's number of colons."""
    for pattern in (PREAMBLE, label_pattern(pair.target)):
        match = pattern.match(text)
        if match is not None and _colons(text[match.end() :]) >= _colons(source):
            return text[match.end() :]
    return None


def _without_quotes(text: str, source: str) -> str | None:
    core = text.strip()
    if core[:1].isalnum():
        return None
    for quotes in _QUOTES:
        opening, closing = quotes[: len(quotes) // 2], quotes[len(quotes) // 2 :]
        if len(core) <= len(quotes) or not (core.startswith(opening) and core.endswith(closing)):
            continue
        inside = core[len(opening) : -len(closing)]
        source_quotes = source.count("*") + source.count("_") if opening[0] in "*_" else len(_QUOTE.findall(source))
        if not source_quotes and opening not in inside and closing not in inside:
            return inside
    return None


@lru_cache(maxsize=CACHED_LABELS)
def label_pattern(tag: str) -> re.Pattern[str]:
    """Return a label's pattern: a language, then a colon."""
    names = {display_name(tag, "en"), language_name(tag, "en"), own_name(tag), language_name(tag, tag)}
    alternatives = "|".join(map(re.escape, sorted({*names, tag, tag.partition("-")[0]}, key=len, reverse=True)))
    return re.compile(rf"{_MARKUP}(?:{alternatives})(?: ?\([^()\n]{{1,40}}\))?{_COLON}\s*", re.IGNORECASE)


@lru_cache(maxsize=CACHED_LABELS)
def next_example_pattern(tag: str) -> re.Pattern[str]:
    """Return the pattern of a raw prompt's next example."""
    return re.compile(rf"\n\s{{0,8}}+(?={label_pattern(tag).pattern})", re.IGNORECASE)
