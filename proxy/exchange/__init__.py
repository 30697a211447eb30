"""One request, whatever its transport, from its first byte to the result.

Nothing here imports a web framework.

- ``peer``: what an exchange knows of its other side.
- ``exchange``: deadline, caller, budget, body; the only place where callers are identified.
- ``fields``: the members of a body; the only place where bodies are parsed.
- ``key_places``: where requests have their keys; finds one in a body before its fields are read.
- ``translation_run``: an exchange that charges, translates, and refunds.
"""
