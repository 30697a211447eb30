"""Shadow traffic: requests that a candidate translates too, to compare it.

- ``shadow_policy``: which requests are shadowed (pure).
- ``slowdown_monitor``: pauses it when callers become slower (pure).
- ``shadow_traffic``: sends them, and counts the outcomes.
- ``agreement``: how similar two translations are (pure).
- ``comparison``: statistics of one candidate, and its report (pure).
- ``quantiles``: quantiles of durations in bounded memory (pure).
"""
