"""API keys: records, authentication, quotas.

- ``api_key``: a key's record and creation; warnings about grants.
- ``caller``: a caller's identity and permissions.
- ``authenticator``: callers and operators.
- ``quota``: counts and refunds usage, refuses what exceeds a limit; RateLimit headers.
- ``usage``: limits, their windows, and what was used in them.
- ``store``: keys and usage in Redis, and keys read recently.
- ``backup``: a backup's file, export and import.
"""
