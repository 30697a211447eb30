"""Accepted written forms of an expected number in a language: what a reader of that language takes for the value.

Knows nothing of the product's guards, so that these can be judged by it. Notation of an expected number:

    3   1250   -12   2.5   45%      number, in digits or in words
    €14   $240   £60   $1.3M   8B   price; M: million, B: thousand million
    8:05   6:40pm   9am             time; with am or pm any form that says which half of the day
    14/3   y1997   3rd   4–1        day and month, year, ordinal, score of a game
    =0151 2345678                   literally, but for spaces
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from benchmarks.quality.named.number_words import BELOW_100, THOUSAND, words_of_number, words_of_ordinal

_SPACE: Final = "[ \u00a0\u202f]"
_GROUP: Final = {
    "en": f"(?:,|{_SPACE})?",
    "de": f"(?:\\.|['’]|{_SPACE})?",
    "fr": f"(?:\\.|{_SPACE})?",
    "es": f"(?:\\.|{_SPACE})?",
}
# Spanish has both: Ortografía de la lengua española (2010).
_DECIMAL: Final = {"en": r"\.", "de": ",", "fr": ",", "es": "[,.]"}
# Not a part of a longer number, time or date.
_BEGIN, _END = r"(?<![\d\w])(?<!\d[.,:])", r"(?![\d\w])(?![.,:]\d)"
_MINUS: Final = {"en": "minus", "de": "minus", "fr": "moins", "es": "menos"}
_PERCENT: Final = {"en": "per ?cent", "de": "Prozent", "fr": r"pour ?cent|p\. ?100", "es": "por ?ciento"}
_CURRENCIES: Final = {
    "€": "€|EUR|euros?",
    "$": r"US-?\$|\$|USD|(?:US-?)?(?:dollars?|dólar(?:es)?)",
    "£": r"£|GBP|pounds?|Pfund|livres?|libras?",
}
_MILLION: Final = {"en": "million|m", "de": r"Million(?:en)?|Mio\.?", "fr": "millions?", "es": r"mill[oó]n(?:es)?"}
_BILLION: Final = {"en": "billion|bn", "de": r"Milliarden?|Mrd\.?", "fr": "milliards?", "es": "mil millones"}
_MONTHS: Final = {
    "en": "January February March April May June July August September October November December",
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
}
_MORNING: Final = {
    "en": r"a\.? ?m\b\.?|in the morning",
    "de": r"a\.? ?m\b\.?|morgens|früh|vormittags?|nachts|morgen",
    "fr": r"a\.? ?m\b\.?|du matin|matin",
    "es": r"a\.? ?m\b\.?|de la mañana|de la madrugada",
}
_EVENING: Final = {
    "en": r"p\.? ?m\b\.?|in the (?:afternoon|evening)|at night",
    "de": r"p\.? ?m\b\.?|(?:nach)?mittags?|abends?|nachts",
    "fr": r"p\.? ?m\b\.?|de l['’]après-midi|du soir",
    "es": r"p\.? ?m\b\.?|de la (?:tarde|noche)",
}
_MARKER_CHARS: Final = 25
_ROMAN: Final = ((10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"))
_NUMBER = re.compile(r"(?P<sign>-?)(?P<whole>\d+)(?:\.(?P<fraction>\d+))?(?P<scale>[MB]?)(?P<percent>%?)")


def _digits(whole: str, fraction: str, language: str) -> str:
    """Return the value in digits: groups of three with a separator or none, zeros behind the decimal sign or none."""
    groups = [whole[max(0, end - 3) : end] for end in range(len(whole), 0, -3)][::-1]
    separated = _GROUP[language].join(groups)
    kept = fraction.rstrip("0")
    return f"{separated}{_DECIMAL[language]}{kept}0*" if kept else f"{separated}(?:{_DECIMAL[language]}0+)?"


def _number(found: re.Match[str], language: str) -> list[str]:
    whole, fraction, scale = found["whole"], found["fraction"] or "", found["scale"]
    forms = [_digits(whole, fraction, language)]
    if not fraction and (words := words_of_number(int(whole), language)):
        forms.append(words)
    if scale:
        zeros = 6 if scale == "M" else 9
        scaled = "|".join(forms)
        forms = [
            f"(?:{scaled})[ \u00a0\u202f-]?(?:{(_MILLION if scale == 'M' else _BILLION)[language]})",
            _digits(whole + fraction.ljust(zeros, "0"), "", language),
        ]
        if scale == "B" and language == "es":
            forms.append(f"{_digits(whole + fraction.ljust(3, '0'), '', language)}{_SPACE}millones")
    elif not fraction and whole.endswith("000"):
        forms.append(f"{_digits(whole[:-3], '', language)}{_SPACE}{THOUSAND[language]}")
        if len(whole) > 6 or int(whole) % 1_000_000 == 0:
            millions = str(int(whole) / 1_000_000).partition(".")
            forms.append(f"{_digits(millions[0], millions[2], language)}{_SPACE}(?:{_MILLION[language]})")
    if found["percent"]:
        return [f"(?:{'|'.join(forms)}){_SPACE}?(?:%|{_PERCENT[language]})"]
    if found["sign"]:
        return [f"(?:[-−–]|{_MINUS[language]}{_SPACE}){_SPACE}?(?:{'|'.join(forms)})"]
    return forms


def _price(found: re.Match[str], language: str) -> list[str]:
    amount, sign = "|".join(_number(found, language)), _CURRENCIES[found["currency"]]
    between = f"(?:{_SPACE}de{_SPACE}|{_SPACE}d['’]|[ \u00a0\u202f-])?"
    forms = [f"(?:{amount}){between}(?:{sign})", f"(?:{sign}){_SPACE}?(?:{amount})"]
    if found["fraction"] and not found["scale"]:
        cents = found["fraction"].ljust(2, "0")
        forms.append(f"{_digits(found['whole'], '', language)}{_SPACE}?(?:{sign}){_SPACE}(?:y |et |und )?{cents}")
    return forms


def _date(found: re.Match[str], language: str) -> list[str]:
    day, month = int(found["day"]), int(found["month"])
    name = _MONTHS[language].split()[month - 1]
    ordinal = words_of_ordinal(day, language) or "(?!)"
    if language == "en":
        return [f"{name} {day}(?:st|nd|rd|th)?", f"{day}(?:st|nd|rd|th)? (?:of )?{name}", f"(?:{ordinal}) of {name}"]
    days = f"0?{day}(?:\\.?[º°]|\\.|er)?|{ordinal}"
    return [f"(?:{days}){_SPACE}?(?:de{_SPACE})?{name}", f"0?{day}{_SPACE}?[./]{_SPACE}?0?{month}[./]?"]


def _score(found: re.Match[str], _language: str) -> list[str]:
    # Some write the winner's first.
    one, other = found["one"], found["other"]
    between = f"{_SPACE}?(?:[-–:]|zu|à|a|to){_SPACE}?"
    return [f"{one}{between}{other}", f"{other}{between}{one}"]


def _roman(number: int) -> str:
    letters = ""
    for value, letter in _ROMAN:
        letters += letter * (number // value)
        number %= value
    return letters


def _ordinal(found: re.Match[str], language: str) -> list[str]:
    number = int(found["number"])
    suffix = {
        "en": "(?:st|nd|rd|th)",
        "de": r"\.?",
        "fr": "(?:e|er|re|ère|ème|ième|è|ᵉ|nde?)?",
        "es": r"\.?[ºª°oa]?|\.?er",
    }[language]
    forms = [f"{number}(?:{suffix})", f"{_roman(number)}(?:e|ème|ᵉ|è)?"]
    return [*forms, words] if (words := words_of_ordinal(number, language)) else forms


def _time(found: re.Match[str], language: str) -> list[str]:
    hour, minute, half = int(found["hour"]), int(found["minute"] or 0), found["half"]
    if half is None:
        return _clock(hour, minute, language)
    marker = f".{{0,{_MARKER_CHARS}}}?(?:{(_MORNING if half == 'am' else _EVENING)[language]})"
    marked = [f"(?:{form}){marker}" for form in [*_clock(hour, minute, language), *([] if minute else [f"0?{hour}"])]]
    if language == "en":
        return marked
    return [*marked, *_clock(hour % 12 + (12 if half == "pm" else 0), minute, language)]


def _clock(hour: int, minute: int, language: str) -> list[str]:
    """Return forms of a time as a clock shows it, and as people say it."""
    say = BELOW_100[language]
    following = hour % 12 + 1
    now, after = f"(?:0?{hour}|{say(hour)})", f"(?:{following}|{say(following)})"
    forms = [f"0?{hour}{_SPACE}?[:.h]{_SPACE}?{minute:02d}"]
    if language == "en":
        full = "" if minute else f"|(?:at|around|by|until|till|after|before) {now}"
        shown = f"[:.]{minute:02d}" if minute else "(?:[:.]00)?"
        forms.append(f"{(hour - 1) % 12 + 1}{shown}{_SPACE}?{'p' if hour >= 12 else 'a'}\\.?{_SPACE}?m\\.?{full}")
    if minute == 0:
        hours = {
            "en": " o['’]clock",
            "de": f"{_SPACE}?(?:Uhr|h)",
            "fr": f"{_SPACE}?(?:heures?|h)",
            "es": " ?(?:horas?|h)",
        }
        forms.append(f"{now}{hours[language]}")
    spoken = {
        "de": f"{now} Uhr {minute:02d}",
        "fr": f"{now} heures? (?:{minute:02d}|{say(minute)})",
        "es": f"{now} y (?:{minute:02d}|{say(minute)})",
    }
    forms += [spoken[language]] if minute and language in spoken else []
    if minute == 0 and language == "es":
        forms.append(f"las? {now}")
    halves = {"en": f"half past {now}", "de": f"halb {after}", "fr": f"{now} heures? et demie", "es": f"{now} y media"}
    quarters = {
        "en": f"quarter past {now}",
        "de": f"Viertel nach {now}",
        "fr": f"{now} heures? et quart",
        "es": f"{now} y cuarto",
    }
    late = {
        "en": f"quarter to {after}",
        "de": f"(?:Viertel vor|drei ?viertel) {after}",
        "fr": f"{after} heures? moins le quart",
        "es": f"{after} menos cuarto",
    }
    forms += [{15: quarters, 30: halves, 45: late}[minute][language]] if minute in (15, 30, 45) else []
    return forms


def _literal(found: re.Match[str], _language: str) -> list[str]:
    return [f"{_SPACE}?".join(re.escape(part).replace(r"\-", "[-‑–]") for part in found["text"].split(" "))]


# The first that fits.
_NOTATIONS: Final[Sequence[tuple[re.Pattern[str], Callable[[re.Match[str], str], list[str]]]]] = (
    (re.compile(r"[=y](?P<text>.+)"), _literal),
    (_NUMBER, _number),
    (re.compile(f"(?P<currency>[€$£]){_NUMBER.pattern}"), _price),
    (re.compile(r"(?P<day>\d+)/(?P<month>\d+)"), _date),
    (re.compile(r"(?P<number>\d+)(?:st|nd|rd|th)"), _ordinal),
    (re.compile(r"(?P<one>\d+)–(?P<other>\d+)"), _score),
    (re.compile(r"(?P<hour>\d+)(?::(?P<minute>\d\d))?(?P<half>am|pm)?"), _time),
)


def number_pattern(expected: str, language: str) -> re.Pattern[str]:
    """Return what finds any accepted form of an expected number; ValueError for one in no notation."""
    forms = [form for alternative in expected.split("|") for form in _forms(alternative, language)]
    return re.compile(f"{_BEGIN}(?:{'|'.join(forms)}){_END}", re.IGNORECASE)


def _forms(expected: str, language: str) -> list[str]:
    for notation, forms in _NOTATIONS:
        if found := notation.fullmatch(expected):
            return forms(found, language)
    raise ValueError(f"{expected!r} is in no notation of expected numbers")
