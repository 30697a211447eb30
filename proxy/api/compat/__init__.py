"""Compatible APIs: formats of others over the one exchange.

- ``mounts``: the paths of all APIs, under a prefix and at the root; which of ``POST /translate`` at the root are an API's.
- ``codec``: what an API consists of.
- ``languages``: language codes both ways, names, and the fleet's languages.
- ``text_lists``: native requests for lists of texts, the list's language, and results.
- ``libretranslate``: LibreTranslate.
- ``deepl``: DeepL's translations, languages and usage.
- ``deepl_glossaries``: DeepL's glossaries.
- ``deeplx``: DeepLX.
- ``extensions``: Kiss Translator and Immersive Translate.
"""
