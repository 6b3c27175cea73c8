"""ROUGE against rouge-score: equal to the last bit."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics import text
from fastmetrics.base.limits import SIZES
from fastmetrics.scoring.metric_functions import callable_of
from tests.support import strategies

TYPES = ("rouge1", "rouge2", "rouge3", "rouge9", "rougeL", "rougeLsum")
PARTS = ("precision", "recall", "f1")
STEMMED = pytest.mark.parametrize("stemmer", [False, True])


def check(answers: list[str], references: list[list[str]], stemmer: bool, types: tuple[str, ...] = TYPES) -> None:
    """Score rows both ways and show the first on which they differ."""
    from rouge_score.rouge_scorer import RougeScorer  # with NLTK, which takes a second

    scorer = RougeScorer(types, use_stemmer=stemmer)
    got = fm.rouge(answers, references, types=types, stemmer=stemmer)
    assert list(got) == [f"{kind}_{part}" for kind in types for part in PARTS]
    for row, (answer, wanted) in enumerate(zip(answers, references, strict=True)):
        for kind, score in scorer.score_multi(wanted, answer).items():
            ours = [got[f"{kind}_{part}"][row] for part in PARTS]
            assert ours == list(score), f"{kind}, {stemmer=}: {answer!r} and {wanted!r}"


lines = st.lists(strategies.texts, max_size=4).map("\n".join)
words = st.lists(st.sampled_from(["a", "b", "runs", "running", "ties", "\n", "a.\nb"]), max_size=30).map(" ".join)
hostile = st.one_of(lines, words, strategies.texts)


@STEMMED
@given(rows=st.lists(st.tuples(hostile, st.lists(hostile, min_size=1, max_size=3)), min_size=1, max_size=5))
def test_rouge_equals_reference_on_any_text(stemmer: bool, rows: list[tuple[str, list[str]]]) -> None:
    check([answer for answer, _ in rows], [references for _, references in rows], stemmer)


@STEMMED
def test_tokens_equal_rouge_score(stemmer: bool) -> None:
    from rouge_score.tokenizers import DefaultTokenizer

    hard = strategies.WHITE_SPACE + strategies.CASES + strategies.MARKS + strategies.SYMBOLS
    chance = random.Random(3)
    texts = ["".join(chance.choices(hard + "ABCdef" * 20, k=chance.randint(0, 60))) for _ in range(2000)]
    texts += ["İstanbul KELVIN \u212a conditional hopping caresses ponies dying skies 1234 eeee internationalizations"]
    tokenizer = DefaultTokenizer(stemmer)
    assert text.tokens(texts, "rouge_stem" if stemmer else "rouge") == [tokenizer.tokenize(t) for t in texts]


@pytest.mark.parametrize("size", [63, 64, 65, 127, 128, 129, 200, 300])
def test_lengths_around_machine_words(size: int) -> None:
    """Subsequences, lines and n-gram tables at and beyond the edges of 64 bits."""
    chance = random.Random(size)
    for letters in (2, 12, 400):
        names = [f"w{i}" for i in range(letters)]
        answers = [" ".join(chance.choices(names, k=size + d)) for d in (-1, 0, 1)]
        references = [[" ".join(chance.choices(names, k=chance.randint(1, 2 * size)))] for _ in answers]
        check(answers, references, False)
        broken = [answer.replace(" w1 ", "\n") for answer in answers]
        check(broken, [[one.replace(" w0 ", "\n") for one in row] for row in references], False)


def test_long_texts() -> None:
    """Hash tables in place of dense ones, and tables of many blocks."""
    chance = random.Random(8)
    names = [f"w{i}" for i in range(900)]
    answer, reference = (" ".join(chance.choices(names, k=1100)) for _ in range(2))
    check([answer], [[reference]], False)


def test_texts_of_ten_thousand_words() -> None:
    """Against sums that need no table: each text is the other with words put in between."""
    names = [f"w{i}" for i in range(10_000)]
    longer = " ".join(f"{name} x" for name in names)
    got = fm.rouge([" ".join(names)], [longer], types=("rouge1", "rouge2", "rougeL", "rougeLsum"))
    for kind in ("rouge1", "rougeL", "rougeLsum"):
        assert got[f"{kind}_precision"][0] == 1.0
        assert got[f"{kind}_recall"][0] == 0.5
    assert got["rouge2_f1"][0] == 0.0


def test_row_metrics_equal_the_rouge_function() -> None:
    answers, references = ["the cat\nsat on it", None, "a", ""], [["the cat sat.", "it\nsat"], ["x"], None, [""]]
    table = {"answer": answers, "reference": references}
    for kind in TYPES:
        names = [f"{kind}_{part}" for part in PARTS]
        facade, scored = fm.rouge(answers, references, types=[kind]), fm.score(table, names)
        for name in names:
            one = callable_of(name)(answers, references)
            assert np.array_equal(one, facade[name], equal_nan=True)
            assert scored[name].to_pylist() == [None if np.isnan(value) else value for value in one]
            assert np.isnan(one).tolist() == [False, True, True, False]


def test_default_rouge_metrics() -> None:
    names = fm.score({"answer": ["a"], "reference": ["a"]}, suites="generation").column_names
    assert [name for name in names if name.startswith("rouge")] == [
        f"rouge{kind}_{part}" for kind in ("1", "2", "L", "Lsum") for part in PARTS
    ]


def test_best_reference_has_the_highest_f1() -> None:
    """Its precision and recall are taken, though others have higher ones; the first of equals wins."""
    got = fm.rouge(["a b c d"], [["a", "a b c x y z", "a b c d e f g h i j k l m n o"]], types=["rouge1"])
    assert [got[f"rouge1_{part}"][0] for part in PARTS] == [0.75, 0.5, 0.6]
    equal = fm.rouge(["a b"], [["a x", "b x y z", "b x"]], types=["rouge1"])
    assert [equal[f"rouge1_{part}"][0] for part in PARTS] == [0.5, 0.5, 0.5]


def test_unicode_tokenizer() -> None:
    answers = ["Москва — столица", "我爱北京", "القاهرة عاصمة مصر", "ภาษาไทย"]
    references = ["Столица: Москва", "北京我", "عاصمة مصر", "ภาษา"]
    assert not any(fm.rouge(answers, references, types="rouge1")["rouge1_f1"].tolist())
    known = fm.rouge(answers, references, types="rouge1", tokenizer="unicode")
    assert known["rouge1_precision"].round(3).tolist() == [1.0, 0.75, 0.667, 0.571]
    assert text.tokens(["Café 我爱x ไท カナ"], "unicode") == [["café", "我", "爱", "x", "ไ", "ท", "カ", "ナ"]]


@pytest.mark.parametrize("most", [3, 1 << 17])
def test_stems_in_reused_and_new_wordbooks(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SIZES, "vocabulary_words", most)
    monkeypatch.setattr(SIZES, "batch_rows", 1)
    answers = ["running cats jumped", "ponies", "over fences", "cat fence", "a run"]
    check(answers, [["the cat runs, jumping"], ["pony", "poni"], ["fence"], ["cats"], ["running"]], stemmer=True)


def test_stems_combined_with_other_conventions() -> None:
    """Tokens rewritten from those of another convention are the same."""
    table = {"answer": ["The cats' running"] * 2, "reference": ["a cat runs", "running-cats"]}
    scored = fm.score(table, ["token_f1", "rougeL_f1(stemmer=True)", "rougeL_f1", "rouge1_f1(tokenizer='unicode')"])
    assert np.array_equal(scored["rougeL_f1(stemmer=True)"], fm.rouge(*table.values(), stemmer=True)["rougeL_f1"])
    assert np.array_equal(scored["rougeL_f1"], fm.rouge(*table.values())["rougeL_f1"])


def test_rows_that_are_not_latin_are_split_into_the_words_of_every_script():
    """The label of the benchmark: rouge-score keeps the year of a Russian sentence alone, and calls it equal."""
    answers = ["Музей открылся в 1998 году", "the cat sat on a mat", "Google", "naïve α 3", "ж ж\nа б"]
    references = [
        *("Музей «Северный ветер» открылся в 1998 году", "the cat lay on the mat", "компания Google", "naïve 3"),
        "а б",
    ]
    foreign = [True, False, True, False, True]
    for kind in ("1", "2", "L", "Lsum"):
        spec = f"rouge{kind}_f1"
        found, latin, every = (
            fm.rouge(answers, references, types=f"rouge{kind}", tokenizer=name)[spec]
            for name in ("by_script", "rouge", "unicode")
        )
        assert found.tolist() == np.where(foreign, every, latin).tolist()
        if kind == "1":
            assert found[0].round(3) == 0.833
            assert latin[0] == 1.0
    several = {
        "answer": answers,
        "reference": [[one, other] for one, other in zip(references, answers[::-1], strict=True)],
    }
    scores = fm.score(several, "avg_rouge1_f,rouge1_f1,rouge1_f1(tokenizer='unicode')")
    assert scores["rouge1_f1(tokenizer='by_script')"][0].as_py() == scores["rouge1_f1(tokenizer='unicode')"][0].as_py()
    notes = fm.summarize(scores).notes
    assert any("3 of 5 scored rows (60 %) are in a script other than Latin and were compared" in note for note in notes)
