"""Command `pairway`: translate files, texts and pipes, and look at a server.

- ``main``: the program: its commands, its version, how it ends.
- ``reads``: what only asks: detect, languages, usage.
- ``server_options``: options of all commands, and the client they make.
- ``failures``: errors to exit codes.
- ``output``: lines, tables and JSON.
"""
