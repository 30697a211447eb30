"""Reports: reads what replicas report; what many of them serve alike is read once and shared. Pure."""

from __future__ import annotations

from typing import Final
from weakref import WeakValueDictionary

from pydantic import TypeAdapter, ValidationError

from proxy.fleet.replica import Replica
from shared.protocol.report import ReplicaReport, ServedPairs

BEGIN: Final = b'"pairs":'
END: Final = b',"models":{'
_PAIRS: Final = TypeAdapter(ServedPairs)


class ReportParser:
    """Mutable state: the pairs' part of reports as it was said, and what it means.

    A replica serves what it served a second ago, and what its like serve; of a multilingual model's report that is all but
    a few numbers. Reports that share it are quickly compared, too.
    """

    def __init__(self) -> None:
        """Begin with nothing known."""
        # What no live report holds any more is forgotten by itself.
        self._known: WeakValueDictionary[bytes, ServedPairs] = WeakValueDictionary()

    def report(self, body: bytes) -> ReplicaReport:
        """Read a report.

        Raises:
            ValidationError: it is none.
        """
        rest, pairs = self._apart(body)
        report = ReplicaReport.model_validate_json(rest)
        return report if pairs is None else report.model_copy(update={"pairs": pairs})

    def replica(self, record: bytes) -> Replica:
        """Read the record of a replica and its last report.

        Raises:
            ValidationError: it is none.
        """
        rest, pairs = self._apart(record)
        replica = Replica.model_validate_json(rest)
        if pairs is None or replica.report is None:
            return replica
        return replica.model_copy(update={"report": replica.report.model_copy(update={"pairs": pairs})})

    def _apart(self, body: bytes) -> tuple[bytes, ServedPairs | None]:
        """Return it without its pairs, and the pairs; whole where they can not be told apart.

        A quote within a string is escaped, so the marks are never part of one; and what stands between them is a JSON
        value, so another one in its place leaves the rest as it was.
        """
        begin = body.find(BEGIN + b"{") + len(BEGIN)
        end = body.find(b"}" + END, begin) + 1
        if begin < len(BEGIN) or end < 1:
            return body, None
        said = body[begin:end]
        pairs = self._known.get(said)
        if pairs is None:
            try:
                pairs = _PAIRS.validate_json(said)
            except ValidationError:
                return body, None  # what is wrong is told by where it stands in the whole
            self._known[said] = pairs
        return body[:begin] + b"{}" + body[end:], pairs
