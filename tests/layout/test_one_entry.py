"""One entry for requests: bodies are parsed in one module of the proxy, and callers are identified in one."""

from __future__ import annotations

import ast
from collections.abc import Collection

from tests.layout.source_tree import modules, parsed, shown

# What reads the bytes of a body; a key in it is found by a search, which decodes its one string.
PARSERS = {"read_members", "refuse_repeated_names", "parse_urlencoded", "parse_multipart"}
# Methods of the authenticator that look at keys.
LOOKS = {"authenticate", "identify", "require_operator"}
ADAPTERS = "proxy/api/", "proxy/exchange/"


def users(names: Collection[str], owner: str | None = None) -> set[str]:
    """Return the modules of endpoints and exchanges that call these names, or name these methods of an ``owner``."""
    return {
        shown(path)
        for path in modules("proxy")
        if shown(path).startswith(ADAPTERS)
        for node in ast.walk(parsed(path))
        if _uses(node, names, owner)
    }


def _uses(node: ast.AST, names: Collection[str], owner: str | None) -> bool:
    match node:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if owner is None:
            return name in names
        case ast.Attribute(attr=name, value=value) if owner is not None:
            return name in names and ast.unparse(value).endswith(owner)
        case _:
            return False


def importers(module: str, names: Collection[str]) -> set[str]:
    return {
        shown(path)
        for path in modules("proxy")
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.ImportFrom)
        and (node.module or "").startswith(module)
        and not {alias.name for alias in node.names}.isdisjoint(names)
    }


def test_bodies_are_parsed_in_one_module() -> None:
    assert importers("shared.parsing", PARSERS) == {"proxy/exchange/fields.py"}
    assert users({"validate_json", "model_validate_json", "loads", "from_json"}) == {"proxy/exchange/key_places.py"}
    assert users({"read"}, "reader") == {"proxy/exchange/exchange.py", "proxy/exchange/fields.py"}


def test_bytes_of_a_body_are_read_in_one_module() -> None:
    assert importers("shared.http.body", {"read_body", "read_json_body", "read_operator_body"}) == {
        "proxy/api/http_exchange.py"
    }
    assert users({"read_body"}, "peer") == {"proxy/exchange/exchange.py"}


def test_callers_are_identified_in_one_module() -> None:
    assert users(LOOKS, "authenticator") == {"proxy/exchange/exchange.py"}


def test_exchanges_are_created_in_one_module() -> None:
    assert users({"RequestExchange", "TranslationRun"}) == {"proxy/api/http_exchange.py"}
