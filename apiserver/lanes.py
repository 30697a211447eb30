"""How the lanes of shared/lane.py share an engine. Pure."""

from __future__ import annotations

from typing import Final

from shared.lane import SHORT_UNITS

# Long texts together run at most one in so many of the requests that the engine runs at once. A step's time grows with
# its batch, so this is what a short text feels of a long one (measured: benchmarks/README.md, "Long texts").
LONG_SHARE: Final = 4
# Once it is planned, a text is long by what the engine is really asked for: more segments than this. Admission and the
# proxy, which know only characters, go by shared/lane.py; sentences are often of half a unit, and a paragraph that was
# taken on as short must not wait behind all short texts.
SHORT_SEGMENTS: Final = 2 * SHORT_UNITS
# vLLM takes lower numbers first: work goes by its lane's, canaries before all.
CANARY_PRIORITY: Final = -1
