"""`make roll`: bring docker compose's containers up to date while they serve.

Needs Python and docker. Exit status: 0 done, 1 stopped, 2 wrong usage, 78 a setting is wrong.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import signal
import sys
from collections.abc import Sequence

from deploy.rollout.docker import Docker, DockerError
from deploy.rollout.next_step import EXIT_CONFIG
from deploy.rollout.roller import DEFAULT_TIMEOUT_SECONDS, Roller, RollOptions, RollStoppedError

# Of docker compose itself; each takes a value.
COMPOSE_OPTIONS = ("--file", "--project-name", "--profile", "--env-file")


def say(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)


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
    for option, short in zip(COMPOSE_OPTIONS, ("-f", "-p", None, None), strict=True):
        names = [option] if short is None else [short, option]
        parser.add_argument(*names, action="append", default=[], help="as for docker compose")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Roll; return the exit status."""
    options = parse(arguments)
    options.env_file = options.env_file or [name for name in os.environ.get("COMPOSE_ENV_FILES", "").split(",") if name]
    compose_options = [
        part
        for option in COMPOSE_OPTIONS
        for value in getattr(options, option.removeprefix("--").replace("-", "_"))
        for part in (option, value)
    ]
    docker = Docker(tuple(compose_options))
    choices = RollOptions(options.timeout, options.in_place, options.allow_outage, options.dry_run)
    folder = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        status, output = (0, "check: skipped") if options.no_check else docker.check_settings(options.env_file)
        say(output)
        if status:
            reason = "" if status == EXIT_CONFIG else f": {docker.why_not_checked()}"
            print(f"roll: nothing was changed{reason}", file=sys.stderr)
            return EXIT_CONFIG if status == EXIT_CONFIG else 1
        Roller(docker, choices, say).roll(options.services)
    except BlockingIOError:
        print("roll: another roll is running in this folder", file=sys.stderr)
        return 1
    except (RollStoppedError, DockerError) as error:
        print(f"roll: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("roll: stopped; run it again, and it continues from here", file=sys.stderr)
        return 130
    finally:
        os.close(folder)
    return 0


if __name__ == "__main__":
    # As Ctrl-C, so that a stopped container is started again, also when the terminal closes.
    for each in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.default_int_handler)
    sys.exit(main())
