"""Text memory: what the texts of all requests in flight may take."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from itertools import chain
from typing import Final

from apiserver.settings import BYTES_PER_CHAR, TEXT_CHARS
from shared.protocol.errors import OverloadedError
from shared.protocol.translate_request import TranslateRequest, XmlOptions

# The most that planning takes besides, for each character of the one long text that is being planned.
PLANNING_BYTES_PER_CHAR: Final = 512
# Even long texts end; a client that comes back each second costs nothing.
MEMORY_RETRY_SECONDS: Final = 1.0


def chars_in_memory(request: TranslateRequest) -> int:
    """Return the characters for which a request holds memory.

    Those of its texts and options; a short text counts as ``TEXT_CHARS``.
    """
    texts = sum(max(TEXT_CHARS, len(text)) for text in request.texts)
    options = (*request.do_not_translate, *request.terms, *request.terms.values(), request.context)
    xml = request.xml or XmlOptions()
    return texts + sum(map(len, chain(options, xml.splitting_tags, xml.non_splitting_tags, xml.ignore_tags)))


class TextMemory:
    """Bytes that requests hold, with a share for each caller.

    Used on one event loop. A caller holds at most half of what the others leave free, so a further caller always finds some.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.held = 0
        self._by_caller: dict[str, int] = {}

    @contextmanager
    def hold(self, caller: str, chars: int) -> Generator[None]:
        """Hold the memory of so many characters while the block lasts.

        Raises:
            OverloadedError: there is too little now.
        """
        size = chars * BYTES_PER_CHAR
        own = self._by_caller.get(caller, 0)
        if 2 * (own + size) > self.limit - (self.held - own):
            message = (
                f"The texts in flight leave no memory for {chars} characters more: this server has "
                f"{self.limit // BYTES_PER_CHAR} characters for all callers, {self.held // BYTES_PER_CHAR} are in use."
            )
            raise OverloadedError(message, retry_after=MEMORY_RETRY_SECONDS, facts={"reason": "memory"})
        self._change(caller, size)
        try:
            yield
        finally:
            self._change(caller, -size)

    def _change(self, caller: str, size: int) -> None:
        self.held += size
        left = self._by_caller.get(caller, 0) + size
        if left:
            self._by_caller[caller] = left
        else:
            self._by_caller.pop(caller, None)
