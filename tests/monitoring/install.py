"""Installs Prometheus and Alertmanager for the tests, pinned with hashes; ``make test-monitoring-setup`` runs it.

They are Debian's packages, from wherever this machine's apt gets its own, and are unpacked without root.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.clients.install import install_into, run
from tests.support.processes import ROOT


@dataclass(frozen=True, slots=True)
class DebianPackage:
    """A package of Debian 12 for x86-64, with its version and the SHA-256 of its file."""

    name: str
    version: str
    sha256: str
    programs: tuple[str, ...]


PACKAGES: Final = (
    DebianPackage(
        "prometheus",
        "2.42.0+ds-5+deb12u1",
        "81d59a24fce84f7fbe97a45a4f2914b6a5881b5cd1db2a6a0e129e515e1a5f55",
        ("prometheus", "promtool"),
    ),
    DebianPackage(
        "prometheus-alertmanager",
        "0.25.0-1+b4",
        "4fb9aed15cfe8e0c32408e643ab32a1e41ee87d2cc26f18aeba928b1b0b98ae7",
        ("prometheus-alertmanager", "amtool"),
    ),
)
MISSING: Final = "Prometheus is not there: make test-monitoring-setup"


def program(name: str) -> Path:
    """Return one of the programs; fail if it is missing."""
    for package in PACKAGES:
        if name in package.programs and (path := _folder(package) / "usr/bin" / name).exists():
            return path
    raise AssertionError(f"{name}: {MISSING}")


def install() -> None:
    """Install whatever is not there."""
    for package in PACKAGES:
        install_into(_folder(package), lambda folder, package=package: _fill(folder, package))


def _folder(package: DebianPackage) -> Path:
    return ROOT / ".cache/monitoring" / f"{package.name}-{package.sha256[:12]}"


def _fill(folder: Path, package: DebianPackage) -> None:
    if shutil.which("apt-get") is None:
        sys.exit(f"apt-get is not there, and {package.name} {package.version} is a package of Debian 12.")
    state, cache = folder / "apt/state", folder / "apt/cache"
    for each in (state / "lists/partial", cache / "archives/partial"):
        each.mkdir(parents=True)
    # Lists of its own, so that it needs no root and leaves the machine's as they are.
    places = {"Dir::State": state, "Dir::State::status": "/dev/null", "Dir::Cache": cache, "APT::Sandbox::User": ""}
    apt = ("apt-get", "-qq", *(word for name, place in places.items() for word in ("-o", f"{name}={place}")))
    run(*apt, "update", folder=folder)
    run(*apt, "download", f"{package.name}={package.version}", folder=folder)
    (archive,) = folder.glob("*.deb")
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    if found != package.sha256:
        sys.exit(f"{archive.name} has SHA-256 {found}, not {package.sha256}: it is not the one that was pinned.")
    run("dpkg-deb", "-x", str(archive), str(folder), folder=folder)
    archive.unlink()
    shutil.rmtree(folder / "apt")


if __name__ == "__main__":
    install()
    sys.stdout.writelines(f"{program(name)}\n" for package in PACKAGES for name in package.programs)
