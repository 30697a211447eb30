"""Chat patterns: preambles, notes, turns and control tokens around a translation.

Every pattern is bounded, so none is slow.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from shared.languages import display_name, language_name, own_name

# A catalog serves a few dozen languages.
CACHED_LABELS: Final = 512

_CONTROL_NAMES: Final = (
    r"bos|eos|pad|unk|sep|cls|mask|/?s|end_of_turn|start_of_turn|end_of_text|endoftext|eod|eot|/?think(?:ing)?|"
    r"extra_id_\d{1,3}|0x[0-9A-F]{2}|reserved_\d{1,4}|unused\d{1,4}"
)
# Control tokens as tokenizers spell them: <|im_end|>, <｜end▁of▁sentence｜>, </s>, <end_of_turn>, [INST], <<SYS>>, <0x0A>.
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
# A note anywhere: its word and a colon.
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


@lru_cache(maxsize=CACHED_LABELS)
def label_pattern(tag: str) -> re.Pattern[str]:
    """Return the pattern of a label: a language, then a colon."""
    names = {display_name(tag, "en"), language_name(tag, "en"), own_name(tag), language_name(tag, tag)}
    alternatives = "|".join(
        re.escape(name) for name in sorted({*names, tag, tag.partition("-")[0]}, key=len, reverse=True)
    )
    return re.compile(rf"{_MARKUP}(?:{alternatives})(?: ?\([^()\n]{{1,40}}\))?{_COLON}\s*", re.IGNORECASE)


@lru_cache(maxsize=CACHED_LABELS)
def next_example_pattern(tag: str) -> re.Pattern[str]:
    """Return the pattern of a raw prompt's next example."""
    return re.compile(rf"\n\s{{0,8}}+(?={label_pattern(tag).pattern})", re.IGNORECASE)
