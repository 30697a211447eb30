"""Usage report: what keys used, as JSON and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Final

from pydantic import BaseModel, Field

from proxy.keys.usage_store import PeriodUsage

# Spreadsheets compute a cell that begins with one of these.
_FORMULA: Final = ("=", "+", "-", "@")


class UsageRow(BaseModel):
    """Usage of one key in a day or month."""

    period: Annotated[str, Field(description="UTC day or month.", examples=["2027-01-31", "2027-01"])]
    key: Annotated[str, Field(description="Id of the key.")]
    name: Annotated[str, Field(description="Name of its holder; empty for a key that is no longer listed.")]
    requests: int
    characters: Annotated[int, Field(description="Characters as charged, without what was given back.")]
    incomplete: Annotated[bool, Field(description="Whether more was used in the period, but lost.")]


class UsageReport(BaseModel):
    """Usage by period and key: the latest period first, then by id."""

    usage: list[UsageRow]


def render_json(periods: Sequence[PeriodUsage], names: Mapping[str, str]) -> bytes:
    """Return the JSON of a UsageReport.

    It is written row by row, so that the thread of 10,000 keys does not block the event loop.
    """
    return b'{"usage":[' + b",".join(row.model_dump_json().encode() for row in _rows(periods, names)) + b"]}"


def render_csv(periods: Sequence[PeriodUsage], names: Mapping[str, str]) -> bytes:
    """Return a table with a heading, as RFC 4180 describes it."""
    text = io.StringIO()
    table = csv.writer(text)
    table.writerow(UsageRow.model_fields)
    for row in _rows(periods, names):
        name = f"'{row.name}" if row.name.startswith(_FORMULA) else row.name
        table.writerow(row.model_copy(update={"name": name}).model_dump(mode="json").values())
    return text.getvalue().encode()


def _rows(periods: Sequence[PeriodUsage], names: Mapping[str, str]) -> Iterator[UsageRow]:
    for each in periods:
        for key_id, used in each.by_key.items():
            yield UsageRow(
                period=each.period,
                key=key_id,
                name=names.get(key_id, ""),
                requests=used.requests,
                characters=used.characters,
                incomplete=each.is_incomplete,
            )
