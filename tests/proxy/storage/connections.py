"""Records and connections for tests of the storage."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from pydantic import BaseModel

from proxy.storage.connection import RedisConnection
from proxy.storage.records import Codec

PATIENT = 5.0


class Note(BaseModel):
    """A record."""

    name: str
    at: float = 0.0
    count: int = 0


CODEC = Codec("note", Note.model_dump_json, Note.model_validate_json)


def name_of(note: Note) -> str:
    """Return the name of a note."""
    return note.name


@asynccontextmanager
async def connection_to(url: str, patience: float = PATIENT) -> AsyncGenerator[RedisConnection]:
    """Open a connection for a few calls at once."""
    connection = RedisConnection(url, patience, 8)
    try:
        yield connection
    finally:
        await connection.close()
