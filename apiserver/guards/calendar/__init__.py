"""Calendar guard: weekdays, months, seasons, halves of the day and relative days that a translation lost or changed.

- ``changed_calendar``: compares a text with its translation.
- ``calendar_reader``: the calendar words of a text.
- ``calendar_words``: a language's words, from CLDR and ``words/``.
- ``foreign_months``: months beside a day, in any language of CLDR.
"""
