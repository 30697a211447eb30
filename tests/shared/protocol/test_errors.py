"""The exception tree and its codes."""

from __future__ import annotations

from types import ModuleType

import pytest

from shared.protocol import access_errors, errors
from shared.protocol.error_codes import CODES
from tests.shared.protocol.error_samples import every_error


@pytest.mark.parametrize("file", [errors, access_errors])
def test_docstring_tree_matches_the_classes(file: ModuleType) -> None:
    documented = {line.split()[1]: line.split()[2:4] for line in (file.__doc__ or "").splitlines() if "── " in line}
    documented.pop("RelayedError", None)
    kinds = [kind for kind in errors.PairwayError.__subclasses__() if kind.__module__ == file.__name__]
    real = {kind.__name__: [str(kind.http_status), kind.code] for kind in kinds}
    real.pop("RelayedError", None)
    assert documented == real
    assert documented


def test_codes_list_every_class() -> None:
    kinds = set(errors.PairwayError.__subclasses__())
    assert {type(error) for error in every_error()} == kinds
    assert {kind.code for kind in kinds} == CODES
    assert {"internal", "bad-request", "key-refused", "deadline-exceeded"} < CODES
