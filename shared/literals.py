"""Literals, which survive translation: placeholders, addresses, numbers with units.

The search is linear: every pattern is possessive or bounded, and begins at most once at a place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Final, NamedTuple

# Unlike \w without Japanese, which may follow without a space.
_LATIN: Final = "0-9A-Za-zÀ-ÖØ-öø-ɏ"
# Scripts without spaces and private-use characters end an address: 「https://example.comをご覧ください」.
_NO_ADDRESS: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7a3\ue000-\ufaff\ufe30-\ufe4f\uff00-\uffef"
    "\U00020000-\U0003ffff\U000f0000-\U0010ffff"
)
_URL: Final = (
    rf"(?<![{_LATIN}])(?:(?i:https?|ftps?|wss?|file)://|(?i:www)\.(?=[{_LATIN}]))"
    rf"[^\s<>\"“”„«»`{_NO_ADDRESS}]++"
)
# Lengths: RFC 5321 §4.5.3.1, RFC 1035 §2.3.4.
_MAIL: Final = (
    rf"(?<![{_LATIN}._%+-])(?:(?i:mailto):)?[{_LATIN}._%+-]{{1,64}}+"
    rf"@(?:[{_LATIN}-]{{1,63}}+\.){{1,8}}[A-Za-z]{{2,24}}(?![{_LATIN}])"
)

# printf and strftime, without the space flag: "50% discount".
_PRINTF: Final = (
    r"(?<!\d)%(?:[1-9]\d?\$)?[-+#0]{0,4}+(?:\d{1,4}+(?!\$)|\*)?(?:\.(?:\d{1,4}+|\*))?(?:hh?|ll?|[Lqjzt])?"
    r"(?:[dsS@]|[A-Za-z](?![A-Za-z]))"
)
# Attributes have values: "x <y and z> 3" is not a tag.
_TAG: Final = (
    r"</?[A-Za-z][A-Za-z0-9_:.-]{0,63}+"
    r"(?: [A-Za-z0-9_:.@-]{1,64}+ ?= ?(?:\"[^\"<\n]{0,512}+\"|'[^'<\n]{0,512}+'|[^\s\"'<>=]{1,256}+)){0,24}+ ?/?>"
)
# Code that a client's program interprets later.
_CODES: Final = (
    r"\{\{\{? ?[^{}\s]{1,64}+(?: [^{}\s]{1,64}+){0,8}+ ?\}\}\}?",  # {{x}}, {{ user.name | upper }}
    r"[$#%@]?\{ ?[!-z|~]{0,64}+ ?\}",  # {name}, {0:N2}, {}, ${x}, #{x}, %{x}
    r"\{ ?\w{1,64}+ ?, ?(?:number|date|time|ordinal|spellout|duration)(?: ?, ?[^{}\s]{1,64}+)? ?\}",  # ICU, simple
    _PRINTF,
    r"%[(<][\w.-]{1,64}+[)>][-+#0]{0,4}+\d{0,4}+(?:\.\d{1,4}+)?[A-Za-z]",  # %(name)s, %<name>s
    r"%%",
    _TAG,
    r"<%[^%<>\n]{1,128}+%>",
    r"\[\[[A-Za-z0-9_.:-]{1,64}+\]\]",
    r"&(?:[A-Za-z]{2,31}\d{0,2}|\#\d{1,7}|\#[xX][0-9A-Fa-f]{1,6});",
)
_CODE: Final = r"(?=[$#%@{<\[&])(?:" + "|".join(_CODES) + ")"

# Without symbols that are also words ("5 in the morning", Spanish "5 ha") or times (French "à 5 h").
_UNITS: Final = (
    "nm µm μm mm cm dm m km ft yd ng µg μg mg g kg t lb lbs oz ml mL cl cL dl dL l L hl hL ns µs μs ms s min "
    "V mV kV mA W mW kW MW GW Wh kWh MWh GWh Ah mAh Ω kΩ MΩ µF nF pF Hz kHz MHz GHz rpm hPa kPa MPa mbar psi "
    "kJ MJ kcal eV keV MeV kN Nm kB KB MB GB TB PB KiB MiB GiB TiB bit kbit Mbit Gbit bps kbps Mbps Gbps dB px pt "
    "dpi ppi fps K lm lx mph"
)
_CURRENCY_CODES: Final = (
    "USD EUR GBP JPY CHF CNY RMB INR KRW RUB CAD AUD NZD SEK NOK DKK PLN CZK HUF BRL MXN ZAR SGD HKD AED BTC"
)
_CURRENCIES: Final = "$€£¥￥₹₩₽₺₫₪₴฿₦₱₡₵₸"


def _one_of(words: str) -> str:
    return "(?:" + "|".join(sorted(map(re.escape, words.split()), key=len, reverse=True)) + ")"


# Digits of any script, with groups and decimals.
_NUMBER: Final = r"(?:\d{1,3}+(?:[.,'’ \u00a0\u202f]\d{3}(?!\d)){1,5}+|\d{1,15}+)(?:[.,]\d{1,12})?"
_UNIT: Final = (
    rf"(?:{_one_of(_UNITS)}(?:[²³]|\^[23])?(?:[/·⋅](?:{_one_of(_UNITS)}|h)(?:[²³]|\^[23])?)?"
    rf"|{_one_of(_CURRENCY_CODES)}|%%?|[％‰℃℉]|°(?: ?[CF])?|[{_CURRENCIES}])"
)
_QUANTITY: Final = (
    rf"(?<![{_LATIN}\d.,])[-+−±]?{_NUMBER}(?: ?[-–—~/×] ?{_NUMBER})?[- \u00a0\u202f]?{_UNIT}(?![{_LATIN}]|['’][A-Za-z])"
    rf"|(?<![{_LATIN}])(?:(?:US|AU?|CA?|HK|NZ|NT|S|R)?\$|[{_CURRENCIES}]|{_one_of(_CURRENCY_CODES)})"
    rf"[ \u00a0\u202f]?{_NUMBER}(?:[kKMB]|bn|mn)?(?![{_LATIN}])"
)
PATTERN: Final = rf"(?P<url>{_URL})|(?P<mail>{_MAIL})|(?P<code>{_CODE})|(?P<quantity>{_QUANTITY})"
_LITERAL: Final = re.compile(PATTERN)
# Every literal except a URL contains one; most texts contain none.
_SIGN: Final = re.compile(r"[\d@$#%{<\[&]")
# Characters at whose places one search looks for literals, and more than those of any but an address (a tag has 14,032).
# The worst text that a search found takes 22 ms for so many.
_WINDOW: Final = 14_336
# At an address's end, they belong to the sentence.
_NOT_AT_THE_END: Final = ".,;:!?'’)]}*_"
_OPENED_BY: Final = {")": "(", "]": "[", "}": "{"}


class LiteralKind(StrEnum):
    """Kind of a literal."""

    CODE = "code"  # a placeholder, a tag, an entity
    ADDRESS = "address"
    QUANTITY = "quantity"


_KINDS: Final = {
    "url": LiteralKind.ADDRESS,
    "mail": LiteralKind.ADDRESS,
    "code": LiteralKind.CODE,
    "quantity": LiteralKind.QUANTITY,
}


class Literal(NamedTuple):
    """Position and kind of a literal."""

    start: int
    end: int
    kind: LiteralKind


def literals_in(text: str) -> Iterator[Literal]:
    """Yield a text's literals in order, without overlaps or line breaks."""
    if _SIGN.search(text) is None and "://" not in text and "www." not in text.lower():
        return
    for match in _matches(_LITERAL, text):
        start, end = match.span()
        name = match.lastgroup or ""
        yield Literal(start, _address_end(text, start, end) if name == "url" else end, _KINDS[name])


