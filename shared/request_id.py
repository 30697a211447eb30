"""The id that goes with a request through both servers' logs and answers."""

from __future__ import annotations

from typing import Final

REQUEST_ID_HEADER: Final = "X-Request-Id"
