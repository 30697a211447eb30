"""RequestCost: work goes up with the length of the texts, cost as in the API server."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from proxy.call import CHARS_PER_WORK_UNIT, RequestCost, work_of
from shared.protocol.priority import Priority
from shared.protocol.translate_request import TranslateRequest
from tests.apiserver.work_items import work_of as work_item_of


@given(st.integers(0, 10**7), st.integers(0, 10**7))
def test_work_grows_with_the_length_of_the_texts(one: int, other: int) -> None:
    assert work_of(0) == 1
    assert work_of(CHARS_PER_WORK_UNIT) == 2
    assert (work_of(one) <= work_of(other)) == (one <= other)


@given(st.lists(st.text(max_size=400), min_size=1, max_size=4), st.integers(0, 3), st.text(max_size=400))
def test_cost_is_that_of_the_api_server(texts: list[str], alternatives: int, context: str) -> None:
    options: dict[str, Any] = {"alternatives": alternatives, "context": context}
    request = TranslateRequest.model_validate({"text": texts, "source_lang": "en", "target_lang": "de", **options})
    cost, work = RequestCost.of(request, Priority.BULK), work_item_of(texts, Priority.BULK, **options)
    assert (cost.units, cost.chars, cost.lane) == (work.cost, work.chars, work.lane)
    assert cost.charged_chars == (1 + alternatives) * cost.chars


def test_cost_for_targets_is_that_of_each() -> None:
    one = RequestCost.of(TranslateRequest(text=["x" * 900, "y"], target_lang="de", alternatives=1), Priority.BULK)
    three = one.for_targets(3)
    assert (three.chars, three.charged_chars, three.texts) == (3 * one.chars, 3 * one.charged_chars, 6)
    assert (three.units, three.work, three.lane) == (3 * one.units, 3 * one.work, one.lane)
