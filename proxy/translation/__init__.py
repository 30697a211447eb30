"""One request's pipeline: cache, coalesce, detect, route, admit, forward, put together."""
