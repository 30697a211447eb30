"""Vocabularies: words of numbers that ICU and CLDR lack, by language."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from apiserver.guards.numbers.mentions import HALF, MINUS, Reading

_HALF: Final[tuple[Reading, ...]] = ((HALF,), (30,), (50,))
_HALF_YEAR: Final[tuple[Reading, ...]] = ((6,), (HALF,))
_QUARTER: Final[tuple[Reading, ...]] = ((4,), (15,), (-15,), (45,), (25,), (3,))
_DOZEN: Final[tuple[Reading, ...]] = ((12,), (6,))
_TWO: Final[tuple[Reading, ...]] = ((2,),)
_FORTNIGHT: Final[tuple[Reading, ...]] = ((14,), (15,), (2,))
_TEN: Final[tuple[Reading, ...]] = ((10,),)
_MIDDAY: Final[tuple[Reading, ...]] = ((12,), (24,))
_MINUS: Final[tuple[Reading, ...]] = ((MINUS,),)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """A language's words of numbers.

    ``hundreds`` and ``scales`` multiply the number before them. ``ordinals`` and ``cardinals`` are demanded from a
    translation; ``hints`` only explain a number of it. ``weak`` words are hints, because they often mean something
    else. ``joins`` stand between hundreds and units. ``compounds``: numbers are written as one word.
    """

    cardinals: Mapping[str, int] = field(default_factory=dict[str, int])
    hundreds: Mapping[str, int] = field(default_factory=dict[str, int])
    scales: Mapping[str, int] = field(default_factory=dict[str, int])
    ordinals: Mapping[str, int] = field(default_factory=dict[str, int])
    hints: Mapping[str, tuple[Reading, ...]] = field(default_factory=dict[str, tuple[Reading, ...]])
    weak: frozenset[str] = frozenset()
    joins: frozenset[str] = frozenset()
    capital_months: bool = False
    compounds: bool = False


def _hints(words: str, readings: tuple[Reading, ...]) -> dict[str, tuple[Reading, ...]]:
    return dict.fromkeys(words.split(", "), readings)


def _counted(first: int, words: str) -> dict[str, int]:
    """Number words from ``first``; variants are joined by a stroke."""
    return {variant: number for number, group in enumerate(words.split(), first) for variant in group.split("|")}


_ENGLISH_ORDINALS: Final = _counted(
    1,
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth "
    "sixteenth seventeenth eighteenth nineteenth",
)
_ENGLISH_TENS: Final = dict(
    zip(["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], range(20, 100, 10), strict=True)
)
_ENGLISH: Final = Vocabulary(
    hundreds={"hundred": 100},
    scales={"thousand": 1000, "million": 10**6, "mn": 10**6, "billion": 10**9, "bn": 10**9, "trillion": 10**12},
    ordinals=_ENGLISH_ORDINALS
    | {f"{ten[:-1]}ieth": value for ten, value in _ENGLISH_TENS.items()}
    | {
        f"{ten} {unit}": value + number
        for ten, value in _ENGLISH_TENS.items()
        for unit, number in _ENGLISH_ORDINALS.items()
        if number < 10
    },
    hints=_hints("half, halves, halfway", _HALF)
    | _hints("quarter, quarters", _QUARTER)
    | _hints("dozen, dozens", _DOZEN)
    | _hints("both, pair, pairs, twice, twin, twins, double, either, neither, second", _TWO)
    | _hints("half a year, half year", _HALF_YEAR)
    | _hints("half a million, half million", ((500_000,),))
    | _hints("minus, negative, below", _MINUS)
    | _hints("fortnight", _FORTNIGHT)
    | _hints("decade, decades", _TEN)
    | _hints("century, centuries, hundredth", ((100,),))
    | _hints("thrice, triple, triples, triplets, trio, thirds, third party, third parties", ((3,),))
    | _hints("quadruple, quadruplets, fourths", ((4,),))
    | _hints("noon, midday, midnight", _MIDDAY)
    | _hints("teenager, teenagers, teens, teenage", (*_TEN, (13,)))
    | {f"{ten[:-1]}ies": ((value,), (1900 + value,), (value, 19)) for ten, value in _ENGLISH_TENS.items()}
    | _hints("hundreds", ((100,),))
    | _hints("thousands", ((1000,),))
    | _hints("millions", ((10**6,),))
    | _hints("billions", ((10**9,),)),
    weak=frozenset({"zero", "one", "first", "second"}),
    joins=frozenset({"and"}),
    capital_months=True,
)

_GERMAN: Final = Vocabulary(
    cardinals={"ein": 1, "zwo": 2, "fuffzig": 50},
    hundreds={"hundert": 100},
    scales={
        "tausend": 1000,
        "tsd": 1000,
        "million": 10**6,
        "millionen": 10**6,
        "mio": 10**6,
        "milliarde": 10**9,
        "milliarden": 10**9,
        "mrd": 10**9,
        "billion": 10**12,
        "billionen": 10**12,
    },
    hints=_hints("halb, halbe, halber, halbes, halben, halbem, hälfte, halbzeit", _HALF)
    | _hints("halbe million", ((500_000,),))
    | _hints("halbjahr, halbes jahr, halben jahr, halbe jahr, semester", _HALF_YEAR)
    | _hints("viertel, viertelstunde, dreiviertelstunde, quartal, dreiviertel", _QUARTER)
    | _hints("halbstunde, halbstündig", _HALF)
    | _hints("dutzend, dutzende", _DOZEN)
    | _hints(
        "beide, beiden, beides, beider, beidem, paar, zweimal, doppelt, doppelte, doppelten, doppel, zwilling, "
        "zwillinge, zweite, zweiten, zweiter, zweites, zweitem, zweit, zweitens, zweierlei, verdoppelt, zwiefach",
        _TWO,
    )
    | _hints("minus, negativ, negative, unter", _MINUS)
    | _hints("anderthalb, eineinhalb", ((HALF,), (1, 30)))
    | _hints("jahrzehnt, jahrzehnte, jahrzehnten, jahrzehnts", _TEN)
    | _hints("jahrhundert, jahrhunderte, jahrhunderten, jahrhunderts, hunderte, hunderten", ((100,),))
    | _hints("jahrtausend, tausende, tausenden", ((1000,),))
    | _hints("mittag, mitternacht, mittags", _MIDDAY)
    | _hints("drittel, dreierlei, dritt", ((3,),))
    | _hints("vier augen", ((4,),))
    | _hints("jänner", ((1,),))
    | _hints("halbes dutzend, halben dutzend", ((6,),))
    | _hints("teenager, teenagern, teenagers", (*_TEN, (13,))),
    weak=frozenset({"null", "eins", "ein", "acht", "achte", "achten", "sieben"}),
    joins=frozenset({"und"}),
    capital_months=True,
    compounds=True,
)


def _swiss() -> dict[str, int]:
    """Return the numbers of Belgium, Switzerland and Canada that ICU's French lacks."""
    units = ["deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf"]
    tens = {"septante": 70, "huitante": 80, "octante": 80, "nonante": 90}
    return (
        tens
        | {f"{ten} et un": value + 1 for ten, value in tens.items()}
        | {f"{ten} {unit}": value + number for ten, value in tens.items() for number, unit in enumerate(units, 2)}
    )


