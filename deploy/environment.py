"""The virtual environment: `python3 -m deploy.environment [--build cpu|cuda] [--dev] [--venv DIR]` makes it match the locks.

Needs nothing but a system's Python. pip does the installing, because it reads the machine's own pip configuration
(index, certificates, folders with wheels). The builds do not fit into one environment: both bring a package `vllm`, with
a torch each, so the default is .venv for cpu and .venv-cuda for cuda, and another build's environment is refused.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import importlib.util
import json
import os
import platform
import subprocess
import sys
import time
import venv
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path

from deploy.lockfiles import BUILDS, DEV, TORCH_CPU, read_lines

PIP = "pip==26.3"
PYTHONS = ((3, 11), (3, 12))
# Where torch+cpu comes from when pip's own configuration does not have it; the only host that this repository names.
TORCH_CPU_INDEX = "https://download.pytorch.org/whl/cpu"
STAMP = "pairway.json"
INSTALL_LOG = "install.log"
# pip names the cause of a failure at its end.
PIP_LOG_TAIL_LINES = 25


class EnvironmentFailedError(Exception):
    """The environment can not be made; the message says why and what would help."""


class EnvironmentBrokenError(EnvironmentFailedError):
    """What is in the environment is damaged or wrong, as after an interruption; only a new one helps."""


@dataclass(frozen=True, slots=True)
class Environment:
    """One build's virtual environment, with or without the test tools."""

    path: Path
    build: str
    dev: bool

    @property
    def python(self) -> Path:
        """The environment's own interpreter."""
        return self.path / "bin" / "python"

    @property
    def locks(self) -> tuple[Path, ...]:
        """What is to be installed."""
        return (*BUILDS[self.build], DEV) if self.dev else BUILDS[self.build]

    def stamp(self) -> dict[str, str | bool]:
        """Return what a finished environment is known by; a change of any of it means to install again."""
        digest = hashlib.sha256(PIP.encode())
        for lock in self.locks:
            digest.update(lock.read_bytes())
        return {"build": self.build, "dev": self.dev, "locks": digest.hexdigest(), "at": str(self.path.resolve())}

    def read_stamp(self) -> dict[str, str | bool]:
        """Return the stamp of the last finished installation, empty when there was none."""
        try:
            return json.loads((self.path / STAMP).read_text())
        except (FileNotFoundError, ValueError):
            return {}

    def is_current(self) -> bool:
        """Say whether the environment is finished, matches the locks and still has its interpreter."""
        return self.read_stamp() == self.stamp() and os.access(self.python, os.X_OK)

    def refuse_other_build(self) -> None:
        """Raise EnvironmentFailedError when the environment was made for another build."""
        other = self.read_stamp().get("build", self.build)
        if other != self.build:
            raise EnvironmentFailedError(f"{self.path} is a {other} environment; use another --venv for {self.build}")

    def install(self) -> None:
        """Make the environment match the locks, from whatever state it is in.

        What is there is completed; only when it is damaged, the environment is replaced by a new one. Raises
        EnvironmentFailedError.
        """
        stamp = self.path / STAMP
        stamp.unlink(missing_ok=True)
        try:
            self._install_packages()
        except EnvironmentBrokenError as error:
            # A first installation is the same case, with nothing to report.
            if self.python.exists():
                print(f"making {self.path} again: {error}", flush=True)
            self._create()
            self._install_packages()
        stamp.write_text(json.dumps(self.stamp()))

    def _create(self) -> None:
        with step(f"making {self.path} with Python {platform.python_version()}"):
            try:
                venv.EnvBuilder(clear=True, symlinks=True, with_pip=True).create(self.path)
            except (OSError, subprocess.CalledProcessError) as error:
                raise EnvironmentFailedError(f"{self.path} can not be made: {error}") from error

    def _install_packages(self) -> None:
        if not self._has_pip():
            raise EnvironmentBrokenError(f"{self.python} does not run pip")
        with step(f"upgrading pip to {PIP.removeprefix('pip==')}"):
            self._pip(PIP)
        locks = [lock for lock in self.locks if lock != TORCH_CPU]
        if TORCH_CPU in self.locks:
            with step(f"installing {read_lines(TORCH_CPU)[0]} (200 MB, a minute or more)"):
                self._install_torch_cpu()
        # No dependencies: the locks hold them all, but for those that are left out on purpose.
        count = len({line for lock in locks for line in read_lines(lock)})
        with step(f"installing {count} packages as pinned in requirements/ (a minute or more)"):
            self._pip(*(argument for lock in locks for argument in ("-r", str(lock))))
        with step("comparing what is installed with the locks"):
            self._verify()

    def _has_pip(self) -> bool:
        try:
            done = subprocess.run([self.python, "-I", "-m", "pip", "--version"], capture_output=True, check=False)
        except OSError:
            return False
        return done.returncode == 0

    def _install_torch_cpu(self) -> None:
        try:
            self._pip("-r", str(TORCH_CPU))
        except EnvironmentFailedError as own_error:
            try:
                self._pip("-r", str(TORCH_CPU), "--index-url", TORCH_CPU_INDEX)
            except EnvironmentFailedError as index_error:
                raise EnvironmentFailedError(
                    f"{read_lines(TORCH_CPU)[0]} is neither where this machine's pip looks:\n{own_error}\n"
                    f"nor at {TORCH_CPU_INDEX}:\n{index_error}\n"
                    "Give pip a place that has it, for example a folder with the wheel: PIP_FIND_LINKS=/folder make up"
                ) from index_error

    def _pip(self, *arguments: str) -> None:
        """Run pip; its words go to the log, and into the error when it fails."""
        command = [self.python, "-I", "-m", "pip", "install", "--no-deps", "--no-input", *arguments]
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
        with (self.path / INSTALL_LOG).open("a") as log:
            log.write(done.stdout)
        if done.returncode:
            tail = "\n".join(f"  {line}" for line in done.stdout.splitlines()[-PIP_LOG_TAIL_LINES:])
            raise EnvironmentFailedError(f"pip install {' '.join(arguments)} exited with {done.returncode}:\n{tail}")

    def _verify(self) -> None:
        command = [self.python, "-m", "deploy.lockfiles", *map(str, self.locks)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise EnvironmentBrokenError(f"what is installed is not what the locks say:\n{done.stdout}")


@contextlib.contextmanager
def step(description: str) -> Generator[None]:
    """Say what is done while it is done, and how long it took."""
    started = time.monotonic()
    print(f"{description} … ", end="", flush=True)
    try:
        yield
    except BaseException:
        print("failed", flush=True)
        raise
    print(f"{time.monotonic() - started:.0f} s", flush=True)


@contextlib.contextmanager
def locked(path: Path) -> Generator[None]:
    """Let one installation at a time work on the environment at ``path``; another one waits, and says so."""
    path.mkdir(parents=True, exist_ok=True)
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"another installation works on {path}, waiting for it", flush=True)
            fcntl.flock(directory, fcntl.LOCK_EX)
        yield
    finally:
        os.close(directory)


