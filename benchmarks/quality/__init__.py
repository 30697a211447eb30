"""Quality: translations with and without guards, false alarms, and long texts beside short ones.

- ``__main__``: quality with and without guards, and what each guard does.
- ``guard_alarms``: false alarms on reference translations.
- ``hostile_texts``: texts that translators are known to fail on.
- ``long_text``: short requests beside a long document.
- ``named_sentences``: sentences with names and numbers (``named/*.tsv``), and what a translation lost.
- ``number_forms``: accepted written forms of an expected number in a language.
- ``number_words``: numbers in words.
"""
