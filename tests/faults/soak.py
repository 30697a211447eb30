"""A soak: random faults in random order on a fleet under load, and a close look at what stays behind.

    make soak                                                  # 20 minutes
    python -m tests.faults.soak --minutes 20 --seed 1 --out .run/soak

Three API servers with a scripted engine of 20 ms, two proxies with 20 requests/s each, Redis: all real processes. One
fault at a time (soak_faults.py), of 1 to 12 s, with 1 to 5 s between them. Checked: every request is answered once, rightly
or with a refusal that the contract knows (but those of a proxy that is dead); memory of every process that lives long
enough grows by at most 5 % after its warm-up; nothing is in flight, and no descriptor, thread or task is left over when the
load has ended and idle connections have closed; no key in Redis is without a life time. Exit status 1 when one is not so.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import secrets
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.harness.load import Sample, failures
from benchmarks.harness.report import RunFolder, percentile_ms
from tests.faults.fleet import FaultFleet, FleetSetup, running_fleet
from tests.faults.process_monitor import MAX_GROWTH, MEGABYTE, ProcessMonitor
from tests.faults.samples import is_clear
from tests.faults.soak_faults import FAULTS, LONGEST_SECONDS, SHORTEST_SECONDS, SoakFleet

RATE_PER_PROXY: Final = 20.0
# The part of the soak that is no warm-up must be the larger one.
WARM_UP_PART: Final = 0.25
LONGEST_WARM_UP_SECONDS: Final = 180.0
LONGEST_PAUSE_SECONDS: Final = 5.0
# Proxies close idle connections to replicas after 30 s, servers those of clients after 75 s.
QUIET_SECONDS: Final = 80.0
SETUP: Final = FleetSetup(replicas=3, proxies=2, watched=True)


class Soak:
    """One soak; collects what was wrong."""

    def __init__(self, fleet: FaultFleet, seed: int, minutes: float) -> None:
        self.soak_fleet = SoakFleet(fleet, random.Random(seed))  # noqa: S311 - an order, no secret
        self.monitor = ProcessMonitor(fleet)
        self.seconds = minutes * 60
        self.wrong: list[str] = []
        self.faults: Counter[str] = Counter()

    async def run(self) -> None:
        """Load, faults, quiet, judgement."""
        fleet = self.soak_fleet.fleet
        await self.monitor.look()
        idle = {name: samples[-1] for name, samples in self.monitor.series.items()}
        watching = asyncio.create_task(self.monitor.run())
        try:
            async with (
                fleet.loaded(RATE_PER_PROXY, fleet.proxies[0]) as first,
                fleet.loaded(RATE_PER_PROXY, fleet.proxies[1]) as second,
            ):
                await self._faults()
                await fleet.heal()
                served = [(await first.stop()).samples, (await second.stop()).samples]
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
        self._judge_answers(*served)
        self._judge_memory()
        quiet = min(QUIET_SECONDS, self.seconds)
        print(f"quiet for {quiet:.0f} s …", flush=True)
        await asyncio.sleep(quiet)
        await self.monitor.look()
        await self.monitor.look_at_keys()
        alive = {name: sample for name, sample in idle.items() if self._lives(name)}
        self.wrong += self.monitor.leaks(alive)
        self.wrong += [f"key without a life time: {key}" for key in sorted(self.monitor.eternal_keys)]
        await self._judge_in_flight()

    def _lives(self, name: str) -> bool:
        return any(f"{server.log.stem} {server.pid}" == name for server in self.soak_fleet.fleet.servers)

    async def _faults(self) -> None:
        began = time.monotonic()
        rng = self.soak_fleet.rng
        to_come: list[str] = []
        while (at := time.monotonic() - began) < self.seconds:
            if not to_come:  # each once, in a new order, before any comes again
                to_come = rng.sample(list(FAULTS), len(FAULTS))
            name = to_come.pop()
            seconds = rng.uniform(SHORTEST_SECONDS, LONGEST_SECONDS)
            self.faults[name] += 1
            print(f"{at:6.0f} s  {name} for {seconds:.1f} s", flush=True)
            try:
                await FAULTS[name](self.soak_fleet, seconds)
            except (AssertionError, OSError, TimeoutError) as error:
                self.wrong.append(f"{name} at {at:.0f} s did not heal: {str(error)[:300]}")
                await self.soak_fleet.fleet.heal()
            await asyncio.sleep(rng.uniform(1.0, LONGEST_PAUSE_SECONDS))

    def _judge_answers(self, first: list[Sample], second: list[Sample]) -> None:
        excused = [one for one in second if one.status == 0 and self.soak_fleet.excused(one.ended)]
        excused_numbers = {one.number for one in excused}
        judged = [*first, *(one for one in second if one.number not in excused_numbers)]
        seconds = [one.seconds for one in judged]
        unclear = [one for one in judged if not is_clear(one)]
        refused = [one for one in judged if one.failed and is_clear(one)]
        print(
            f"{len(judged)} requests: {len(judged) - len(unclear) - len(refused)} right, {len(refused)} refused clearly, "
            f"{len(unclear)} neither; {len(excused)} more found their proxy dead. p50 "
            f"{percentile_ms(seconds, 50):.0f} ms, p99 {percentile_ms(seconds, 99):.0f} ms"
        )
        print(f"refused: {failures(refused)}")
        if unclear:
            self.wrong.append(f"neither right nor refused clearly: {failures(unclear)}")

    def _judge_memory(self) -> None:
        warm_up = min(LONGEST_WARM_UP_SECONDS, WARM_UP_PART * self.seconds)
        grown = self.monitor.growth(warm_up)
        for name, samples in self.monitor.series.items():
            steps = samples[:: max(1, len(samples) // 10)]
            growth = f"{100 * grown[name]:+.1f} %" if name in grown else "too young"
            megabytes = " ".join(f"{sample.rss / MEGABYTE:.0f}" for sample in steps)
            print(f"{name:<22} {growth:>9}  MB: {megabytes}; descriptors {samples[-1].descriptors}")
        self.wrong += [
            f"memory of {name} grew by {100 * details:.1f} %"
            for name, details in grown.items()
            if details > MAX_GROWTH and not name.startswith("relays")  # they remember every request
        ]

    async def _judge_in_flight(self) -> None:
        fleet = self.soak_fleet.fleet
        for number, proxy in enumerate(fleet.proxies):
            in_flight = (await fleet.metrics(proxy))["in_flight"]
            loads = {replica["url"]: replica["load"] for replica in (await fleet.health(proxy))["replicas"]}
            if in_flight or any(loads.values()):
                self.wrong.append(f"proxy-{number}: {in_flight:.0f} requests in flight, loads {loads}")
        for replica in fleet.replicas:
            report = (await fleet.get(f"{replica.own_url}/report"))[1]
            if report["in_flight"] or (await replica.script())["running"]:
                self.wrong.append(f"replica {replica.name}: {report['in_flight']} in flight")


async def measure(seed: int, minutes: float, out: Path) -> list[str]:
    """Soak and return what was wrong."""
    async with running_fleet(SETUP, out) as fleet:
        soak = Soak(fleet, seed, minutes)
        await soak.run()
    summary = {
        "seed": seed,
        "minutes": minutes,
        "faults": soak.faults,
        "wrong": soak.wrong,
        "series": soak.monitor.series,
    }
    await asyncio.to_thread((out / "soak.json").write_text, json.dumps(summary))
    print(f"faults: {dict(soak.faults.most_common())}")
    return soak.wrong


def main(arguments: Sequence[str] | None = None) -> int:
    """Soak, print, and say by the exit status whether all was well."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.soak", description="Random faults under load.")
    parser.add_argument("--minutes", type=float, default=20.0, help="length (default: %(default)s)")
    parser.add_argument("--seed", type=int, help="of the faults (default: a new one, printed)")
    parser.add_argument("--out", type=Path, default=Path(".run/soak"), help="folder (default: %(default)s)")
    options = parser.parse_args(arguments)
    seed: int = secrets.randbelow(1_000_000) if options.seed is None else options.seed
    folder = RunFolder(options.out)
    print(f"seed {seed}, {options.minutes:g} minutes, logs in {folder.path}", flush=True)
    wrong = asyncio.run(measure(seed, options.minutes, folder.path))
    print("\n".join(["wrong:", *wrong]) if wrong else "nothing wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
