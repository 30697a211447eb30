"""Stored translations, and requests that share one computation.

- ``translation_cache``: looks up and stores translations, text by text, in both tiers.
- ``fingerprints``: identifies texts with equal options and models.
- ``model_versions``: the models, with revisions, that serve a route now.
- ``memory_cache``: the first tier, in memory, evicts the least recently used entries.
- ``redis_cache``: the second tier, a separate Redis that may evict entries.
- ``coalescing``: equal requests in flight are computed once.
"""
