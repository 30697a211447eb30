"""Our proxy against other ones: CPU per request, requests a second, latency and memory.

    make bench-proxy                                  # some 6 minutes; installing the peers takes some more, once
    make bench-proxy BEFORE=DIR CONCURRENCY=32        # ours against the checkout in DIR, and against itself
    python -m benchmarks.proxy --peers pairway,vllm-router --rounds 1 --seconds 3 --concurrency 32

The proxy has one core, the load and the two replicas (one small process) share another; rounds are interleaved, the figures
are medians. Exit status 1 when a target is missed. The report is OUT/report.md, the figures OUT/results.json.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.harness.report import RunFolder
from benchmarks.proxy.measurements import ProxyMeasurement, Rounds, judge
from benchmarks.proxy.peers.definitions import BEFORE, PEERS, VERSIONS, Peer
from benchmarks.proxy.report import line, report
from benchmarks.proxy.servers import ProxyServers, running_servers
from shared.runtime.process_guard import ProcessGuard


def arguments() -> argparse.ArgumentParser:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.proxy", description="Our proxy against other ones.")
    names = ",".join(peer.name for peer in PEERS)
    versions = ",".join(peer.name for peer in VERSIONS)
    parser.add_argument("--peers", default="", help=f"comma-separated (default: {names}; with --before: {versions})")
    parser.add_argument("--before", type=Path, help=f"folder of another checkout of Pairway: the peer {BEFORE}")
    parser.add_argument("--rounds", type=int, default=5, help="interleaved ones (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each measurement (default: %(default)s)")
    parser.add_argument("--warm-up", type=float, default=0.5, help="seconds before each (default: %(default)s)")
    parser.add_argument("--concurrency", default="1,32,128", help="numbers of connections (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=Path(".run/proxy"), help="folder (default: %(default)s)")
    parser.add_argument(
        "--environments", type=Path, default=Path(".run/peers"), help="where peers are installed (default: %(default)s)"
    )
    return parser


def chosen(names: str, before: Path | None) -> list[Peer]:
    """Return the peers of these comma-separated names; without names all, or with another checkout the versions."""
    known = {peer.name: peer for peer in (*PEERS, *VERSIONS)}
    if before is None:
        del known[BEFORE]
    if not names:
        return list(PEERS if before is None else VERSIONS)
    if unknown := [name for name in names.split(",") if name not in known]:
        raise SystemExit(f"bench-proxy: there is no {', '.join(unknown)}; the peers are {', '.join(known)}")
    return [known[name] for name in names.split(",")]


def measure(
    servers: ProxyServers, options: argparse.Namespace, connections: Sequence[int]
) -> Iterator[ProxyMeasurement]:
    """Yield every measurement, printed: each round begins with another proxy."""
    for number in range(options.rounds):
        first = number % max(1, len(servers.proxies))
        for proxy in [*servers.proxies[first:], *servers.proxies[:first]]:
            with proxy.running():
                for each in connections:
                    measurement = servers.measure(proxy, number, each, options.warm_up, options.seconds)
                    print(line(measurement), flush=True)
                    yield measurement


def main() -> int:
    """Measure, write, print."""
    options = arguments().parse_args()
    before: Path | None = options.before
    if before is not None and not (before / "proxy" / "__main__.py").is_file():
        raise SystemExit(f"bench-proxy: {before} is no checkout of Pairway")
    peers = chosen(options.peers, before)
    connections = [int(each) for each in options.concurrency.split(",")]
    folder = RunFolder(options.out)
    checkout = (before or Path()).resolve()
    with (
        ProcessGuard("PAIRWAY_BENCH_PROXY", 0),
        running_servers(folder.path, options.environments.resolve(), checkout, peers) as servers,
    ):
        measured = list(measure(servers, options, connections))
    rounds = Rounds(measured)
    checks = judge(rounds, [peer.name for peer in peers], connections)
    machine = (
        f"{folder.machine}; medians of {options.rounds} interleaved rounds, "
        f"{options.seconds:g} s each after {options.warm_up:g} s that do not count."
    )
    results = {
        "machine": machine,
        "missing": servers.missing,
        "rounds": [asdict(each) for each in measured],
        "rows": [asdict(row) for each in rounds.connections for row in rounds.rows(each)],
        "ratios": [asdict(ratio) for ratio in rounds.version_ratios()],
        "targets": [asdict(check) for check in checks],
    }
    folder.write(report(rounds, checks, machine, servers.missing), results)
    return 0 if checks.met else 1


if __name__ == "__main__":
    sys.exit(main())
