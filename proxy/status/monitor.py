"""StatusMonitor: closes figures, detects events, and shares both."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field
from typing import Final

from proxy.balancing.local_stats import LocalStats
from proxy.fleet.registry import Registry
from proxy.fleet.snapshot import Snapshot
from proxy.status.diagnosis import IssueCode
from proxy.status.event_detector import EventDetector, OpenBreakers
from proxy.status.feed import StatusFeed
from proxy.status.figure_ring import SLOT_SECONDS, FigureRing, slot_at
from proxy.status.issue_times import DatedIssue, IssueTimes, Since
from proxy.status.issues import Issue, find_issues, find_symptoms
from proxy.status.summary_store import ProxySummary, SummaryStore
from proxy.storage.connection import StoreUnavailableError
from shared.languages import LanguagePair
from shared.version import VERSION

log = logging.getLogger(__name__)

TICK_SECONDS: Final = 1.0
# A proxy that wrote nothing for so long has ended, or cannot reach Redis.
SILENT_SECONDS: Final = 30.0
# Other proxies have written a slot's figures so long after its end.
READ_DELAY_SECONDS: Final = 2.5
# Two reads in a row have failed: nothing is known of the other proxies.
READ_OVERDUE_SECONDS: Final = 25.0


@dataclass(eq=False, slots=True)
class StatusMonitor:
    """This proxy's figures and events, and all proxies' summaries.

    ``others``: as last read; ``last_slot``: the latest of which all figures are read; ``sweep_seconds``: between two sweeps.
    ``clock`` returns Unix seconds.
    """

    _name: str
    _store: SummaryStore
    _registry: Registry
    _local_stats: LocalStats
    _ring: FigureRing
    detector: EventDetector
    _feed: StatusFeed
    _: KW_ONLY
    is_draining: Callable[[], bool]
    sweep_seconds: float
    clock: Callable[[], float]
    others: list[ProxySummary] = field(default_factory=list[ProxySummary])
    last_slot: int = field(init=False)
    issue_times: IssueTimes = field(init=False)
    _symptoms: list[Issue] = field(default_factory=list[Issue])
    _started_at: float = field(init=False)
    _shared_at: float = field(init=False)
    _read_at: float = 0.0
    _shown_version: int = 0
    _written_version: int = 0

    def __post_init__(self) -> None:
        self._started_at = self._shared_at = self.clock()
        self.last_slot = slot_at(self._started_at) - 1
        self.issue_times = IssueTimes(self._started_at, self.detector.since)

    async def tick(self) -> None:
        """Note what changed, share it, and read what others shared."""
        now = self.clock()
        if self.is_draining():
            await self._feed.close()
        self.detector.observe_breakers(open_breakers(self._local_stats))
        self.detector.observe_leader(is_leader=self._registry.is_leader)
        if self._registry.swept.is_set():
            self.detector.observe_redis(self._registry.redis_error)
        is_closed = self._ring.close_slot(now)
        if self.detector.version != self._shown_version:
            self._shown_version = self.detector.version
            self._feed.wake()
        if is_closed or self.detector.version != self._written_version:
            await self._write()
        reads = now >= self._read_at
        if reads:
            await self._read()
            self.last_slot = slot_at(now - READ_DELAY_SECONDS) - 1
            self._read_at = (slot_at(now - READ_DELAY_SECONDS) + 1) * SLOT_SECONDS + READ_DELAY_SECONDS
            self._compare_proxies(now)
        self.issue_times.observe(self._found(self._registry.snapshot, now), now, is_complete=self.detector.has_started)
        for each in self.others if reads else ():
            self.issue_times.adopt(each.issues, each.at)

    async def _write(self) -> None:
        if self._registry.redis_is_away:
            return
        version = self.detector.version
        with self._noting_errors():
            await self._store.write(self.summary())
            self._written_version = version

    async def _read(self) -> None:
        if self._registry.redis_error is not None:
            self._shared_at = self.clock()  # of the others nothing is claimed
        if self._registry.redis_is_away:
            return
        with self._noting_errors():
            self.others = [each for each in await self._store.read() if each.name != self._name]
            self._shared_at = self.clock()

    def _compare_proxies(self, now: float) -> None:
        """Find what the figures and versions of all proxies show."""
        living = [each for each in self.others if now - each.at <= SILENT_SECONDS]
        figures = [*self._ring.slots, *(slot for each in self.others for slot in each.slots)]
        self._symptoms = find_symptoms(figures, self.last_slot, [VERSION, *(each.version for each in living)])

    def _found(self, snapshot: Snapshot, now: float) -> list[Issue]:
        error, services = self._registry.redis_error, self._registry.services
        return find_issues(snapshot, self._local_stats, services, redis_error=error, symptoms=self._symptoms, now=now)

    def issues(self, snapshot: Snapshot) -> list[DatedIssue]:
        """Return what is wrong now, the worst first; any thread may ask."""
        now = self.clock()
        return self.issue_times.dated(self._found(snapshot, now), now)

    def codes(self) -> dict[str, int]:
        """Return 1 for each code of an issue now, else 0.

        Any thread may ask.
        """
        found = {each.issue.code for each in self.issues(self._registry.snapshot)}
        return {code: int(code in found) for code in IssueCode}

    def since(self, code: IssueCode | None, subject: str) -> Since | None:
        """Return when a replica's or pair's state began; None: unknown.

        ``code``: of the issue that the state is.
        """
        noted = None if code is None else self.issue_times.noted((code, subject))
        at = self.detector.since(subject)
        return noted or (None if at is None else Since(at))

    @contextmanager
    def _noting_errors(self) -> Generator[None]:
        try:
            yield
        except StoreUnavailableError as error:
            log.debug("status not shared", extra={"error": str(error)})

    @property
    def known_at(self) -> float:
        """Unix time until which the status is known to hold.

        A sweep holds until the next is due; then its time and that of an overdue read of Redis count, the older of both.
        Where Redis is said to be away, a proxy vouches for what it sees itself.
        """
        now = self.clock()
        swept_at = min(now, self._registry.swept_at + self.sweep_seconds)
        is_overdue = now - self._shared_at > READ_OVERDUE_SECONDS
        return min(swept_at, self._shared_at) if is_overdue and self._registry.redis_error is None else swept_at

    def summary(self) -> ProxySummary:
        """Return this proxy's summary."""
        now = self.clock()
        return ProxySummary(
            name=self._name,
            version=VERSION,
            at=round(now, 1),
            started_at=round(self._started_at, 2),
            leader=self._registry.is_leader,
            draining=self.is_draining(),
            slots=list(self._ring.slots),
            events=list(self.detector.events),
            issues=self.issue_times.shared(),
            pairs=self._ring.minute(),
        )


def open_breakers(local_stats: LocalStats) -> Mapping[str, OpenBreakers]:
    """Return the breakers that are not closed, by URL."""
    pairs: dict[str, list[LanguagePair]] = {}
    reasons: dict[str, str] = {}
    for pair, pair_stats in local_stats.pairs.items():
        for url, stats in pair_stats.outliers.items():
            pairs.setdefault(url, []).append(pair)
            reasons[url] = stats.failed_with
    return {url: OpenBreakers(tuple(found), reasons[url]) for url, found in pairs.items()}
