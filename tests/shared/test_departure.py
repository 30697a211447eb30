"""Who works on a request learns that its client has hung up."""

from __future__ import annotations

from shared.http.disconnect import DisconnectSignal


def test_everybody_who_listens_is_told_once() -> None:
    departure, told = DisconnectSignal(), list[str]()
    departure.add_callback(lambda: told.append("one"))
    departure.add_callback(lambda: told.append("two"))
    departure.set()
    departure.set()
    assert told == ["one", "two"]


def test_who_listens_no_more_is_not_told() -> None:
    departure, told = DisconnectSignal(), list[str]()

    def forgotten() -> None:
        told.append("forgotten")

    departure.add_callback(forgotten)
    departure.remove_callback(forgotten)
    departure.remove_callback(forgotten)
    departure.set()
    assert told == []
    assert departure.is_set
