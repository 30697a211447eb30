"""Words of numbers, of languages that write spaces between words.

- ``lexicon``: a language's words, ready to be looked up.
- ``vocabularies``: words that the libraries lack.
- ``spellout``: numbers spelled out by ICU.
- ``ordinals``: ordinal words, from cardinal ones.
- ``composition``: the value of several words.
- ``roman``: roman numerals.
- ``cldr``: months and the form of numbers, from Babel.
"""
