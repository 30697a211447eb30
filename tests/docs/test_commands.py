"""Commands that documents, messages, compose files and units name exist: modules, commands, options."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import typer
from pairway.command.main import build_app

from proxy.commands import program
from tests.docs.test_documents import DOCUMENTS
from tests.layout.source_tree import CLIENT, OURS, PRODUCT, modules
from tests.support.processes import ROOT

# It names commands of earlier versions too.
TEXTS = [each for each in DOCUMENTS if each.name != "CHANGELOG.md"]
FILES = [
    *(ROOT / name for name in ("Makefile", "docker-compose.yml", ".env.example")),
    *(path for path in (ROOT / "deploy").rglob("*") if path.suffix in {".yml", ".yaml", ".Dockerfile", ".service"}),
]
# What ends a command in a line: code, a comment, a pipe, a file, a second command, an ellipsis.
END = re.compile(r"[`#|<>;…)\"]|&&|\\$|[.,:](?=\s|$)")
COMMENT = re.compile(r"(?<=\S)\s+# .*")
PYTHON = re.compile(r"python3?[\"', ]+-m[\"', ]+([a-z_][a-z0-9_.]*)(?![\w.])(.*)")
PAIRWAY = re.compile(r"(?:^|[\s`(\"]|bin/)pairway ([a-z-].*)")
TARGETS = re.compile(r"make (keys|roll) ARGS=(?:\"([^\"]*)\"|(\S+))")
OF_TARGETS = {"keys": "proxy keys", "roll": "deploy.rollout"}


def lines() -> Iterator[tuple[str, str]]:
    """Yield every line that may name a command, with its place; of documents only code, of programs only strings."""
    for path in TEXTS:
        for part in re.findall(r"```.*?```|`[^`]+`", path.read_text(), flags=re.DOTALL):
            yield from ((str(path), line.strip("`")) for line in part.splitlines())
    for path in FILES:
        yield from ((str(path), line) for line in path.read_text().splitlines())
    for path in modules(*PRODUCT, CLIENT, "deploy"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield from ((str(path), line) for line in node.value.splitlines())


def words(text: str) -> list[str]:
    """Return the words of a command."""
    return shlex.split(END.split(text)[0].replace("'", " "))


def options(text: str) -> set[str]:
    """Return the long options, without a value."""
    return {word.partition("=")[0] for word in words(text) if re.match(r"--[a-z]", word)}


@cache
def source(package: str) -> str:
    """Return all source of a package of ours."""
    return "\n".join(path.read_text() for path in modules(package))


@cache
def app() -> Any:
    """Return the command `pairway`."""
    return typer.main.get_command(build_app())


def wrong_of_python(module: str, rest: str) -> str | None:
    """Return what does not exist in ``python -m module …``."""
    package = module.partition(".")[0]
    if package not in OURS:
        return None
    path = ROOT / module.replace(".", "/")
    if not (path.with_suffix(".py").exists() or (path / "__main__.py").exists()):
        return f"module {module}"
    known = {option for option in options(rest) if f'"{option.replace("--no-", "--")}"' in source(package)}
    unknown = options(rest) - known - {"--help", "--check"}
    if unknown:
        return f"options {unknown} of {module}"
    verbs = [word for word in words(rest) if re.fullmatch(r"[a-z]+", word)][:2]
    if module == "proxy" and verbs[:1] in (["keys"], ["fleet"]):
        with pytest.raises(SystemExit) as ended:
            program.parse([*verbs, "--help"])
        return f"command proxy {verbs}" if ended.value.code else None
    return None


def wrong_of_pairway(rest: str) -> str | None:
    """Return what does not exist in ``pairway …``."""
    command = app()
    known = {each for parameter in command.params for each in parameter.opts}
    for word in words(rest):
        if word.startswith("-") or not hasattr(command, "commands"):
            continue
        if word not in command.commands:
            return f"command {word} of pairway {rest}"
        command = command.commands[word]
        known |= {each for parameter in command.params for each in (*parameter.opts, *parameter.secondary_opts)}
    unknown = options(rest) - known - {"--help"}
    return f"options {unknown} of pairway {rest}" if unknown else None


def test_named_commands_exist(capsys: pytest.CaptureFixture[str]) -> None:
    wrong: list[str] = []
    seen: dict[str, int] = {"python": 0, "pairway": 0, "make": 0}
    for place, text in lines():
        line, found = COMMENT.sub("", text), list[str | None]()
        if match := PYTHON.search(line):
            seen["python"] += 1
            found.append(wrong_of_python(match[1], match[2]))
        if match := PAIRWAY.search(line):
            seen["pairway"] += 1
            found.append(wrong_of_pairway(match[1]))
        for target, quoted, plain in TARGETS.findall(line):
            seen["make"] += 1
            module, _, group = OF_TARGETS[target].partition(" ")
            found.append(wrong_of_python(module, f" {group} {quoted or plain}"))
        wrong += [f"{place}: {each}" for each in found if each]
    capsys.readouterr()  # the help of commands
    assert not wrong, "\n".join(wrong)
    assert all(seen[name] >= number for name, number in {"python": 50, "pairway": 50, "make": 5}.items()), seen


@pytest.mark.parametrize(
    "line",
    [
        "python -m apiserver.changes reload",
        "python -m proxy.keys create",
        'command: [python, -m, "proxy.fleet"]',
        "python -m proxy keys show ID",
        "python -m proxy keys list --all",
        "pairway key list",
        "pairway keys show ID",
        "pairway keys list --all",
        "docker compose exec proxy pairway fleet expects",
    ],
)
def test_what_does_not_exist_is_found(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    python, pairway = PYTHON.search(line), PAIRWAY.search(line)
    found = wrong_of_python(python[1], python[2]) if python else pairway and wrong_of_pairway(pairway[1])
    capsys.readouterr()
    assert found
