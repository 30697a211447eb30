"""Changes docker compose's containers while they serve: ``make roll``.

- ``__main__``: the command line.
- ``settings_check``: refuses wrong settings before anything changes; runs in the proxy's image.
- ``containers``: a service as it should be, and its containers as they are.
- ``next_step``: decides what happens next, whether a container serves, and what forbids a step.
- ``docker``: runs docker and docker compose.
- ``roller``: rolls one service after the other.
"""
