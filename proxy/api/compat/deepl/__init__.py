"""DeepL: versions 2 and 3 of its API, for texts.

- ``api``: its paths.
- ``errors``: its statuses and the format of errors.
- ``callers``: keys, and parameters of requests that translate nothing.
- ``text_request``: the fields of a translation, as native options.
- ``translate``: translations.
- ``languages``: served languages under DeepL's codes.
- ``usage``: the characters of a key.
"""
