"""`make roll`: bring docker compose's containers up to date while they serve.

Needs Python and docker. Exit status: 0 done, 1 stopped, 2 wrong usage, 78 a setting is wrong.
"""

from __future__ import annotations

import argparse
import fcntl
import functools
import os
import signal
import sys
from collections.abc import Sequence

from deploy.rollout.docker import Docker, RollError
from deploy.rollout.next_step import EXIT_CONFIG
from deploy.rollout.roller import DEFAULT_TIMEOUT_SECONDS, Roller, select

# Of docker compose itself; each takes a value.
COMPOSE_OPTIONS = (("-f", "--file"), ("-p", "--project-name"), ("--profile",), ("--env-file",))


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m deploy.rollout", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("services", nargs="*", metavar="SERVICE", help="services to roll (default: all servers)")
    parser.add_argument("--dry-run", action="store_true", help="only show what is out of date")
    parser.add_argument("--in-place", action="store_true", help="end each old one first: needs no further memory")
    parser.add_argument("--allow-outage", action="store_true", help="end the only server of a pair, too")
    help_text = "seconds for a new container to get ready (default: %(default)g)"
    parser.add_argument("--timeout", type=float, default=DEFAULT_TIMEOUT_SECONDS, help=help_text)
    parser.add_argument("--no-check", action="store_true", help="skip the check of settings: for images without it")
    for names in COMPOSE_OPTIONS:
        parser.add_argument(*names, dest=names[-1], action="append", default=[], help="as for docker compose")
    return parser.parse_args(arguments)


def roll(options: argparse.Namespace) -> int:
    """Check the settings, then roll; return the exit status."""
    given: dict[str, list[str]] = {names[-1]: getattr(options, names[-1]) for names in COMPOSE_OPTIONS}
    env_files = given["--env-file"] or [name for name in os.environ.get("COMPOSE_ENV_FILES", "").split(",") if name]
    compose_options = [
        part
        for name, values in (given | {"--env-file": env_files}).items()
        for value in values
        for part in (name, value)
    ]
    docker, say = Docker(tuple(compose_options)), functools.partial(print, flush=True)
    project = docker.read_project()
    services = select(project, options.services)
    if not options.no_check:
        status, output = docker.check_settings(env_files)
        say(output)
        if status == EXIT_CONFIG:
            print("roll: nothing was changed", file=sys.stderr)
            return EXIT_CONFIG
        if status:
            raise RollError("nothing was changed: the check of settings could not run; --no-check skips it")
    roller = Roller(docker, say, options.timeout, options.in_place, options.allow_outage)
    roller.roll(project, services, dry_run=options.dry_run)
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Roll, unless another roll runs in this folder; return the exit status."""
    options = parse(arguments)
    folder = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return roll(options)
    except BlockingIOError:
        print("roll: another roll is running in this folder", file=sys.stderr)
        return 1
    except RollError as error:
        print(f"roll: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("roll: stopped; run it again, and it continues from here", file=sys.stderr)
        return 130
    finally:
        os.close(folder)


if __name__ == "__main__":
    # As Ctrl-C, so that a stopped container is started again, also when the terminal closes.
    for each in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.default_int_handler)
    sys.exit(main())
