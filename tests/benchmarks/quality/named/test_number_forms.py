"""Written forms of numbers: what a reader of each language takes for the value, and what not."""

from __future__ import annotations

import pytest

from benchmarks.quality.named.number_forms import number_pattern


@pytest.mark.parametrize(
    ("expected", "language", "text"),
    [
        ("1250", "de", "1,250 Bücher"),
        ("1250", "de", "12.500 Bücher"),
        ("2.5", "de", "2.5 Kilo"),
        ("2.5", "fr", "25 kilos"),
        ("3", "de", "13 Äpfel"),
        ("5", "de", "5.30 Uhr"),
        ("9", "fr", "9:30"),
        ("-12", "de", "12 Grad"),
        ("45%", "es", "45 personas"),
        ("€14", "fr", "14 dollars"),
        ("$1.3M", "de", "1,3 Milliarden Dollar"),
        ("8:05", "fr", "8 h 50"),
        ("6:40pm", "de", "6:40 Uhr"),
        ("6:40pm", "fr", "6 h 40 du matin"),
        ("9am", "es", "21:00"),
        ("14/3", "de", "14. Mai"),
        ("14/3", "es", "4 de marzo"),
        ("y1988", "de", "1.988"),
        ("3rd", "de", "vierten"),
        ("=4.2.1", "de", "4.2.10"),
        ("=830-417", "fr", "830-471"),
    ],
)
def test_other_value_is_not_found(expected: str, language: str, text: str) -> None:
    assert not number_pattern(expected, language).search(text)


@pytest.mark.parametrize(
    ("expected", "language", "texts"),
    [
        ("1250", "de", ["1.250 Bücher", "1250", "1 250", "1 250"]),
        ("1250", "fr", ["1 250 livres", "1 250", "1250"]),
        ("1250", "es", ["1.250 libros", "1250", "1 250"]),
        ("2.5", "de", ["2,5 Kilo", "2,50"]),
        ("3", "de", ["drei", "3 Äpfel", "Drei"]),
        ("2", "de", ["beide", "zwei"]),
        ("42", "de", ["zweiundvierzig"]),
        ("81", "fr", ["quatre-vingt-un"]),
        ("75", "fr", ["soixante-quinze"]),
        ("22", "es", ["veintidós"]),
        ("33", "es", ["treinta y tres"]),
        ("500", "es", ["quinientas", "500"]),
        ("20000", "es", ["20.000", "20 mil", "veinte mil"]),
        ("-12", "fr", ["-12 degrés", "−12", "moins 12", "moins douze"]),
        ("45%", "de", ["45 %", "45%", "45 Prozent"]),
        ("2.3%", "es", ["2,3 por ciento", "2.3%"]),
        ("€79.90", "de", ["79,90 €", "79,90 Euro", "€ 79,90"]),
        ("€12.80", "fr", ["12,80 euros", "12 euros 80"]),
        ("$240", "es", ["240 dólares", "$240"]),
        ("$1.3M", "de", ["1,3 Millionen Dollar", "1.300.000 Dollar"]),
        ("$2.1M", "fr", ["2,1 millions de dollars"]),
        ("8B", "es", ["8 mil millones", "8.000 millones"]),
        ("8:05", "fr", ["8 h 05", "8h05", "8:05", "8 heures 05"]),
        ("6:40pm", "de", ["18:40 Uhr", "18.40 Uhr", "6:40 Uhr abends"]),
        ("9am", "es", ["a las 9 de la mañana", "9:00", "las nueve"]),
        ("5pm", "fr", ["17 heures", "17 h", "17h00", "cinq heures de l'après-midi"]),
        ("7:30", "de", ["halb acht", "7:30"]),
        ("9:00", "es", ["las nueve", "9:00"]),
        ("14/3", "de", ["14. März", "14.3.", "14. März 2020"]),
        ("1/9", "fr", ["1er septembre", "1 septembre", "premier septembre"]),
        ("1/5", "es", ["1 de mayo", "primero de mayo", "1.º de mayo"]),
        ("3rd", "fr", ["troisième", "3e", "3ème"]),
        ("19th", "es", ["siglo XIX"]),
        ("19th", "de", ["19. Jahrhundert", "neunzehnten"]),
        ("=+49 30 5550198", "de", ["+49 30 5550198", "+49305550198"]),
    ],
)
def test_forms_of_the_value_are_found(expected: str, language: str, texts: list[str]) -> None:
    assert [text for text in texts if not number_pattern(expected, language).search(text)] == []


def test_unknown_notation_is_refused() -> None:
    with pytest.raises(ValueError, match="'five' is in no notation"):
        number_pattern("five", "de")
