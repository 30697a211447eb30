"""Replicas' answers as translations, two legs as one, and errors with notes."""

from __future__ import annotations

import asyncio
import json

import pytest

from proxy.routing.routes import Route
from proxy.translation.results import MAX_PLACES, RESULT_SECONDS, ResultTurns, merge_legs, read_results, with_note
from shared.protocol.answers import Notice, Translation
from shared.protocol.errors import RelayedError, ReplicaFailedError
from shared.protocol.translate_request import TranslateRequest
from shared.runtime.turns import TURN_SECONDS, LoopTurns
from tests.proxy.samples import pair


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
    merged = merge_legs("w", first, last, Route((pair("de>en"), pair("en>fr"))))
    assert (merged.translation, merged.source_lang, merged.target_lang) == ("y", "de", "fr")
    assert (merged.model, merged.route) == ("a+b", ["de", "en", "fr"])


def test_merge_legs_warns_once_and_in_words_of_the_text() -> None:
    first = Translation(translation="x", source_lang="de", target_lang="en", model="a", route=["de", "en"])
    last = Translation(translation="y", source_lang="en", target_lang="fr", model="b", route=["en", "fr"])
    for leg, values in ((first, ["Donaudampf"]), (last, ["Donaudam", "Ulm"])):
        leg.warnings.append(Notice(code="name-changed", message=f"of {leg.model}", values=values))
    last.warnings.append(Notice(code="number-changed", message="m", values=["5.5"]))
    merged = merge_legs("Donaudampf in Ulm, 5,5", first, last, Route((pair("de>en"), pair("en>fr"))))
    assert merged.warnings == [
        Notice(code="name-changed", message="of a", values=["Donaudampf", "Ulm"]),
        Notice(code="number-changed", message="m", values=["5.5"]),
    ]


@pytest.mark.parametrize(("places", "kept"), [(MAX_PLACES - 1, []), (MAX_PLACES, ["anna"])])
def test_a_value_inside_of_many_words_stays(places: int, kept: list[str]) -> None:
    first, last = (
        Translation(translation="w", source_lang="de", target_lang="fr", model=each, route=["de", "fr"])
        for each in "ab"
    )
    for leg, values in ((first, []), (last, ["anna"])):
        leg.warnings.append(Notice(code="name-changed", message="m", values=values))
    merged = merge_legs("savannas " * places, first, last, Route((pair("de>en"), pair("en>fr"))))
    assert merged.warnings[0].values == kept


@pytest.mark.parametrize(
    ("of_first", "of_last", "merged"), [([(0, 1)], [], [(0, 4)]), ([], [(1, 3)], [(1, 3)]), (None, None, None)]
)
def test_doubt_of_the_first_leg_is_one_of_the_whole_text(
    of_first: list[tuple[int, int]] | None, of_last: list[tuple[int, int]] | None, merged: list[tuple[int, int]] | None
) -> None:
    first = Translation(translation="x", uncertain=of_first, source_lang="de", target_lang="en", model="a", route=[])
    last = first.model_copy(update={"translation": "four", "uncertain": of_last})
    assert merge_legs("w", first, last, Route((pair("de>en"), pair("en>fr")))).uncertain == merged


def test_merge_legs_multiplies_confidences() -> None:
    first = Translation(
        translation="x", confidence=0.9, source_lang="de", target_lang="en", model="a", route=["de", "en"]
    )
    last = first.model_copy(
        update={"confidence": 0.55, "alternatives": ["z"], "alternatives_confidence": [0.4], "model": "b"}
    )
    route = Route((pair("de>en"), pair("en>fr")))
    merged = merge_legs("w", first, last, route)
    assert (merged.confidence, merged.alternatives_confidence) == (0.495, [0.36])
    assert merge_legs("w", first, None, route).confidence == 0.9
    unscored = first.model_copy(update={"confidence": None})
    assert merge_legs("w", unscored, unscored, route).confidence is None


def test_with_note_leaves_the_error_unchanged() -> None:
    error = RelayedError(code="too-large", http_status=413, title="t", detail="d.", facts={"limit": 1})
    noted = with_note(error, "Note.")
    assert (noted.detail, error.detail) == ("d. (Note.)", "d.")
    assert (noted.code, noted.http_status, noted.title, noted.facts) == ("too-large", 413, "t", {"limit": 1})


async def test_warning_comes_after_those_of_the_results() -> None:
    turns = ResultTurns(LoopTurns())
    notice, before = Notice(code="new", message="m"), Notice(code="old", message="m", values=["8:05"])
    one = Translation(
        translation="x", source_lang="en", target_lang="de", model="m", route=["en", "de"], warnings=[before]
    )
    single = TranslateRequest(text="a", source_lang="en", target_lang="de")
    several = TranslateRequest(text=["a", "b"], source_lang="en", target_lang="fr")
    answers = single.answer([one]), several.answer([one, one])
    assert json.loads(await turns.with_warning(single, answers[0], notice)) == json.loads(answers[0]) | {
        "warnings": [{"code": "old", "message": "m", "values": ["8:05"]}, {"code": "new", "message": "m"}]
    }
    with pytest.raises(ReplicaFailedError):
        await turns.with_warning(several, answers[0], notice)
    noted = json.loads(await turns.with_warning(several, answers[1], notice))
    assert [len(each["warnings"]) for each in noted["results"]] == [2, 2]


async def test_lists_at_once_are_read_in_turns() -> None:
    """As many in one step of the loop as have place in a turn."""
    one = b'{"translation":"x","source_lang":"en","target_lang":"de","model":"m","route":["en","de"]}'
    request = TranslateRequest(text=["a"] * 256, source_lang="en", target_lang="de")
    body = b'{"results":[%s]}' % b",".join([one] * 256)
    turns, read, in_a_turn = ResultTurns(LoopTurns()), list[int](), int(TURN_SECONDS / (256 * RESULT_SECONDS))

    async def read_one(number: int) -> None:
        assert len(await turns.read(request, body)) == 256
        read.append(number)

    lists = [asyncio.create_task(read_one(number)) for number in range(3 * in_a_turn)]
    await asyncio.sleep(0)
    assert 1 <= len(read) <= in_a_turn
    await asyncio.gather(*lists)
    assert read == list(range(len(lists)))


async def test_single_text_waits_for_no_turn() -> None:
    loop_turns = LoopTurns()
    await loop_turns.take(TURN_SECONDS)
    request = TranslateRequest(text="a", source_lang="en", target_lang="de")
    reading = ResultTurns(loop_turns).take(request)
    with pytest.raises(StopIteration):
        reading.send(None)
