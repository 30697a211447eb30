"""Our proxy against other ones: CPU per request, requests a second, latency and memory.

    make bench-proxy                                  # some 6 minutes; installing the peers takes some more, once
    python -m benchmarks.proxy --peers pairway,vllm-router --rounds 1 --seconds 3 --concurrency 32

The proxy has one core, the load and the two replicas (one small process) share another; rounds are interleaved, the figures
are medians. Exit status 1 when a target is missed. The report is OUT/report.md, the figures OUT/results.json.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.proxy.measurements import Rounds, judged
from benchmarks.proxy.peers.definitions import PEERS
from benchmarks.proxy.processes import staged
from benchmarks.proxy.report import line, report
from shared.reaper import Reaper
from shared.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.proxy.measurements import Found
    from benchmarks.proxy.peers.definitions import Peer


def chosen(names: str) -> list[Peer]:
    """Return the peers of these names, comma-separated."""
    known = {peer.name: peer for peer in PEERS}
    if unknown := [name for name in names.split(",") if name not in known]:
        raise SystemExit(f"bench-proxy: there is no {', '.join(unknown)}; the peers are {', '.join(known)}")
    return [known[name] for name in names.split(",")]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, write, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.proxy", description="Our proxy against other ones.")
    everybody = ",".join(peer.name for peer in PEERS)
    parser.add_argument("--peers", type=chosen, default=everybody, help="comma-separated (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="interleaved ones (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each measurement (default: %(default)s)")
    parser.add_argument("--warm-up", type=float, default=0.5, help="seconds before each (default: %(default)s)")
    parser.add_argument("--concurrency", default="1,32,128", help="numbers of connections (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=Path(".run/proxy"), help="folder (default: %(default)s)")
    parser.add_argument(
        "--environments", type=Path, default=Path(".run/peers"), help="where peers are installed (default: %(default)s)"
    )
    options = parser.parse_args(arguments)
    out: Path = options.out.resolve()
    environments: Path = options.environments.resolve()
    peers: list[Peer] = options.peers
    connections = [int(each) for each in options.concurrency.split(",")]
    began, load_before = time.strftime("%Y-%m-%d %H:%M"), os.getloadavg()[0]
    found: list[Found] = []
    with Reaper("PAIRWAY_BENCH_PROXY", 0), staged(out, peers, environments) as (stage, missing):
        for number in range(options.rounds):
            for proxy in stage.proxies:
                with proxy.going():
                    for each in connections:
                        found.append(stage.measure(proxy, number, each, options.warm_up, options.seconds))
                        print(line(found[-1]), flush=True)
    rounds = Rounds(found)
    result = judged(rounds, [peer.name for peer in peers], connections)
    machine = (
        f"Pairway {VERSION}, {began}, {os.cpu_count()} cores, load average {load_before:.1f} before; medians of "
        f"{options.rounds} interleaved rounds, {options.seconds:g} s each after {options.warm_up:g} s that do not count."
    )
    text = report(rounds, result, machine, missing)
    (out / "report.md").write_text(text)
    figures = {
        "machine": machine,
        "missing": missing,
        "rounds": [asdict(each) for each in found],
        "rows": [asdict(row) for each in rounds.connections for row in rounds.rows(each)],
        "targets": [asdict(check) for check in result.checks],
    }
    (out / "results.json").write_text(json.dumps(figures, indent=1))
    print(f"\n{text}\nwritten to {os.path.relpath(out)}")
    return 0 if result.met else 1


if __name__ == "__main__":
    sys.exit(main())
