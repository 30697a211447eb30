"""Checks: what a translation changed of a text's numbers.

- ``comparison``: numbers whose values one text lacks.
- ``notation``: numbers left in the source's notation.
- ``dates``: months and days in the source's form.
- ``neighbours``: what stands between two numbers.
- ``repeats``: numbers that are repeated.
- ``half_day``: times that lost their half of the day.
- ``percents``: numbers without their percent sign.
- ``phone_numbers``: telephone numbers, digit by digit.
"""
