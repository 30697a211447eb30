"""One request's pipeline: cache, coalesce, detect, route, admit, forward, put together.

- ``service``: entry: cache, coalescing, then the dispatcher.
- ``dispatcher``: routes, admits and translates a request's texts.
- ``language_groups``: groups texts by detected language.
- ``pivot``: two legs through a pivot language.
- ``results``: parses replicas' translations and merges legs.
"""
