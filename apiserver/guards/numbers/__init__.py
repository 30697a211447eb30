"""Numbers guard (docs/decisions/0034-numbers-guard.md).

- ``changed_numbers``: finds numbers that a translation changed.
- ``dates_and_times``: German days, and halves of the day beside a time.
- ``notation``: foreign notation, telephone numbers.
- ``reader``: the numbers of a text; ``east_asian_reader``: of Chinese, Japanese and Korean.
- ``east_asian_reader``: numerals of single characters.
- ``readings``: what digits, times and fractions may mean.
- ``vocabulary``: words of numbers; ``words/`` has those that libraries lack.
- ``substitution``: numbers that travel as placeholders.
"""
