"""Spending: the characters of one request, charged to a key for as long as all goes well."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Self

from proxy.keys.api_key import ApiKey
from proxy.keys.quota import UsageResult
from shared.protocol.sse import OnDelta

if TYPE_CHECKING:
    from proxy.keys.authenticator import Authenticator


class CharacterCharge:
    """The characters of one request, as a context manager; without a key none are counted.

    Mutable state: whether anything of the answer was told.
    """

    __slots__ = ("_access", "_chars", "_counted", "_key", "_tell", "_told")

    def __init__(
        self, access: Authenticator, key: ApiKey | None, chars: int, tell: Callable[[Mapping[str, str]], None]
    ) -> None:
        """Take who pays how much, and what takes headers."""
        self._access = access
        self._key = key
        self._chars = chars
        self._tell = tell
        self._told = False
        self._counted: UsageResult | None = None

    async def __aenter__(self) -> Self:
        """Charge them.

        Raises:
            PairwayError: they can not be charged; says why.
        """
        if self._key is not None:
            self._counted = await self._access.charge(self._key, self._chars, self._tell)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Give them back if the block failed, unless something was told: who hangs up before the end has it all the same."""
        if kind is not None and self._key is not None and self._counted is not None and not self._told:
            await self._access.refund(self._key, self._chars, self._counted)

    def noting(self, on_delta: OnDelta | None) -> OnDelta | None:
        """Return what is to be told of parts of the answer, so that it is noted here."""
        if on_delta is None:
            return None

        def tell(index: int, text: str) -> None:
            self._told = self._told or bool(text)
            on_delta(index, text)

        return tell
