"""Requests that ask for the same while it is computed: one computation, and each keeps a fate of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.cache.coalescing import LONGEST_LINGER_SECONDS, MAX_JOINED, WORTHWHILE_SECONDS, RequestCoalescer
from proxy.cache.fingerprints import request_fingerprint, text_fingerprints
from proxy.call import TranslationCall
from proxy.keys.caller import Caller
from shared.http.body_budget import ByteBudget
from shared.protocol.deadline import Deadline
from shared.protocol.errors import DeadlineExceededError, OverloadedError, PairwayError, RelayedError, UnknownPairError
from shared.protocol.messages import TextFormat, TranslateRequest
from shared.protocol.priority import Priority
from shared.runtime.metrics import RequestSample
from tests.proxy.clock import HandClock
from tests.waiting import wait_until

HELLO = TranslateRequest(text="Hello", source_lang="en", target_lang="de")


@dataclass
class Work:
    """What is computed: one future per computation, to be ended by hand."""

    begun: list[TranslationCall] = field(default_factory=list[TranslationCall])
    ends: list[asyncio.Future[bytes]] = field(default_factory=list[asyncio.Future[bytes]])
    cancelled: int = 0

    async def __call__(self, call: TranslationCall) -> bytes:
        self.begun.append(call)
        call.sample.pair = "en-de"
        end = asyncio.get_running_loop().create_future()
        self.ends.append(end)
        try:
            return await end
        except asyncio.CancelledError:
            self.cancelled += 1
            raise

    async def count(self, count: int) -> None:
        await wait_until(lambda: len(self.begun) == count, 3, f"{count} computations")


@dataclass
class Tower:
    """Flights, their work, and callers that wait."""

    budget: ByteBudget = field(default_factory=lambda: ByteBudget(1_000_000))
    clock: HandClock = field(default_factory=HandClock)
    flights: RequestCoalescer = field(init=False)
    work: Work = field(default_factory=Work)
    tasks: list[asyncio.Task[tuple[bytes, bool]]] = field(default_factory=list[asyncio.Task[tuple[bytes, bool]]])

    def __post_init__(self) -> None:
        self.flights = RequestCoalescer(self.budget, self.clock)

    def call(
        self,
        request: TranslateRequest = HELLO,
        *,
        who: str = "ann",
        priority: Priority = Priority.INTERACTIVE,
        seconds: float = 30,
    ) -> TranslationCall:
        deadline = Deadline.after(seconds, asyncio.get_running_loop().time)
        return TranslationCall(request, Caller(who), priority, deadline, "id", RequestSample())

    async def ask(self, call: TranslationCall | None = None) -> asyncio.Task[tuple[bytes, bool]]:
        """Begin to wait, and come back once it does."""
        task = asyncio.create_task(self.flights.run(call or self.call(), self.work))
        self.tasks.append(task)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return task


@pytest.fixture
async def tower() -> AsyncGenerator[Tower]:
    """At the end nothing is left, and the bodies' budget is whole."""
    made = Tower()
    async with made.flights.closing():
        yield made
        for task in made.tasks:
            task.cancel()
        await asyncio.gather(*made.tasks, return_exceptions=True)
    await wait_until(lambda: not len(made.flights), 3, "no flight is left")
    assert made.budget.reserved == 0
    assert not [task for task in asyncio.all_tasks() if task.get_name() == "flight"]


