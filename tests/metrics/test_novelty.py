"""What an answer adds to its contexts, against plain Python and against what people read."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import fastmetrics as fm
from tests.metrics.test_claims import GAPS, PIECES
from tests.reference import novelty
from tests.support import strategies

NAMES = ("novel_word_rate", "novel_bigram_rate", "novel_name_rate", "novel_number_rate", "negation_mismatch")
WORDS = ["not", "isn't", "ISN’T", "T", "won't", "dont", "never", "не", "никогда", "open", "opened", "Музей", "ǅ", "İx"]
sentences = st.lists(st.tuples(st.sampled_from(PIECES + WORDS * 3), st.sampled_from(GAPS)), max_size=14).map(
    lambda pairs: "".join(piece + gap for piece, gap in pairs)
)
texts = st.one_of(sentences, sentences, strategies.texts)
rows = st.lists(st.tuples(texts, st.lists(texts, min_size=1, max_size=3)), min_size=1, max_size=4)


@given(rows)
@example([("0º0", ["0"]), ("3ª4", ["3ª4"]), ("5é3, 7", ["5"]), ("5µ3", ["5"]), ("15ч30.", ["15"]), ("5₂3", ["5"])])
def test_rates_are_those_of_the_plain_definition(table: list[tuple[str, list[str]]]) -> None:
    answers, contexts = (list(column) for column in zip(*table, strict=True))
    plain = [all(map(strategies.is_plain, (answer, *others))) for answer, others in table]
    for name in NAMES:
        found, right = getattr(fm, name)(answers, contexts), [getattr(novelty, name)(*row) for row in table]
        if name == "novel_number_rate":  # what is unread stands beside numbers that the definition reads
            right = np.where(np.isnan(found) & ~np.array(plain), np.nan, right)
        np.testing.assert_array_equal(found, right, err_msg=name)


@pytest.mark.parametrize("name", NAMES)
def test_missing_and_empty_texts(name: str) -> None:
    opened = "In 1793 the Louvre opened."
    contexts = [None, [opened], [], [None], [""], ["Paris.", None], [""]]
    answers = [opened, None, opened, opened, opened, "", ""]
    scores = fm.score({"answer": answers, "contexts": contexts}, metrics=name)[name]
    alone = math.nan if name == "negation_mismatch" else 1.0
    assert scores.is_null().to_pylist() == [True, True, False, True, False, False, False]
    np.testing.assert_array_equal(scores.drop_null().to_numpy(), [alone, alone, math.nan, math.nan])
    assert len(fm.score({"answer": [], "contexts": []}, metrics=name)) == 0


@pytest.mark.parametrize(
    ("answer", "context", "mismatch"),
    [
        ("The museum is not open.", "The museum is open.", 0.5),
        ("The museum is open.", "The museum isn’t open.", 0.5),
        ("The museum isn't open.", "The museum cannot open.", 0.0),
        ("The museum is open.", "Open, the museum is not open.", 0.0),
        ("Not in the open hall.", "In the open hall.", 0.5),  # "open" is the third word after it, "hall" the fourth
        ("Der T shirt passt.", "Der T shirt passt.", 0.0),
        ("Музей не открыт.", "Музей открыт.", 0.5),
        ("Музей никогда не открывался.", "Музей не открывался.", 0.0),
    ],
)
def test_polarity(answer: str, context: str, mismatch: float) -> None:
    assert fm.negation_mismatch([answer], [[context]]).tolist() == [mismatch]


@pytest.mark.parametrize(
    ("answer", "contexts", "rate"),
    [
        ("The tower is by Eiffel.", ["It is by EIFFEL."], 0.0),
        ("Башню построил Эйфель в Париже.", ["Это сделал Эйфель."], 0.5),
        ("It opened. Paris was proud of Dr. Roux.", ["Nothing."], 1.0),  # Paris begins its sentence
        ("Yes, I saw Ann and Bob.", ["Ann was there.", "So was Bob."], 0.0),
        ("برج إيفل في باريس.", ["برج"], math.nan),
        ("המגדל בפריז.", ["פריז"], math.nan),
    ],
)
def test_names(answer: str, contexts: list[str], rate: float) -> None:
    np.testing.assert_array_equal(fm.novel_name_rate([answer], [contexts]), [rate])


def test_words_of_right_to_left_scripts_are_compared() -> None:
    assert fm.novel_word_rate(["برج إيفل في باريس"], [["برج في لندن"]]).tolist() == [0.5]
    assert fm.novel_bigram_rate(["מגדל אייפל בפריז"], [["מגדל אייפל"]]).tolist() == [0.5]


def test_cautions_name_the_scripts_that_lists_and_capitals_do_not_cover() -> None:
    rows = {"answer": ["برج إيفل في 1889.", "Later Ann came in 1889."], "contexts": [["برج"], ["Ann came in 1889."]]}
    notes = fm.summarize(fm.score(rows, suites="novelty")).notes
    assert [note.partition(":")[0] for note in notes] == ["novel_name_rate", "novel_number_rate", "negation_mismatch"]
    assert "no capital letters" in notes[0]
