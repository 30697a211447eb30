"""The pipeline of one request: cache, coalesce, detect, route, admit, forward, assemble.

- ``service``: the entry: cache, coalescing, then the dispatcher.
- ``dispatcher``: routes, admits and translates a request's texts.
- ``detection``: detects the languages of texts, and groups these by language.
- ``target_list``: translates into several languages.
- ``pivot``: translates two legs through a pivot language.
- ``results``: parses replicas' translations and merges legs.
"""
