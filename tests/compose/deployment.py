"""Fleet of the compose file in Docker, as an operator runs it; everything of it is removed at the end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import aiohttp

from benchmarks.harness.processes import free_ports
from tests.compose.checkout import change_sources, command_environment, copied_checkout, write_settings
from tests.compose.commands import CommandFailedError, CommandResult, CommandRunner
from tests.support.waiting import wait_until

PROJECT = "pairway-compose-test"
# The service's models serve these; all others go through two of them.
SERVED = {"apiserver-de": ("en-de", "de-en"), "apiserver-fr": ("en-fr", "fr-en", "en-es", "es-en")}
# Replicas of each service; "proxy" with the edge in front.
Scale = Mapping[str, int]
FIRST, SECOND = "compose-test-1", "compose-test-2"
OPERATOR_TOKEN = "operator-token-of-the-compose-test"
MODEL_TOKEN = "model-token-of-the-compose-test"
# Proxies' ports: a roll has twice as many proxies for a moment.
PROXY_PORTS = 8

BUILD_SECONDS = 1800.0
# Four engines start at once on two cores.
UP_SECONDS = 900.0
COMMAND_SECONDS = 120.0
READY_SECONDS = 300.0
LOOK_SECONDS = 0.5
HEALTH_SECONDS = 2.0
KILL_MAIN_PROCESS = (
    "import os, pathlib, signal; "
    "[os.kill(int(each.name), signal.SIGKILL) for each in pathlib.Path('/proc').iterdir() "
    "if each.name.isdigit() and int(each.name) != os.getpid() "
    "and each.joinpath('stat').read_text().rpartition(') ')[2].split()[1] == '1']"
)


@dataclass(frozen=True)
class Container:
    """One container as Docker describes it; ``url`` is its published port, else its address in the bridge."""

    id: str
    name: str
    service: str
    image: str
    running: bool
    started: str
    url: str


class Deployment:
    """Fleet under test; use :func:`deployed`."""

    def __init__(self, folder: Path, runner: CommandRunner, session: aiohttp.ClientSession) -> None:
        self.folder = folder
        self.key = ""
        self._runner = runner
        self._session = session
        self._built: set[str] = set()
        self._proxy_urls: list[str] = []
        first = free_ports(PROXY_PORTS + 1)
        self._base = {
            "COMPOSE_PROFILES": "edge",
            "PAIRWAY_PORT": f"{first}-{first + PROXY_PORTS - 1}",
            "PAIRWAY_EDGE_PORT": str(first + PROXY_PORTS),
            # Apart from the network of an operator's own fleet.
            "PAIRWAY_EDGE_NETWORK": "10.247.84",
            # The load stands for many callers, and all have one address (docs/operations/nginx.md).
            "PAIRWAY_EDGE_CLIENT_CONNECTIONS": "600",
            "PAIRWAY_VERSION": FIRST,
            "PAIRWAY_PROXIES": "2",
            "PAIRWAY_DE_REPLICAS": "1",
            "PAIRWAY_FR_REPLICAS": "1",
            "PAIRWAY_MODELS_DIR": "./mine",
            "PROXY_KEYS": "on",
            "PROXY_OPERATOR_TOKEN": OPERATOR_TOKEN,
            "APISERVER_OPERATOR_TOKEN": MODEL_TOKEN,
        }
        self.settings: dict[str, str] = {}

    # ---- commands of an operator ----

    async def compose(self, *arguments: str, within: float = UP_SECONDS, check: bool = True) -> CommandResult:
        """Run ``docker compose``; a failure raises CommandFailedError where it is to be checked."""
        return await self._runner.run("docker", "compose", *arguments, within=within, check=check)

    async def docker(self, *arguments: str, check: bool = True) -> CommandResult:
        """Run ``docker``."""
        return await self._runner.run("docker", *arguments, within=COMMAND_SECONDS, check=check)

    async def make(self, *arguments: str, within: float = 2 * UP_SECONDS, check: bool = True) -> CommandResult:
        """Run ``make`` in the operator's folder."""
        return await self._runner.run("make", "--no-print-directory", *arguments, within=within, check=check)

    def set(self, **settings: str) -> None:
        """Change lines of the ``.env``; other commands make them take effect."""
        self.settings.update(settings)
        write_settings(self.folder, self.settings)

    def restore(self, settings: Mapping[str, str] | None = None) -> None:
        """Write the ``.env`` with exactly these settings; without any as it is at first."""
        self.settings = dict(settings or self._base)
        write_settings(self.folder, self.settings)

    async def build(self, version: str) -> None:
        """Build the images of a version; that of the second differ in one file."""
        if version in self._built:
            return
        before = self.settings.get("PAIRWAY_VERSION", FIRST)
        if version != FIRST:
            change_sources(self.folder, version)
        self.set(PAIRWAY_VERSION=version)
        await self.compose("build", within=BUILD_SECONDS)
        self._built.add(version)
        self.set(PAIRWAY_VERSION=before)

    async def prepare(self, settings: Mapping[str, str]) -> None:
        """Bring the fleet to these settings (others as at first), whatever that costs, and wait until it is whole."""
        wanted = {**self._base, **settings}
        if self.settings != wanted or not await self.containers("proxy"):
            self.restore(wanted)
            await self.compose("up", "-d", "--wait", "--remove-orphans")
            await self.expect()
        await self.until_whole()

    async def create_key(self) -> None:
        """Create the load's key, as the documents say."""
        command = ("exec", "-T", "proxy", "python", "-m", "proxy", "keys", "create", "--name", "load")
        result = await self.compose(*command, within=COMMAND_SECONDS)
        self.key = next(word for word in result.output.split() if word.startswith("pw_"))

    async def expect(self) -> None:
        """Say how many servers there should be, as the documents ask for after a change of scale."""
        counts = [f"{service}={number}" for service, number in self.scale.items() if service in SERVED]
        command = ("exec", "-T", "proxy", "python", "-m", "proxy", "fleet", "expect", *counts)
        await self.compose(*command, within=COMMAND_SECONDS)

    # ---- what there is ----

    @property
    def scale(self) -> dict[str, int]:
        """Replicas that the settings ask for."""
        names = {"apiserver-de": "DE_REPLICAS", "apiserver-fr": "FR_REPLICAS", "proxy": "PROXIES"}
        return {service: int(self.settings[f"PAIRWAY_{name}"]) for service, name in names.items()}

    async def containers(self, service: str, *, stopped: bool = False) -> list[Container]:
        """Return a service's running containers, the oldest first; ``stopped``: all others too."""
        found = await self._describe(service)
        return [each for each in found if stopped or each.running]

    async def _describe(self, service: str) -> list[Container]:
        labels = (f"com.docker.compose.project={PROJECT}", f"com.docker.compose.service={service}")
        filters = [part for label in labels for part in ("--filter", f"label={label}")]
        listed = await self._quiet("docker", "ps", "--all", "--quiet", "--no-trunc", *filters)
        if not listed.split():
            return []
        described = await self._quiet("docker", "inspect", *listed.split())
        containers = cast("list[dict[str, Any]]", json.loads(described or "[]"))
        return [_container(each, service) for each in sorted(containers, key=lambda each: each["Created"])]

    async def _quiet(self, *command: str) -> str:
        """Return what a command prints, '' where it fails; it is in no record."""
        process = await asyncio.create_subprocess_exec(
            *command, env=self._runner.environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
        )
        async with asyncio.timeout(COMMAND_SECONDS):
            output, _ = await process.communicate()
        return output.decode()

    async def url(self, service: str) -> str:
        """Return the address of a service's first container."""
        return (await self.containers(service))[0].url

    async def get(self, url: str) -> Any:
        """Return the JSON of an answer, {} when there is none."""
        try:
            async with self._session.get(url, timeout=aiohttp.ClientTimeout(total=HEALTH_SECONDS)) as response:
                return await response.json(content_type=None)
        except (aiohttp.ClientError, OSError, ValueError):
            return {}

    async def health(self) -> dict[str, Any]:
        """Return what the first proxy that answers says of the fleet; {} when none does."""
        for url in self._proxy_urls:
            if health := await self.get(f"{url}/health"):
                return health
        # Addresses are asked for only then, because that costs more than the answer.
        self._proxy_urls = [proxy.url for proxy in await self.containers("proxy")]
        return {}

    async def in_flight(self) -> int:
        """Return the requests that API servers have from proxies now."""
        answers = [await self.get(f"{proxy.url}/health") for proxy in await self.containers("proxy")]
        return sum(replica["in_flight"] for health in answers for replica in health.get("replicas", []))

    async def is_whole(self, scale: Scale | None = None) -> bool:
        """Say whether every proxy that there should be sees every replica that there should be, and Redis."""
        wanted = {**self.scale, **(scale or {})}
        proxies = await self.containers("proxy")
        if len(proxies) != wanted["proxy"]:
            return False
        for health in await asyncio.gather(*(self.get(f"{proxy.url}/health") for proxy in proxies)):
            pairs = health.get("pairs", {})
            if health.get("status") != "ok" or not health["redis"]["up"]:
                return False
            for service, served in SERVED.items():
                if any(pairs.get(pair, {}).get("ready") != wanted[service] for pair in served):
                    return False
        return True

    async def until_whole(self, within: float = READY_SECONDS, scale: Scale | None = None) -> None:
        """Wait until :meth:`is_whole`."""
        try:
            await wait_until(lambda: self.is_whole(scale), within, "the fleet is whole", pause=LOOK_SECONDS)
        except AssertionError as error:
            raise CommandFailedError(f"{error}; /health: {json.dumps(await self.health())[:1000]}") from None

    async def until_restarted(self, container: Container) -> None:
        """Wait until Docker has started a container again whose server ended."""

        async def is_restarted() -> bool:
            there = {each.id: each for each in await self.containers(container.service)}
            return container.id in there and there[container.id].started != container.started

        await wait_until(is_restarted, READY_SECONDS, f"{container.name} is started again", pause=LOOK_SECONDS)

    async def kill_main_process(self, container: Container) -> None:
        """SIGKILL the server inside, not the container: Docker starts it again."""
        # The exec dies with its container.
        await self.docker("exec", container.id, "python", "-c", KILL_MAIN_PROCESS, check=False)

    async def logs(self, path: Path) -> None:
        """Write the containers' last lines to a file."""
        result = await self.compose("logs", "--no-color", "--tail", "400", within=COMMAND_SECONDS, check=False)
        await asyncio.to_thread(path.write_text, result.output)

    # ---- end ----

    async def remove(self) -> None:
        """Remove containers, networks, volumes, and the images that were built."""
        write_settings(self.folder, {**self._base, "COMPOSE_PROFILES": "edge,check"})
        await self.compose("down", "--volumes", "--remove-orphans", "--timeout", "10", check=False)
        for version in sorted(self._built):
            for image in (f"pairway-proxy:{version}", f"pairway-apiserver:{version}-cpu"):
                await self.docker("image", "rm", "--force", image, check=False)

    async def left_over(self) -> list[str]:
        """Return what is still there of the project, and of the images that were built."""
        label = f"label=com.docker.compose.project={PROJECT}"
        found: list[str] = []
        for kind in ("container", "volume", "network"):
            everything = ["--all"] if kind == "container" else []
            listed = await self.docker(kind, "ls", *everything, "--quiet", "--filter", label)
            found += [f"{kind} {each}" for each in listed.output.split()]
        for version in sorted(self._built):
            listed = await self.docker("image", "ls", "--quiet", "--filter", f"reference=pairway-*:{version}*")
            found += [f"image {each}" for each in listed.output.split()]
        return found


