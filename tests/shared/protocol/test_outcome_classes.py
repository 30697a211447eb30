"""Every outcome of a request has a class."""

from __future__ import annotations

from typing import get_args

from shared.protocol.errors import CODES, PairwayError
from shared.protocol.outcome_classes import OK, OUTCOME_CLASSES, OutcomeClass


def test_every_code_has_one_class() -> None:
    assert OUTCOME_CLASSES.keys() == CODES | {OK}
    assert set(OUTCOME_CLASSES.values()) == set(get_args(OutcomeClass))


def test_class_agrees_with_the_status() -> None:
    for kind in PairwayError.__subclasses__():
        found = OUTCOME_CLASSES[kind.code]
        assert (found == "client") == (400 <= kind.http_status < 500 and kind.code != "rate-limited"), kind.code
        assert found != OK
