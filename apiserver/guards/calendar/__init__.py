"""Calendar guard: days, months and times that a translation changed (docs/decisions/0039-calendar-guard.md).

- ``changed_calendar``: compares a text with its translation.
- ``calendar_reader``: the calendar words of a text.
- ``calendar_words``: a language's words, from CLDR and ``words/``.
- ``foreign_months``: months beside a day, in any language of CLDR.
"""
