"""Every code that a server of ours can answer with: those of both files of errors."""

from __future__ import annotations

from typing import Final

from shared.protocol import access_errors, errors

CODES: Final = frozenset(
    kind.code
    for module in (errors, access_errors)
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, errors.PairwayError)
)
