"""Checks of numbers that values alone cannot make.

- ``notation``: numbers left in the source's notation.
- ``half_day``: times that lost their half of the day.
- ``phone_numbers``: telephone numbers, digit by digit.
"""
