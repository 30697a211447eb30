"""Command `pairway`: translate, look at a server, operate a fleet.

- ``main``: the program: its commands, its version, how it ends.
- ``translate``: the command that translates: its options.
- ``glossaries``: the group `glossary`.
- ``reads``: what only asks: detect, languages, usage.
- ``status``: the fleet, live.
- ``keys``, ``fleet``, ``models``: the groups of operators.
- ``operator_access``: whom these ask, with which token.
- ``terms_file``: CSV and TBX to terms.
- ``translation/``: what `translate` runs.
- ``server_options``: options of all commands, and the client they make.
- ``output``: lines, tables, JSON and progress.
- ``failures``: errors to exit codes.
"""