_FRENCH: Final = Vocabulary(
    cardinals={
        "une": 1,
        "vingt et une": 21,
        "trente et une": 31,
        "quarante et une": 41,
        "cinquante et une": 51,
        "soixante et une": 61,
    }
    | _swiss(),
    hundreds={"cent": 100, "cents": 100},
    scales={
        "mille": 1000,
        "millier": 1000,
        "milliers": 1000,
        "million": 10**6,
        "millions": 10**6,
        "milliard": 10**9,
        "milliards": 10**9,
        "billion": 10**12,
        "billions": 10**12,
    },
    ordinals={"premier": 1, "première": 1, "premiers": 1, "premières": 1},
    hints=_hints("demi, demie, demis, moitié, moitiés, mi", _HALF)
    | _hints("quart, quarts", _QUARTER)
    | _hints("douzaine, douzaines", _DOZEN)
    | _hints(
        "paire, couple, double, doubles, doubler, jumeau, jumeaux, jumelle, jumelles, second, seconde, secondes, "
        "tous deux",
        _TWO,
    )
    | _hints("semestre, semestres", _HALF_YEAR)
    | _hints("demi million", ((500_000,),))
    | _hints("moins, négatif, négative, sous", _MINUS)
    | _hints("quinzaine", _FORTNIGHT)
    | _hints("dizaine, dizaines, décennie, décennies", _TEN)
    | _hints("vingtaine", ((20,),))
    | _hints("trentaine", ((30,),))
    | _hints("quarantaine", ((40,),))
    | _hints("cinquantaine", ((50,),))
    | _hints("soixantaine", ((60,),))
    | _hints("huitaine", ((8,), (7,)))
    | _hints("centaine, centaines, siècle, siècles", ((100,),))
    | _hints("tiers, triple, tierce", ((3,),))
    | _hints("quadruple", ((4,),))
    | _hints("midi, minuit", _MIDDAY)
    | _hints("adolescent, adolescents, adolescente", (*_TEN, (13,)))
    | {"huit jours": ((8,), (7,)), "quinze jours": ((15,), (14,), (2,))},
    weak=frozenset({"zéro", "un", "une", "neuf", "premier", "première", "premiers", "premières"}),
    joins=frozenset({"et"}),
)