async def left(task: asyncio.Task[Any]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def test_many_that_ask_for_the_same_cost_one_computation(tower: Tower) -> None:
    tasks = [await tower.ask() for _ in range(50)]
    tower.work.ends[0].set_result(b"Hallo")
    answers = await asyncio.gather(*tasks)
    assert len(tower.work.begun) == 1
    assert {body for body, _ in answers} == {b"Hallo"}
    assert sorted(joined for _, joined in answers) == [False] + [True] * 49


async def test_what_was_computed_before_is_computed_again(tower: Tower) -> None:
    for number in range(2):
        task = await tower.ask()
        tower.work.ends[number].set_result(b"Hallo")
        assert await task == (b"Hallo", False)
        assert len(tower.flights) == 0


async def test_every_waiter_learns_the_pair_and_the_replicas(tower: Tower) -> None:
    calls = [tower.call(), tower.call()]
    tasks = [await tower.ask(call) for call in calls]
    tower.work.begun[0].sample.replicas.append("http://one")
    tower.work.ends[0].set_result(b"Hallo")
    await asyncio.gather(*tasks)
    assert [call.sample for call in calls] == [RequestSample("en-de", ["http://one"])] * 2
    assert calls[0].sample.replicas is not calls[1].sample.replicas


async def test_the_first_one_leaves_and_the_others_stay(tower: Tower) -> None:
    first, second = await tower.ask(), await tower.ask()
    await left(first)
    tower.work.ends[0].set_result(b"Hallo")
    assert await second == (b"Hallo", True)
    assert tower.work.cancelled == 0


async def test_when_the_last_one_leaves_the_work_is_cancelled(tower: Tower) -> None:
    tasks = [await tower.ask() for _ in range(3)]
    tower.clock.now += 3600
    for task in tasks[:2]:
        await left(task)
    assert tower.work.cancelled == 0
    await left(tasks[2])
    await wait_until(lambda: tower.work.cancelled, LONGEST_LINGER_SECONDS + 1, "cancelled")
    assert len(tower.flights) == 0


async def test_who_asks_again_at_once_finds_the_work_still_there(tower: Tower) -> None:
    task = await tower.ask()
    for _ in range(5):
        tower.clock.now += 3  # the time that it was waited for earns the time that it goes on
        await left(task)
        assert tower.budget.reserved > 0, "nobody holds its body any more"
        task = await tower.ask()
        assert tower.budget.reserved == 0
    tower.work.ends[0].set_result(b"Hallo")
    assert await task == (b"Hallo", True)
    assert len(tower.work.begun) == 1


async def test_a_result_that_comes_between_two_askings_is_there_for_the_second(tower: Tower) -> None:
    task = await tower.ask()
    tower.clock.now += 10
    await left(task)
    tower.work.ends[0].set_result(b"Hallo")
    await asyncio.sleep(0)
    assert await (await tower.ask()) == (b"Hallo", True)
    assert len(tower.flights) == 0


async def test_a_failure_that_comes_between_two_askings_is_forgotten(tower: Tower) -> None:
    task = await tower.ask()
    tower.clock.now += 10
    await left(task)
    tower.work.ends[0].set_exception(UnknownPairError("en-de", []))
    await wait_until(lambda: not len(tower.flights), 1)
    await tower.ask()
    assert len(tower.work.begun) == 2


async def test_an_abandoned_one_ends_at_once_where_bodies_have_no_room_for_it() -> None:
    tower = Tower(ByteBudget(10))
    async with tower.flights.closing():
        task = await tower.ask()
        tower.clock.now += 10
        await left(task)
        await asyncio.sleep(0)
        assert tower.work.cancelled == 1
        assert (len(tower.flights), tower.budget.reserved) == (0, 0)


async def test_at_the_end_nothing_goes_on() -> None:
    tower = Tower()
    async with tower.flights.closing():
        waiting, lingering = await tower.ask(), await tower.ask(tower.call(HELLO.model_copy(update={"text": "Bye"})))
        tower.clock.now += 10
        await left(lingering)
    assert tower.work.cancelled == 2
    assert waiting.done() or (await asyncio.wait({waiting}, timeout=1))[0]
    assert (len(tower.flights), tower.budget.reserved) == (0, 0)


async def test_a_shorter_deadline_is_only_its_own(tower: Tower) -> None:
    patient, hasty = await tower.ask(), await tower.ask(tower.call(seconds=0.05))
    with pytest.raises(DeadlineExceededError, match=r"0\.05 s"):
        await hasty
    assert not patient.done()
    tower.work.ends[0].set_result(b"Hallo")
    assert await patient == (b"Hallo", False)


async def test_a_flight_begun_for_less_time_is_begun_anew_for_the_others(tower: Tower) -> None:
    hasty, *patient = [await tower.ask(tower.call(seconds=seconds)) for seconds in (0.05, 30, 30)]
    tower.work.ends[0].set_exception(tower.work.begun[0].deadline.exceeded_error())
    with pytest.raises(DeadlineExceededError):
        await hasty
    await tower.work.count(2)
    assert tower.work.begun[1].deadline.seconds == 30
    tower.work.ends[1].set_result(b"Hallo")
    assert sorted(await asyncio.gather(*patient)) == [(b"Hallo", False), (b"Hallo", True)]


async def test_with_hardly_any_time_left_nothing_is_begun_anew(tower: Tower) -> None:
    await tower.ask()
    joined = await tower.ask(tower.call(seconds=WORTHWHILE_SECONDS / 2))
    tower.work.ends[0].set_exception(tower.work.begun[0].deadline.exceeded_error())
    with pytest.raises(DeadlineExceededError, match=f"{WORTHWHILE_SECONDS / 2:g} s"):
        await joined
    assert len(tower.work.begun) == 1


@pytest.mark.parametrize(
    ("other", "shared"),
    [
        ({"who": "bob"}, False),
        ({"priority": Priority.BULK}, False),
        ({}, True),
    ],
)
async def test_a_refusal_for_want_of_room_is_shared_only_by_who_would_get_the_same(
    tower: Tower, other: dict[str, Any], shared: bool
) -> None:
    first, second = await tower.ask(), await tower.ask(tower.call(**other))
    tower.work.ends[0].set_exception(OverloadedError("Full.", retry_after=3))
    with pytest.raises(OverloadedError):
        await first
    if shared:
        with pytest.raises(OverloadedError):
            await second
    else:
        await tower.work.count(2)
        tower.work.ends[1].set_result(b"Hallo")
        assert await second == (b"Hallo", False)


async def test_who_was_let_down_too_often_goes_alone(tower: Tower) -> None:
    assert MAX_JOINED == 2
    waiting = [await tower.ask(tower.call(who=who)) for who in ("first", "bob", "ann")]
    tower.work.ends[0].set_exception(OverloadedError("Full.", retry_after=3))
    await tower.work.count(2)  # bob's, and ann joined him
    tower.work.ends[1].set_exception(OverloadedError("Full.", retry_after=3))
    await tower.work.count(3)
    assert tower.work.begun[2].caller.identity == "ann"
    await tower.ask()
    await tower.work.count(4)  # nobody joins who goes alone
    tower.work.ends[2].set_result(b"Hallo")
    assert await waiting[2] == (b"Hallo", False)


async def test_the_more_urgent_does_not_wait_in_a_less_urgent_place(tower: Tower) -> None:
    bulk = await tower.ask(tower.call(priority=Priority.BULK))
    urgent = await tower.ask()
    later = await tower.ask(tower.call(priority=Priority.BULK))
    assert [call.priority for call in tower.work.begun] == [Priority.BULK, Priority.INTERACTIVE]
    tower.work.ends[1].set_result(b"Hallo")
    assert await urgent == (b"Hallo", False)
    assert await later == (b"Hallo", True)
    assert not bulk.done()
    tower.work.ends[0].set_result(b"Hallo.")
    assert await bulk == (b"Hallo.", False)


ERRORS = (
    UnknownPairError("en-de", ["en-fr"]),
    RelayedError(code="unusable-output", http_status=502, title="No", detail="None.", facts={"a": 1}),
    OverloadedError("Full.", retry_after=3),
)


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.code)
async def test_a_failure_is_everybodys_and_each_has_it_alone(tower: Tower, error: PairwayError) -> None:
    tasks = [await tower.ask() for _ in range(3)]
    tower.work.ends[0].set_exception(error)
    raised = await asyncio.gather(*tasks, return_exceptions=True)
    told = (type(error), error.code, error.http_status, error.title, error.detail, error.retry_after, error.facts)
    for each in raised:
        assert isinstance(each, PairwayError)
        assert (type(each), each.code, each.http_status, each.title, each.detail, each.retry_after, each.facts) == told
        assert str(each) == str(error)
        each.detail = "mine"
        each.facts["request"] = "mine"
    assert len({id(each) for each in (*raised, error)}) == 4
    assert len(tower.work.begun) == 1


