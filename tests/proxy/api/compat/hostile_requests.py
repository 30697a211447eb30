"""Requests of any kind to a compatible API: JSON, forms, bytes, and near misses of what it reads."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

from hypothesis import strategies as st

_FORM = "application/x-www-form-urlencoded"
_MULTIPART = "multipart/form-data; boundary=x"
# This charset makes lone surrogates of a backslash and "ud800".
_ESCAPES = f"{_MULTIPART}; charset=unicode_escape"
_TYPES = ["application/json", _FORM, _MULTIPART, _ESCAPES, "text/plain", "application/json; charset=x"]
# Values with which a request may succeed.
_ODD = ["<b0></b0> a & b", "\0", "zz", "\\ud800"]
_USUAL = ["Hello", "", "en", "de", "auto", "EN", "DE", "html", "xml", ["Hello", ""], [], *_ODD]

_scalars: st.SearchStrategy[object] = st.none() | st.booleans() | st.integers() | st.text(max_size=20)
_values: st.SearchStrategy[object] = st.sampled_from(_USUAL) | st.recursive(
    _scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
)


def hostile_requests(*names: str) -> st.SearchStrategy[tuple[str, bytes]]:
    """Return a content type and a body; objects mostly have these names."""
    objects = st.dictionaries(st.sampled_from(names) | st.text(max_size=5), _values, max_size=5)
    usual = st.fixed_dictionaries(dict.fromkeys(names, st.sampled_from(_USUAL)))
    parts = (objects | usual).map(_multipart)
    encoded = (objects | usual).map(lambda members: json.dumps(members).encode())
    forms = (objects | usual).map(lambda members: urlencode(members, doseq=True).encode())
    bodies = encoded | forms | parts | st.binary(max_size=40) | _values.map(lambda value: json.dumps(value).encode())
    return st.tuples(st.sampled_from(_TYPES), bodies) | st.tuples(st.just(_TYPES[0]), encoded)


def _multipart(members: dict[str, Any]) -> bytes:
    head = '--x\r\nContent-Disposition: form-data; name="{}"\r\n\r\n{}\r\n'
    return ("".join(head.format(name, value) for name, value in members.items()) + "--x--\r\n").encode()
