"""The legs of a call, and their results as one answer."""

from __future__ import annotations

import sys
import time

import pytest

from proxy.call import Leg, RequestCost, TranslationCall
from proxy.keys.caller import Caller
from proxy.routing.routes import Route
from proxy.translation import pivot
from proxy.translation.dispatcher import legs_of
from shared.protocol.deadline import Deadline
from shared.protocol.priority import Priority
from shared.protocol.translate_request import TranslateRequest
from shared.runtime.metrics import RequestSample
from tests.proxy.samples import pair

DIRECT, PIVOT = Route((pair("en>de"),)), Route((pair("fr>en"), pair("en>de")))


def call_of(source: str, target: str = "de", *, alternatives: int = 0) -> TranslationCall:
    request = TranslateRequest(text="Hello", source_lang=source, target_lang=target, alternatives=alternatives)
    cost, deadline = RequestCost.of(request, Priority.INTERACTIVE), Deadline.after(1, time.monotonic)
    return TranslationCall(request, cost, Caller("c"), Priority.INTERACTIVE, deadline, "id", RequestSample())


def test_direct_route_has_one_leg_with_the_request_itself() -> None:
    call = call_of("en-GB")
    (leg,) = legs_of(call, call.pair, DIRECT)
    assert (leg.pair, leg.wanted, leg.request, leg.cost) == (pair("en>de"), pair("en-GB>de"), call.request, call.cost)
    assert leg.request is call.request


def test_direct_route_enters_no_code_of_pivots() -> None:
    call, files = call_of("en"), set[str]()
    sys.setprofile(lambda frame, _event, _argument: files.add(frame.f_code.co_filename))
    try:
        legs_of(call, call.pair, DIRECT)
    finally:
        sys.setprofile(None)
    assert files
    assert pivot.__file__ not in files


def test_only_the_last_leg_through_a_pivot_has_alternatives() -> None:
    call = call_of("fr-CA", alternatives=2)
    first, last = legs_of(call, call.pair, PIVOT)
    assert (first.pair, first.wanted) == (pair("fr>en"), pair("fr-CA>en"))
    assert (last.pair, last.wanted) == (pair("en>de"), pair("en>de"))
    assert (first.request.alternatives, last.request.alternatives) == (0, 2)
    assert first.cost.units < last.cost.units == call.cost.units


@pytest.mark.parametrize("field", [*TranslationCall._fields, *Leg._fields])
def test_call_and_legs_never_change(field: str) -> None:
    call = call_of("en")
    changed = call if field in TranslationCall._fields else legs_of(call, call.pair, DIRECT)[0]
    with pytest.raises(AttributeError):
        setattr(changed, field, None)
