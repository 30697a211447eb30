"""Names and numbers: sentences with what a translation must keep (``*.tsv``), and how many translations keep it.

- ``contrasts``: sentences in which one word changes the sense.
- ``named_scores``: what translations kept, and whether wrong ones say so.
- ``named_sentences``: the sentences, and what a translation of one lost.
- ``number_forms``: accepted written forms of an expected number in a language.
- ``number_words``: numbers in words.
"""
