"""Benchmarks: one folder for each question, and the harness that they share.

- ``harness/``: load generators, servers, targets and tables. Tests use it too.
- ``calibration/``: how far confidence can be trusted, and what it costs.
- ``client``: what the Python client costs beside plain httpx.
- ``connections/``: what idle connections and slow clients do to a proxy.
- ``imports``: the files of libraries that a start imports.
- ``origin/``: the experiment that the project began with: one model under several designs.
- ``overload/``: up to four times as many requests as a fleet can serve.
- ``proxy/``: our proxy against other ones.
- ``quality/``: what the guards do for translations, and long texts beside short ones.
- ``request_path``: the product files that one request enters.
- ``start``: seconds and memory of a start, and of the way back after a kill.
- ``scale``: many replicas, many pairs, several proxies.
- ``sizing/``: how much one engine should run at once, and how many replicas a load needs.
"""
