"""One text: plan, translate its segments with fallbacks, assemble.

- ``translator``: one request in, the translations of its texts out.
- ``text_translation``: one planned text on its way through the engine, its segments in worker tasks.
- ``planner``: parses a text, protects what must survive and cuts it into segments.
- ``segment_translator``: translates one segment, with fallbacks.
- ``segment_pieces``: cuts a segment into pieces for the last fallback.
- ``assembler``: joins the segments' translations.
"""
