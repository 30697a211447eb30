"""What a request costs, and the memory that its texts take."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from apiserver.scheduling.text_memory import TextMemory, chars_in_memory
from apiserver.settings import BYTES_PER_CHAR, TEXT_CHARS
from shared.protocol.errors import OverloadedError
from shared.protocol.priority import CHARS_PER_UNIT, CONTEXT_CHARS_PER_UNIT, SHORT_UNITS, Lane, Priority
from shared.protocol.translate_request import TranslateRequest, XmlOptions
from tests.apiserver.work_items import work_of


def test_request_is_long_by_its_longest_text() -> None:
    assert work_of(["x" * SHORT_UNITS * CHARS_PER_UNIT] * 3, Priority.BULK).lane is Lane.BULK_SHORT
    assert work_of(["x", "x" * (SHORT_UNITS * CHARS_PER_UNIT + 1)], Priority.BULK).lane is Lane.BULK_LONG


def test_cost_is_by_characters_and_at_least_one_for_each_text() -> None:
    assert work_of(["x"] * 7).cost == 7.0
    assert work_of("x" * 3 * CHARS_PER_UNIT).cost == 3.0
    assert work_of(["x"] * 7, alternatives=3).cost == 28.0
    assert work_of("x" * 3 * CHARS_PER_UNIT, context="y" * CONTEXT_CHARS_PER_UNIT, alternatives=1).cost == 12.0


LIMIT = 1000 * BYTES_PER_CHAR


def test_request_beyond_the_memory_is_refused_until_some_is_free() -> None:
    memory = TextMemory(LIMIT)
    refusal = pytest.raises(OverloadedError, match="no memory for 200 characters")
    with memory.hold("a", 400), refusal as refused, memory.hold("a", 200):
        pass
    assert refused.value.facts == {"reason": "memory"}
    assert (refused.value.retry_after or 0) > 0
    assert memory.held == 0
    with memory.hold("a", 500):
        assert memory.held == 500 * BYTES_PER_CHAR


def test_further_caller_always_finds_memory() -> None:
    memory = TextMemory(LIMIT)
    with ExitStack() as stack:
        for number, chars in enumerate((500, 250, 125, 62)):
            with pytest.raises(OverloadedError):
                stack.enter_context(memory.hold(str(number), chars + 1))
            stack.enter_context(memory.hold(str(number), chars))
        stack.enter_context(memory.hold("neighbour", 31))
    assert memory.held == 0


def test_memory_is_free_after_an_error() -> None:
    memory = TextMemory(LIMIT)
    with pytest.raises(ZeroDivisionError), memory.hold("a", 500):
        raise ZeroDivisionError
    with memory.hold("a", 500):
        pass


def test_options_and_short_texts_take_memory_too() -> None:
    long = TranslateRequest(text="a" * 1000, source_lang="en", target_lang="de")
    assert chars_in_memory(long) == 1000
    assert chars_in_memory(long.model_copy(update={"text": ["a", "b" * 200]})) == TEXT_CHARS + 200
    xml = XmlOptions(ignore_tags=["a" * 7])
    full = long.model_copy(
        update={"context": "c" * 10, "do_not_translate": ["n" * 5], "terms": {"t": "uv"}, "xml": xml}
    )
    assert chars_in_memory(full) == 1000 + 10 + 5 + 3 + 7
