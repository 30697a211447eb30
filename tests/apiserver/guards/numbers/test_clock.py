"""Clock: both halves of the day, and the ways to say minutes."""

from __future__ import annotations

from apiserver.guards.numbers.clock import clock_readings, half_before, hours_of, is_half_hour, is_hour, spoken_readings
from apiserver.guards.numbers.mentions import HALF


def test_hours_are_those_of_both_halves_of_the_day() -> None:
    assert [hours_of(hour) for hour in (8, 20, 12, 0, 24)] == [(8, 20), (20, 8), (12, 24), (24, 12), (24, 12)]


def test_minutes_may_be_before_the_next_hour() -> None:
    assert clock_readings(8, 0) == ((8,), (20,))
    assert clock_readings(5, 50) == ((5, 50), (17, 50), ("<6", -10), ("<18", -10))
    assert spoken_readings(10) == ((-10,), ("<10",))
    assert spoken_readings(30) == ((-30,),)
    assert spoken_readings(60) == ()


def test_halb_is_before_the_hour() -> None:
    assert is_half_hour("um halb zwölf", 12, 8)
    assert not is_half_hour("ein halbes 12", 12, 11)
    assert (11, HALF) in half_before(12)


def test_hour_has_a_word_or_sign_behind_it() -> None:
    assert all(is_hour(text, 8, 1) for text in ("8 Uhr", "8 pm", "8 h", "8時", "8시", "8 o'clock"))
    assert not any(is_hour(text, 8, 1) for text in ("8", "8 Hunde", "8時間", "8 ham"))
    assert not is_hour("80 Uhr", 80, 2)
