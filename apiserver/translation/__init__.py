"""One text: plan, translate its segments with fallbacks, assemble.

- ``translator``: translates all texts of one request.
- ``text_translation``: translates one planned text, its segments in worker tasks.
- ``running_model``: a loaded model with the parts that texts need.
- ``engine_requests``: a text's engine requests, their limits and batch slots.
- ``planner``: parses a text, protects parts of it, and cuts it into segments.
- ``segment_translator``: translates one segment, with fallbacks.
- ``segment_attempts``: a segment's results so far, and its pieces for the last fallback.
- ``masks``: names and numbers that travel as placeholders.
- ``alternatives``: further translations.
- ``confidence``: how likely a translation is good.
- ``assembler``: joins the segments' translations.
"""
