"""Glossaries: callers' dictionaries in Redis, whose entries become terms of requests.

Every method raises ``PairwayError``: 404 ``unknown-glossary`` (also for other owners' glossaries), 409 ``glossaries-full``,
413 ``too-large``, 503 ``glossaries-unavailable`` if Redis is away.

- ``glossary``: ``owner_of_key(key_id)``, ``owner_of_word(word)``: whose a glossary is; ``GlossaryDraft`` (from a body: ``READER``),
  ``Glossary`` and its pure changes (``renamed``, ``with_dictionary``, ``with_entries``, ``without_dictionary``), ``GlossaryInfo``
  (no entries), limits.
- ``entry_lines``: dictionaries as TSV or CSV.
- ``store``: ``GlossaryStore``: ``create``, ``list_all``, ``read``, ``update`` (with a pure change), ``delete``; all atomic.
- ``matcher``: finds a dictionary's entries in texts.
- ``term_finder``: ``TermFinder.add_terms(owner, glossary_id, request)``: the request with the found entries as terms;
  glossaries with their matchers stay in memory.

An endpoint that translates calls ``TranslationRun.translate_with_glossary`` (proxy/exchange/translation_run.py), which knows the owner.
"""
