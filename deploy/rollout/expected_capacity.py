"""Expected replicas, which a roll sets at its end."""

from __future__ import annotations

from collections.abc import Callable

from deploy.rollout.containers import Kind
from deploy.rollout.docker import Docker, Project


def confirm_capacity(docker: Docker, project: Project, say: Callable[[str], None]) -> None:
    """Set the expected replicas, which the proxies compare with those that are ready."""
    counts = {each.name: each.replicas for each in project.services if each.kind is Kind.API_SERVER}
    project.containers = docker.read_containers(project.name)
    proxies = project.running(Kind.PROXY)
    if not counts or not proxies:
        return
    # One refused service would refuse all.
    known = (docker.read_health(proxies[0]) or {}).get("services", counts)
    if unknown := sorted(counts.keys() - known.keys()):
        say(f"{', '.join(unknown)}: no expected replicas, because PROXY_REPLICAS does not name it")
    wanted = [f"{name}={count}" for name, count in counts.items() if name in known]
    command = ("python", "-m", "proxy.fleet", "expect", *wanted)
    if not wanted:
        return
    if docker.execute(proxies[0], *command) is None:
        say(f"expected replicas were not set; do it later: docker compose exec proxy {' '.join(command)}")
    else:
        say(f"expected replicas: {', '.join(wanted)}")
