"""Version of the client, as that of the servers."""

from typing import Final

__version__: Final = "0.1.0"
