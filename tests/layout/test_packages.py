"""Packages: their size, their docstrings, their tests, and the size of functions."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.layout.source_tree import OURS, PRODUCT, ROOT, functions, modules, packages, parsed, shown

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
# Modules without a test file of their own name, and the tests that cover them: what only passes things on, or only shows over a socket, is tested there.
TESTED_ELSEWHERE = {
    "apiserver/engine/interface.py": "tests/apiserver/engine/test_vllm_engine.py",
    "apiserver/guards/names/candidate.py": "tests/apiserver/guards/names/test_candidates.py",
    "apiserver/guards/numbers/mentions.py": "tests/apiserver/guards/numbers/checks/test_comparison.py",
    "apiserver/guards/numbers/numerals.py": "tests/apiserver/guards/numbers/test_east_asian_reader.py",
    "apiserver/guards/numbers/words/vocabularies.py": "tests/apiserver/guards/numbers/words/test_lexicon.py",
    "apiserver/api.py": "tests/apiserver/integration/test_http.py",
    "apiserver/model_api.py": "tests/apiserver/integration/test_model_changes.py",
    "apiserver/changes/model_changer.py": "tests/apiserver/integration/test_model_changes.py",
    "apiserver/changes/change_run.py": "tests/apiserver/integration/test_model_changes.py",
    "proxy/context_builder.py": "tests/proxy/test_app.py",
    "proxy/api/translation_run.py": "tests/proxy/integration/test_translate.py",
    "proxy/api/compat/compat_api.py": "tests/proxy/api/compat/test_mounts.py",
    "proxy/api/compat/deepl/api.py": "tests/proxy/integration/test_deepl.py",
    "proxy/api/compat/deepl/callers.py": "tests/proxy/integration/test_deepl_keys.py",
    "proxy/api/compat/deepl/glossaries.py": "tests/proxy/integration/test_deepl_glossaries.py",
    "proxy/api/compat/deepl/translate.py": "tests/proxy/integration/test_deepl.py",
    "proxy/api/compat/libretranslate/root_translate.py": "tests/proxy/integration/test_libretranslate.py",
    "proxy/api/compat/libretranslate/routes.py": "tests/proxy/integration/test_libretranslate.py",
    "proxy/api/compat/libretranslate/server_info.py": "tests/proxy/integration/test_libretranslate.py",
    "proxy/api/compat/libretranslate/translate.py": "tests/proxy/integration/test_libretranslate.py",
    "proxy/api/compat/translations.py": "tests/proxy/integration/test_libretranslate.py",
    "shared/protocol/translate_request.py": "tests/shared/parsing/test_request_parser.py",
    "shared/protocol/limits.py": "tests/shared/parsing/test_request_parser.py",
    "proxy/api/operators.py": "tests/proxy/integration/test_fleet_endpoints.py",
    "proxy/api/auth.py": "tests/proxy/integration/test_fleet_endpoints.py",
    "proxy/api/detect.py": "tests/proxy/integration/test_detect.py",
    "proxy/api/fleet.py": "tests/proxy/integration/test_fleet_endpoints.py",
    "proxy/api/glossaries.py": "tests/proxy/integration/test_glossary_endpoints.py",
    "proxy/api/keys.py": "tests/proxy/integration/test_key_endpoints.py",
    "proxy/api/status.py": "tests/proxy/integration/test_status_endpoints.py",
    "proxy/api/live_status/endpoints.py": "tests/proxy/integration/test_live_status.py",
    "proxy/api/translate.py": "tests/proxy/integration/test_translate.py",
    "proxy/balancing/attempt.py": "tests/proxy/balancing/test_outlier_detection.py",
    "proxy/balancing/capacity.py": "tests/proxy/admission/test_controller.py",
    "proxy/balancing/pair_stats.py": "tests/proxy/balancing/test_outlier_detection.py",
    "proxy/balancing/replica_stats.py": "tests/proxy/balancing/test_local_stats.py",
    "proxy/cache/model_versions.py": "tests/proxy/cache/test_translation_cache.py",
    "proxy/call.py": "tests/proxy/cache/test_coalescing.py",
    "proxy/context.py": "tests/proxy/integration/test_operator_port.py",
    "proxy/forwarding/canary_probes.py": "tests/proxy/integration/test_retries_and_hedges.py",
    "proxy/forwarding/leg.py": "tests/proxy/integration/test_failover.py",
    "proxy/upstream/errors.py": "tests/proxy/upstream/test_client.py",
    "proxy/forwarding/upstream_request.py": "tests/proxy/integration/test_failover.py",
    "proxy/translation/dispatcher.py": "tests/proxy/integration/test_translate_options.py",
    "proxy/translation/target_list.py": "tests/proxy/integration/test_target_list.py",
    "proxy/translation/pivot.py": "tests/proxy/integration/test_pivot_translation.py",
    "proxy/translation/service.py": "tests/proxy/integration/test_translation_cache.py",
}
# Nodes that nest code; an ``elif`` is no level of its own.
_BLOCKS = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.TryStar, ast.Match)


def files_of(package: Path) -> list[Path]:
    return [path for path in sorted(package.glob("*.py")) if path.name != "__init__.py"]


def sub_packages_of(package: Path) -> list[Path]:
    return [path.parent for path in sorted(package.glob("*/__init__.py"))]


def test_packages_have_at_most_13_files() -> None:
    sizes = {shown(package): len(files_of(package)) for package in packages(*PRODUCT, "benchmarks", "deploy")}
    assert not {name: size for name, size in sizes.items() if size > MAX_FILES}


def test_packages_under_4_files_have_a_reason() -> None:
    small = {
        shown(package)
        for package in packages(*PRODUCT, "benchmarks")
        if len(files_of(package)) + len(sub_packages_of(package)) < MIN_FILES
    }
    assert small == SMALL.keys()


def test_package_docstrings_list_their_files() -> None:
    missing: list[str] = []
    for package in packages(*PRODUCT, "benchmarks", "deploy"):
        docstring = ast.get_docstring(parsed(package / "__init__.py")) or ""
        expected = [f"``{path.stem}``" for path in files_of(package)]
        expected += [f"``{path.name}/``" for path in sub_packages_of(package)]
        missing += [f"{shown(package)}: {name}" for name in expected if name not in docstring]
    assert not missing, "not in the docstring of the package:\n" + "\n".join(missing)


def test_package_docstrings_list_nothing_else() -> None:
    stale: list[str] = []
    for package in packages(*PRODUCT, "benchmarks", "deploy"):
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
        for path in modules(*PRODUCT, "deploy", "benchmarks", "models")
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    assert not wrong, "an import for type checkers only hides a circle"


def test_modules_have_a_test_file_or_a_reason() -> None:
    missing: set[str] = set()
    for path in modules(*PRODUCT, "deploy"):
        if path.name in {"__init__.py", "__main__.py"}:
            continue
        mirror = ROOT / "tests" / path.relative_to(ROOT).with_name(f"test_{path.name}")
        if not mirror.exists():
            missing.add(shown(path))
    assert missing == TESTED_ELSEWHERE.keys()
    assert not [tests for tests in TESTED_ELSEWHERE.values() if not (ROOT / tests).exists()]


def test_tests_of_packages_name_a_module() -> None:
    wrong: list[str] = []
    for path in modules(*(f"tests/{folder}" for folder in (*PRODUCT, "deploy"))):
        inside = path.relative_to(ROOT / "tests")
        if not path.name.startswith("test_") or "integration" in inside.parts:
            continue
        if not (ROOT / inside.with_name(path.name.removeprefix("test_"))).exists():
            wrong.append(shown(path))
    assert not wrong, "no module of that name; tests of the whole app belong to integration/ or system/"


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
        for path in modules(*PRODUCT, "deploy")
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
