"""Scripts and styles, each with all that it imports."""

from __future__ import annotations

import re
from collections.abc import Mapping
from posixpath import dirname, join, normpath
from typing import Final

_STYLE_IMPORT: Final = re.compile(r'^@import "([^"]+)";$', re.MULTILINE)
_IMPORT: Final = re.compile(r'^import (\w+|\{[^}]*\}) from "(\.[^"]+)"(?: with \{ type: "json" \})?;$', re.MULTILINE)
_EXPORT: Final = re.compile(r"^export (?=(?:async )?(?:function\*?|class|const) (\w+))", re.MULTILINE)
_EXPORT_LIST: Final = re.compile(r"\bexport ?\{([^}]*)\};?$", re.MULTILINE)
_EXPORT_DEFAULT: Final = re.compile(r"\bexport (default) ")
# Of these a linked text has none, but for types in comments.
_UNREAD: Final = re.compile(r"^(?:import|export)\b.*|^(?!\s*(?:\*|//|/\*)).*\bimport\(.*|^@import.*", re.MULTILINE)
_SOURCE_MAP: Final = re.compile(r"^//# sourceMappingURL=.*$", re.MULTILINE)


def link(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return whole scripts and styles without those that others import.

    Raises:
        ValueError: a file imports in a circle, or imports or exports in a way that is not read here.
    """
    linked, imported = dict(files), set[str]()
    for name in files:
        if name.endswith((".css", ".js", ".mjs")):
            modules: dict[str, str] = {}
            text = _read(files, name, modules, imported)[0]
            linked[name] = "".join([*modules.values(), text]).encode()
            if unread := _UNREAD.search(linked[name].decode()):
                raise ValueError(f"{name}: {unread[0]} cannot be linked")
    return {name: content for name, content in linked.items() if name not in imported}


def _read(files: Mapping[str, bytes], name: str, modules: dict[str, str], imported: set[str]) -> tuple[str, list[str]]:
    """Return a file's text and exports; add the modules before it."""

    def style(found: re.Match[str]) -> str:
        path = normpath(join(dirname(name), found[1]))
        imported.add(path)
        return _read(files, path, modules, imported)[0]

    def module(found: re.Match[str]) -> str:
        names = found[1].replace(" as ", ": ") if found[1].startswith("{") else f"{{ default: {found[1]} }}"
        path = normpath(join(dirname(name), found[2]))
        if path.endswith(".json"):
            return f"const {names} = {{ default: {files[path].decode()} }};"
        constant = "$" + re.sub(r"\W", "_", path)
        if path not in modules:
            imported.add(path)
            modules[path] = ""
            text, exports = _read(files, path, modules, imported)
            del modules[path]  # it comes after those that it imports
            modules[path] = f"const {constant} = (() => {{\n{text}\nreturn {{ {', '.join(exports)} }};\n}})();\n"
        if not modules[path]:
            raise ValueError(f"{path} imports itself, in a circle")
        return f"const {names} = {constant};"

    text = _IMPORT.sub(module, _STYLE_IMPORT.sub(style, _SOURCE_MAP.sub("", files[name].decode())))
    listed = [each.strip() for names in _EXPORT_LIST.findall(text) for each in names.split(",")]
    exports = [": ".join(reversed(each.split(" as "))) for each in listed + _EXPORT.findall(text)]
    exports += [f"{each}: ${each}" for each in _EXPORT_DEFAULT.findall(text)]
    return _EXPORT_DEFAULT.sub("const $default = ", _EXPORT_LIST.sub("", _EXPORT.sub("", text))), exports
