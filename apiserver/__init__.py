"""The API server: hosts language models in vLLM's async engines.

- ``__main__``: ``python -m apiserver``.
- ``app``: the composition root.
- ``api``: the HTTP endpoints.
- ``context``: the app's parts, for the endpoints.
- ``model_server``: all models of the server, and the choice among them.
- ``changes/``: reload of the catalog while serving.
- ``hosting/``: the life of one model: start, canaries, stalls, restarts.
- ``translation/``: one text: plan, translate segments with fallbacks, assemble.
- ``guards/``: checks and clean-up of model output.
- ``scheduling/``: admission and fair queueing in front of one engine.
- ``engine/``: the engine interface, and vLLM behind it.
- ``protection/``: placeholders, glossary, tags and emoji, which must survive translation.
- ``segmentation/``: sentences and boundaries.
- ``catalog/``: the catalog ``models.yaml``: entries, validation, versions.
- ``formats/``: text, HTML, Markdown and XML as blocks of words.
- ``prompts/``: prompts of model families, templates, sampling.
- ``settings``: the operator's settings.
- ``metrics``: all metrics.
"""