def _matches(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Yield the matches, by short searches, which hold the interpreter's lock."""
    position = 0
    while position + 2 * _WINDOW < len(text):
        border = position + _WINDOW
        match = pattern.search(text, position, border + _WINDOW)
        if match is None or match.start() >= border:
            position = border
            continue
        if match.end() > border:  # an address may be longer than the window
            match = pattern.match(text, match.start()) or match
        yield match
        position = match.end()
    yield from pattern.finditer(text, position)


def _address_end(text: str, start: int, end: int) -> int:
    """Keep a closing bracket only if the address opened it."""
    unopened = {
        close: text.count(close, start, end) - text.count(open_, start, end) for close, open_ in _OPENED_BY.items()
    }
    while text[end - 1] in _NOT_AT_THE_END:
        last = text[end - 1]
        if last in unopened:
            if unopened[last] <= 0:
                break
            unopened[last] -= 1
        end -= 1
    return end


_LITERAL_OR_LETTER: Final = re.compile(rf"{PATTERN}|(?P<letter>[^\W\d_])")
# Letters in Unicode: an emoji and ordinal indicators.
_SYMBOLS: Final = frozenset("ℹªº")


def needs_translation(text: str) -> bool:
    """Return whether a text has letters outside of its literals."""
    return any(
        match.lastgroup == "letter" and match.group().isalpha() and match.group() not in _SYMBOLS
        for match in _matches(_LITERAL_OR_LETTER, text)
    )
