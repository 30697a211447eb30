"""DeepL: versions 2 and 3 of its API, for texts and glossaries.

- ``api``: its paths.
- ``errors``: its statuses and the format of errors.
- ``callers``: keys, parameters of requests that translate nothing, fields without effect.
- ``text_request``: the fields of a translation, as native options.
- ``translate``: translations.
- ``languages``: served languages under DeepL's codes.
- ``usage``: the characters of a key.
- ``glossaries``: glossaries of versions 2 and 3, over ours.
- ``glossary_request``: the fields of a glossary, as ours.
- ``entry_lines``: a dictionary's entries as TSV or CSV.
"""
