"""Numbers in words, as patterns of regular expressions, in English, German, French and Spanish."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

_EN = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen|quarter of an hour", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_EN_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_DE = (
    *("null", "ein(?:e[nmrs]?|s)?", "zwei|beiden?", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun"),
    *(
        "zehn",
        "elf",
        "zwölf|Dutzend",
        "dreizehn",
        "vierzehn",
        "fünfzehn|Viertel(?:stunde| einer Stunde)",
        "sechzehn",
        "siebzehn",
    ),
    *("achtzehn", "neunzehn"),
)
_DE_TENS = ("zwanzig", "drei(?:ß|ss)ig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig")
_FR = (
    *("zéro", "une?", "deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf", "dix", "onze"),
    *("douze|douzaine", "treize", "quatorze", "quinze|quart d['’]heure", "seize", "dix-sept", "dix-huit", "dix-neuf"),
)
_FR_TENS = ("vingt", "trente", "quarante", "cinquante", "soixante", "soixante", "quatre-vingts?", "quatre-vingt")
_ES = (
    *("cero", "un[oa]?", "dos|ambos|ambas", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "nueve", "diez"),
    *("once", "doce|docena", "trece", "catorce", "quince|cuarto de hora", "dieciséis", "diecisiete", "dieciocho"),
    "diecinueve",
)
_ES_TENS = ("veinte", "treinta", "cuarenta", "cincuenta", "sesenta", "setenta", "ochenta", "noventa")
_ES_TWENTIES = {1: "veinti(?:ún|un[oa])", 2: "veintidós", 3: "veintitrés", 6: "veintiséis"}
_ES_HUNDREDS = (
    *("cien(?:to)?", "doscient[oa]s", "trescient[oa]s", "cuatrocient[oa]s", "quinient[oa]s", "seiscient[oa]s"),
    *("setecient[oa]s", "ochocient[oa]s", "novecient[oa]s"),
)
_ONE_HUNDRED: Final = {"en": "(?:a|one) hundred", "de": "(?:ein)?hundert", "fr": "cent"}
_HUNDREDS: Final = {"en": " hundred", "de": "hundert", "fr": " cents?"}
_ONE_THOUSAND: Final = {"en": "(?:a|one) thousand", "de": "(?:ein)?tausend", "fr": "mille", "es": "mil"}
# The scale behind a numeral: "20 mil".
THOUSAND: Final = {"en": "thousand", "de": "tausend", "fr": "mille", "es": "mil"}
MOST_THOUSANDS: Final = 20
_ORDINALS: Final[Mapping[str, tuple[str, ...]]] = {
    "en": (
        *("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"),
        *("eleventh", "twelfth"),
    ),
    "de": (
        *("erst", "zweit", "dritt", "viert", "fünft", "sechst", "sieb(?:en)?t", "acht", "neunt", "zehnt"),
        *("elft", "zwölft"),
    ),
    "fr": (
        *("premi(?:er|ère)", "deuxième|seconde?", "troisième", "quatrième", "cinquième", "sixième", "septième"),
        *("huitième", "neuvième", "dixième", "onzième", "douzième"),
    ),
    "es": (
        *("primer[oa]?", "segund[oa]", "tercer[oa]?", "cuart[oa]", "quint[oa]", "sext[oa]", "séptim[oa]"),
        *("octav[oa]", "noven[oa]", "décim[oa]", "undécim[oa]", "duodécim[oa]"),
    ),
}


def _english(number: int) -> str:
    ten, unit = divmod(number, 10)
    return _EN[number] if number < 20 else _EN_TENS[ten - 2] + (f"-{_EN[unit]}" if unit else "")


def _german(number: int) -> str:
    ten, unit = divmod(number, 10)
    if number < 20:
        return _DE[number]
    units = "ein" if unit == 1 else _DE[unit].split("|")[0]
    return f"{units}und{_DE_TENS[ten - 2]}" if unit else _DE_TENS[ten - 2]


def _french(number: int) -> str:
    ten, unit = divmod(number, 10)
    if number < 20:
        return _FR[number]
    if ten in {7, 9}:
        unit += 10
    return f"{_FR_TENS[ten - 2]}(?:-| et |-et-){_FR[unit].split('|')[0]}" if unit else _FR_TENS[ten - 2]


def _spanish(number: int) -> str:
    ten, unit = divmod(number, 10)
    if number < 20:
        return _ES[number]
    word = _ES[unit].split("|")[0]
    if ten == 2 and unit:
        return _ES_TWENTIES.get(unit, f"veinti{word}")
    return f"{_ES_TENS[ten - 2]} y {word}" if unit else _ES_TENS[ten - 2]


BELOW_100: Final[Mapping[str, Callable[[int], str]]] = {
    "en": _english,
    "de": _german,
    "fr": _french,
    "es": _spanish,
}


def words_of_number(number: int, language: str) -> str | None:
    """Return a pattern of a whole number in words; none where nobody writes it in words."""
    below = BELOW_100[language]
    if number < 100:
        return below(number)
    thousands, rest = divmod(number, 1000)
    if not rest and thousands <= MOST_THOUSANDS:
        return _ONE_THOUSAND[language] if thousands == 1 else f"(?:{below(thousands)})[ -]?{THOUSAND[language]}"
    hundreds, rest = divmod(number, 100)
    if rest or hundreds > 9:
        return None
    if language == "es":
        return _ES_HUNDREDS[hundreds - 1]
    return _ONE_HUNDRED[language] if hundreds == 1 else f"(?:{below(hundreds)}){_HUNDREDS[language]}"


def words_of_ordinal(number: int, language: str) -> str | None:
    """Return a pattern of an ordinal in words; none for one that nobody writes in words."""
    words = _ORDINALS[language]
    if number <= len(words):
        word = words[number - 1]
    elif language == "de":
        word = f"(?:{_german(number)}){'t' if number < 20 else 'st'}"
    elif language == "fr" and number < 20:
        word = f"{_FR[number].split('|')[0].removesuffix('e')}ième"
    else:
        word = f"{_EN[number]}th" if language == "en" and number < 20 else None
    return f"(?:{word})e[nmrs]?" if word and language == "de" else word
