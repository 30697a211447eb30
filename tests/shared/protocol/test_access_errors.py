"""The part of the exception tree for keys and operators."""

from __future__ import annotations

from shared.protocol import access_errors
from tests.shared.protocol.error_samples import defined_tree, documented_tree


def test_docstring_tree_matches_the_classes() -> None:
    assert documented_tree(access_errors) == defined_tree(access_errors) != {}
