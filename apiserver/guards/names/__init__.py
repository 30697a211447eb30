"""Names guard: finds names and codes that a translation lacks.

- ``name_guard``: names of a source that an output lacks.
- ``candidates``: finds names, acronyms and codes in a text.
- ``output_names``: tells whether an output has a name.
- ``spelling``: compares spellings of a name.
- ``transliteration``: compares a name with kana and Hangul.
- ``word_lists``: words that need not survive.
- ``place_names``: translated names of places and languages.
"""
