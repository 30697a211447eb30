"""Numbers guard: finds numbers that a translation changed (docs/decisions/0034-numbers-guard.md).

- ``changed_numbers``: compares the numbers of a text and its translation.
- ``dates_and_times``: months, days, and halves of the day.
- ``notation``: foreign notation, telephone numbers.
- ``reader``: reads the numbers of a text.
- ``spaced_reader``: languages that write spaces between words.
- ``east_asian_reader``: Chinese, Japanese and Korean.
- ``readings``: what digits, times and fractions may mean.
- ``vocabulary``: words of numbers; ``words/`` has those that libraries lack.
- ``substitution``: numbers that travel as placeholders.
"""
