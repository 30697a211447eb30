"""Call: one client's request on its way through the proxy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Self

from proxy.freight import Freight

if TYPE_CHECKING:
    from proxy.caller import Caller
    from shared.deadline import Deadline
    from shared.events import OnDelta
    from shared.metrics import Measured
    from shared.priority import Priority
    from shared.wire import TranslateRequest


@dataclass(frozen=True)
class Call:
    """What is asked, by whom, until when, and what is measured of it.

    ``on_delta`` is told every part of each text's translation, by its index, as soon as it is final; None where the
    client wants no stream.
    """

    request: TranslateRequest
    caller: Caller
    priority: Priority
    deadline: Deadline
    request_id: str
    measured: Measured
    on_delta: OnDelta | None = None

    @cached_property
    def freight(self) -> Freight:
        """How heavy it is."""
        return Freight.of(self.request, self.priority)

    def asking(self, request: TranslateRequest, on_delta: OnDelta | None) -> Self:
        """Return the same call for a part of its texts, or a leg of their way."""
        return replace(self, request=request, on_delta=on_delta)
