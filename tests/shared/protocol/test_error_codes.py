"""Every code of both files of errors."""

from __future__ import annotations

from shared.protocol.error_codes import CODES
from shared.protocol.errors import PairwayError
from tests.shared.protocol.error_samples import every_error


def test_codes_list_every_class() -> None:
    kinds = set(PairwayError.__subclasses__())
    assert {type(error) for error in every_error()} == kinds
    assert {kind.code for kind in kinds} == CODES
    assert {"internal", "bad-request", "key-refused", "deadline-exceeded"} < CODES
