"""The one place that names the version of Pairway; servers report it, pyproject.toml repeats it (tested)."""

from typing import Final

VERSION: Final = "0.1.0"
