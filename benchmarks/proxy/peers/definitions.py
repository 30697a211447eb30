"""The proxies that are compared: another one is another line of the table.

A command, a configuration file and variables may hold ``$port`` (where it listens), ``$spare`` (a port for what else it
listens on), ``$first`` and ``$second`` (the replicas' ports), ``$redis`` (Redis's port), ``$python`` (ours), ``$folder``
(for its files) and ``$bin`` (the programs of its own environment: it has one where ``NAME.txt`` beside this file pins
what is in it). A ``config`` is a file beside this one that is filled in and put into the folder.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.proxy.requests import CHAT, TRANSLATE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.proxy.requests import Wire

HERE: Final = Path(__file__).parent
DIRECT: Final = "direct"
OURS: Final = "pairway"
RUST: Final = "vllm-router"
PLAIN: Final = "fastapi-httpx"


@dataclass(frozen=True)
class Peer:
    """A proxy: its name, how it is started, what it is asked."""

    name: str
    command: str
    wire: Wire
    config: str = ""
    variables: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def pins(self) -> Path | None:
        """What is in its own environment, None where it has none."""
        path = HERE / f"{self.name}.txt"
        return path if path.exists() else None


_PAIRWAY: Final = {
    "PROXY_PORT": "$port",
    "PROXY_REPLICAS": "http://127.0.0.1:$first,http://127.0.0.1:$second",
    "PROXY_REDIS_URL": "redis://127.0.0.1:$redis/0",
}
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
    Peer(DIRECT, "", TRANSLATE),
    Peer(OURS, "$python -m proxy", TRANSLATE, variables=_PAIRWAY),
    # vllm-router, nginx and the plain ones write no line for a request.
    Peer("pairway-quiet", "$python -m proxy", TRANSLATE, variables={**_PAIRWAY, "PROXY_LOG_LEVEL": "warning"}),
    Peer(RUST, _ROUTER, CHAT),
    Peer("nginx", "nginx -e stderr -p $folder -c $folder/nginx.conf", TRANSLATE, "nginx.conf"),
    Peer(PLAIN, "$python -m benchmarks.proxy.peers.fastapi_httpx $port $first $second", TRANSLATE),
    Peer("asgi-aiohttp", "$python -m benchmarks.proxy.peers.asgi_aiohttp $port $first $second", TRANSLATE),
    Peer("litellm", _LITELLM, CHAT, "litellm.yaml", _LITELLM_ALONE),
)
