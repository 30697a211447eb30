"""The catalog ``models.yaml``: entries, validation, versions.

- ``__main__``: ``python -m apiserver.catalog check FILE…``.
- ``loader``: reads a catalog and reports all of its issues.
- ``yaml_file``: YAML with the line of every value.
- ``model_entry``: one model: weights, pairs, prompt, sampling, engine arguments, canary texts.
- ``engine_arguments``: checks of vLLM's engine arguments, and of a hub's revision.
- ``calibration``: from an output's signals to a probability; files beside the catalog.
- ``model_fingerprint``: one name for everything that determines a model's answers.
"""
