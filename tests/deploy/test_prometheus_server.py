"""The launcher's Prometheus: which is taken, and what it is told."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from deploy.launch_plan import LaunchPlan
from deploy.prometheus_server import INSTALLED, find_prometheus, prepare, remove


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_that_of_make_is_taken_before_one_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert find_prometheus() is None
    on_path = program(tmp_path / "bin" / "prometheus")
    assert find_prometheus() == on_path
    program(tmp_path / INSTALLED / "prometheus-alertmanager-0" / "usr/bin/prometheus-alertmanager")
    installed = program(tmp_path / INSTALLED / "prometheus-0" / "usr/bin/prometheus")
    assert find_prometheus() == installed


@pytest.mark.parametrize(
    ("operator_port", "target"), [("", "[::1]:8000"), ("0", "[::1]:8000"), ("8100", "127.0.0.1:8100")]
)
def test_proxy_is_asked_where_it_has_its_metrics(tmp_path: Path, operator_port: str, target: str) -> None:
    (tmp_path / "prometheus").mkdir()
    (tmp_path / "prometheus" / "old").write_text("of a run that was killed")
    catalog = tmp_path / "models.yaml"
    catalog.write_text("models: {en-de: {path: some/name}}")
    plan = LaunchPlan("::1", 8000, 8001, catalog, 9090)
    command = prepare(Path("prometheus"), tmp_path, plan, {"PROXY_OPERATOR_PORT": operator_port})
    assert command[-1] == "--web.listen-address=127.0.0.1:9090"
    (file,) = (tmp_path / "prometheus").iterdir()
    proxy, apiservers = yaml.safe_load(file.read_text())["scrape_configs"]
    assert proxy["static_configs"] == [{"targets": [target]}]
    assert apiservers["static_configs"] == [{"targets": ["127.0.0.1:8001"]}]
    remove(tmp_path)
    assert not file.parent.exists()