def _container(described: dict[str, Any], service: str) -> Container:
    state: dict[str, Any] = described["State"]
    network: dict[str, Any] = described["NetworkSettings"]
    bindings: dict[str, list[dict[str, str]] | None] = network.get("Ports") or {}
    published = [each for ports in bindings.values() for each in ports or []]
    addresses = [each["IPAddress"] for each in network["Networks"].values() if each["IPAddress"]]
    url = f"http://127.0.0.1:{published[0]['HostPort']}" if published else ""
    if not url and addresses:
        url = f"http://{addresses[0]}:{8000 if service == 'proxy' else 8001}"
    return Container(
        described["Id"],
        described["Name"].removeprefix("/"),
        service,
        described["Image"],
        state["Running"] and not state["Restarting"],
        state["StartedAt"],
        url,
    )


@asynccontextmanager
async def deployed(folder: Path, out: Path, leftovers: list[str]) -> AsyncGenerator[Deployment]:
    """Copy the checkout, build the images, and give the fleet; remove it at the end and add what is left to ``leftovers``."""
    copied_checkout(folder)
    # The operator's catalogs: nobody but the row that needs one writes here.
    (folder / "mine").mkdir()
    runner = CommandRunner(folder, command_environment(PROJECT), out / "commands.log")
    async with aiohttp.ClientSession() as session:
        fleet = Deployment(folder, runner, session)
        try:
            # What a killed run left behind.
            await fleet.remove()
            fleet.restore()
            await fleet.build(FIRST)
            yield fleet
        finally:
            await fleet.remove()
            leftovers += await fleet.left_over()