async def test_our_own_fault_is_everybodys_too(tower: Tower) -> None:
    tasks = [await tower.ask() for _ in range(2)]
    tower.work.ends[0].set_exception(ZeroDivisionError())
    assert [type(each) for each in await asyncio.gather(*tasks, return_exceptions=True)] == [ZeroDivisionError] * 2


async def test_long_texts_meet_as_short_ones_do(tower: Tower) -> None:
    long = HELLO.model_copy(update={"text": "word " * 40_000})
    tasks = [await tower.ask(tower.call(long)) for _ in range(5)]
    await tower.work.count(1)
    # Each is hashed in a thread of its own: those who are late would begin anew.
    await wait_until(lambda: sum(each.waiters for each in tower.flights._computations) == 5, 10, "all wait")  # pyright: ignore[reportPrivateUsage] - not to be seen outside
    tower.work.ends[0].set_result(b"Wort")
    assert {body for body, _ in await asyncio.gather(*tasks)} == {b"Wort"}
    assert len(tower.work.begun) == 1


words = st.text(alphabet="ab", max_size=3)
requests = st.builds(
    TranslateRequest,
    text=words | st.lists(words, min_size=1, max_size=3),
    source_lang=st.sampled_from(["auto", "en", "en-GB"]),
    target_lang=st.sampled_from(["de", "fr"]),
    format=st.sampled_from(TextFormat),
    do_not_translate=st.lists(st.sampled_from(["a", "b", "ab"]), max_size=2),
    terms=st.dictionaries(st.sampled_from(["a", "b"]), st.sampled_from(["a", "b"]), max_size=2),
    pivot=st.booleans(),
)


