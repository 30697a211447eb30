"""Make the virtual environment match the locks: `python3 -m deploy.environment`.

Needs only a system Python. pip installs, because it reads the machine's pip configuration (index, certificates, folders
with wheels). The two builds cannot share an environment, because each has its own `vllm` and torch: the default is
.venv for cpu and .venv-cuda for cuda, and the environment of another build is refused.
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

from deploy.lockfiles import BUILDS, DEV, PIP, TORCH_CPU, read_lines

PYTHONS = ((3, 11), (3, 12))
# The source of torch+cpu if pip's own configuration has none.
TORCH_CPU_INDEX = "https://download.pytorch.org/whl/cpu"
STAMP = "pairway.json"
INSTALL_LOG = "install.log"
# pip prints the cause of a failure last.
PIP_LOG_TAIL_LINES = 25


class EnvironmentFailedError(Exception):
    """The environment cannot be created; the message says what would help."""


class EnvironmentBrokenError(EnvironmentFailedError):
    """The environment is damaged and must be created again."""


@dataclass(frozen=True, slots=True)
class Environment:
    """One build's virtual environment, with or without the test tools."""

    path: Path
    build: str
    dev: bool

    @property
    def python(self) -> Path:
        """The environment's interpreter."""
        return self.path / "bin" / "python"

    @property
    def locks(self) -> tuple[Path, ...]:
        """The locks to install."""
        return (*BUILDS[self.build], DEV) if self.dev else BUILDS[self.build]

    def stamp(self) -> dict[str, str | bool]:
        """Return the identity of a finished environment; if it differs, install again."""
        digest = hashlib.sha256()
        for lock in (PIP, *self.locks):
            digest.update(lock.read_bytes())
        return {"build": self.build, "dev": self.dev, "locks": digest.hexdigest(), "at": str(self.path.resolve())}

    def read_stamp(self) -> dict[str, str | bool]:
        """Return the stamp of the last finished installation, or nothing."""
        try:
            return json.loads((self.path / STAMP).read_text())
        except (FileNotFoundError, ValueError):
            return {}

    def is_current(self) -> bool:
        """Return whether the environment is finished and matches the locks."""
        return self.read_stamp() == self.stamp() and os.access(self.python, os.X_OK)

    def refuse_other_build(self) -> None:
        """Raise EnvironmentFailedError if the environment was created for another build."""
        other = self.read_stamp().get("build", self.build)
        if other != self.build:
            raise EnvironmentFailedError(f"{self.path} is a {other} environment; use another --venv for {self.build}")

    def install(self) -> None:
        """Complete the environment, or replace it if it is damaged.

        Raises:
            EnvironmentFailedError: pip failed, or the environment cannot be created.
        """
        stamp = self.path / STAMP
        stamp.unlink(missing_ok=True)
        try:
            self._install_packages()
        except EnvironmentBrokenError as error:
            # A first installation has nothing to report.
            if self.python.exists():
                print(f"creating {self.path} again: {error}", flush=True)
            self._create()
            self._install_packages()
        stamp.write_text(json.dumps(self.stamp()))

    def _create(self) -> None:
        with step(f"creating {self.path} with Python {platform.python_version()}"):
            try:
                venv.EnvBuilder(clear=True, symlinks=True, with_pip=True).create(self.path)
            except (OSError, subprocess.CalledProcessError) as error:
                raise EnvironmentFailedError(f"{self.path} cannot be created: {error}") from error

    def _install_packages(self) -> None:
        if not self._has_pip():
            raise EnvironmentBrokenError(f"{self.python} does not run pip")
        with step(f"upgrading pip to {read_lines(PIP)[0].removeprefix('pip==')}"):
            self._pip("--require-hashes", "-r", str(PIP))
        locks = [lock for lock in self.locks if lock != TORCH_CPU]
        if TORCH_CPU in self.locks:
            with step(f"installing {describe_torch_pin()} (200 MB, a minute or more)"):
                self._install_torch_cpu()
        # --no-deps: the locks have all dependencies, except those in requirements/excluded.txt.
        count = len({line for lock in locks for line in read_lines(lock)})
        with step(f"installing {count} packages as pinned in requirements/ (a minute or more)"):
            self._pip("--require-hashes", *(argument for lock in locks for argument in ("-r", str(lock))))
        with step("comparing the installed packages with the locks"):
            self._verify()

    def _has_pip(self) -> bool:
        try:
            done = subprocess.run([self.python, "-I", "-m", "pip", "--version"], capture_output=True, check=False)
        except OSError:
            return False
        return done.returncode == 0

    def _install_torch_cpu(self) -> None:
        # pip itself requires the hash where the pin has one.
        try:
            self._pip("-r", str(TORCH_CPU))
        except EnvironmentFailedError as own_error:
            try:
                self._pip("-r", str(TORCH_CPU), "--index-url", TORCH_CPU_INDEX)
            except EnvironmentFailedError as index_error:
                raise EnvironmentFailedError(
                    f"{describe_torch_pin()} was not found by this machine's pip configuration:\n{own_error}\n"
                    f"and not at {TORCH_CPU_INDEX}:\n{index_error}\n"
                    "Give pip a source that has it, for example a folder with the wheel: PIP_FIND_LINKS=/folder make up"
                ) from index_error

    def _pip(self, *arguments: str) -> None:
        """Run pip, with its output to the log and into errors."""
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
            raise EnvironmentBrokenError(f"the installed packages differ from the locks:\n{done.stdout}")


