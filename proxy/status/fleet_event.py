"""FleetEvent: what happened in the fleet, and when."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from proxy.status.diagnosis import IssueCode

# Of one proxy, the latest; each takes at most about 700 bytes.
MAX_EVENTS: Final = 50
# Of all proxies together.
MAX_MERGED_EVENTS: Final = 100
MAX_SUBJECT_CHARS: Final = 256
# Pairs that an event or an issue names; one replica may serve hundreds.
MAX_NAMED_PAIRS: Final = 8
MAX_REASON_CHARS: Final = 256
# Several proxies notice one event within this time: a sweep, its time-out, and clocks that differ.
SAME_EVENT_SECONDS: Final = 15.0

EventLevel = Literal["bad", "warn", "good", "info"]


class FleetEventKind(StrEnum):
    """Kind of an event; stable."""

    REPLICA_DOWN = "replica-down"
    REPLICA_UNREADY = "replica-unready"
    REPLICA_UP = "replica-up"
    REPLICA_JOINED = "replica-joined"
    REPLICA_STOPPING = "replica-stopping"
    REPLICA_LEFT = "replica-left"
    REPLICA_DRAINED = "replica-drained"
    REPLICA_RESUMED = "replica-resumed"
    PAIRS_DOWN = "pairs-down"
    PAIRS_UP = "pairs-up"
    BREAKER_OPENED = "breaker-opened"
    BREAKER_CLOSED = "breaker-closed"
    LEADER_CHANGED = "leader-changed"
    REDIS_AWAY = "redis-away"
    REDIS_BACK = "redis-back"


@dataclass(frozen=True, slots=True)
class EventMeaning:
    """A kind's words (``{}``: the subject), and the issue that it begins."""

    level: EventLevel
    text: str
    code: IssueCode | None = None


MEANINGS: Final[Mapping[FleetEventKind, EventMeaning]] = {
    FleetEventKind.REPLICA_DOWN: EventMeaning("bad", "{} went down", IssueCode.REPLICA_DOWN),
    FleetEventKind.REPLICA_UNREADY: EventMeaning("bad", "{} serves no pair any more", IssueCode.REPLICA_STARTING),
    FleetEventKind.REPLICA_UP: EventMeaning("good", "{} came back"),
    FleetEventKind.REPLICA_JOINED: EventMeaning("good", "{} joined the fleet"),
    FleetEventKind.REPLICA_STOPPING: EventMeaning("info", "{} is stopping"),
    FleetEventKind.REPLICA_LEFT: EventMeaning("info", "{} left the fleet"),
    FleetEventKind.REPLICA_DRAINED: EventMeaning("info", "an operator drained {}"),
    FleetEventKind.REPLICA_RESUMED: EventMeaning("info", "an operator resumed {}"),
    FleetEventKind.PAIRS_DOWN: EventMeaning("bad", "no replica is ready for {}", IssueCode.PAIR_UNAVAILABLE),
    FleetEventKind.PAIRS_UP: EventMeaning("good", "{} can be served now"),
    FleetEventKind.BREAKER_OPENED: EventMeaning(
        "warn", "requests to {} fail, so its breaker opened", IssueCode.REPLICA_FAILING
    ),
    FleetEventKind.BREAKER_CLOSED: EventMeaning("good", "the breaker of {} closed"),
    FleetEventKind.LEADER_CHANGED: EventMeaning("info", "{} probes the fleet now"),
    FleetEventKind.REDIS_AWAY: EventMeaning("warn", "Redis is away", IssueCode.REDIS_AWAY),
    FleetEventKind.REDIS_BACK: EventMeaning("good", "Redis answers again"),
}


class FleetEvent(BaseModel):
    """One event; its ``subject`` is a replica's URL, pairs, or a proxy.

    ``after_s``: of an end, how long it had lasted, if that is known.
    """

    model_config = ConfigDict(frozen=True)

    kind: FleetEventKind
    at: FiniteFloat
    subject: Annotated[str, Field(max_length=MAX_SUBJECT_CHARS)] = ""
    why: Annotated[str, Field(max_length=MAX_REASON_CHARS)] | None = None
    after_s: Annotated[FiniteFloat, Field(ge=0)] | None = None

    @classmethod
    def of(
        cls, kind: FleetEventKind, at: float, subject: str = "", why: str | None = None, after: float | None = None
    ) -> FleetEvent:
        """Return an event, its words cut to their limits."""
        cut = why[:MAX_REASON_CHARS] if why else None
        seconds = None if after is None else round(max(0.0, after), 1)
        return cls(kind=kind, at=round(at, 2), subject=subject[:MAX_SUBJECT_CHARS], why=cut, after_s=seconds)


def named(labels: Sequence[str]) -> str:
    """Return the first labels, and how many others there are."""
    more = [f"+{len(labels) - MAX_NAMED_PAIRS}"] if len(labels) > MAX_NAMED_PAIRS else []
    return ", ".join([*labels[:MAX_NAMED_PAIRS], *more])


@dataclass(slots=True)
class SharedEvent:
    """One event of several proxies; the first one's time and reason."""

    event: FleetEvent
    proxies: list[str]
    last_at: float


def merge_events(events_by_proxy: Mapping[str, Iterable[FleetEvent]]) -> list[SharedEvent]:
    """Return all proxies' events, each once, the latest first."""
    noticed = sorted(
        ((event, proxy) for proxy, events in events_by_proxy.items() for event in events), key=lambda each: each[0].at
    )
    shared: list[SharedEvent] = []
    latest: dict[tuple[FleetEventKind, str], SharedEvent] = {}
    for event, proxy in noticed:
        key = event.kind, event.subject
        same = latest.get(key)
        if same is None or proxy in same.proxies or event.at - same.last_at > SAME_EVENT_SECONDS:
            latest[key] = same = SharedEvent(event, [], event.at)
            shared.append(same)
        same.proxies.append(proxy)
        same.last_at = event.at
    return shared[: -MAX_MERGED_EVENTS - 1 : -1]