@given(requests, requests)
def test_requests_that_differ_in_anything_never_meet(one: TranslateRequest, other: TranslateRequest) -> None:
    alike = one == other and list(one.terms) == list(other.terms)
    assert (request_fingerprint(one, b"key") == request_fingerprint(other, b"key")) is alike
    if not alike and one.texts == other.texts and isinstance(one.text, str) is isinstance(other.text, str):
        assert not set(text_fingerprints(one, "m")) & set(text_fingerprints(other, "m"))


@given(st.lists(words, min_size=1, max_size=4), st.data())
def test_a_text_has_one_key_wherever_it_stands_and_another_for_other_models(
    texts: list[str], data: st.DataObject
) -> None:
    listed = HELLO.model_copy(update={"text": texts})
    index = data.draw(st.integers(0, len(texts) - 1))
    alone = HELLO.model_copy(update={"text": texts[index]})
    keys = text_fingerprints(listed, ["m", "1"])
    assert text_fingerprints(alone, ["m", "1"]) == [keys[index]]
    assert len(set(keys)) == len(set(texts))
    assert not set(keys) & set(text_fingerprints(listed, ["m", "2"]))


@given(st.data())
def test_every_field_of_a_request_counts(data: st.DataObject) -> None:
    """Whatever field is added one day changes the digest too."""
    others: dict[str, Any] = {
        "text": "Bye",
        "source_lang": "fr",
        "target_lang": "fr",
        "format": TextFormat.HTML,
        "do_not_translate": ["Pairway"],
        "terms": {"a": "b"},
        "pivot": False,
    }
    assert set(others) == set(TranslateRequest.model_fields)
    name = data.draw(st.sampled_from(sorted(others)))
    changed = HELLO.model_copy(update={name: others[name]})
    assert request_fingerprint(changed, b"key") != request_fingerprint(HELLO, b"key")
    assert text_fingerprints(changed, "m") != text_fingerprints(HELLO, "m")
