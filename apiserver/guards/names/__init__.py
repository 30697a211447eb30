"""Names guard (docs/decisions/0035-names.md).

- ``name_guard``: finds names and codes that an output lacks.
- ``candidates``: names, acronyms and codes of a text.
- ``introductions``: words behind which a word is a name.
- ``spelling``: compares spellings of a name, also in kana and Hangul.
- ``word_lists``: words that need not survive, translated names.
"""
