"""Names of keys in Redis: in the fleet's, and in the cache's."""

from __future__ import annotations


class RedisKeys:
    """Names of all keys (docs/operations/runbooks/README.md), each with the prefix."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self.lease = f"{prefix}prober"
        self.replicas = f"{prefix}replicas"
        self.pairs = f"{prefix}pairs"
        self.overrides = f"{prefix}changes"
        self.expected = f"{prefix}expected"
        self.api_keys = f"{prefix}keys"
        self.glossary_owners = f"{prefix}glossary-owners"
        self.glossary_bytes = f"{prefix}glossary-bytes"
        self.proxies = f"{prefix}proxies"

    def replica(self, url: str) -> str:
        """Return the name of a replica's record."""
        return f"{self._prefix}replica:{url}"

    def proxy(self, name: str) -> str:
        """Return the name of a proxy's summary."""
        return f"{self._prefix}proxy:{name}"

    def served_pairs(self, version: str) -> str:
        """Return the name of the record of reported pairs with this version."""
        return f"{self._prefix}served:{version}"

    def api_key(self, key_id: str) -> str:
        """Return the name of an API key's record."""
        return f"{self._prefix}key:{key_id}"

    def usage(self, key_id: str, unit: str, window: str) -> str:
        """Return the name of an API key's counter in a window."""
        return f"{self._prefix}use:{key_id}:{unit}:{window}"

    def period(self, name: str) -> str:
        """Return the name of all API keys' usage in a period."""
        return f"{self._prefix}usage:{name}"

    def usage_batch(self, proxy: str) -> str:
        """Return the name of the number of a proxy's last batch."""
        return f"{self._prefix}usage-batch:{proxy}"

    def glossaries(self, owner: str) -> str:
        """Return the name of an owner's list of glossaries."""
        return f"{self._prefix}glossaries:{owner}"

    def glossary(self, owner: str, glossary_id: str) -> str:
        """Return the name of a glossary's record."""
        return f"{self._prefix}glossary:{owner}:{glossary_id}"

    def cached(self, key: bytes) -> str:
        """Return the name of a stored translation, in the cache's Redis."""
        return f"{self._prefix}cache:{key.hex()}"
