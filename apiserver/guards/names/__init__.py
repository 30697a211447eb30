"""Names guard: finds names and codes that a translation lacks.

- ``name_guard``: names of a source that an output lacks.
- ``candidates``: finds names, acronyms and codes in a text.
- ``candidate``: such a part of a text.
- ``name_phrases``: what belongs to a name without a capital.
- ``output_names``: tells whether an output has a name.
- ``mangled_names``: names that an output ends otherwise.
- ``spelling``: compares spellings of a name.
- ``transliteration``: compares a name with kana and Hangul.
- ``word_lists``: words that need not survive.
- ``place_names``: translated names of places and languages.
"""
