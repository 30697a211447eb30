"""What this proxy has seen of the replicas itself: requests in flight, and connections that failed."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Generator

    from proxy.fleet import Snapshot


class LocalEvidence:
    """Fast and this proxy's own, beside the slow shared registry; a replica must pass both.

    Mutable state: texts in flight per URL; texts in flight when the current report was taken; the report time (Unix
    seconds) of each replica whose connection failed. Changed on the event loop only.
    """

    def __init__(self) -> None:
        """Begin with nothing seen."""
        self._in_flight: Counter[str] = Counter()
        self._ours_at_report: dict[str, tuple[float, int]] = {}
        self._unreachable: dict[str, float] = {}

    def __repr__(self) -> str:
        """Show what is in flight and what could not be reached."""
        return f"<LocalEvidence in_flight={dict(self._in_flight)} unreachable={list(self._unreachable)}>"

    @contextmanager
    def in_flight(self, url: str, texts: int) -> Generator[None]:
        """Count the texts as in flight while the block lasts; freed on every path."""
        self._in_flight[url] += texts
        try:
            yield
        finally:
            self._in_flight[url] -= texts
            if self._in_flight[url] <= 0:
                del self._in_flight[url]

    def load(self, url: str, snapshot: Snapshot) -> int:
        """Return our texts in flight there, plus those that the last report showed to be of other proxies."""
        ours = self._in_flight[url]
        replica = snapshot.replicas.get(url)
        if replica is None or replica.report is None or replica.reported_at is None:
            return ours
        seen = self._ours_at_report.get(url)
        then = seen[1] if seen is not None and seen[0] == replica.reported_at else ours
        return ours + max(0, replica.report.in_flight - then)

    def note_snapshot(self, snapshot: Snapshot) -> None:
        """Remember how much of each new report's load is ours, and forget replicas that are gone."""
        for url, replica in snapshot.replicas.items():
            at = replica.reported_at
            if at is not None and self._ours_at_report.get(url, (None,))[0] != at:
                self._ours_at_report[url] = (at, self._in_flight[url])
        for table in (self._ours_at_report, self._unreachable):
            for url in [url for url in table if url not in snapshot.replicas]:
                del table[url]

    def note_unreachable(self, url: str, snapshot: Snapshot) -> None:
        """Note that no connection could be made; it counts until a newer report arrives."""
        replica = snapshot.replicas.get(url)
        self._unreachable[url] = (replica.reported_at if replica else None) or 0.0

    def reachable(self, urls: Collection[str], snapshot: Snapshot) -> list[str]:
        """Return those of the URLs that nothing here speaks against."""
        return [url for url in urls if not self._is_unreachable(url, snapshot)]

    def _is_unreachable(self, url: str, snapshot: Snapshot) -> bool:
        since = self._unreachable.get(url)
        if since is None:
            return False
        replica = snapshot.replicas.get(url)
        if replica is None or replica.reported_at is None or replica.reported_at <= since:
            return True
        del self._unreachable[url]
        return False
