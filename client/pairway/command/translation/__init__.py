"""Translation: inputs to outputs, files and lines.

- ``runs``: files one beside the other, and lines of a pipe as they come.
- ``translator``: texts to translations, and patience with a server that is away.
- ``report``: results, failures and a summary of warnings.
- ``inputs``: what arguments mean, and which file each translation becomes.
- ``progress_file``: which outputs are whole.
"""
