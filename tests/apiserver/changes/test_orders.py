"""What operators may order."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from apiserver.changes.orders import ChangeOrder, ReloadOrder, RollbackOrder


def test_orders_have_safe_defaults() -> None:
    order = ChangeOrder(model="a", entry="b")
    assert (order.hold, order.swap) == (False, False)
    assert RollbackOrder().model is None
    assert not ReloadOrder().swap


def test_hold_and_swap_exclude_each_other() -> None:
    with pytest.raises(ValidationError, match="exclude each other"):
        ChangeOrder(model="a", entry="b", hold=True, swap=True)
    assert ChangeOrder(model="a", entry="b", swap=True).swap


@pytest.mark.parametrize("more", [{"path": "/x"}, {"hold": "yes"}, {"entry": "b" * 65}])
def test_other_fields_and_types_are_refused(more: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        ChangeOrder.model_validate({"model": "a", "entry": "b", **more})
