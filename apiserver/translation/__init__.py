"""One text: plan, translate its segments with fallbacks, assemble.

- ``translator``: one text in, one translation out.
- ``planner``: parses a text, protects what must survive and cuts it into segments.
- ``segment_pool``: worker tasks that translate a text's segments.
- ``segment_translator``: translates one segment, with fallbacks.
- ``segment_pieces``: cuts a segment into pieces for the last fallback.
- ``engine_requests``: asks the engine for one output.
- ``assembler``: joins the segments' translations.
"""
