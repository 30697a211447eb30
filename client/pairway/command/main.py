"""The program: its commands, its version, and how it ends."""

from __future__ import annotations

import io
import sys
from typing import Annotated, Final

import typer

from ..errors import PairwayError
from ..version import __version__
from . import fleet, glossaries, keys, models, reads, status, translate
from .failures import ExitCode, FailedError, exit_code_of, said
from .output import print_error, print_line
from .server_options import Ca, KeyFile, Profile, Server, Url, epilog_of, new_group

# For the server's version; a server that is away is no failure there.
VERSION_SECONDS: Final = 5.0
EXAMPLES: Final = ('pairway translate "Where is the station?" --to de', "pairway translate docs/*.md --to de,fr")


def main() -> None:
    """Run the command line, and end the process with its exit code."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8")  # whatever the locale is
    try:
        build_app()(prog_name="pairway")
    except FailedError as error:
        sys.exit(error.code)
    except PairwayError as error:
        print_error(said(error))
        sys.exit(exit_code_of(error))
    except OSError as error:
        print_error(str(error))
        sys.exit(ExitCode.FAILED)


def build_app() -> typer.Typer:
    """Return the program with all its commands."""
    app = new_group()
    app.callback(invoke_without_command=True, epilog=epilog_of(*EXAMPLES))(_program)
    for each in (translate, reads, glossaries, status, keys, fleet, models):
        each.register(app)
    return app


def _program(
    context: typer.Context,
    *,
    url: Url = None,
    profile: Profile = None,
    key_file: KeyFile = None,
    ca: Ca = None,
    version: Annotated[bool, typer.Option("--version", help="Print the versions of client and server.")] = False,
) -> None:
    """Translate texts and files with a Pairway server."""
    context.obj = Server(url, profile, key_file, ca)
    if version:
        _print_versions(context.obj)
        raise typer.Exit


def _print_versions(server: Server) -> None:
    print_line(f"pairway {__version__}")
    with server.client(timeout=VERSION_SECONDS) as client:
        try:
            print_line(f"server {client.health().version} at {client.url}")
        except PairwayError as error:
            print_error(str(error))
