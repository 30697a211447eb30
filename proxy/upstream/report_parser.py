"""Parser of replicas' reports; equal pairs are parsed once and shared."""

from __future__ import annotations

from typing import Final
from weakref import WeakValueDictionary

from pydantic import TypeAdapter, ValidationError

from shared.protocol.report import ReplicaReport, ServedPairs

BEGIN: Final = b'"pairs":'
END: Final = b',"models":{'
_PAIRS: Final = TypeAdapter(ServedPairs)


class ReportParser:
    """Parser that shares equal pairs between reports.

    Mutable state: the JSON of pairs seen so far, and what it means.

    A replica serves the pairs that it served a second ago, and that its like serve; of a multilingual model's report
    they are all but a few numbers. Reports that share them are quickly compared, too.
    """

    def __init__(self) -> None:
        # Pairs that no live report holds any more drop out by themselves.
        self._known: WeakValueDictionary[bytes, ServedPairs] = WeakValueDictionary()

    def parse(self, body: bytes) -> ReplicaReport:
        """Parse a report.

        Raises:
            ValidationError: it is none.
        """
        rest, pairs = self.split_pairs(body)
        report = ReplicaReport.model_validate_json(rest)
        return report if pairs is None else report.model_copy(update={"pairs": pairs})

    def split_pairs(self, body: bytes) -> tuple[bytes, ServedPairs | None]:
        """Split JSON that holds a report into the rest and the pairs.

        The rest has an empty object in the pairs' place. Where they cannot be found, it is the whole body, with None.

        A quote within a string is escaped, so the marks are never part of one; and what stands between them is a JSON
        value, so another one in its place leaves the rest as it was.
        """
        begin = body.find(BEGIN + b"{") + len(BEGIN)
        end = body.find(b"}" + END, begin) + 1
        if begin < len(BEGIN) or end < 1:
            return body, None
        json = body[begin:end]
        pairs = self._known.get(json)
        if pairs is None:
            try:
                pairs = _PAIRS.validate_json(json)
            except ValidationError:
                return body, None  # the error should name its place in the whole body
            self._known[json] = pairs
        return body[:begin] + b"{}" + body[end:], pairs
