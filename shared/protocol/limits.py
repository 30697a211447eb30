"""Limits of one request, the same in both servers."""

from __future__ import annotations

from typing import cast

from pydantic import BaseModel, ConfigDict

from shared.protocol.errors import TooLargeError


class Limits(BaseModel):
    """Limits of one request."""

    model_config = ConfigDict(frozen=True)

    body_bytes: int
    texts: int
    text_chars: int

    def check(self, text: object) -> None:
        """Raise TooLargeError beyond a limit; values of other types pass."""
        match text:
            case str():
                self._check_length("text", text)
            case list():
                each = cast("list[object]", text)
                if len(each) > self.texts:
                    raise TooLargeError("The list", size=len(each), limit=self.texts, unit="texts")
                for index, item in enumerate(each):
                    self._check_length(f"text[{index}]", item)
            case _:
                pass

    def _check_length(self, where: str, text: object) -> None:
        if isinstance(text, str) and len(text) > self.text_chars:
            raise TooLargeError(where, size=len(text), limit=self.text_chars, unit="characters")
