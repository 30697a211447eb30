"""Places that callers can fill: each cache and table of the code is listed, with its bound."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.bounds.apiserver_places import apiserver_places
from tests.bounds.places import shared_places
from tests.bounds.proxy_places import proxy_places
from tests.bounds.tables import TABLES
from tests.layout.source_tree import PRODUCT, ROOT, modules, parsed

# Caches whose entries the code chooses, not callers.
OF_THE_CODE = {
    "apiserver.engine.vllm_engine.VllmEngine.__init__": "sampling parameters: 64 of requests' options",
    "proxy.api.pages._assets": "files of the page",
    "proxy.api.runbooks._documents": "files of the runbooks",
    "proxy.upstream.http_client.tls_context": "one",
    "shared.http.app_setup._keep_openapi_document.document": "one",
    "shared.http.openapi._static_file": "files of the page",
}
_CONTAINERS = {
    "dict",
    "OrderedDict",
    "defaultdict",
    "set",
    "deque",
    "WeakValueDictionary",
    "WeakKeyDictionary",
    "Counter",
}


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def named(tree: ast.AST, prefix: str, *, is_code: bool = False) -> Iterator[tuple[str, ast.AST, bool]]:
    """Yield each node with the qualified name of what it stands in, and whether that is a function."""
    for node in ast.iter_child_nodes(tree):
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        name = f"{prefix}.{node.name}" if is_function or isinstance(node, ast.ClassDef) else prefix
        yield name, node, is_code
        yield from named(node, name, is_code=is_function or (is_code and not isinstance(node, ast.ClassDef)))


def caches(path: Path) -> Iterator[str]:
    """Yield what makes a cache with functools."""
    imported = {
        alias.asname or alias.name
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.ImportFrom) and node.module == "functools"
        for alias in node.names
    }
    for name, node, _ in named(parsed(path), module_name(path)):
        if isinstance(node, ast.Name) and node.id in {"lru_cache", "cache"} & imported:
            yield name


def tables(path: Path) -> Iterator[str]:
    """Yield the attributes of objects, and variables of modules, that begin as empty tables."""
    for name, node, is_code in named(parsed(path), module_name(path)):
        match node:
            case ast.AnnAssign(annotation=ast.Subscript(value=ast.Name(id=kind))) if kind in _CONTAINERS:
                match node.target:
                    case ast.Attribute(value=ast.Name(id="self"), attr=attribute):
                        yield f"{name.removesuffix('.__init__')}.{attribute}"
                    case ast.Name(id=attribute) if not is_code and isinstance(node.value, ast.Call | ast.Dict):
                        yield f"{name}.{attribute}"
                    case _:
                        pass
            case _:
                pass


def listed() -> list[str]:
    return [place.name for place in (*shared_places(), *proxy_places(), *apiserver_places())]


def test_each_cache_of_the_code_is_listed() -> None:
    found = {name for path in modules(*PRODUCT) for name in caches(path)}
    ours = {name for name in listed() if name.split(".")[0] in PRODUCT}
    assert found - ours - OF_THE_CODE.keys() == set()
    assert OF_THE_CODE.keys() - found == set()


def test_each_table_of_the_code_is_listed() -> None:
    found = {name for path in modules(*PRODUCT) for name in tables(path)}
    explained = [name for names in TABLES.values() for name in names]
    assert len(explained) == len(set(explained))
    assert found - set(listed()) - set(explained) == set()
    assert set(explained) - found == set()


def test_only_one_module_knows_langcodes() -> None:
    """Its caches have no bound, so the one adapter switches them off."""
    users = {
        module_name(path)
        for path in modules(*PRODUCT)
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Import | ast.ImportFrom) and "langcodes" in ast.unparse(node)
    }
    assert users == {"shared.languages"}
