"""API keys: records, authentication, quotas; ``python -m proxy.keys``.

- ``api_key``: a key's record and creation.
- ``caller``: a caller's identity and permissions.
- ``authenticator``: callers and operators.
- ``metering``: counts and refunds usage.
- ``quota``: limits' windows and headers.
- ``cached_store``: keys read recently.
- ``store``: keys and usage in Redis.
- ``grant_warnings``: unserved pairs, names used twice.
- ``backup_format``: a backup's file.
- ``backup``: export and import.
- ``cli_arguments``: the command line's arguments.
- ``cli``: the command line.
- ``__main__``: runs the command line.
"""
