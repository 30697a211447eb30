"""The clock of ``tests/support``, under the name that the tests of glossaries import."""

from tests.support.clock import HandClock

__all__ = ["HandClock"]
