"""Quality: translations with and without guards, false alarms, and long texts beside short ones.

- ``__main__``: quality with and without guards, and what each guard does.
- ``alarms/``: what the guards say of right translations, and find of wrong ones.
- ``bootstrap``: chrF with its intervals.
- ``first_words``: what people type first, with all right answers.
- ``hostile_scores``: what becomes of hostile texts.
- ``hostile_texts``: texts that translators are known to fail on.
- ``long_text``: short requests beside a long document.
- ``markup_scores``: what inline tags cost.
- ``named/``: sentences with names and numbers, and what translations keep of them.
- ``samples``: sentences with references.
- ``sentence_scores``: scores of sentences and paragraphs against references.
- ``shown_sentences``: sentences of the documents, as they come out.
- ``systems``: what is compared.
- ``targets``: targets of the demo models.
"""
