"""Checks and clean-up of model output.

- ``quality_guard``: the issues of an output, and how they are found.
- ``cleanup``: removes text around a translation.
- ``output_language``: tells whether an output is in its language.
- ``repetition``: loops in a text.
- ``length``: the expected length.
- ``scripts``: scripts of letters, their weight, normal forms.
- ``calendar/``: finds changed weekdays, months and other calendar words.
- ``names/``: names of a source that its translation lacks.
- ``numbers/``: finds changed numbers.
"""
