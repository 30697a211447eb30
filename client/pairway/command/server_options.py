"""Server options: those of all commands, and the client they make."""

from __future__ import annotations

import inspect
import ssl
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

import typer

from ..async_client import AsyncClient
from ..client import Client
from ..transport import DEFAULT_TIMEOUT
from .failures import UsageError

AnyClient = TypeVar("AnyClient", Client, AsyncClient)
MAX_KEY_FILE_BYTES: Final = 8192

Url = Annotated[str | None, typer.Option("--url", help="Address of the server.  [env: PAIRWAY_URL]", metavar="URL")]
Profile = Annotated[
    str | None, typer.Option("--profile", help="Profile of ~/.config/pairway/config.toml.", metavar="NAME")
]
KeyFile = Annotated[
    Path | None, typer.Option("--key-file", help="File with the key.  [env: PAIRWAY_KEY, the key]", metavar="FILE")
]
Ca = Annotated[Path | None, typer.Option("--ca", help="PEM file of the authority to trust.", metavar="FILE")]


@dataclass(frozen=True, slots=True)
class Server:
    """The server of a command, as its options name it."""

    url: str | None = None
    profile: str | None = None
    key_file: Path | None = None
    ca: Path | None = None

    def client(self, *, timeout: float = DEFAULT_TIMEOUT, key: str | None = None) -> Client:
        """Return a client of this server.

        ``key`` is used where no file has one; without both it is that of the environment or profile.

        Raises:
            PairwayError: an option, the environment or a profile cannot be used.
        """
        return self._client(Client, timeout, key)

    def async_client(self, *, timeout: float) -> AsyncClient:
        """Return a client for an event loop, as ``client``."""
        return self._client(AsyncClient, timeout, None)

    def _client(self, kind: type[AnyClient], timeout: float, key: str | None) -> AnyClient:
        if self.key_file is not None:
            key = _key_in(self.key_file)
        return kind(self.url, key, profile=self.profile, timeout=timeout, verify=_trusting(self.ca))


def _key_in(path: Path) -> str:
    try:
        with path.open(encoding="ascii") as file:
            key = file.read(MAX_KEY_FILE_BYTES).strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", "it is not ASCII")
        raise UsageError(f"--key-file {path} cannot be read: {reason}.") from None
    if not key:
        raise UsageError(f"--key-file {path} is empty; it must have the key alone.")
    return key


def _trusting(path: Path | None) -> ssl.SSLContext | bool:
    try:
        return True if path is None else ssl.create_default_context(cafile=str(path))
    except OSError as error:  # SSLError is one
        raise UsageError(f"--ca {path} cannot be read: {error.strerror or error}.") from None


def new_group(description: str | None = None) -> typer.Typer:
    """Return a group of commands, for the program's ``add_typer``."""
    # Without rich: help and refusals are plain lines, and their import costs nothing.
    return typer.Typer(
        help=description,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
    )


def epilog_of(*examples: str) -> str:
    """Return the end of a help: examples, which are not wrapped."""
    return "\b\n" + "\n".join(["Examples:" if len(examples) > 1 else "Example:", *(f"  {each}" for each in examples)])


def command(app: typer.Typer, name: str, *examples: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds a command.

    Its function's first parameter is the Server. The options of that are not in the command's help, but in the
    program's; they may stand at either, and those at the command win.
    """

    def add(function: Callable[..., None]) -> Callable[..., None]:
        @wraps(function)
        def run(context: typer.Context, *args: Any, **kwargs: Any) -> None:
            given = {each: value for each in _OPTIONS if (value := kwargs.pop(each)) is not None}
            function(replace(context.obj, **given), *args, **kwargs)

        own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
        common = [
            inspect.Parameter(each, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_hidden(kind))
            for each, kind in _OPTIONS.items()
        ]
        context = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
        described: Any = run  # inspect reads an attribute that functions are not known to have
        described.__signature__ = inspect.Signature([context, *own, *common])
        return app.command(name, epilog=f"{epilog_of(*examples)}\n\nOptions of the server: pairway --help.")(run)

    return add


_OPTIONS: Final = {"url": Url, "profile": Profile, "key_file": KeyFile, "ca": Ca}


def _hidden(kind: Any) -> Any:
    shown = kind.__metadata__[0]
    return Annotated[kind.__origin__, typer.Option(*shown.param_decls, metavar=shown.metavar, hidden=True)]
