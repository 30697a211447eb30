"""API keys: records, authentication, quotas; ``python -m proxy.keys``.

- ``api_key``: a key's record, its permissions and its creation.
- ``caller``: a caller's identity and permissions.
- ``authenticator``: authenticates callers and operators.
- ``metering``: counts requests and characters, and refunds failed requests.
- ``quota``: windows of a key's limits, their usage and the RateLimit headers.
- ``cached_store``: keys read recently, and whether Redis is away.
- ``store``: keys and their usage in Redis.
- ``cli``: the command line.
- ``__main__``: runs the command line.
"""
