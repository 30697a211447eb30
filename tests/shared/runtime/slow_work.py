"""Work of a thread that waits until it may go on."""

from __future__ import annotations

import threading
from collections.abc import Callable


class SlowWork:
    """Work that notes its name and waits until it may go on."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.go_on = threading.Semaphore(0)

    def work(self, name: str) -> Callable[[], str]:
        def wait() -> str:
            self.begun.append(name)
            assert self.go_on.acquire(timeout=30)
            return name

        return wait
