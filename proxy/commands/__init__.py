"""Commands for operators on Redis itself: ``python -m proxy keys …`` and ``fleet expect``.

They need no operator token and no running proxy, and hashes of keys leave Redis through them alone.

- ``program``: the command line, and how errors end it.
- ``keys``: create, list, limit and revoke keys.
- ``key_options``: options of a key.
- ``backup_files``: export and import.
- ``fleet``: the expected replicas of services.
- ``output``: tables, warnings, exit statuses.
"""
