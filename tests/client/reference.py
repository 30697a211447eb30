"""Write the API reference of the package into docs/client-reference.md.

make client-reference
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, get_overloads

import pairway
from pairway.translate_call import StreamOptions, TranslateOptions

PAGE: Final = Path(__file__).parents[2] / "docs" / "client-reference.md"
HEAD: Final = """\
# Reference of the Python package `pairway`

Made from the code by `make client-reference`; [client.md](client.md) explains it. `AsyncClient` has the methods of `Client`, to be awaited.
"""


def main() -> int:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")
    return 0


def page() -> str:
    """Return the page: clients, options, answers, errors."""
    public = [getattr(pairway, name) for name in pairway.__all__ if not name.startswith("_")]
    errors = [each for each in public if issubclass(each, Exception)]
    clients = [pairway.Client, pairway.TranslationStream]
    others = {*errors, *clients, pairway.AsyncClient, pairway.AsyncTranslationStream}
    answers = [each for each in public if each not in others]
    parts = [HEAD, "## Clients\n", *(line for each in clients for line in class_lines(each))]
    parts += ["## Options\n", *(line for each in (StreamOptions, TranslateOptions) for line in options_lines(each))]
    parts += ["## Answers\n", *(line for each in answers for line in class_lines(each))]
    parts += ["## Errors\n", *(error_lines(errors))]
    return "\n".join(parts)


def class_lines(described: type) -> Iterator[str]:
    """Yield the section of a class: its text, then its attributes or its methods."""
    yield f"### `{described.__name__}`\n\n{text_of(described)}\n"
    if "__dataclass_fields__" in vars(described):
        yield members_line(described) + "\n"
        return
    if described.__name__ == "Client":
        yield f"- `Client{signature_of(described.__init__)}`"
    for name, member in vars(described).items():
        if isinstance(member, property):
            yield f"- `{name}`: {text_of(member)}"
        elif inspect.isfunction(member) and not name.startswith("_") and name != "run":
            call = inspect.unwrap(member)
            shown = [f"`{name}{signature_of(each)}`" for each in get_overloads(call) or [call]]
            yield f"- {', '.join(shown)}: {text_of(call)}"
    yield ""


def members_line(described: type) -> str:
    """Return the annotated attributes of a class, or its options."""
    kinds = described.__annotations__.items()
    return ", ".join(f"`{name}: {getattr(kind, '__forward_arg__', kind)}`" for name, kind in kinds) + "."


def options_lines(options: type) -> Iterator[str]:
    """Yield the section of options."""
    yield f"### `{options.__name__}`\n\n{text_of(options)}\n\n{members_line(options)}\n"


def error_lines(errors: list[type]) -> Iterator[str]:
    """Yield a list of the exception tree."""
    for error in errors:
        yield f"- `{error.__name__}({error.__bases__[0].__name__})`: {text_of(error)}"
    yield ""


def signature_of(function: Any) -> str:
    """Return a signature as a caller sees it: no session, and the result instead of the call."""
    signature = inspect.signature(function)
    shown = [each for name, each in signature.parameters.items() if name not in {"self", "session"}]
    result = re.sub(r"^Call\[(.*)\]$", r"\1", str(signature.return_annotation)).replace(
        "StreamPlan", "TranslationStream"
    )
    return str(signature.replace(parameters=shown, return_annotation=result)).replace("'", "")


def text_of(described: object) -> str:
    """Return a docstring in one paragraph."""
    return " ".join((inspect.getdoc(described) or "").split()).replace("``", "`")


if __name__ == "__main__":
    sys.exit(main())
