"""The servers under hostile requests: a proxy without keys, one with, one with a cache, and an API server with every prompt family.

The proxies' fleet serves 100 languages by a fake replica, which is a process of its own and echoes.
"""

from __future__ import annotations

import itertools
import json
import sys
import time
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

import yaml

from apiserver.catalog.model_entry import CANARIES
from apiserver.prompts.builtin_prompts import FAMILIES
from benchmarks.harness.processes import Server, free_port, http_get, redis_server
from shared.languages import LanguagePair
from tests.hostile.echo_engine import LOSSY
from tests.hostile.probe import ProbeFile
from tests.support.waiting import wait_until

TOKEN: Final = "a-token-that-is-long-enough"
READY_SECONDS: Final = 120.0
# Every direction between them, as one multilingual model has.
_TAGS: Final = (
    "en de fr es it pt nl pl cs sk sl hr ro hu fi sv da el bg et lv lt uk ru tr ar he fa hi bn ja ko zh zh-Hant th "
    "vi id ms af am az ba be br bs ca ceb cy eo eu ff fo fy ga gd gl gu ha hy ig ilo is jv ka kk km kn ku ky lb lg "
    "ln lo mg mk ml mn mr mt my ne no ns oc or pa ps qu rw sd si so sq sr su sw tk tt uz yo"
)
LANGUAGES: Final = tuple(_TAGS.split())
MULTILINGUAL: Final = 100
# A loaded machine is no dead replica, and nothing but the request at hand should cost processor time.
_PATIENT: Final = {"DRAIN_SECONDS": "0", "REQUEST_TIMEOUT": "600", "LOG_FORMAT": "json"}
# As `deploy/models/hy-mt2-1.8b.yaml`: 8,192 tokens of four characters.
_LARGE: Final = {"max_model_len": 16_384, "max_num_seqs": 64}
# As `deploy/models/demo.yaml`: 512 tokens, and segments of 48.
_SMALL: Final = {"max_model_len": 1024, "max_num_seqs": 16}
_CLOCK_OF_PROCESS: Final = 2


class WatchedServer:
    """One of our servers, with its probe."""

    def __init__(self, kind: str, name: str, folder: Path, environment: Mapping[str, str]) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.name = name
        prefix = "PROXY" if kind == "proxy" else "APISERVER"
        settings = {
            f"{prefix}_{key}": value for key, value in {**_PATIENT, **environment, "PORT": str(self.port)}.items()
        }
        figures = folder / f"{name}.probe"
        command = [sys.executable, "-m", "tests.hostile.launch", kind, str(figures)]
        self.server = Server(command, folder / f"{name}.log", settings)
        self.probe = ProbeFile(figures)
        self.stacks = figures.with_suffix(".stacks")

    def cpu_seconds(self) -> float:
        """Return the processor time so far of the process and of its helper processes."""
        return sum(map(_clock, _family(self.server.pid)))


def _family(pid: int) -> Iterator[int]:
    """Yield a process and those below it; psutil would read all of the machine's."""
    yield pid
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):  # the thread ended
            for child in children.read_text().split():
                yield from _family(int(child))


def _clock(pid: int) -> float:
    """Return the processor time of a process, in nanoseconds' resolution (clock_getcpuclockid(3))."""
    try:
        return time.clock_gettime(~pid << 3 | _CLOCK_OF_PROCESS)
    except OSError:  # it ended
        return 0.0


def fleet_pairs() -> list[str]:
    """Return the pairs of the fake replica, as it takes them."""
    pairs = dict.fromkeys(itertools.permutations(LANGUAGES[:MULTILINGUAL], 2))
    for language in LANGUAGES[MULTILINGUAL:]:
        pairs |= dict.fromkeys((("en", language), (language, "en")))
    return [f"{source}>{target}" for source, target in pairs]


