"""Quality: translations with and without guards, false alarms, and long texts beside short ones.

- ``__main__``: quality with and without guards, and what each guard does.
- ``bootstrap``: chrF with its intervals.
- ``guard_alarms``: false alarms on reference translations.
- ``hostile_scores``: what becomes of hostile texts.
- ``hostile_texts``: texts that translators are known to fail on.
- ``long_text``: short requests beside a long document.
- ``name_alarms``: false alarms of the names guard, and what it finds.
- ``name_words``: makes the names guard's lists of words.
- ``named/``: sentences with names and numbers, and what translations keep of them.
- ``samples``: sentences with references.
- ``sentence_scores``: scores of sentences and paragraphs against references.
- ``shown_sentences``: sentences of the documents, as they come out.
- ``systems``: what is compared.
- ``targets``: targets of the demo models.
"""
