"""Changed numbers: right pairs in every category and language, and wrong ones; percents and repeats."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.guards.numbers.changed_numbers import changed_numbers, load_numbers, unmatched_numbers
from apiserver.guards.numbers.reader import MAX_CHARS, MAX_NUMBERS
from apiserver.guards.numbers.readings import NumberKind, NumberMention, Reading
from shared.languages import LanguagePair

# Category, pair, source, translation.
RIGHT = [
    ("separators", "en-de", "1,250 people", "1.250 Menschen"),
    ("separators", "en-fr", "1,250 people", "1 250 personnes"),
    ("separators", "en-fr", "1,250 people", "1\u202f250 personnes"),
    ("separators", "de-en", "1.234.567,89", "1,234,567.89"),
    ("separators", "en-es", "12,345.67", "12.345,67"),
    ("separators", "en-de", "10,000", "10'000"),
    ("separators", "en-ja", "1,500 yen", "１５００円"),
    ("separators", "en-hi", "1,250,000", "12,50,000"),
    ("decimals", "en-de", "2.5 litres", "2,5 Liter"),
    ("decimals", "fr-en", "3,14", "3.14"),
    ("decimals", "en-fr", "1.5 hours", "une heure et demie"),
    ("decimals", "en-de", "2.5 hours", "zweieinhalb Stunden"),
    ("decimals", "de-en", "anderthalb Stunden", "1.5 hours"),
    ("decimals", "en-es", "2.5 years", "dos años y medio"),
    ("decimals", "en-ja", "2.5 years", "2年半"),
    ("signs", "en-de", "It is -5 degrees.", "Es sind minus 5 Grad."),
    ("signs", "en-zh", "It is -5 degrees.", "零下5度。"),
    ("signs", "en-fr", "It is −5 degrees.", "Il fait moins cinq degrés."),
    ("percent", "en-de", "40 percent", "40 %"),
    ("percent", "en-zh", "40 percent", "百分之四十"),
    ("percent", "en-fr", "50% of them", "la moitié d'entre eux"),
    ("currencies", "en-de", "3 apples for 5 euros", "3 Äpfel für 5 Euro"),
    ("currencies", "en-de", "$1,500.00", "1.500,00 $"),
    ("currencies", "en-ja", "It cost $20.", "20ドルしました。"),
    ("times", "en-de", "at 9:30", "um 9.30 Uhr"),
    ("times", "en-de", "at 9:30", "um halb zehn"),
    ("times", "en-fr", "at 9:30", "à 9 h 30"),
    ("times", "en-fr", "at 8:05", "à 8 h 05"),
    ("times", "en-fr", "from 7:30 to 10:00 in the evening", "de dix-neuf heures trente à vingt-deux heures"),
    ("times", "en-de", "at 8 pm", "um 20 Uhr"),
    ("times", "en-de", "after 8:00 p.m.", "nach acht Uhr abends"),
    ("times", "de-en", "um 15:00", "at three o'clock"),
    ("times", "de-en", "um halb zwölf", "at half past eleven"),
    ("times", "en-es", "at 2:30", "a las dos y media"),
    ("times", "en-es", "at a quarter past five", "a las 5:15"),
    ("times", "en-ja", "at 8:05", "8時5分に"),
    ("times", "en-zh", "at half past ten", "十点半"),
    ("times", "en-ko", "at 2:30", "2시 30분에"),
    ("times", "en-ko", "at two thirty", "두 시 반에"),
    ("times", "en-en", "at 5:50", "at ten to six"),
    ("times", "fr-en", "à six heures moins dix", "at 5:50"),
    ("times", "en-es", "at 5:45", "a las seis menos cuarto"),
    ("times", "en-fr", "at noon", "à 12 h"),
    ("dates", "en-de", "on March 14", "am 14. März"),
    ("dates", "en-de", "on June 24th", "am vierundzwanzigsten Juni"),
    ("dates", "en-fr", "on April 1st", "le 1er avril"),
    ("dates", "es-ja", "el 25 de diciembre", "12月25日"),
    ("dates", "en-zh", "on March 14, 2025", "2025年3月14日"),
    ("dates", "zh-en", "三月十四日", "March 14"),
    ("dates", "en-ko", "on 2025-03-14", "2025년 3월 14일"),
    ("dates", "en-de", "the 1980s", "die 80er"),
    ("dates", "en-fr", "the 1980s", "les années 80"),
    ("dates", "en-zh", "the 1970s", "二十世纪七十年代"),
    ("dates", "en-ja", "in the 1980s", "80年代に"),
    ("dates", "en-es", "the eighties", "los años 80"),
    ("dates", "es-en", "mil novecientos ochenta y cuatro", "1984"),
    ("dates", "en-de", "nineteen eighty-four", "neunzehnhundertvierundachtzig"),
    ("dates", "en-fr", "the 19th century", "le XIXe siècle"),
    ("dates", "en-es", "the 19th century", "el siglo XIX"),
    ("dates", "en-de", "the nineteenth century", "das 19. Jahrhundert"),
    ("ranges", "en-de", "pages 3-5", "Seiten 3 bis 5"),
    ("ranges", "en-fr", "from 1990 to 1995", "1990–1995"),
    ("ranges", "en-ja", "2 or 3 days", "２，３日"),
    ("ranges", "en-de", "We lost 5–1.", "Wir verloren 5:1."),
    ("ranges", "en-fr", "We lost 5-1.", "Nous avons perdu 5 à 1."),
    ("ranges", "en-de", "We lost 1-5.", "Wir verloren 5 zu 1."),
    ("ranges", "en-de", "It takes 3-4 days.", "Es dauert 3 oder 4 Tage."),
    ("ranges", "en-de", "from 5 to 10 euros", "von 5 Euro bis 10 Euro"),
    ("ranges", "fr-de", "1 250 et 12 500", "1.250 und 12.500"),
    ("ranges", "en-fr", "on 14.3.2025", "le 14 3 2025"),
    ("ranges", "ja-en", "２，３日", "a few days"),
    ("ranges", "zh-en", "二三十个人", "twenty or thirty people"),
    ("ordinals", "en-fr", "the 3rd floor", "le troisième étage"),
    ("ordinals", "en-de", "the twenty-first time", "das 21. Mal"),
    ("ordinals", "en-es", "the fifth day", "el quinto día"),
    ("ordinals", "en-ja", "the third time", "三回目"),
    ("ordinals", "en-ko", "World War II", "제2차 세계 대전"),
    ("ordinals", "de-en", "die dritte Tür", "the 3rd door"),
    ("ordinals", "en-zh", "the third day", "第三天"),
    ("fractions", "en-fr", "1/2 of the cake", "la moitié du gâteau"),
    ("fractions", "en-de", "¾ cup", "3/4 Tasse"),
    ("fractions", "en-de", "a quarter", "ein Viertel"),
    ("fractions", "en-zh", "one third", "三分之一"),
    ("fractions", "en-de", "½ liter", "0,5 Liter"),
    ("versions", "en-de", "version 1.2.3", "Version 1.2.3"),
    ("versions", "en-ja", "Python 3.11", "Python 3.11"),
    ("versions", "en-fr", "peer-to-peer", "P2P"),
    ("phones", "en-fr", "Call +49 30 1234567.", "Appelez le +49 30 1234567."),
    ("phones", "en-de", "555-0123", "555 0123"),
    ("parts", "en-de", "part A380-7B", "Teil A380-7B"),
    ("scales", "en-ja", "125,000 yen", "12.5万円"),
    ("scales", "en-ja", "125,000 yen", "12万5千円"),
    ("scales", "en-ko", "125,000 people", "12만 5천 명"),
    ("scales", "en-zh", "1.5 billion", "15亿"),
    ("scales", "en-zh", "12,000", "一万二"),
    ("scales", "zh-en", "三百五", "350"),
    ("scales", "en-de", "5.5 million", "5,5 Millionen"),
    ("scales", "en-fr", "2 billion", "2 milliards"),
    ("scales", "en-es", "2 billion", "2 mil millones"),
    ("scales", "en-es", "two billion", "dos mil millones"),
    ("scales", "de-en", "3 Billionen", "3 trillion"),
    ("scales", "en-ru", "3 million people", "3 миллиона человек"),
    ("words", "en-de", "three apples", "drei Äpfel"),
    ("words", "en-de", "3 apples", "drei Äpfel"),
    ("words", "en-fr", "three apples", "3 pommes"),
    ("words", "en-ja", "three apples", "りんご三つ"),
    ("words", "en-ko", "three of these", "이거 3개"),
    ("words", "en-ko", "five books", "책 다섯 권"),
    ("words", "ko-en", "스물한 명", "twenty-one people"),
    ("words", "en-ko", "thirteen years", "열 세살"),
    ("words", "en-zh", "two hundred people", "两百人"),
    ("words", "fr-en", "quatre-vingt-dix-sept", "ninety-seven"),
    ("words", "en-fr", "seventy-one", "septante et un"),
    ("words", "fr-en", "soixante et onze", "71"),
    ("words", "en-es", "twenty-one women", "veintiuna mujeres"),
    ("words", "en-de", "two thousand five hundred and one", "zweitausendfünfhunderteins"),
    ("words", "en-fr", "one hundred and two men", "cent deux hommes"),
    ("words", "en-de", "between one hundred and two hundred", "zwischen einhundert und zweihundert"),
    ("words", "en-es", "five hundred", "quinientos"),
    ("words", "en-de", "a ten-year-old", "ein zehnjähriges Kind"),
    ("words", "en-ru", "three apples", "три яблока"),
    ("words", "en-de", "a dozen eggs", "12 Eier"),
    ("words", "fr-en", "une quinzaine de jours", "a fortnight"),
    ("words", "en-de", "two brothers", "beide Brüder"),
    ("no number", "en-fr", "a third party", "un tiers"),
    ("no number", "en-de", "Take care.", "Du solltest darauf achten."),
    ("no number", "fr-en", "une voiture neuve, un habit neuf", "a new car, a new suit"),
    ("no number", "ja-en", "十分です。", "That is enough."),
    ("no number", "zh-en", "万一下雨怎么办？", "What if it rains?"),
    ("no number", "zh-en", "星期三", "Wednesday"),
    ("no number", "ko-en", "빨리 오세요!", "Come quickly!"),
    ("no number", "en-de", "One never knows.", "Man weiß nie."),
]
# Category, pair, source, translation, values.
WRONG = [
    ("currencies", "en-de", "3 apples for 5 euros", "3 Äpfel für 5.30 Uhr", ("5",)),
    ("times", "en-fr", "The train leaves at 8:05.", "Le train part à 8 h 50.", ("8:05",)),
    ("times", "en-es", "at 2:30", "a la 1:30", ("2:30",)),
    ("signs", "en-de", "It is -5 degrees.", "Es sind 5 Grad.", ("-5",)),
    ("times", "en-de", "at 9:30", "um halb neun", ("9:30",)),
    ("times", "en-de", "at 9 p.m. there", "um sechs", ("9 p.m.",)),
    ("lost", "en-de", "7 of us left at 9 p.m. today", "Wir gingen heute.", ("7", "9 p.m.")),
    ("times", "en-ja", "at 8:05", "8時50分に", ("8:05",)),
    ("separators", "en-de", "1,250 people", "1.520 Menschen", ("1,250",)),
    ("separators", "en-fr", "12,345", "12 354", ("12,345",)),
    ("decimals", "en-de", "2.5 litres", "25 l", None),
    ("decimals", "en-es", "3.75", "3,57", ("3.75",)),
    ("percent", "en-zh", "40 percent", "百分之14", ("40",)),
    ("dates", "en-de", "on March 14", "am 15. März", ("14",)),
    ("dates", "en-ja", "on March 14", "4月14日", None),
    ("dates", "en-es", "in 1984", "en 1948", ("1984",)),
    ("dates", "en-fr", "the 19th century", "le XVIIIe siècle", ("19",)),
    ("ranges", "en-de", "pages 3-5", "Seiten 3 bis 6", ("3-5",)),
    ("ordinals", "en-fr", "the fifth floor", "le quatrième étage", ("fifth",)),
    ("fractions", "en-de", "3/4 of all", "4/5 von allen", ("3/4",)),
    ("versions", "en-de", "version 1.2.3", "Version 1.2.4", ("1.2.3",)),
    ("versions", "en-de", "version 4.2.1", "Version 4.2.1.1", ("4.2.1",)),
    ("versions", "en-de", "version 4.2.1", "Version 4.2", ("4.2.1",)),
    ("versions", "en-de", "version 4.2", "Version 4.2.1", None),
    ("versions", "en-fr", "at 192.168.0.1", "à 192.168.1.0", ("192.168.0.1",)),
    ("phones", "en-fr", "Call 555-0123.", "Appelez le 555-0132.", ("555-0123",)),
    ("parts", "en-de", "part A380-7B", "Teil A830-7B", ("380-7",)),
    ("scales", "en-ja", "125,000 yen", "12.5億円", ("125,000",)),
    ("scales", "en-zh", "1.5 billion", "1.5亿", ("1.5 billion",)),
    ("scales", "en-de", "5 million", "5 Milliarden", ("5 million",)),
    ("scales", "en-ko", "125,000 people", "125만 명", ("125,000",)),
    ("words", "en-de", "three apples", "vier Äpfel", ("three",)),
    ("words", "en-fr", "thirty people", "treize personnes", ("thirty",)),
    ("words", "en-es", "sixty people", "setenta personas", ("sixty",)),
    ("words", "fr-en", "quatre-vingt-dix-sept", "eighty-seven", ("quatre-vingt-dix-sept",)),
    ("words", "en-ja", "five people", "六人", ("five",)),
    ("words", "en-ko", "five books", "책 여섯 권", ("five",)),
    ("words", "zh-en", "五个人", "six people", ("五",)),
    ("words", "en-ru", "45 apples", "54 яблока", ("45",)),
    ("lost", "en-de", "Room 217 is free.", "Das Zimmer ist frei.", ("217",)),
    ("invented", "en-de", "He bought apples.", "Er kaufte 30 Äpfel.", ("30",)),
]


def pair_of(name: str) -> LanguagePair:
    return LanguagePair(*name.split("-"))


def test_right_translations_change_no_number() -> None:
    wrong = [row for row in RIGHT if changed_numbers(row[2], row[3], pair_of(row[1]))]
    assert wrong == []


@pytest.mark.parametrize(("category", "pair", "source", "translation", "values"), WRONG)
def test_wrong_numbers_are_found(
    category: str, pair: str, source: str, translation: str, values: tuple[str, ...] | None
) -> None:
    found = changed_numbers(source, translation, pair_of(pair))
    assert found, category
    assert values is None or found == values


def test_tables_are_not_compared() -> None:
    table = " ".join(map(str, range(1000, 1001 + MAX_NUMBERS)))
    assert changed_numbers(table, "nichts", LanguagePair("en", "de")) == ()
    assert changed_numbers("nothing", table, LanguagePair("en", "de")) == ()


def test_load_numbers_knows_any_pair() -> None:
    load_numbers([LanguagePair("en", "de"), LanguagePair("zh-Hant", "tlh")])


PARTS = st.sampled_from(
    [
        "1",
        "٣",
        "½",
        "two ",
        "hundred ",
        "and ",
        "mille ",
        "十",
        "万",
        "두 ",
        "halb ",
        "einhundert",
        "XIV",
        ",",
        ".",
        ":",
        " ",
    ]
)
ANY = st.lists(PARTS | st.text(st.characters(codec=None), max_size=3), max_size=30).map("".join)


@pytest.mark.parametrize("text", [f"{'0' * 19}/3", f"{'9' * 5_000}/7", f"{'1' * 5_000}.5 euros", f"1{'億兆' * 3_000}"])
def test_enormous_numbers_are_compared(text: str) -> None:
    for pair in ("en-de", "de-en", "ja-en"):
        assert all(value in text for value in changed_numbers(text, text, pair_of(pair)))


@given(ANY, ANY, st.sampled_from(["en-de", "fr-es", "ja-zh", "ko-en", "ar-tlh"]))
def test_any_texts_can_be_compared(source: str, translation: str, pair: str) -> None:
    found = changed_numbers(source, translation, pair_of(pair))
    assert all(value in source or value in translation for value in found)


@given(ANY, st.sampled_from(["en", "de", "fr", "es", "ja", "zh", "ko", "ar"]))
def test_no_number_differs_from_itself(text: str, language: str) -> None:
    assert changed_numbers(text, text, LanguagePair(language, language)) == ()


HOSTILE = [
    *["1", "1,", "1 ", "0/3 ", "hundred ", "million ", "two thousand two million ", "one and ", "8 p.m. "],
    *["十", "万", "1億兆", "tausend", "두 ", "I", "halb ", "½", "(030) 123-4567; "],
]


@pytest.mark.no_cover
@pytest.mark.parametrize("pair", ["en-de", "ja-ko", "fr-ar"])
def test_hostile_texts_take_linear_time(pair: str) -> None:
    for unit, size in itertools.product(HOSTILE, (MAX_CHARS, 200_000)):
        text = unit * (size // len(unit))
        changed_numbers(text, text[:-7], pair_of(pair))


def mention(*readings: Reading, kind: NumberKind = NumberKind.DIGITS, plain: Reading | None = None) -> NumberMention:
    return NumberMention(0, 1, kind, readings, plain)


def test_one_reading_with_all_values_is_enough() -> None:
    number = mention((1250,), (1, 250))
    assert unmatched_numbers([number], [mention((1250,))], knows_words=True) == []
    assert unmatched_numbers([number], [mention((250,))], knows_words=True) == []
    assert unmatched_numbers([number], [mention((125,))], knows_words=True) == [number]


def test_hints_match_but_are_not_demanded() -> None:
    hint = mention((2,), kind=NumberKind.HINT)
    assert unmatched_numbers([hint], [], knows_words=True) == []
    assert unmatched_numbers([mention((2,))], [hint], knows_words=True) == []


def test_one_is_never_demanded() -> None:
    assert unmatched_numbers([mention((1,))], [], knows_words=True) == []


def test_small_numbers_need_known_words() -> None:
    small, large = mention((12,)), mention((47,))
    assert unmatched_numbers([small, large], [], knows_words=False) == [large]
    assert unmatched_numbers([small, large], [], knows_words=True) == [small, large]


def test_scale_may_be_a_word_that_is_unknown() -> None:
    scaled = mention((5_000_000,), plain=(5,))
    assert unmatched_numbers([scaled], [mention((5,))], knows_words=False) == []
    assert unmatched_numbers([scaled], [mention((5,))], knows_words=True) == [scaled]


@pytest.mark.parametrize(
    ("pair", "source", "translation", "values"),
    [
        ("de-en", "Wir brauchen 25 Prozent mehr Mehl.", "We need 25 percentage.", ("25 Prozent",)),
        ("en-fr", "It costs 20% more.", "Cela coûte 20 de plus.", ("20%",)),
        ("en-es", "twenty percent", "veinte", ("twenty percent",)),
    ],
)
def test_number_without_its_percent_is_found(pair: str, source: str, translation: str, values: tuple[str, ...]) -> None:
    assert changed_numbers(source, translation, LanguagePair(*pair.split("-"))) == values


@pytest.mark.parametrize(
    ("pair", "source", "translation"),
    [
        ("de-en", "Wir brauchen 25 Prozent mehr Mehl.", "We need 25 per cent more flour."),
        ("en-fr", "It costs 20% more.", "Cela coûte 20 % de plus."),
        ("en-de", "a 20 percent solution", "eine 20-prozentige Lösung"),
        ("en-ja", "20% of them", "その20パーセント"),
        ("en-de", "50 percent of them", "die Hälfte davon"),
        ("en-de", "20 of them", "20 davon"),
    ],
)
def test_percent_in_another_form_is_right(pair: str, source: str, translation: str) -> None:
    assert changed_numbers(source, translation, LanguagePair(*pair.split("-"))) == ()


EN_DE = LanguagePair("en", "de")


@pytest.mark.parametrize(
    ("source", "translation", "values"),
    [
        ("It weighs 23 kilos.", "Es wiegt 23 Kilo wie 23 Kilo.", ("23",)),
        ("It was moved to 11:15 a.m.", "Es wurde um 11:15 Uhr nach 11:15 Uhr verlegt.", ("11:15",)),
        ("There are twelve.", "Es sind 12 und 12 und 12.", ("twelve",)),
        ("It has 5 rooms and 5 doors.", "Es hat 5 Zimmer, 5 Türen und 5 Türen.", ("5",)),
    ],
)
def test_repeated_number_is_found(source: str, translation: str, values: tuple[str, ...]) -> None:
    assert changed_numbers(source, translation, EN_DE) == values


@pytest.mark.parametrize(
    ("source", "translation"),
    [
        ("It has 5 rooms and 5 doors.", "Es hat 5 Zimmer und 5 Türen."),
        ("It has 5 rooms and five doors.", "Es hat 5 Zimmer und 5 Türen."),
        ("It has 5 rooms and 5 doors.", "Es hat je 5 Zimmer und Türen."),
        ("A pair of 2", "2 mal 2"),
        ("", "1"),
    ],
)
def test_number_as_often_as_in_the_source_is_right(source: str, translation: str) -> None:
    assert changed_numbers(source, translation, EN_DE) == ()
