"""The locks in requirements/, and the differences of an environment from them.

Run with an environment's Python, ``python -m deploy.lockfiles LOCK…`` prints the differences; exits 1 if there are any.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib.metadata import Distribution, distributions
from pathlib import Path

REQUIREMENTS = Path("requirements")
EXCLUDED = REQUIREMENTS / "excluded.txt"
TORCH_CPU = REQUIREMENTS / "torch-cpu.txt"
DEV = REQUIREMENTS / "dev.txt"
PIP = REQUIREMENTS / "pip.txt"
UV = REQUIREMENTS / "uv.txt"
# The source of torch+cpu if pip's own configuration has none.
TORCH_CPU_INDEX = "https://download.pytorch.org/whl/cpu"
BUILDS = {
    "cpu": (TORCH_CPU, REQUIREMENTS / "proxy.txt", REQUIREMENTS / "apiserver-cpu.txt", REQUIREMENTS / "local.txt"),
    # Not tested, because no GPU was available. vLLM has its own torch and triton from PyPI.
    "cuda": (REQUIREMENTS / "proxy.txt", REQUIREMENTS / "apiserver-cuda.txt", REQUIREMENTS / "local.txt"),
}


def read_lines(lock: Path) -> list[str]:
    """Return a lock's lines without comments and hashes."""
    lines = (line.partition("--hash")[0].rstrip(" \\") for line in lock.read_text().splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def read_pins(locks: Iterable[Path]) -> dict[str, str]:
    """Return name and version of every pin for the running Python."""
    # pip has the parser, and is in every environment that was installed from a lock.
    from pip._vendor.packaging.requirements import Requirement  # noqa: PLC0415
    from pip._vendor.packaging.utils import canonicalize_name  # noqa: PLC0415

    pins: dict[str, str] = {}
    for line in (line for lock in locks for line in read_lines(lock)):
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate():
            pins[canonicalize_name(requirement.name)] = str(requirement.specifier).removeprefix("==")
    return pins


def find_differences(locks: Iterable[Path]) -> list[str]:
    """Return one sentence for each package that differs from its pin."""
    from pip._vendor.packaging.utils import canonicalize_name  # noqa: PLC0415

    locks = list(locks)
    installed: dict[str, Distribution] = {
        canonicalize_name(package.metadata["Name"]): package for package in distributions()
    }
    differences: list[str] = []
    for name, version in sorted(read_pins(locks).items()):
        package = installed.get(name)
        if package is None:
            differences.append(f"{name} is missing, {version} is pinned")
        elif package.version != version:
            differences.append(f"{name} is {package.version}, {version} is pinned")
        elif broken := find_broken_file(package):
            differences.append(f"{name} {version} is incomplete: {broken}")
    if TORCH_CPU in locks:
        excluded = sorted(set(read_lines(EXCLUDED)) & set(installed) - {"torch"})
        differences += [f"{name} is installed but excluded ({EXCLUDED} says why)" for name in excluded]
    return differences


def find_broken_file(distribution: Distribution) -> str | None:
    """Return a sentence about the first missing or truncated file, or None."""
    if distribution.files is None:
        return "it has no list of its files"
    # Python rewrites .pyc files.
    for file in (file for file in distribution.files if file.suffix != ".pyc"):
        path = Path(str(file.locate()))
        try:
            size = path.stat().st_size
        except FileNotFoundError:
            return f"{path} is missing"
        if file.size is not None and size != file.size:
            return f"{path} has {size} bytes, not {file.size}"
    return None


if __name__ == "__main__":
    sys.exit("\n".join(find_differences(Path(name) for name in sys.argv[1:])) or None)
