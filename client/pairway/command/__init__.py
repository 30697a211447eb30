"""Command `pairway`: translate files, texts and pipes, and look at a server.

- ``main``: the program: its commands, its version, how it ends.
- ``translate``: the command that translates: its options.
- ``runs``: files one beside the other, and lines of a pipe as they come.
- ``translator``: texts to translations, and patience with a server that is away.
- ``report``: results, failures and a summary of warnings.
- ``glossaries``: the group `glossary`.
- ``reads``: what only asks: detect, languages, usage.
- ``status``: the fleet, live.
- ``terms_file``: CSV and TBX to terms.
- ``inputs``: what arguments mean, and which file each translation becomes.
- ``progress_file``: which outputs are whole.
- ``server_options``: options of all commands, and the client they make.
- ``output``: lines, tables, JSON and progress.
- ``failures``: errors to exit codes.
"""
