"""Names guard: finds names and codes that a translation lacks (docs/decisions/0035-names.md).

- ``name_guard``: tells whether an output has a source's names.
- ``candidates``: finds names, acronyms and codes in a text.
- ``spelling``: compares spellings of a name, also in kana and Hangul.
- ``word_lists``: words that need not survive, translated names.
"""