def describe_torch_pin() -> str:
    """Return torch's pin for the running Python; say if it has no hash."""
    marker = f"python_version == '{sys.version_info[0]}.{sys.version_info[1]}'"
    line = next(line for line in TORCH_CPU.read_text().splitlines() if marker in line)
    return line.partition(" ;")[0] + (
        "" if "--hash" in line else f" without a hash ({TORCH_CPU} has none for this Python)"
    )


@contextlib.contextmanager
def step(description: str) -> Generator[None]:
    """Print the description, and the seconds that the block took."""
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
    """Hold the environment's lock; wait for another installation."""
    path.mkdir(parents=True, exist_ok=True)
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"waiting for another installation that works on {path}", flush=True)
            fcntl.flock(directory, fcntl.LOCK_EX)
        yield
    finally:
        os.close(directory)


def refuse_other_platforms() -> None:
    """Raise EnvironmentFailedError for a platform or Python without locks."""
    here = f"{platform.system()} {platform.machine()}"
    if here != "Linux x86_64":
        raise EnvironmentFailedError(f"Pairway runs on Linux x86_64; this machine is {here}")
    if sys.version_info[:2] not in PYTHONS or sys.implementation.name != "cpython":
        raise EnvironmentFailedError(
            f"Pairway runs on CPython 3.11 or 3.12; {sys.executable} is {sys.implementation.name} "
            f"{platform.python_version()}. Choose another one: make PYTHON=/path/to/python3.11 …"
        )
    if importlib.util.find_spec("ensurepip") is None:
        raise EnvironmentFailedError(
            f"{sys.executable} lacks ensurepip, which installs pip into an environment. On Debian and Ubuntu: "
            f"apt install python{sys.version_info.major}.{sys.version_info.minor}-venv"
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Update the environment; return the exit status."""
    parser = argparse.ArgumentParser(prog="python3 -m deploy.environment", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--build", choices=sorted(BUILDS), default="cpu", help="build of vLLM (default: cpu)")
    parser.add_argument("--dev", action="store_true", help="install the test tools too")
    parser.add_argument("--venv", type=Path, help="folder (default: .venv for cpu, .venv-cuda for cuda)")
    options = parser.parse_args(arguments)
    path: Path = options.venv or Path(".venv" if options.build == "cpu" else f".venv-{options.build}")
    plain, with_tools = Environment(path, options.build, dev=False), Environment(path, options.build, dev=True)
    # An environment with the test tools keeps them, also when the locks change.
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
        print("stopped; the next run continues from here", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
