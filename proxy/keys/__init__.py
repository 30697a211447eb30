"""API keys: records, authentication, quotas; ``python -m proxy.keys``.

- ``api_key``: the record of a key, what it may, and how a new one is created.
- ``caller``: who asks, and which pairs they may use.
- ``authenticator``: lets callers and operators in.
- ``metering``: counts requests and characters, and refunds what was not served.
- ``quota``: windows of a key's limits, what was used in them, and the headers that show it.
- ``cached_store``: keys read lately, and whether Redis is away.
- ``store``: keys and their usage in Redis.
- ``cli``: the command line.
- ``__main__``: runs the command line.
"""
