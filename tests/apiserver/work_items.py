"""Work items as tests need them: requests for en-de that have much time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from apiserver.scheduling.work_item import WorkItem
from shared.languages import LanguagePair
from shared.protocol.deadline import Deadline
from shared.protocol.priority import Priority
from shared.protocol.sse_format import DeltaSink, OnDelta
from shared.protocol.translate_request import TranslateRequest

EN_DE = LanguagePair("en", "de")
LONG_TIME = 1e6


def work_of(
    text: str | list[str] = "word",
    priority: Priority = Priority.INTERACTIVE,
    caller: str = "",
    *,
    pair: LanguagePair = EN_DE,
    seconds: float = LONG_TIME,
    clock: Callable[[], float] = time.monotonic,
    on_delta: OnDelta | None = None,
    canary: bool = False,
    **fields: Any,
) -> WorkItem:
    """Return the work of a request with these fields, which has so many seconds."""
    body = {"text": text, "source_lang": pair.source, "target_lang": pair.target, **fields}
    request = TranslateRequest.model_validate(body)
    sink = None if on_delta is None else DeltaSink(on_delta)
    return WorkItem(request, pair, Deadline.after(seconds, clock), "r", priority, caller, sink, canary)
