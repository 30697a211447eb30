"""Assets of the pages: files of ``web/`` under addresses with a hash."""

from __future__ import annotations

from pathlib import Path

from proxy.api.pages.assets import Assets, read_assets


def base(**contents: bytes) -> str:
    return Assets({f"{name}.js": content for name, content in contents.items()}).base


def test_address_changes_with_any_file() -> None:
    addresses = [
        base(a=b"1"),
        base(a=b"2"),
        base(b=b"1"),
        base(a=b"1", b=b""),
        base(a=b"1", b=b"2"),
        base(a=b"12", b=b""),
    ]
    assert len(set(addresses)) == len(addresses)
    assert base(a=b"1", b=b"2") == base(b=b"2", a=b"1")


def test_only_known_kinds_are_read(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    for name in ("page.html", "README.md", ".hidden.swp", "inner/one.js", "two.css", "inner/LICENSE", "x.map"):
        (tmp_path / name).write_text(name)
    found = read_assets(tmp_path)
    assert {name.removeprefix(f"{found.base}/") for name in found.files} == {"inner/one.js", "two.css", "inner/LICENSE"}
