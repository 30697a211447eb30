"""Every scenario of the fault suite, in the order of its report."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.faults.fleet import FleetSetup
from tests.faults.scenarios import clients, redis_and_proxies, replica, restarts
from tests.faults.scenarios.run import Scenario


@dataclass(frozen=True)
class Entry:
    """A scenario: its name, the fault in words, how it is run, and on which fleet."""

    name: str
    fault: str
    run: Scenario
    setup: FleetSetup = field(default_factory=FleetSetup)


def _of(name: str, fault: str, inject: replica.Fault, heal: replica.Fault, *targets: replica.Target) -> Entry:
    return Entry(name, fault, replica.replica_scenario(name, inject, heal, *targets))


def _real(name: str, fault: str, inject: replica.Fault, heal: replica.Fault, *targets: replica.Target) -> Entry:
    return Entry(name, fault, replica.replica_scenario(name, inject, heal, *targets), FleetSetup(real=True))


_SECOND = replica.p99_within(1.0)
_PASS = replica.relayed("pass")

SCENARIOS = (
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
    Entry("bad-requests", "40 bad requests, then 40 good", clients.bad_requests),
    Entry("clients-leave", "10 clients leave", clients.clients_leave),
    Entry("sigterm-replica", "SIGTERM of a replica with 20 in flight", restarts.replica_terminated),
    Entry("sigterm-proxy", "SIGTERM of the proxy with 20 in flight", restarts.proxy_terminated),
    Entry("rolling-restart", "rolling restart of all replicas", restarts.rolling_restart),
    Entry(
        "redis-frozen",
        "Redis frozen",
        redis_and_proxies.redis_scenario("redis-frozen", redis_and_proxies.freeze, redis_and_proxies.thaw),
    ),
    Entry(
        "redis-killed",
        "Redis killed, restarted empty",
        redis_and_proxies.redis_scenario("redis-killed", redis_and_proxies.kill, redis_and_proxies.start_empty),
    ),
    Entry("proxy-killed", "proxy killed beside another", redis_and_proxies.other_proxy_killed, FleetSetup(proxies=2)),
    Entry("lease-holder-killed", "lease holder killed", redis_and_proxies.lease_holder_killed, FleetSetup(proxies=2)),
    Entry("all-gone", "all replicas of a pair gone, then back", restarts.all_gone),
    _real("vllm-hung-engine", "vLLM: EngineCore stopped, HTTP green", replica.hang, replica.hang_no_more, _SECOND),
    _real("vllm-sigstop", "vLLM: SIGSTOP of the whole server", replica.stop, replica.go_on, _SECOND),
    _real("vllm-sigkill", "vLLM: SIGKILL", replica.kill, replica.start, replica.p99_times_normal(5.0)),
)
NAMES = tuple(entry.name for entry in SCENARIOS)
