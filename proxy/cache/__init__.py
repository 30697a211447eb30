"""Translations kept or shared: memory, Redis, requests in flight.

- ``translation_cache``: look up and store translations, text by text, in both tiers.
- ``fingerprints``: what makes two requests, or two texts' translations, the same.
- ``model_versions``: which models, in which version, serve a route now.
- ``memory_cache``: the first tier: entries in memory, least recently used evicted.
- ``redis_cache``: the second tier: a Redis of its own that may forget.
- ``coalescing``: equal requests at the same time are computed once.
"""
