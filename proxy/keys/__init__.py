"""API keys: records, authentication, quotas; ``python -m proxy.keys``."""
