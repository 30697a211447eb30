"""Stored translations, and requests that share one computation.

Callers share entries, unless they opted out; ``proxy/translation/service.py`` uses both.

- ``translation_cache``: both tiers, text by text; keys of texts and models.
- ``memory_cache``: the first tier, in memory.
- ``redis_cache``: the second tier, in Redis.
- ``coalescing``: computes equal whole requests once, also for clients that repeat them; not streams.
"""
