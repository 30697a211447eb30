"""Assets of the pages: files of ``web/`` under addresses with a hash."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from fastapi import Request, Response

from shared.http.static_file import IMMUTABLE, StaticFile
from shared.protocol.errors import NotFoundError
from shared.protocol.headers import mask_secrets

PREFIX: Final = "assets"
_JAVASCRIPT: Final = "text/javascript; charset=utf-8"
# By suffix. No other file is served.
_MEDIA_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".js": _JAVASCRIPT,
    ".json": "application/json",
    ".mjs": _JAVASCRIPT,
    ".svg": "image/svg+xml",
    "": "text/plain; charset=utf-8",  # licences
}
# 64 bits: two versions of the files never share an address by accident.
_DIGEST_CHARS: Final = 16


class Assets:
    """Files under ``base``, an address relative to the pages.

    One hash of all files stands in front of their names, so that modules can import each other by relative names, and
    never one of another version.
    """

    def __init__(self, contents: Mapping[str, bytes]) -> None:
        listing = "\n".join(f"{hashlib.sha256(contents[name]).hexdigest()} {name}" for name in sorted(contents))
        self.base = f"{PREFIX}/{hashlib.sha256(listing.encode()).hexdigest()[:_DIGEST_CHARS]}"
        self.files = {
            f"{self.base}/{name}": StaticFile(content, _MEDIA_TYPES[Path(name).suffix], IMMUTABLE)
            for name, content in contents.items()
        }

    async def serve(self, request: Request) -> Response:
        """Answer with the file at ``path`` below ``assets/``.

        Raises:
            NotFoundError: there is no such file.
        """
        path = f"{PREFIX}/{request.path_params['path']}"
        file = self.files.get(path)
        if file is None:
            raise NotFoundError(
                f"The path /{mask_secrets(path)} does not exist; the files of this version are in {self.base}/."
            )
        return await file.serve(request)


def read_assets(folder: Path) -> Assets:
    """Read all files below a folder whose kind is served."""
    return Assets(
        {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file() and path.suffix in _MEDIA_TYPES
        }
    )
