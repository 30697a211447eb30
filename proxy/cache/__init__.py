"""Stored translations, and requests that share one computation.

Callers share entries, unless they opted out; ``proxy/translation/service.py`` uses both.

- ``translation_cache``: both tiers, text by text.
- ``fingerprints``: digests of texts, options and models.
- ``model_versions``: the models that serve a route.
- ``memory_cache``: the first tier, in memory.
- ``redis_cache``: the second tier, in Redis.
- ``coalescing``: computes equal whole requests in flight once; not streams.
- ``shared_computation``: one such computation.
- ``abandoned_computations``: those without a client, within limits.
"""
