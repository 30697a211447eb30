"""Table of the proxies that are compared: another one is another line.

A command, a configuration file and variables may hold ``$port`` (where it listens), ``$spare`` (a port for what else it
listens on), ``$first`` and ``$second`` (the replicas' ports), ``$redis`` (Redis's port), ``$python`` (ours), ``$folder``
(for its files), ``$bin`` (the programs of its own environment: it has one where ``NAME.txt`` beside this file pins
its packages) and ``$before`` (the checkout that our proxy is compared with). A ``config`` is a file beside this one that is filled in
and put into the folder.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from benchmarks.harness.http_load import TEXT, TRANSLATE_BODY

HERE: Final = Path(__file__).parent
DIRECT: Final = "direct"
OURS: Final = "pairway"
AGAIN: Final = "pairway-again"
BEFORE: Final = "pairway-before"
LIBRETRANSLATE: Final = "libretranslate"
DEEPL: Final = "deepl"
RUST: Final = "vllm-router"
ASGI: Final = "asgi-aiohttp"
CHAT: Final = "/v1/chat/completions", f'{{"model":"m","messages":[{{"role":"user","content":{TEXT}}}]}}'
# A copy of the pins, put there last: an environment without it, or with another one, is made again.
STAMP: Final = "installed.txt"
INSTALL_SECONDS: Final = 900.0


class PeerMissingError(Exception):
    """The peer cannot be had here; the message says why."""


@dataclass(frozen=True)
class Peer:
    """A proxy: its name, how it is started, what it is sent: ``body`` is JSON in which ``TEXT`` stands for a text."""

    name: str
    command: str
    path: str = "/translate"
    body: str = TRANSLATE_BODY
    config: str = ""
    variables: Mapping[str, str] = field(default_factory=dict[str, str])

    def programs(self, environments: Path) -> Path:
        """Return the folder with its programs, after installing them where they are missing. pip installs.

        Raises:
            PeerMissingError: they cannot be had.
        """
        folder, pins = environments / self.name, HERE / f"{self.name}.txt"
        if not pins.exists():
            program = self.command.split(" ", 1)[0]
            if program and "$" not in program and shutil.which(program) is None:
                raise PeerMissingError(f"{program} is not on the PATH (Debian: apt install {program})")
            return folder / "bin"
        stamp = folder / STAMP
        if not stamp.exists() or stamp.read_text() != pins.read_text():
            print(f"installing {self.name} into {os.path.relpath(folder)} (a minute or more)", flush=True)
            shutil.rmtree(folder, ignore_errors=True)
            _run([sys.executable, "-m", "venv", str(folder)])
            _run([str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-deps", "-r", str(pins)])
            shutil.copyfile(pins, stamp)
        return folder / "bin"


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=INSTALL_SECONDS)
    except subprocess.TimeoutExpired:
        raise PeerMissingError(f"it could not be installed within {INSTALL_SECONDS:g} s") from None
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines() or [f"exit status {done.returncode}"]
        raise PeerMissingError(f"it cannot be installed: {lines[-1]}")


# Texts in lists, as the official client sends them.
LIBRETRANSLATE_BODY: Final = f'{{"q":{TEXT},"source":"en","target":"de"}}'
DEEPL_BODY: Final = f'{{"target_lang":"DE","source_lang":"EN","text":[{TEXT}],"show_billed_characters":true}}'


def _pairway(
    name: str,
    command: str = "$python -m proxy",
    path: str = "/translate",
    body: str = TRANSLATE_BODY,
    **settings: str,
) -> Peer:
    """Return our proxy; each has keys of its own in Redis, for a checkout of before may write other ones."""
    variables = {
        "PROXY_PORT": "$port",
        "PROXY_REPLICAS": "http://127.0.0.1:$first,http://127.0.0.1:$second",
        "PROXY_REDIS_URL": "redis://127.0.0.1:$redis/0",
        "PROXY_REDIS_PREFIX": f"{name}:",
    }
    return Peer(name, command, path, body, variables={**variables, **settings})


_ROUTER: Final = (
    "$bin/vllm-router --host 127.0.0.1 --port $port --worker-urls http://127.0.0.1:$first http://127.0.0.1:$second"
    " --policy power_of_two --prometheus-port $spare --log-level warning"
)
_LITELLM: Final = "$bin/litellm --config $folder/litellm.yaml --host 127.0.0.1 --port $port --num_workers 1"
# Nothing from the network; and no keys, as ours has none here: it listens on loopback, before a replica that holds nothing.
_LITELLM_ALONE: Final = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true",
}

PEERS: Final = (
    Peer(DIRECT, ""),
    _pairway(OURS),
    # The same proxy, through a compatible API.
    _pairway(LIBRETRANSLATE, path="/libretranslate/translate", body=LIBRETRANSLATE_BODY),
    _pairway(DEEPL, path="/deepl/v2/translate", body=DEEPL_BODY),
    # vllm-router, nginx and asgi-aiohttp write no line for a request.
    _pairway("pairway-quiet", PROXY_LOG_LEVEL="warning"),
    Peer(RUST, _ROUTER, *CHAT),
    Peer("nginx", "nginx -e stderr -p $folder -c $folder/nginx.conf", config="nginx.conf"),
    Peer(ASGI, "$python -m benchmarks.proxy.peers.asgi_aiohttp $port $first $second"),
    Peer("litellm", _LITELLM, *CHAT, "litellm.yaml", _LITELLM_ALONE),
)
# Our proxy from another checkout, in its folder; and ours a second time: what the two differ by is noise.
VERSIONS: Final = (_pairway(OURS), _pairway(AGAIN), _pairway(BEFORE, "env --chdir=$before $python -m proxy"))
