"""The legs of a call, and their results as one answer."""

from __future__ import annotations

import json
import sys
import time

import pytest

from proxy.call import Leg, RequestCost, TranslationCall
from proxy.keys.caller import Caller
from proxy.routing.routes import Route
from proxy.translation import pivot
from proxy.translation.dispatcher import legs_of
from proxy.translation.results import merge_legs, read_results, with_note, with_warning
from shared.protocol.answers import Notice, Translation
from shared.protocol.deadline import Deadline
from shared.protocol.errors import RelayedError, ReplicaFailedError
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


def test_read_results_checks_number_and_form() -> None:
    request = TranslateRequest(text=["a", "b"], source_lang="en", target_lang="de")
    one = b'{"translation":"x","source_lang":"en","target_lang":"de","model":"m","route":["en","de"]}'
    assert [each.translation for each in read_results(request, b'{"results":[%s,%s]}' % (one, one))] == ["x", "x"]
    with pytest.raises(ReplicaFailedError, match="2 texts with 1"):
        read_results(request, b'{"results":[%s]}' % one)
    with pytest.raises(ReplicaFailedError, match="read"):
        read_results(request, b"{}")


def test_merge_legs_names_route_and_both_models() -> None:
    first = Translation(translation="x", source_lang="de", target_lang="en", model="a", route=["de", "en"])
    last = Translation(translation="y", source_lang="en", target_lang="fr", model="b", route=["en", "fr"])
    merged = merge_legs(first, last, Route((pair("de>en"), pair("en>fr"))))
    assert (merged.translation, merged.source_lang, merged.target_lang) == ("y", "de", "fr")
    assert (merged.model, merged.route) == ("a+b", ["de", "en", "fr"])


def test_merge_legs_joins_the_values_of_equal_warnings() -> None:
    first = Translation(translation="x", source_lang="de", target_lang="en", model="a", route=["de", "en"])
    last = Translation(translation="y", source_lang="en", target_lang="fr", model="b", route=["en", "fr"])
    for leg, value in ((first, "5,5"), (last, "5.5")):
        leg.warnings.append(Notice(code="number-changed", message="m", values=[value]))
    merged = merge_legs(first, last, Route((pair("de>en"), pair("en>fr"))))
    assert merged.warnings == [Notice(code="number-changed", message="m", values=["5,5", "5.5"])]


def test_merge_legs_multiplies_confidences() -> None:
    first = Translation(
        translation="x", confidence=0.9, source_lang="de", target_lang="en", model="a", route=["de", "en"]
    )
    last = first.model_copy(
        update={"confidence": 0.55, "alternatives": ["z"], "alternatives_confidence": [0.4], "model": "b"}
    )
    route = Route((pair("de>en"), pair("en>fr")))
    merged = merge_legs(first, last, route)
    assert (merged.confidence, merged.alternatives_confidence) == (0.495, [0.36])
    assert merge_legs(first, None, route).confidence == 0.9
    unscored = first.model_copy(update={"confidence": None})
    assert merge_legs(unscored, unscored, route).confidence is None


def test_with_note_leaves_the_error_unchanged() -> None:
    error = RelayedError(code="too-large", http_status=413, title="t", detail="d.", facts={"limit": 1})
    noted = with_note(error, "Note.")
    assert (noted.detail, error.detail) == ("d. (Note.)", "d.")
    assert (noted.code, noted.http_status, noted.title, noted.facts) == ("too-large", 413, "t", {"limit": 1})


def test_warning_comes_after_those_of_the_results() -> None:
    notice, before = Notice(code="new", message="m"), Notice(code="old", message="m", values=["8:05"])
    one = Translation(
        translation="x", source_lang="en", target_lang="de", model="m", route=["en", "de"], warnings=[before]
    )
    single = TranslateRequest(text="a", source_lang="en", target_lang="de")
    several = TranslateRequest(text=["a", "b"], source_lang="en", target_lang="fr")
    answers = single.answer([one]), several.answer([one, one])
    assert json.loads(with_warning(single, answers[0], notice)) == json.loads(answers[0]) | {
        "warnings": [{"code": "old", "message": "m", "values": ["8:05"]}, {"code": "new", "message": "m"}]
    }
    with pytest.raises(ReplicaFailedError):
        with_warning(several, answers[0], notice)
    noted = json.loads(with_warning(several, answers[1], notice))
    assert [len(each["warnings"]) for each in noted["results"]] == [2, 2]
