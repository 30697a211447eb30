"""Checks: what a translation changed of a text's numbers.

- ``comparison``: numbers whose values one text lacks.
- ``notation``: numbers left in the source's notation.
- ``half_day``: times that lost their half of the day.
- ``phone_numbers``: telephone numbers, digit by digit.
"""