def catalog() -> dict[str, Any]:
    """Return a catalog of models for each family, each with pairs of its own, and no two from one language.

    So the echo engine knows the answer to a canary.
    """
    models: dict[str, Any] = {
        "demo-tags": _entry("demo-tags", ["en-de", "de-en"], masks=["names", "numbers"], small=True),
        "hy-mt2": _entry("hy-mt2", ["en-fr", "zh-en", "ja-en"]),
        "hy-mt2-east": _entry("hy-mt2", ["en-zh"]),
        f"hy-mt2-{LOSSY}": _entry("hy-mt2", ["fr-en"]),
        "custom": _entry({"template": "Into {target}:\n\n{text}"}, ["en-es"]),
    }
    taken = {pair for entry in models.values() for pair in entry["pairs"]}
    families = (family for name, family in FAMILIES.items() if name not in models)
    for family in sorted(families, key=lambda each: len(each.languages or CANARIES)):
        free = (LanguagePair("en", tag) for tag in CANARIES if tag != "en" and f"en-{tag}" not in taken)
        pair = str(next(pair for pair in free if family.refusal(pair) is None))
        taken.add(pair)
        models[family.name] = _entry(family.name, [pair])
    return {"models": models}


def _entry(prompt: object, pairs: Sequence[str], *, masks: Sequence[str] = (), small: bool = False) -> dict[str, Any]:
    engine = {"engine": _SMALL, "segment": {"tokens": 96, "sentences": 1}} if small else {"engine": _LARGE}
    return {"path": "org/model", "pairs": list(pairs), "prompt": prompt, "masks": list(masks), **engine}


def family_pairs() -> dict[str, str]:
    """Return the first pair of each model of the catalog."""
    return {name: entry["pairs"][0] for name, entry in catalog()["models"].items()}


class HostileFleet:
    """Everything that runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        redis, cache, replica = free_port(), free_port(), free_port()
        command = [sys.executable, "-m", "tests.hostile.launch", "replica", str(replica), ",".join(fleet_pairs())]
        replicas = Server(command, folder / "replica.log")
        self.others = [redis_server(redis, folder), redis_server(cache, folder), replicas]
        shared = {
            "REPLICAS": f"http://127.0.0.1:{replica}",
            "REDIS_URL": f"redis://127.0.0.1:{redis}/0",
            "REDIS_TIMEOUT": "5",
            "PROBE_INTERVAL": "15",
            "PROBE_TIMEOUT": "30",
            "OPERATOR_TOKEN": TOKEN,
        }
        models = folder / "models.yaml"
        models.write_text(yaml.safe_dump(catalog()))
        self.proxy = WatchedServer("proxy", "proxy", folder, {**shared, "KEYS": "off"})
        self.keyed = WatchedServer("proxy", "keyed", folder, {**shared, "KEYS": "on"})
        cached = {"CACHE_BYTES": str(64 << 20), "CACHE_REDIS_URL": f"redis://127.0.0.1:{cache}/0"}
        self.cached = WatchedServer("proxy", "cached", folder, {**shared, "KEYS": "off", **cached})
        own = {"CATALOG": str(models), "QUEUE_SECONDS": "600", "MAX_WAITING": "100000", "OPERATOR_TOKEN": TOKEN}
        self.apiserver = WatchedServer("apiserver", "apiserver", folder, own)
        self.watched = {each.name: each for each in (self.proxy, self.keyed, self.cached, self.apiserver)}

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Run everything while the block lasts."""
        servers = [*self.others, *(each.server for each in self.watched.values())]
        try:
            for server in servers:
                server.start()
            await wait_until(self._is_ready, READY_SECONDS, f"the servers are ready; logs are in {self.folder}")
            yield
        finally:
            for server in reversed(servers):
                server.stop()

    def _is_ready(self) -> bool:
        try:
            for proxy in (self.proxy, self.keyed, self.cached):
                pairs = json.loads(http_get(f"{proxy.url}/health"))["pairs"]
                if sum(bool(pair["ready"]) for pair in pairs.values()) < len(fleet_pairs()):
                    return False
            report = json.loads(http_get(f"{self.apiserver.url}/report"))
        except OSError:
            return False
        return all(pair["ready"] for pair in report["pairs"].values())
