"""Who works on a request learns that its client has hung up."""

from __future__ import annotations

from shared.http.disconnect import DisconnectSignal


def test_everybody_who_listens_is_told_once() -> None:
    departure, told = DisconnectSignal(), list[str]()
    departure.tell(lambda: told.append("one"))
    departure.tell(lambda: told.append("two"))
    departure.happens()
    departure.happens()
    assert told == ["one", "two"]


def test_who_listens_no_more_is_not_told() -> None:
    departure, told = DisconnectSignal(), list[str]()

    def forgotten() -> None:
        told.append("forgotten")

    departure.tell(forgotten)
    departure.forget(forgotten)
    departure.forget(forgotten)
    departure.happens()
    assert told == []
    assert departure.happened
