"""The start check: closed for ever once every known pair was ready."""

from __future__ import annotations

from shared.runtime.startup_check import StartupCheck


def test_startup_without_pairs_is_not_complete() -> None:
    check = StartupCheck()
    check.observe({})
    assert not check.complete
    assert check.missing == ()


def test_startup_names_pairs_that_were_never_ready() -> None:
    check = StartupCheck()
    check.observe({"en-fr": False, "en-de": True, "de-en": False})
    assert (check.complete, check.missing) == (False, ("de-en", "en-fr"))


def test_startup_adds_up_pairs_that_were_ready_at_times() -> None:
    check = StartupCheck()
    check.observe({"en-de": True, "de-en": False})
    check.observe({"en-de": False, "de-en": True})
    assert (check.complete, check.missing) == (True, ())


def test_startup_stays_complete() -> None:
    check = StartupCheck()
    check.observe({"en-de": True})
    check.observe({"en-de": False, "en-fr": False})
    assert (check.complete, check.missing) == (True, ())


def test_startup_does_not_wait_for_pairs_that_left() -> None:
    """A replica that was removed before it was ready."""
    check = StartupCheck()
    check.observe({"en-de": True, "en-fr": False})
    check.observe({"en-de": True})
    assert check.complete