_SPANISH: Final = Vocabulary(
    cardinals={
        "un": 1,
        "una": 1,
        "veintiún": 21,
        "veintiuna": 21,
        "treinta y un": 31,
        "treinta y una": 31,
        "cuarenta y un": 41,
        "cincuenta y un": 51,
    },
    hundreds={"cien": 100, "ciento": 100}
    | {
        stem + ending: value * 100
        for stem, value in zip(
            ["doscient", "trescient", "cuatrocient", "quinient", "seiscient", "setecient", "ochocient", "novecient"],
            range(2, 10),
            strict=True,
        )
        for ending in ("os", "as")
    },
    scales={"mil": 1000, "millón": 10**6, "millones": 10**6, "billón": 10**12, "billones": 10**12},
    ordinals={
        stem + ending: value
        for stem, value in _counted(
            3, "tercer cuart quint sext séptim octav noven décim undécim|decimoprimer duodécim|decimosegund"
        ).items()
        for ending in ("o", "a", "os", "as")
    }
    | {"tercer": 3},
    hints=_hints("medio, media, medios, medias, mitad, mitades", _HALF)
    | _hints("cuarto, cuartos, cuarta", _QUARTER)
    | _hints("docena, docenas", _DOZEN)
    | _hints(
        "ambos, ambas, par, pareja, parejas, doble, dobles, mellizos, gemelos, gemelas, gemelo, segundo, segunda, "
        "segundos",
        _TWO,
    )
    | _hints("semestre, semestres, medio año", _HALF_YEAR)
    | _hints("medio millón", ((500_000,),))
    | _hints("menos, negativo, negativa, bajo", _MINUS)
    | _hints("quincena", _FORTNIGHT)
    | _hints("setiembre", ((9,),))
    | _hints("decena, decenas, década, décadas", _TEN)
    | _hints("veintena", ((20,),))
    | _hints("centenar, centenares, centena, siglo, siglos, cientos", ((100,),))
    | _hints("millar, millares, miles", ((1000,),))
    | _hints("tercio, tercios, triple, tercera, trío", ((3,),))
    | _hints("mediodía, medianoche", _MIDDAY)
    | _hints("adolescente, adolescentes", (*_TEN, (13,)))
    | {
        f"{ten}s": ((value,), (1900 + value,))
        for ten, value in zip(
            ["veinte", "treinta", "cuarenta", "cincuenta", "sesenta", "setenta", "ochenta", "noventa"],
            range(20, 100, 10),
            strict=True,
        )
    }
    | {"quince días": ((15,), (14,), (2,)), "ocho días": ((8,), (7,))},
    weak=frozenset({"cero", "uno", "un", "una", "cuarto", "cuartos", "cuarta", "tercera", "tercero"}),
    joins=frozenset({"y"}),
)

VOCABULARIES: Final[Mapping[str, Vocabulary]] = {"en": _ENGLISH, "de": _GERMAN, "fr": _FRENCH, "es": _SPANISH}
