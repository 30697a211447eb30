"""Compatible APIs: formats of others over the one translation service.

- ``mounts``: the paths of all APIs, under a prefix and at the root.
- ``compat_api``: what an API consists of.
- ``fields``: the fields of a request, from JSON, a form or the query.
- ``key_scan``: finds the key in a body before its fields are read.
- ``language_codes``: language codes of other APIs, and languages' names.
- ``served_languages``: the fleet's languages, never a part of them.
- ``list_language``: the language of most of a list's text.
- ``translations``: builds requests, and reads answers.
- ``libretranslate/``: LibreTranslate.
- ``deepl/``: DeepL.
- ``deeplx``: DeepLX.
- ``immersive``: Immersive Translate's custom API.
- ``kiss``: Kiss Translator's custom API.
"""
