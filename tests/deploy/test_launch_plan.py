"""The launch plan: its models, its ports, and the sentences that refuse it; test_local.py has them in the launcher."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from deploy.launch_plan import LaunchPlan, LaunchPlanError, check_port, is_port_free
from tests.support.processes import free_ports


@pytest.mark.parametrize(
    ("host", "url"),
    [
        *(("127.0.0.1", "http://127.0.0.1:8000"), ("0.0.0.0", "http://127.0.0.1:8000")),
        *(("::", "http://[::1]:8000"), ("::1", "http://[::1]:8000")),
    ],
)
def test_proxy_url_is_reachable_from_this_machine(host: str, url: str) -> None:
    assert LaunchPlan(host, 8000, 8001, Path("models.yaml")).proxy_url == url


def test_read_models_numbers_the_ports_in_order(tmp_path: Path) -> None:
    catalog = tmp_path / "models.yaml"
    catalog.write_text("models: {a: {path: some/name}, b: {path: other/name, pairs: [en-de]}}")
    assert LaunchPlan("127.0.0.1", 8000, 9000, catalog).read_models() == {"a": 9000, "b": 9001}


def test_check_ports_refuses_a_port_for_two_servers(tmp_path: Path) -> None:
    catalog = tmp_path / "models.yaml"
    catalog.write_text("models: {a: {path: some/name}}")
    port = free_ports(1)
    with pytest.raises(LaunchPlanError, match=f"port {port} is wanted for the proxy and for the API server of a"):
        LaunchPlan("127.0.0.1", port, port, catalog).check_ports()


def test_check_port_refuses_an_unknown_host() -> None:
    with pytest.raises(LaunchPlanError, match="the address no such host for the proxy is unknown"):
        check_port("no such host", free_ports(1), "the proxy", "choose another")


def test_port_is_free_when_nothing_listens_there() -> None:
    port = free_ports(1)
    with socket.socket() as other:
        other.bind(("127.0.0.1", port))
        other.listen()
        assert not is_port_free("127.0.0.1", port)
    assert is_port_free("127.0.0.1", port)
