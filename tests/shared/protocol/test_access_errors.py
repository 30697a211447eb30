"""The part of the exception tree for keys and operators."""

from __future__ import annotations

from shared.protocol import access_errors
from shared.protocol.access_errors import CODES
from shared.protocol.errors import PairwayError
from tests.shared.protocol.error_samples import defined_tree, documented_tree, every_error


def test_docstring_tree_matches_the_classes() -> None:
    assert documented_tree(access_errors) == defined_tree(access_errors) != {}


def test_codes_list_every_class() -> None:
    kinds = set(PairwayError.__subclasses__())
    assert {type(error) for error in every_error()} == kinds
    assert {kind.code for kind in kinds} == CODES
    assert {"internal", "bad-request", "key-refused", "deadline-exceeded"} < CODES
