"""Version of the client, as that of the servers."""

__version__ = "0.1.0"
