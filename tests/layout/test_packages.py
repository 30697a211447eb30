"""Packages: their size, their docstrings, their tests, and the size of functions."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.layout.source_tree import CLIENT, OURS, PRODUCT, ROOT, functions, modules, packages, parsed, shown

MAX_FILES = 13
MIN_FILES = 4
MAX_FUNCTION_LINES = 60
MAX_NESTING = 4
MAX_TEST_NAME_CHARS = 60
# Packages of fewer files than that, and why.
SMALL: dict[str, str] = {
    "benchmarks/connections": "a program with its clients",
    "benchmarks/overload": "a program with its loads and their figures",
    "benchmarks/proxy/peers": "what only the table of peers and its programs need",
}
# Packages without a folder of tests of their own, and the tests that cover them: what only passes things on, or only shows over a
# socket, is tested there.
TESTED_ELSEWHERE: dict[str, str] = {
    "deploy/dashboards": "tests/monitoring/test_dashboards.py",
}
# Nodes that nest code; an ``elif`` is no level of its own.
_BLOCKS = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.TryStar, ast.Match)


def files_of(package: Path) -> list[Path]:
    return [path for path in sorted(package.glob("*.py")) if path.name != "__init__.py"]


def sub_packages_of(package: Path) -> list[Path]:
    return [path.parent for path in sorted(package.glob("*/__init__.py"))]


def test_packages_have_at_most_13_files() -> None:
    sizes = {shown(package): len(files_of(package)) for package in packages(*PRODUCT, CLIENT, "benchmarks", "deploy")}
    assert not {name: size for name, size in sizes.items() if size > MAX_FILES}


def test_packages_under_4_files_have_a_reason() -> None:
    small = {
        shown(package)
        for package in packages(*PRODUCT, CLIENT, "benchmarks")
        if len(files_of(package)) + len(sub_packages_of(package)) < MIN_FILES
    }
    assert small == SMALL.keys()


def test_package_docstrings_list_their_files() -> None:
    missing: list[str] = []
    for package in packages(*PRODUCT, CLIENT, "benchmarks", "deploy"):
        docstring = ast.get_docstring(parsed(package / "__init__.py")) or ""
        expected = [f"``{path.stem}``" for path in files_of(package)]
        expected += [f"``{path.name}/``" for path in sub_packages_of(package)]
        missing += [f"{shown(package)}: {name}" for name in expected if name not in docstring]
    assert not missing, "not in the docstring of the package:\n" + "\n".join(missing)


def test_package_docstrings_list_nothing_else() -> None:
    stale: list[str] = []
    for package in packages(*PRODUCT, CLIENT, "benchmarks", "deploy"):
        docstring = ast.get_docstring(parsed(package / "__init__.py")) or ""
        listed = [line.split("``")[1] for line in docstring.splitlines() if line.startswith("- ``")]
        existing = {path.stem for path in files_of(package)} | {f"{path.name}/" for path in sub_packages_of(package)}
        stale += [f"{shown(package)}: {name}" for name in listed if name not in existing]
    assert not stale, "listed in the docstring, but not there:\n" + "\n".join(stale)


def test_packages_re_export_nothing() -> None:
    wrong = [
        shown(package)
        for package in packages(*PRODUCT)
        if any(not isinstance(node, ast.Expr) for node in parsed(package / "__init__.py").body)
    ]
    assert not wrong


def test_imports_are_unconditional() -> None:
    wrong = [
        f"{shown(path)}:{node.lineno}"
        for path in modules(*PRODUCT, CLIENT, "deploy", "benchmarks", "models")
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    assert not wrong, "an import for type checkers only hides a circle"


def test_packages_have_tests_or_a_reason() -> None:
    missing = {
        shown(package)
        for package in packages(*PRODUCT, CLIENT, "deploy")
        if files_of(package) and not list((ROOT / "tests" / package.relative_to(ROOT)).glob("test_*.py"))
    }
    assert missing == TESTED_ELSEWHERE.keys()
    assert not [tests for tests in TESTED_ELSEWHERE.values() if not (ROOT / tests).exists()]


def test_test_files_say_what_they_test() -> None:
    silent = [
        shown(path)
        for path in modules("tests")
        if path.name.startswith("test_") and not ast.get_docstring(parsed(path))
    ]
    assert not silent, "no docstring that names what is tested"


def test_test_names_are_short() -> None:
    wrong = [
        f"{shown(path)}:{function.lineno}: {function.name}"
        for path in modules("tests")
        for function in functions(parsed(path))
        if function.name.startswith("test_") and len(function.name) > MAX_TEST_NAME_CHARS
    ]
    assert not wrong, f"longer than {MAX_TEST_NAME_CHARS} characters:\n" + "\n".join(wrong)


def test_functions_are_short() -> None:
    wrong = [
        f"{shown(path)}:{function.lineno}: {function.name} has {lines} lines"
        for path in modules(*(folder for folder in OURS if folder != "tests"))
        for function in functions(parsed(path))
        if (lines := (function.end_lineno or 0) - function.lineno + 1) > MAX_FUNCTION_LINES
    ]
    assert not wrong, "\n".join(wrong)


def test_blocks_nest_at_most_4_deep() -> None:
    wrong = [
        f"{shown(path)}:{function.lineno}: {function.name} nests {depth} deep"
        for path in modules(*PRODUCT, CLIENT, "deploy")
        for function in functions(parsed(path))
        if (depth := nesting(function.body)) > MAX_NESTING
    ]
    assert not wrong, "\n".join(wrong)


def nesting(body: list[ast.stmt]) -> int:
    """Return how deep blocks stand in each other; nested functions count for themselves."""
    deepest = 0
    for node in body:
        if not isinstance(node, _BLOCKS):
            continue
        inner: list[list[ast.stmt]] = [getattr(node, name, []) for name in ("body", "orelse", "finalbody")]
        inner += [handler.body for handler in getattr(node, "handlers", [])]
        inner += [case.body for case in getattr(node, "cases", [])]
        for block in inner:
            is_elif = (
                isinstance(node, ast.If) and block is node.orelse and len(block) == 1 and isinstance(block[0], ast.If)
            )
            deepest = max(deepest, nesting(block) + (0 if is_elif else 1))
    return deepest
