"""Checks and clean-up of model output.

- ``cleanup``: removes text around a translation.
- ``chat_patterns``: patterns of preambles, notes and control tokens.
- ``quality_guard``: finds an output's issues.
- ``normal_form``: normal forms of Unicode, in linear time.
- ``names/``: names of a source that its translation lacks.
- ``issues``: the issues of an output.
- ``length``: the expected length.
- ``repetition``: repetitions in a text.
- ``scripts``: scripts of letters and languages.
- ``numbers/``: finds changed numbers.
- ``output_language``: detects an output's language.
"""
