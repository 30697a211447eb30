"""vLLM's arguments are read from its source, quickly and unimported, and what can not be told apart is let through."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apiserver.catalog.declared_arguments import declared, fault, installed

SOURCE = """
from somewhere import Kind

class Other:
    not_one: int = 1

@dataclass
class EngineArgs:
    length: int = Config.length
    share: float = 0.9
    eager: bool = False
    folder: str = ""
    seqs: int | None = None
    token: bool | str | None = None
    kind: Kind | str = "a"
    names: list[str] | None = None
    quoted: "dict[str, int] | None" = None

    def method(self):
        local: int = 1

@dataclass
class AsyncEngineArgs(EngineArgs):
    log: bool = False
"""


def test_the_fields_of_the_class_and_its_bases_are_found_and_no_others() -> None:
    assert set(declared(SOURCE)) == {
        *("length", "share", "eager", "folder", "seqs", "token", "kind", "names", "quoted", "log")
    }


@pytest.mark.parametrize("source", ["", "x = 1", "class AsyncEngineArgs(Base):\n    log: bool = False\n"])
def test_where_the_source_does_not_declare_everything_nothing_is_refused(source: str) -> None:
    assert declared(source) == {}
    assert fault("zzz", "x", {}) is None


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("lenth", 5, "is no vLLM engine argument; did you mean length?"),
        ("zzz", 5, "is no vLLM engine argument"),
        ("not_one", 5, "is no vLLM engine argument"),
        ("local", 5, "is no vLLM engine argument"),
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
        ("token", 5, "must be true or false or text; got 5; put it in quotes"),
    ],
)
def test_a_wrong_argument_is_refused_with_what_would_be_right(name: str, value: object, message: str) -> None:
    assert fault(name, value, declared(SOURCE)) == message


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("length", 5), ("share", 0.5), ("share", 1), ("eager", True), ("folder", "x"), ("seqs", None), ("seqs", 5)),
        *(("token", True), ("token", "x"), ("token", None), ("log", False)),
    ],
)
def test_a_right_argument_is_let_through(name: str, value: object) -> None:
    assert fault(name, value, declared(SOURCE)) is None


ANYTHING = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.integers())


@given(st.sampled_from(["kind", "names", "quoted"]), ANYTHING)
@settings(deadline=None)
def test_an_argument_of_more_than_simple_kinds_is_left_to_vllm(name: str, value: object) -> None:
    assert fault(name, value, declared(SOURCE)) is None


def test_a_long_wrong_value_is_cut_short() -> None:
    assert len(fault("length", "x" * 100_000, declared(SOURCE)) or "") < 200


@pytest.mark.skipif(find_spec("vllm") is None, reason="no vLLM is installed here")
def test_the_installed_vllm_is_read_without_importing_it() -> None:
    known = installed()
    assert known["max_model_len"] == {"int"}
    assert known["enable_log_requests"] == {"bool"}
    assert known["dtype"] == frozenset()
    program = "import sys; from apiserver.catalog.declared_arguments import installed; assert installed(); print(*sys.modules)"
    root = Path(__file__).resolve().parents[2]
    ran = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True)
    assert {"vllm", "torch"}.isdisjoint(ran.stdout.split())
