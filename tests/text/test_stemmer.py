"""The stemmer is that of the installed rouge-score, whose version is free: it must stem as the one tried."""

import re

from hypothesis import given
from hypothesis import strategies as st

from fastmetrics.text.tokenize import stem

# By rouge-score 0.1.2 with NLTK 3.10.  Martin Porter's list has other stems because NLTK adds rules.
STEMS = {
    **{"caresses": "caress", "ponies": "poni", "ties": "tie", "cats": "cat", "feed": "feed", "agreed": "agre"},
    **{"plastered": "plaster", "motoring": "motor", "conflated": "conflat", "sized": "size", "hopping": "hop"},
    **{"falling": "fall", "failing": "fail", "filing": "file", "happy": "happi", "sky": "sky", "dying": "die"},
    **{"relational": "relat", "digitizer": "digit", "operator": "oper", "hopefulness": "hope", "formality": "formal"},
    **{"triplicate": "triplic", "goodness": "good", "revival": "reviv", "adjustment": "adjust", "adoption": "adopt"},
    **{"probate": "probat", "controll": "control", "roll": "roll", "news": "news", "innings": "inning", "was": "was"},
    **{"geology": "geolog", "1990s": "1990", "u2": "u2", "2000": "2000", "analyses": "analys", "e": "e"},
}
"""Words with a rule of the algorithm each, and words of three letters or fewer, which are left as they are."""


def test_installed_rouge_score_has_the_expected_stems() -> None:
    assert {word: stem(word.encode()) for word in STEMS} == STEMS


@given(st.text("abcdefghijklmnopqrstuvwxyz0123456789", min_size=1, max_size=20))
def test_words_have_one_stem_and_short_words_are_unchanged(word: str) -> None:
    found = stem(word.encode())
    assert re.fullmatch("[a-z0-9]+", found)
    assert len(word) > 3 or found == word