def refuse_other_platforms() -> None:
    """Raise EnvironmentFailedError by name for a platform or a Python that the locks are not made for."""
    here = f"{platform.system()} {platform.machine()}"
    if here != "Linux x86_64":
        raise EnvironmentFailedError(f"Pairway runs on Linux x86_64; this machine is {here}")
    if sys.version_info[:2] not in PYTHONS or sys.implementation.name != "cpython":
        raise EnvironmentFailedError(
            f"Pairway runs on CPython 3.11 or 3.12; {sys.executable} is {sys.implementation.name} "
            f"{platform.python_version()}. Name another one: make PYTHON=/path/to/python3.11 …"
        )
    if importlib.util.find_spec("ensurepip") is None:
        raise EnvironmentFailedError(
            f"{sys.executable} lacks ensurepip, which puts pip into an environment. On Debian and Ubuntu: "
            f"apt install python{sys.version_info.major}.{sys.version_info.minor}-venv"
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Bring the environment up to date; return the exit status."""
    parser = argparse.ArgumentParser(prog="python3 -m deploy.environment", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--build", choices=sorted(BUILDS), default="cpu", help="which vLLM (default: cpu)")
    parser.add_argument("--dev", action="store_true", help="the test tools too")
    parser.add_argument("--venv", type=Path, help="where (default: .venv for cpu, .venv-cuda for cuda)")
    options = parser.parse_args(arguments)
    path: Path = options.venv or Path(".venv" if options.build == "cpu" else f".venv-{options.build}")
    plain, with_tools = Environment(path, options.build, dev=False), Environment(path, options.build, dev=True)
    # The test tools do no harm: an environment that has them keeps them, also when the locks change.
    environment = with_tools if options.dev or plain.read_stamp().get("dev") else plain
    try:
        if environment.is_current():
            return 0
        refuse_other_platforms()
        with locked(path):
            environment.refuse_other_build()
            if not environment.is_current():
                environment.install()
    except EnvironmentFailedError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("stopped; the next run goes on from here", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
