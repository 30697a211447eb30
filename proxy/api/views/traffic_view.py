"""Figures and events of all proxies, as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, get_args

from pydantic import BaseModel, Field

from proxy.status.figure_ring import (
    MAX_PAIRS,
    OTHER_CODE,
    SLOT_SECONDS,
    SLOTS,
    PairCounts,
    SlotFigures,
    class_of_reason,
    merged,
    quantile,
    summed_pairs,
)
from proxy.status.fleet_event import MEANINGS, EventLevel, FleetEvent, FleetEventKind, merge_events
from proxy.status.monitor import SILENT_SECONDS
from proxy.status.summary_store import ProxySummary
from shared.protocol.errors import OutcomeClass

MILLISECOND_DIGITS: Final = 3
OUTCOME_CLASS_NAMES: Final[tuple[OutcomeClass, ...]] = get_args(OutcomeClass)


class Traffic(BaseModel):
    """Figures of all proxies in the last 15 minutes.

    Slots of ``slot_s`` seconds begin at ``start_at``. Each list has one number a slot, the latest last; null: nothing is known of it.
    """

    slot_s: int
    start_at: int = Field(description="Unix time.")
    requests: dict[OutcomeClass, list[int | None]] = Field(description="By class of outcome.")
    outcomes: dict[str, list[int | None]] = Field(
        description="By outcome, except ok: the problem's code. The most frequent ones of each slot, and other."
    )
    classes: dict[str, OutcomeClass] = Field(description="Class of each of these outcomes.")
    p50_s: list[float | None] = Field(description="Median seconds of successful requests.")
    p95_s: list[float | None]


class EventLine(BaseModel):
    """An event; ``proxies`` noticed it."""

    kind: FleetEventKind
    level: EventLevel
    at: float = Field(description="Unix time at which the first proxy noticed it.")
    subject: str = Field(description="A replica's URL, pairs, or a proxy.")
    text: str
    why: str | None
    after_s: float | None = Field(description="Of an end: seconds that it had lasted; null: unknown.")
    runbook: str | None = Field(description="Page of docs/operations/runbooks/.")
    proxies: list[str]


class ProxyLine(BaseModel):
    """One proxy, by its last summary."""

    name: str
    version: str
    started_at: float
    leader: bool = Field(description="Whether it probes for all proxies.")
    draining: bool
    this: bool = Field(description="Whether this answer is its own.")
    heard_at: float | None = Field(
        description="Unix time of its last summary, one each ten seconds; null: it is this one."
    )
    silent_since: float | None = Field(description="Unix time of its last sign of life, if that is too long ago.")


def traffic(summaries: Iterable[ProxySummary], last: int) -> Traffic:
    """Return the sums of all proxies' figures, up to the slot ``last``."""
    by_slot = merged(figures for summary in summaries for figures in summary.slots)
    slots = [by_slot.get(slot) for slot in range(last - SLOTS + 1, last + 1)]
    codes = sorted({code for slot in slots if slot for code in slot.codes})
    return Traffic(
        slot_s=SLOT_SECONDS,
        start_at=(last - SLOTS + 1) * SLOT_SECONDS,
        requests={name: [slot and slot.classes.get(name, 0) for slot in slots] for name in OUTCOME_CLASS_NAMES},
        outcomes={code: [slot and slot.codes.get(code, 0) for slot in slots] for code in codes},
        classes={code: class_of_reason(code) for code in codes if code != OTHER_CODE},
        p50_s=[_quantile(slot, 0.5) for slot in slots],
        p95_s=[_quantile(slot, 0.95) for slot in slots],
    )


@dataclass(frozen=True, slots=True)
class PairTraffic:
    """Requests of the last minute by pair as asked; null: not known."""

    counts: PairCounts
    is_whole: bool

    @classmethod
    def of(cls, summaries: Iterable[ProxySummary], now: float) -> PairTraffic:
        """Sum the figures of the proxies that are not silent."""
        known = [each.pairs for each in summaries if now - each.at <= SILENT_SECONDS]
        is_whole = all(pairs is not None and len(pairs) < MAX_PAIRS for pairs in known)
        return cls(summed_pairs(pairs or {} for pairs in known), is_whole)

    def find(self, label: str) -> tuple[int | None, int | None]:
        """Return a pair's requests, and those of them that failed."""
        return self.counts.get(label, (0, 0) if self.is_whole else (None, None))

    def requests(self, labels: Iterable[str]) -> int | None:
        """Return the requests of several pairs."""
        counts = [self.find(label)[0] for label in labels]
        return None if None in counts else sum(filter(None, counts))


def event_lines(events_by_proxy: Mapping[str, Iterable[FleetEvent]]) -> list[EventLine]:
    """Return all proxies' events, the latest first."""
    lines: list[EventLine] = []
    for shared in merge_events(events_by_proxy):
        event, meaning = shared.event, MEANINGS[shared.event.kind]
        lines.append(
            EventLine(
                kind=event.kind,
                level=meaning.level,
                at=event.at,
                subject=event.subject,
                text=meaning.text.format(event.subject) + _after(event.after_s),
                why=event.why,
                after_s=event.after_s,
                runbook=meaning.code,
                proxies=shared.proxies,
            )
        )
    return lines


def _after(seconds: float | None) -> str:
    return "" if seconds is None else f" after {seconds:.0f} s"


def proxy_lines(own: ProxySummary, others: Iterable[ProxySummary], now: float) -> list[ProxyLine]:
    """Return each proxy's line, this one's first.

    Of those that say that they probe this one does, or else the one heard of last: a killed one's summary stays.
    """
    silent_from = now - SILENT_SECONDS
    summaries = [own, *others]
    leaders = [each for each in summaries if each.leader and (each is own or each.at >= silent_from)]
    leader = max(leaders, key=lambda each: (each is own, each.at), default=None)
    return [
        ProxyLine(
            name=each.name,
            version=each.version,
            started_at=each.started_at,
            leader=each is leader,
            draining=each.draining,
            this=each is own,
            heard_at=None if each is own else each.at,
            silent_since=each.at if each is not own and each.at < silent_from else None,
        )
        for each in summaries
    ]


def _quantile(slot: SlotFigures | None, share: float) -> float | None:
    seconds = quantile(slot.buckets, share) if slot is not None else None
    return None if seconds is None else round(seconds, MILLISECOND_DIGITS)
