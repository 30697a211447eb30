"""The API server: hosts language models in vLLM async engines and awaits them directly.

- ``__main__``: ``python -m apiserver``.
- ``app``: the composition root.
- ``api``: the HTTP endpoints.
- ``context``: the app's parts, as the endpoints reach them.
- ``model_server``: the server's models, its state, and how one request is served.
- ``hosting/``: one model's life: start, canaries, stalls, restarts.
- ``translation/``: one text: plan, translate segments with fallbacks, assemble.
- ``guards/``: checks and clean-up of model output.
- ``scheduling/``: admission and fair queueing in front of one engine.
- ``engine/``: the engine interface, and vLLM behind it.
- ``protection/``: what must survive translation: placeholders, glossary, tags, emoji.
- ``segmentation/``: sentences and boundaries.
- ``catalog/``: the catalog ``models.yaml``: entries, validation, versions.
- ``formats/``: text, HTML and Markdown as blocks of words.
- ``prompts/``: what a model is asked: families, templates, sampling.
- ``settings``: what an operator can set.
- ``metrics``: every metric name.
"""
