"""Our proxy against other ones: CPU per request, requests a second, latency and memory.

    make bench-proxy                                  # some 6 minutes; installing peers takes more, once
    make bench-proxy BEFORE=DIR CONCURRENCY=32        # ours against the checkout in DIR, and against itself
    python -m benchmarks.proxy --peers pairway,vllm-router --rounds 1 --seconds 3 --concurrency 32

The proxy has one core, the load and the two replicas (one small process) share another; rounds are interleaved, the figures
are medians. Exit status 1 when a target is missed. The report is OUT/report.md, the figures OUT/results.json.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from pathlib import Path

from benchmarks.harness.program import integers, options_parser, run_guarded
from benchmarks.harness.report import RunFolder
from benchmarks.proxy.measurements import ProxyMeasurement, Rounds, judge, tables
from benchmarks.proxy.peers.definitions import BEFORE, PEERS, VERSIONS, Peer
from benchmarks.proxy.servers import running_proxies


def arguments() -> argparse.ArgumentParser:
    """Return the command line's options."""
    parser = options_parser("proxy", "Our proxy against other ones.")
    names, versions = (",".join(peer.name for peer in peers) for peers in (PEERS, VERSIONS))
    parser.add_argument("--peers", default="", help=f"comma-separated; without it {names}; with --before {versions}")
    parser.add_argument("--before", type=Path, help=f"folder of another checkout of Pairway: the peer {BEFORE}")
    parser.add_argument("--rounds", type=int, default=5, help="interleaved ones")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each measurement")
    parser.add_argument("--warm-up", type=float, default=0.5, help="seconds before each")
    parser.add_argument("--concurrency", type=integers, default="1,32,128", help="of connections")
    parser.add_argument("--environments", type=Path, default=Path(".run/peers"), help="where peers are installed")
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


async def measure(
    peers: list[Peer], folder: Path, missing: dict[str, str], options: argparse.Namespace
) -> list[ProxyMeasurement]:
    """Return every measurement, printed: each round begins with another proxy."""
    measured: list[ProxyMeasurement] = []
    before = (options.before or Path()).resolve()
    async with running_proxies(peers, folder, options.environments.resolve(), before, missing) as proxies:
        turns = [
            (number, proxies[(number + turn) % len(proxies)])
            for number in range(options.rounds)
            for turn in range(len(proxies))
        ]
        for number, proxy in turns:
            async with proxy.running():
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
    peers, folder, missing = chosen(options.peers, before), RunFolder(options.out), dict[str, str]()
    rounds = Rounds(run_guarded(measure(peers, folder.path, missing, options)))
    checks = judge(rounds, [peer.name for peer in peers], options.concurrency)
    note = (
        f"medians of {options.rounds} interleaved rounds, {options.seconds:g} s each after {options.warm_up:g} s that do "
        "not count"
    )
    results = {"missing": missing, "rounds": list(map(asdict, rounds))}
    return folder.publish("The proxy against others", note, tables(rounds, missing), results, checks)


if __name__ == "__main__":
    sys.exit(main())
