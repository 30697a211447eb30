"""Every row of the fault suite, in the order of its table."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.faults import rows_clients, rows_restarts, rows_shared
from tests.faults import rows_replica as replica
from tests.faults.course import Row
from tests.faults.scene import Setting


@dataclass(frozen=True)
class Entry:
    """A row: its name, the fault in words, what it is staged on, and how it is run."""

    name: str
    fault: str
    run: Row
    setting: Setting = field(default_factory=Setting)


def _of(name: str, fault: str, inject: replica.Fault, heal: replica.Fault, *promises: replica.Promise) -> Entry:
    return Entry(name, fault, replica.row(name, inject, heal, *promises))


def _real(name: str, fault: str, inject: replica.Fault, heal: replica.Fault, *promises: replica.Promise) -> Entry:
    return Entry(name, fault, replica.row(name, inject, heal, *promises), Setting(real=True))


_SECOND = replica.p99_within(1.0)
_PASS = replica.relayed("pass")

ROWS = (
    _of("none", "no fault at all", replica.nothing, replica.nothing),
    _of("sigkill", "SIGKILL", replica.kill, replica.start, replica.p99_times_normal(5.0)),
    _of("hung-engine", "engine hung, HTTP green", replica.hang, replica.hang_no_more, _SECOND),
    _of("sigstop", "SIGSTOP of the whole server", replica.stop, replica.go_on, _SECOND),
    _of("slow", "slow (1.5 s instead of 20 ms)", replica.slow, replica.quick, replica.share_at_most(4.0)),
    _of("instant-503", "answers 503 at once", replica.relayed("503"), _PASS, replica.share_at_most(5.0)),
    _of("overloaded", "answers `overloaded` at once", replica.relayed("overloaded"), _PASS, replica.share_at_most(5.0)),
    _of(
        "pair-unavailable",
        "answers `pair-unavailable` at once",
        replica.relayed("pair-unavailable"),
        _PASS,
        replica.share_at_most(5.0),
    ),
    _of("instant-500", "answers 500 at once", replica.relayed("500"), _PASS, replica.share_at_most(5.0)),
    _of("reset", "reset in mid-body", replica.relayed("reset"), _PASS, replica.share_at_most(5.0)),
    _of("dropped", "packets dropped", replica.relayed("drop"), _PASS, _SECOND),
    Entry("bad-requests", "40 bad requests, then 40 good", rows_clients.bad_requests),
    Entry("clients-leave", "10 clients leave", rows_clients.clients_leave),
    Entry("sigterm-replica", "SIGTERM of a replica with 20 in flight", rows_restarts.replica_terminated),
    Entry("sigterm-proxy", "SIGTERM of the proxy with 20 in flight", rows_restarts.proxy_terminated),
    Entry("rolling-restart", "rolling restart of all replicas", rows_restarts.rolling_restart),
    Entry("redis-frozen", "Redis frozen", rows_shared.redis("redis-frozen", rows_shared.freeze, rows_shared.thaw)),
    Entry(
        "redis-killed",
        "Redis killed, restarted empty",
        rows_shared.redis("redis-killed", rows_shared.kill, rows_shared.start_empty),
    ),
    Entry("proxy-killed", "proxy killed beside another", rows_shared.other_proxy_killed, Setting(proxies=2)),
    Entry("lease-holder-killed", "lease holder killed", rows_shared.lease_holder_killed, Setting(proxies=2)),
    Entry("all-gone", "all replicas of a pair gone, then back", rows_restarts.all_gone),
    _real("vllm-hung-engine", "vLLM: EngineCore stopped, HTTP green", replica.hang, replica.hang_no_more, _SECOND),
    _real("vllm-sigstop", "vLLM: SIGSTOP of the whole server", replica.stop, replica.go_on, _SECOND),
    _real("vllm-sigkill", "vLLM: SIGKILL", replica.kill, replica.start, replica.p99_times_normal(5.0)),
)
NAMES = tuple(entry.name for entry in ROWS)
