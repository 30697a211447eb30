"""A private Prometheus for the launcher, with the rules of ``deploy/monitoring`` (``make up MONITORING=1``)."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from deploy import run_folder
from deploy.launch_plan import LOOPBACK, LaunchPlan

RULES = Path("deploy/monitoring/rules")
# Where `make test-monitoring-setup` installs one.
INSTALLED = Path(".cache/monitoring")
MISSING = "MONITORING=1 needs Prometheus: `make test-monitoring-setup` installs it without root, or put `prometheus` on the PATH"
# What it writes, in the run folder: its configuration and its data, which end with the run.
FOLDER = "prometheus"
# The rules are written for these.
INTERVAL = "15s"
MAX_DATA = "1GB"
TOKEN_BYTES = 24


def find_prometheus() -> Path | None:
    """Return the one that make installed, else the one on the PATH."""
    installed = sorted(INSTALLED.glob("prometheus-*/usr/bin/prometheus"))
    found = str(installed[-1]) if installed else shutil.which("prometheus")
    return Path(found).absolute() if found else None


def write_tokens(run_dir: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """Write what Prometheus shows the servers; return the environment with the observer's token.

    The run has a token of its own, unless the environment has the operator's.
    """
    token = environment.get("PROXY_OBSERVER_TOKEN", secrets.token_urlsafe(TOKEN_BYTES))
    run_folder.write(run_dir, run_folder.OBSERVER_TOKEN, token)
    run_folder.write(run_dir, run_folder.APISERVER_TOKEN, environment.get("APISERVER_TOKEN", ""))
    return {**environment, "PROXY_OBSERVER_TOKEN": token}


def prepare(binary: Path, run_dir: Path, plan: LaunchPlan, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Write the configuration for a plan; return the command."""
    operator_port = environment.get("PROXY_OPERATOR_PORT", "0")
    # The proxy has its metrics at that port, if there is one.
    proxy = urlsplit(plan.proxy_url).netloc if operator_port in ("", "0") else f"{LOOPBACK}:{operator_port}"
    apiservers = [f"{LOOPBACK}:{port}" for port in plan.read_models().values()]
    folder = run_dir.resolve() / FOLDER
    remove(run_dir)
    folder.mkdir()
    configuration = {
        "global": {"scrape_interval": INTERVAL, "evaluation_interval": INTERVAL},
        "rule_files": [str(RULES.resolve() / "*.yaml")],
        "scrape_configs": [
            _job("pairway-proxy", run_dir / run_folder.OBSERVER_TOKEN, [proxy]),
            _job("pairway-apiserver", run_dir / run_folder.APISERVER_TOKEN, apiservers),
        ],
    }
    file = folder / "prometheus.yml"
    file.write_text(yaml.safe_dump(configuration))
    return (
        str(binary),
        f"--config.file={file}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--storage.tsdb.retention.size={MAX_DATA}",
        f"--web.listen-address={LOOPBACK}:{plan.prometheus_port}",
    )


def _job(name: str, token: Path, targets: list[str]) -> dict[str, object]:
    return {
        "job_name": name,
        "authorization": {"credentials_file": str(token.resolve())},
        "static_configs": [{"targets": targets}],
    }


def remove(run_dir: Path) -> None:
    """Remove its configuration and data, if there are any."""
    shutil.rmtree(run_dir / FOLDER, ignore_errors=True)
