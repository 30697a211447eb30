"""Engine arguments are refused by name and value; what cannot be told apart is left to vLLM."""

from __future__ import annotations

import logging
from typing import Literal, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.catalog.engine_arguments import (
    EngineArgumentError,
    argument_issue,
    check_arguments,
    check_revision,
    check_share,
)
from apiserver.catalog.model_entry import ModelEntry

TYPES: dict[str, object] = {
    "length": int,
    "share": float,
    "eager": bool,
    "folder": str,
    "seqs": int | None,
    "name": Optional[str],  # noqa: UP045 - vLLM writes some so
    "token": bool | str | None,
    "log": bool,
    "kind": Literal["a", "b"] | None,
    "names": list[str] | None,
    "quoted": "dict[str, int] | None",
}


def entry(**engine: object) -> ModelEntry:
    return ModelEntry.model_validate(
        {"name": "m", "path": "org/m", "pairs": ["en-de"], "prompt": "demo-tags", "engine": engine}
    )


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("lenth", 5, "is not a vLLM engine argument; did you mean length?"),
        ("zzz", 5, "is not a vLLM engine argument"),
        ("length", "abc", "must be a whole number; got 'abc'"),
        ("length", 5.0, "must be a whole number; got 5.0"),
        ("length", True, "must be a whole number; got True"),
        ("length", [5], "must be a whole number; got [5]"),
        ("length", None, "must be a whole number; got None; leave it out for vLLM's default"),
        ("share", "half", "must be a number; got 'half'"),
        ("share", True, "must be a number; got True"),
        ("eager", 1, "must be true or false; got 1"),
        ("eager", "yes", "must be true or false; got 'yes'"),
        ("folder", 5, "must be text; got 5; put it in quotes"),
        ("folder", {"a": 1}, "must be text; got {'a': 1}"),
        ("seqs", "many", "must be a whole number; got 'many'"),
        ("name", 5, "must be text; got 5; put it in quotes"),
        ("token", 5, "must be true or false or text; got 5; put it in quotes"),
    ],
)
def test_wrong_argument_is_refused_with_what_is_right(name: str, value: object, message: str) -> None:
    assert argument_issue(name, value, TYPES) == message


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("length", 5), ("share", 0.5), ("share", 1), ("eager", True), ("folder", "x"), ("seqs", None), ("seqs", 5)),
        *(("name", None), ("name", "x"), ("token", True), ("token", "x"), ("token", None), ("log", False)),
    ],
)
def test_right_argument_is_accepted(name: str, value: object) -> None:
    assert argument_issue(name, value, TYPES) is None


ANYTHING = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.integers())


@given(st.sampled_from(["kind", "names", "quoted"]), ANYTHING)
def test_argument_of_a_compound_type_is_left_to_vllm(name: str, value: object) -> None:
    assert argument_issue(name, value, TYPES) is None


def test_long_wrong_value_is_cut_short() -> None:
    assert len(argument_issue("length", "x" * 100_000, TYPES) or "") < 200


def test_check_arguments_names_every_wrong_argument() -> None:
    with pytest.raises(EngineArgumentError) as caught:
        check_arguments(entry(lenth=1, eager="yes", folder="x"), TYPES)
    assert str(caught.value) == (
        "models.m.engine.lenth is not a vLLM engine argument; did you mean length?; "
        "models.m.engine.eager must be true or false; got 'yes'"
    )


def test_check_arguments_accepts_right_arguments() -> None:
    check_arguments(entry(folder="x", length=5), TYPES)


def test_check_share_demands_a_share_on_a_gpu() -> None:
    with pytest.raises(EngineArgumentError, match=r"models\.m .*cuda.*gpu_memory_utilization"):
        check_share(entry(), "cuda")


@pytest.mark.parametrize("share", ["gpu_memory_utilization", "kv_cache_memory_bytes"])
def test_check_share_warns_of_a_shared_gpu(share: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        check_share(entry(**{share: 0.4}), "cuda")
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_check_share_demands_nothing_on_a_cpu() -> None:
    check_share(entry(), "cpu")


@pytest.mark.parametrize(
    "engine", [{}, {"revision": None}, {"revision": "main"}, {"revision": "ab" * 19}, {"revision": 1}]
)
def test_model_of_a_hub_without_a_commit_is_warned_of(
    engine: dict[str, object], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        check_revision(entry(**engine))
    (record,) = caplog.records
    assert "names no commit" in record.message
    assert (record.__dict__["model"], record.__dict__["path"]) == ("m", "org/m")


@pytest.mark.parametrize(("path", "engine"), [("org/m", {"revision": "ab" * 20}), ("/models/one", {})])
def test_pinned_model_and_folder_are_not_warned_of(
    path: str, engine: dict[str, object], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        check_revision(entry(**engine).model_copy(update={"path": path}))
    assert caplog.records == []
