"""Make the virtual environment match the locks: `python3 -m deploy.environment`.

Needs only a system Python. uv installs, from where the machine's pip is configured to look (deploy/pip_settings.py); pip
fetches uv, and installs where uv cannot. The two builds cannot share an environment, because each has its own `vllm` and torch: the default is
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
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from deploy.lockfiles import BUILDS, DEV, PIP, TORCH_CPU, TORCH_CPU_INDEX, UV, read_lines
from deploy.pip_settings import UntranslatableError, read_settings, translate

PYTHONS = ((3, 11), (3, 12))
STAMP = "pairway.json"
INSTALL_LOG = "install.log"
# The cause of a failure is printed last.
LOG_TAIL_LINES = 25
# The locks have all dependencies but the excluded ones; both tools compare the hashes in them.
PIP_INSTALL = ("-m", "pip", "install", "--no-deps", "--no-input")
UV_INSTALL = ("-m", "uv", "pip", "install", "--no-deps", "--no-build")


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
        return (PIP, *BUILDS[self.build], DEV) if self.dev else (PIP, *BUILDS[self.build])

    def stamp(self) -> dict[str, str | bool]:
        """Return the identity of a finished environment; if it differs, install again."""
        digest = hashlib.sha256()
        for lock in (UV, *self.locks):
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
            EnvironmentFailedError: nothing can install, or the environment cannot be created.
        """
        stamp = self.path / STAMP
        stamp.unlink(missing_ok=True)
        try:
            if not self.python.exists():
                self._create()
            self._install_packages(os.environ)
        except (EnvironmentBrokenError, OSError) as error:
            print(f"creating {self.path} again: {error}", flush=True)
            self._create()
            # Files of uv's cache are links to the environment's, and have the same damage.
            self._install_packages({**os.environ, "PIP_NO_CACHE_DIR": "1"})
        self._run("deploy/client_command.py", "client")
        with step("compiling what the servers import"):
            self._run("deploy/bytecode.py", "imported")
        stamp.write_text(json.dumps(self.stamp()))

    def _create(self) -> None:
        with step(f"creating {self.path} with Python {platform.python_version()}"):
            venv.EnvBuilder(clear=True, symlinks=True, with_pip=True).create(self.path)

    def _install_packages(self, environment: Mapping[str, str]) -> None:
        # URLs in it may have passwords.
        listing = self._run(
            "-m", "pip", "config", "list", environment=environment, failure=EnvironmentBrokenError, is_secret=True
        )
        try:
            with step(f"fetching {read_lines(UV)[0]}"):
                self._run(*PIP_INSTALL, "--no-compile", "--require-hashes", "-r", str(UV), environment=environment)
            uv = translate(read_settings(listing, environment), environment)
            self._install_locks(UV_INSTALL, {**uv, "UV_PYTHON": str(self.python.absolute())})
        except (EnvironmentFailedError, UntranslatableError) as error:
            reason = (
                error if isinstance(error, UntranslatableError) else f"uv cannot ({self.path / INSTALL_LOG} says why)"
            )
            print(f"pip installs, which takes a minute more: {reason}", flush=True)
            self._install_locks(PIP_INSTALL, environment)
        with step("comparing the installed packages with the locks"):
            self._run("deploy/lockfiles.py", *map(str, self.locks), failure=EnvironmentBrokenError)

    def _install_locks(self, install: Sequence[str], environment: Mapping[str, str]) -> None:
        if TORCH_CPU in self.locks:
            with step(f"installing {describe_torch_pin()} (200 MB)"):
                self._install_torch_cpu(*install, "-r", str(TORCH_CPU), environment=environment)
        locks = [lock for lock in self.locks if lock != TORCH_CPU]
        count = len({line for lock in locks for line in read_lines(lock)})
        with step(f"installing {count} packages as pinned in requirements/"):
            self._run(
                *install, *(argument for lock in locks for argument in ("-r", str(lock))), environment=environment
            )

    def _install_torch_cpu(self, *command: str, environment: Mapping[str, str]) -> None:
        try:
            self._run(*command, environment=environment)
        except EnvironmentFailedError as own_error:
            try:
                self._run(*command, "--index-url", TORCH_CPU_INDEX, environment=environment)
            except EnvironmentFailedError as index_error:
                raise EnvironmentFailedError(
                    f"{describe_torch_pin()} is neither where pip is configured to look nor at {TORCH_CPU_INDEX}. "
                    f"Give pip a source, for example a folder with the wheel: PIP_FIND_LINKS=/folder make up\n"
                    f"{own_error}\n{index_error}"
                ) from index_error

    def _run(
        self,
        *arguments: str,
        environment: Mapping[str, str] | None = None,
        failure: type[EnvironmentFailedError] = EnvironmentFailedError,
        is_secret: bool = False,
    ) -> str:
        """Run the environment's Python; return its output, which the log and errors have too unless it is secret."""
        command = [self.python, "-I", *arguments]
        done = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        output = done.stderr if is_secret else done.stdout + done.stderr
        with (self.path / INSTALL_LOG).open("a") as log:
            log.write(output)
        if done.returncode:
            tail = "\n".join(f"  {line}" for line in output.splitlines()[-LOG_TAIL_LINES:])
            raise failure(f"python {' '.join(arguments)} exited with {done.returncode}:\n{tail}")
        return done.stdout


def describe_torch_pin() -> str:
    """Return torch's pin for the running Python; say if it has no hash."""
    marker = f"python_version == '{sys.version_info[0]}.{sys.version_info[1]}'"
    pin, _, rest = next(line for line in TORCH_CPU.read_text().splitlines() if marker in line).partition(" ;")
    return pin if "--hash" in rest else f"{pin} without a hash ({TORCH_CPU} has none for this Python)"


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
    except (EnvironmentFailedError, OSError, subprocess.CalledProcessError) as error:
        print(f"{path} cannot be installed: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("stopped; the next run continues from here", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
