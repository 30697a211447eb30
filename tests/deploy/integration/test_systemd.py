"""The systemd units: systemd accepts them, and they are of one mind with the servers."""

from __future__ import annotations

import configparser
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from apiserver.engine.vllm_engine import STOP_SECONDS
from apiserver.settings import ApiServerSettings
from proxy.settings import ProxySettings
from shared.runtime.exit_codes import EXIT_CONFIG
from tests.support.processes import ROOT

UNITS = ROOT / "deploy" / "systemd"
INSTALLED = "/opt/pairway"
# Each template with an instance, and the settings of its server.
SERVERS = {
    "pairway-apiserver@.service": ("pairway-apiserver@en-de.service", ApiServerSettings),
    "pairway-proxy@.service": ("pairway-proxy@8000.service", ProxySettings),
}


def read(name: str) -> configparser.RawConfigParser:
    """Read a unit; of a name that stands twice the last value."""
    unit = configparser.RawConfigParser(strict=False)
    unit.optionxform = str  # pyright: ignore[reportAttributeAccessIssue] - names keep their case
    unit.read(UNITS / name)
    return unit


def verify(folder: Path, *names: str) -> str:
    """Return what systemd has to say against the units."""
    program = shutil.which("systemd-analyze")
    assert program, "systemd-analyze is missing: apt install systemd (it need not run)"
    command = [program, "verify", "--man=no", *(str(folder / name) for name in names)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    return done.stdout + done.stderr + (f"exit status {done.returncode}" if done.returncode else "")


def install(folder: Path) -> list[str]:
    """Copy the units as instances whose programs exist; return their names."""
    program = folder / ".venv" / "bin" / "python"
    program.parent.mkdir(parents=True)
    program.symlink_to("/bin/true")
    names: list[str] = []
    for unit in sorted(UNITS.iterdir()):
        name = SERVERS[unit.name][0] if unit.name in SERVERS else unit.name
        (folder / name).write_text(unit.read_text().replace(INSTALLED, str(folder)))
        names.append(name)
    return names


def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    assert verify(tmp_path, *install(tmp_path)) == ""


def test_verify_would_see_a_mistake(tmp_path: Path) -> None:
    """An unknown name and a program that is not there."""
    names = install(tmp_path)
    unit = tmp_path / names[0]
    unit.write_text(unit.read_text().replace("KillMode=", "KilMode=").replace("/bin/python", "/bin/pyton"))
    said = verify(tmp_path, names[0])
    assert "KilMode" in said
    assert "pyton" in said


def test_api_servers_say_that_systemd_runs_them() -> None:
    """The last of the unit's variables; %n is the unit's name."""
    given = read("pairway-apiserver@.service")["Service"]["Environment"].partition("=")
    assert given == ("APISERVER_RUNS_BY", "=", "systemd:%n")
    name = SERVERS["pairway-apiserver@.service"][0]
    assert ApiServerSettings(runs_by=given[2].replace("%n", name)).runs_by == f"systemd:{name}"


@pytest.mark.parametrize("template", SERVERS)
def test_wrong_settings_are_not_tried_again(template: str) -> None:
    service = read(template)["Service"]
    assert service["Restart"] == "always"
    assert int(service["RestartPreventExitStatus"]) == EXIT_CONFIG
    assert read(template)["Unit"]["StartLimitIntervalSec"] == "0", "everything else is, for ever"


@pytest.mark.parametrize("template", SERVERS)
def test_stop_leaves_time_for_drain_requests_and_engines(template: str) -> None:
    service, fields = read(template)["Service"], SERVERS[template][1].model_fields
    longest = fields["drain_seconds"].default + fields["max_request_timeout"].default
    engines = STOP_SECONDS if "apiserver" in template else 0.0
    assert float(service["TimeoutStopSec"]) > longest + engines
    assert service["KillMode"] == "mixed", "the engines work until the server has drained, and are killed then"


@pytest.mark.parametrize("template", SERVERS)
def test_open_files_suffice_for_all_connections(template: str) -> None:
    fields = SERVERS[template][1].model_fields
    assert int(read(template)["Service"]["LimitNOFILE"]) * 3 / 4 >= fields["max_connections"].default


@pytest.mark.parametrize("template", SERVERS)
def test_services_are_restricted(template: str) -> None:
    service = read(template)["Service"]
    assert service["User"] == "pairway"
    assert service["NoNewPrivileges"] == "yes"
    assert service["ProtectSystem"] == "strict"
    assert service["CapabilityBoundingSet"] == ""


def test_api_server_keeps_its_gpus_and_compilers() -> None:
    """Each of these hides the device files, or forbids memory that torch compiles into."""
    service = read("pairway-apiserver@.service")["Service"]
    assert not {"PrivateDevices", "DeviceAllow", "ProtectClock", "MemoryDenyWriteExecute"} & set(service)


def test_documents_name_the_units_and_their_folder() -> None:
    page = (ROOT / "docs" / "operations" / "running.md").read_text()
    assert INSTALLED in page
    for unit in UNITS.iterdir():
        assert unit.name.partition("@")[0] in page
    files = {
        name for template in SERVERS for name in re.findall(r"/etc/pairway/[a-z]+\.env", (UNITS / template).read_text())
    }
    assert all(name in page for name in files)
