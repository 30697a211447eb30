"""Our proxy against other ones: CPU per request, requests a second, latency and memory.

    make bench-proxy                                  # some 6 minutes; installing peers takes more, once
    make bench-proxy BEFORE=DIR CONCURRENCY=32        # ours against the checkout in DIR, and against itself
    python -m benchmarks.proxy --peers pairway,vllm-router --rounds 1 --seconds 3 --concurrency 32

The proxy has one core, the load and the two replicas (one small process) share another; rounds are interleaved, the figures
are medians. Exit status 1 when a target is missed. The report is OUT/report.md, the figures OUT/results.json.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.harness.processes import free_port
from benchmarks.harness.report import RunFolder
from benchmarks.proxy.measurements import ProxyMeasurement, Rounds, judge, report
from benchmarks.proxy.peers.definitions import BEFORE, PEERS, VERSIONS, Peer
from benchmarks.proxy.servers import Places, ProxyProcess, running_proxies
from shared.runtime.process_guard import ProcessGuard


def arguments() -> argparse.ArgumentParser:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.proxy", description="Our proxy against other ones.")
    names, versions = (",".join(peer.name for peer in peers) for peers in (PEERS, VERSIONS))
    parser.add_argument("--peers", default="", help=f"comma-separated (default: {names}; with --before: {versions})")
    parser.add_argument("--before", type=Path, help=f"folder of another checkout of Pairway: the peer {BEFORE}")
    parser.add_argument("--rounds", type=int, default=5, help="interleaved ones (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each measurement (default: %(default)s)")
    parser.add_argument("--warm-up", type=float, default=0.5, help="seconds before each (default: %(default)s)")
    parser.add_argument("--concurrency", type=numbers, default="1,32,128", help="of connections (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=Path(".run/proxy"), help="folder (default: %(default)s)")
    parser.add_argument(
        "--environments", type=Path, default=Path(".run/peers"), help="where peers are installed (default: %(default)s)"
    )
    return parser


def numbers(text: str) -> list[int]:
    """Read comma-separated numbers."""
    return [int(each) for each in text.split(",")]


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


async def measure(proxies: Sequence[ProxyProcess], options: argparse.Namespace) -> list[ProxyMeasurement]:
    """Return every measurement, printed: each round begins with another proxy."""
    measured: list[ProxyMeasurement] = []
    for number in range(options.rounds):
        first = number % max(1, len(proxies))
        for proxy in [*proxies[first:], *proxies[:first]]:
            with proxy.running():
                for each in options.concurrency:
                    load = await proxy.measure(number, each, options.warm_up, options.seconds)
                    measured.append(ProxyMeasurement.of(proxy.peer.name, number, each, load))
                    print(measured[-1].line(), flush=True)
    return measured


def main() -> int:
    """Measure, write, print."""
    options = arguments().parse_args()
    before: Path | None = options.before
    if before is not None and not (before / "proxy" / "__main__.py").is_file():
        raise SystemExit(f"bench-proxy: {before} is no checkout of Pairway")
    peers = chosen(options.peers, before)
    folder = RunFolder(options.out)
    ports = free_port(), free_port()
    places = Places(folder.path, options.environments.resolve(), (before or Path()).resolve(), free_port(), ports)
    missing: dict[str, str] = {}
    with ProcessGuard("PAIRWAY_BENCH_PROXY", 0), running_proxies(places, peers, missing) as proxies:
        measured = asyncio.run(measure(proxies, options))
    rounds = Rounds(measured)
    checks = judge(rounds, [peer.name for peer in peers], options.concurrency)
    machine = (
        f"{folder.machine}; medians of {options.rounds} interleaved rounds, "
        f"{options.seconds:g} s each after {options.warm_up:g} s that do not count."
    )
    results = {
        "machine": machine,
        "missing": missing,
        "rounds": [asdict(each) for each in measured],
        "targets": [asdict(check) for check in checks],
    }
    return folder.write(report(rounds, checks, machine, missing), results, checks)


if __name__ == "__main__":
    sys.exit(main())
