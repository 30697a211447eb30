"""Numbers guard: finds numbers that a translation changed (docs/decisions/0034-numbers-guard.md).

- ``changed_numbers``: compares the numbers of a text and its translation.
- ``checks/``: lost values, foreign notation, half of the day, telephone numbers.
- ``reader``: reads the numbers of a text.
- ``mentions``: a number in a text, with its possible readings.
- ``digit_runs``: digits with separators, fractions.
- ``clock``: times of day.
- ``spaced_reader``: languages that write spaces between words.
- ``east_asian_reader``: Chinese, Japanese and Korean.
- ``numerals``: the numerals of these three.
- ``substitution``: numbers that travel as placeholders.
- ``words/``: words of numbers.
"""
