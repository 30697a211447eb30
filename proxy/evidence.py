"""What this proxy has seen of the replicas itself: requests in flight, and connections that failed."""

from __future__ import annotations

from collections import Counter, defaultdict
from contextlib import contextmanager
from typing import TYPE_CHECKING

from proxy.fleet import ReplicaState

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator

    from proxy.fleet import Snapshot


class LocalEvidence:
    """Fast and this proxy's own, beside the slow shared registry; a replica must pass both.

    Mutable state: texts in flight per URL, and whom to call when their replica is lost; texts in flight when the current report was taken; the report time (Unix
    seconds) of each replica whose connection failed. Changed on the event loop only.
    """

    def __init__(self) -> None:
        """Begin with nothing seen."""
        self._in_flight: Counter[str] = Counter()
        self._waiting: defaultdict[str, dict[object, Callable[[], None]]] = defaultdict(dict)
        self._ours_at_report: dict[str, tuple[float, int]] = {}
        self._unreachable: dict[str, float] = {}

    def __repr__(self) -> str:
        """Show what is in flight and what could not be reached."""
        return f"<LocalEvidence in_flight={dict(self._in_flight)} unreachable={list(self._unreachable)}>"

    @contextmanager
    def in_flight(self, url: str, texts: int, lost: Callable[[], None]) -> Generator[None]:
        """Count the texts as in flight while the block lasts, freed on every path; call ``lost`` when the replica is.

        ``lost`` is called at each snapshot in which the replica is DOWN. One that left the fleet is not lost: it may
        be leaving politely and still answer what it has in hand.
        """
        self._in_flight[url] += texts
        ticket = object()
        self._waiting[url][ticket] = lost
        try:
            yield
        finally:
            del self._waiting[url][ticket]
            if not self._waiting[url]:
                del self._waiting[url]
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
        """Remember how much of each new report's load is ours, forget replicas that are gone, tell those who wait."""
        for url, replica in snapshot.replicas.items():
            at = replica.reported_at
            if at is not None and self._ours_at_report.get(url, (None,))[0] != at:
                self._ours_at_report[url] = (at, self._in_flight[url])
        for table in (self._ours_at_report, self._unreachable):
            for url in [url for url in table if url not in snapshot.replicas]:
                del table[url]
        for url, waiting in self._waiting.items():
            replica = snapshot.replicas.get(url)
            if replica is not None and replica.state is ReplicaState.DOWN:
                for lost in waiting.values():
                    lost()

    def note_unreachable(self, url: str, snapshot: Snapshot) -> bool:
        """Note that no connection could be made; it counts until a newer report arrives. Say whether it is news."""
        replica = snapshot.replicas.get(url)
        news = url not in self._unreachable
        self._unreachable[url] = (replica.reported_at if replica else None) or 0.0
        return news

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
