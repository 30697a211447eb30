"""Version of Pairway, as in pyproject.toml."""

from typing import Final

VERSION: Final = "0.1.0"
