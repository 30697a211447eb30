"""How long requests wait, for tests that must not wait as long as real clients."""

from __future__ import annotations

import pytest

from proxy.context import ProxyContext
from proxy.exchange.exchange import NO_WAIT, WaitPolicy
from proxy.exchange.peer import Peer
from proxy.exchange.translation_run import TranslationRun


def set_waits(monkeypatch: pytest.MonkeyPatch, *, queue_seconds: float = 0.0, linger_seconds: float = 0.0) -> None:
    """Make every request that translates one of an API with these seconds."""
    create = TranslationRun.__init__

    def create_waiting(run: TranslationRun, peer: Peer, parts: ProxyContext, _: WaitPolicy = NO_WAIT) -> None:
        create(run, peer, parts)
        run.waits = WaitPolicy(queue_seconds, linger_seconds)

    monkeypatch.setattr(TranslationRun, "__init__", create_waiting)
