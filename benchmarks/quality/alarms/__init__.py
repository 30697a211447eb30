"""Alarms: what the guards say of right translations, and what they find of wrong ones.

- ``calendar_alarms``: the calendar guard.
- ``guard_alarms``: all guards.
- ``name_alarms``: the names guard.
- ``name_words``: makes the names guard's lists of words.
- ``number_alarms``: the numbers guard.
- ``references``: right translations by direction, and the programs' options.
"""
