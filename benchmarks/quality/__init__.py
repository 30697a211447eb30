"""Quality: translations with and without guards, false alarms, and long texts beside short ones.

- ``__main__``: quality with and without guards, and what each guard does.
- ``guard_alarms``: false alarms on reference translations.
- ``hostile_texts``: texts that translators are known to fail on.
- ``long_text``: short requests beside a long document.
"""
