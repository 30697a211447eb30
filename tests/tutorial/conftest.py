"""The fixtures of the API server's tests, for the tutorial."""

from __future__ import annotations

from tests.apiserver.conftest import factory, served, settings_for

__all__ = ["factory", "served", "settings_for"]
