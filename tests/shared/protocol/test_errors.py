"""The exception tree."""

from __future__ import annotations

from shared.protocol import errors
from tests.shared.protocol.error_samples import defined_tree, documented_tree


def test_docstring_tree_matches_the_classes() -> None:
    assert documented_tree(errors) == defined_tree(errors) != {}
