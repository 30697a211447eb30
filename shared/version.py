"""Version of Pairway; a test compares it with pyproject.toml."""

from typing import Final

VERSION: Final = "0.1.0"
