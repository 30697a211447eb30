"""Translation calls: lists at the server's limits, several targets, failures of single texts."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
from pairway.errors import AnswerError, LanguageUndetectedError, TooLargeError, UnavailableError
from pairway.steps import Reply, Send
from pairway.translate_call import translate

from tests.client.pairway.played import Player, answered, problem


def one(text: str, target: str) -> dict[str, Any]:
    return {"translation": f"{target}:{text}", "target_lang": target, "source_lang": "en", "of a newer server": {}}


class Server:
    """A server with limits, which it names or not; texts with "?" have no language."""

    def __init__(self, *, names_limits: bool = True, **limits: int) -> None:
        self.limits = {"texts": 256, "characters": 200_000, "bytes": 2 << 20, "targets": 10, **limits}
        self.names_limits = names_limits

    def __call__(self, step: Send) -> Reply:
        if step.request.path == "/languages":
            return answered({"languages": [], **({"limits": self.limits} if self.names_limits else {})})
        body = json.loads(step.request.body or b"")
        text, to = body["text"], body["target_lang"]
        texts: list[str] = [text] if isinstance(text, str) else text
        for unit, size in (
            ("bytes", len(step.request.body or b"")),
            ("texts", len(texts)),
            ("characters", max(map(len, texts))),
        ):
            if size > self.limits[unit]:
                return problem(413, "too-large", limit=self.limits[unit], unit=unit)
        if any("?" in each for each in texts):
            return problem(422, "language-undetected")
        targets: list[str] = [to] if isinstance(to, str) else to
        by_target: list[dict[str, Any]] = []
        for target in targets:
            results = [one(each, target) for each in texts]
            by_target.append(results[0] if isinstance(text, str) else {"results": results})
        return answered(by_target[0] if isinstance(to, str) else {"targets": by_target})


def test_text_has_one_translation_that_prints_as_its_text() -> None:
    player = Player(Server())
    found = player.run(translate(player.session(), "Hello", to="de", source="en", terms={"a": "b"}))
    assert (str(found), found.source, found.target) == ("de:Hello", "en", "de")
    assert player.bodies() == [{"text": "Hello", "target_lang": "de", "source_lang": "en", "terms": {"a": "b"}}]
    assert player.sent[0].request.headers["X-Priority"] == "standard"


def test_list_has_a_list_and_targets_have_a_dict() -> None:
    player = Player(Server())
    session = player.session()
    assert list(map(str, player.run(translate(session, ["a", "b"], to="de")))) == ["de:a", "de:b"]
    texts = player.run(translate(session, "a", to=["de", "fr"]))
    assert {target: str(each) for target, each in texts.items()} == {"de": "de:a", "fr": "fr:a"}
    lists = player.run(translate(session, ("a", "b"), to=["de"]))
    assert {target: list(map(str, each)) for target, each in lists.items()} == {"de": ["de:a", "de:b"]}
    assert player.run(translate(session, [], to="de")) == []
    assert len(player.sent) == 3


@pytest.mark.parametrize("names_limits", [True, False])
@pytest.mark.parametrize("limits", [{"texts": 7}, {"characters": 6}, {"bytes": 300}, {"texts": 3, "characters": 5}])
def test_list_is_split_at_the_servers_limits(names_limits: bool, limits: dict[str, int]) -> None:
    player = Player(Server(names_limits=names_limits, **limits))
    texts = [f"Text {number:03d}" for number in range(100)]
    session = player.session()
    for _ in range(2):
        found = player.run(translate(session, texts, to="de"))
        assert [str(each).replace("de:", "").replace(" ", "") for each in found] == [
            text.replace(" ", "") for text in texts
        ]
    asked = [step for step in player.sent if step.request.path == "/languages"]
    assert len(asked) == 1, "a client asks once"


def test_small_calls_do_not_ask_for_limits() -> None:
    player = Player(Server())
    session = player.session()
    player.run(translate(session, ["a"] * 256, to="de"))
    assert [step.request.path for step in player.sent] == ["/translate"]
    player.run(translate(session, ["a"] * 257, to="de"))
    assert [step.request.path for step in player.sent[1:]] == ["/languages", "/translate", "/translate"]


def test_larger_limits_are_used() -> None:
    player = Player(Server(texts=1000))
    player.run(translate(player.session(), ["a"] * 1000, to="de"))
    assert len(player.sent) == 2


def test_more_targets_than_a_request_takes_are_several_requests() -> None:
    player = Player(Server())
    targets = [f"x{number}" for number in range(23)]
    assert list(player.run(translate(player.session(), "a", to=targets))) == targets
    assert [len(body["target_lang"]) for body in player.bodies()] == [10, 10, 3]


def test_long_text_is_cut_at_paragraphs_and_put_together() -> None:
    player = Player(Server(characters=40))
    text = "\n\n".join(f"Paragraph {number}." for number in range(10))
    found = player.run(translate(player.session(), text, to="de"))
    assert str(found).replace("de:", "") == text
    assert len(player.bodies()[-1]["text"]) > 1


@pytest.mark.parametrize("kind", ["html", "markdown", "xml"])
def test_long_markup_is_refused_by_name(kind: Any) -> None:
    player = Player(Server(characters=40))
    with pytest.raises(TooLargeError, match=rf"text 1 has 50 characters of {kind}.* 40 characters"):
        player.run(translate(player.session(), ["a", "<p>" + "a" * 47], to="de", format=kind))


def test_413_of_something_else_is_raised() -> None:
    player = Player([problem(413, "too-large", limit=5, unit="entries (with this model)"), answered({"languages": []})])
    with pytest.raises(TooLargeError):
        player.run(translate(player.session(), "a", to="de"))


def test_batch_limits_texts_of_a_request() -> None:
    player = Player(Server())
    player.run(translate(player.session(), ["a"] * 5, to="de", batch=2))
    assert [len(body["text"]) for body in player.bodies()] == [2, 2, 1]


def test_first_failure_stops_the_call() -> None:
    player = Player(Server())
    with pytest.raises(LanguageUndetectedError):
        player.run(translate(player.session(), ["a", "?", "b"], to="de", batch=1))
    assert len(player.sent) == 2


def test_call_that_keeps_going_names_the_text_at_fault() -> None:
    player = Player(Server())
    texts = [str(number) for number in range(20)]
    texts[13] = "?"
    found = player.run(translate(player.session(), texts, to="de", on_error="keep"))
    assert [each.text for each in found] == [None if text == "?" else f"de:{text}" for text in texts]
    assert isinstance(found[13].error, LanguageUndetectedError)


def test_list_is_not_halved_for_what_no_text_caused() -> None:
    player = Player(lambda _: problem(503, "overloaded", "100"))
    found = player.run(translate(player.session(), ["a", "b"], to=["de", "fr"], on_error="keep"))
    assert [type(each.error) for results in found.values() for each in results] == [UnavailableError] * 4
    assert len(player.sent) == 1


def test_unknown_option_is_named() -> None:
    player = Player(Server())
    wrong: Any = {"formality": "more"}
    with pytest.raises(TypeError, match="'formality'"):
        player.run(translate(player.session(), "a", to="de", **wrong))


@pytest.mark.parametrize("answer", [{}, {"translation": "x"}, {"results": [1]}, {"results": []}, {"translation": {}}])
def test_answer_that_is_not_understood_is_an_error(answer: Any) -> None:
    player = Player([answered(answer)])
    with pytest.raises(AnswerError):
        player.run(translate(player.session(), ["a"], to="de"))


@pytest.mark.parametrize("texts", [["Hello", 7], ["Hello", None]])
def test_text_that_is_no_string_is_a_mistake(texts: Any) -> None:
    player, untyped = Player([]), cast("Any", translate)
    with pytest.raises(TypeError, match="texts must be strings"):
        player.run(untyped(player.session(), texts, to="de"))
    assert player.sent == []


def test_unknown_on_error_is_refused() -> None:
    player = Player(Server())
    with pytest.raises(TypeError, match="on_error is 'stop' or 'keep', not 'skip'"):
        player.run(translate(player.session(), "Hello", to="de", on_error=cast("Any", "skip")))
