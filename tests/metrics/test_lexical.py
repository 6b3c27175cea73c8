"""Lexical scores: overlaps, edit distances, TER, chrF and TF-IDF, against definitions and reference packages."""

import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sacrebleu.metrics import CHRF
from sacrebleu.metrics.ter import TER
from sklearn.feature_extraction.text import TfidfVectorizer

import fastmetrics as fm
from fastmetrics.base.arrays import well_formed
from fastmetrics.base.limits import SIZES, ReadSizes
from fastmetrics.tables.opening import open_source
from tests.reference import cases, edit_distance, lexical, packages
from tests.support import strategies

AGAINST_REFERENCE = [
    *[(name, {}) for name in ("exact_match", "keyword_recall", "token_cosine")],
    ("exact_match", {"tokenizer": "plain"}),
    *[(name, {}) for name in ("token_f1", "token_precision", "token_recall")],
    *[(name, {"version": version}) for name in ("squad_em", "squad_f1") for version in (1, 2)],
]
TWO_COLUMNS = [*AGAINST_REFERENCE, ("jaccard", {})]
ONE_COLUMN = [
    ("answer_length", {}),
    ("answer_words", {}),
    ("politeness", {}),
    ("politeness", {"markers": ("a", "да", "k")}),
]
BY_NAME = pytest.mark.parametrize(("name", "options"), AGAINST_REFERENCE)
BY_PAIR = pytest.mark.parametrize(("name", "options"), TWO_COLUMNS)
BY_TEXT = pytest.mark.parametrize(("name", "options"), ONE_COLUMN)


def expect(name: str, rows: list[tuple[Any, ...]], options: dict[str, Any]) -> list[float]:
    """The plain definition's scores; NaN where it has none."""
    scores = [getattr(lexical, name)(*row, **options) for row in rows]
    return [math.nan if score is None else score for score in scores]


def check(name: str, rows: list[tuple[Any, ...]], options: dict[str, Any]) -> None:
    """Score ``rows`` both ways and show the first row on which they differ."""
    columns = [list(column) for column in zip(*rows, strict=True)] or [[], []]
    got = getattr(fm, name)(*columns, **options)
    assert isinstance(got, np.ndarray)
    assert got.dtype == np.float64
    assert got.shape == (len(rows),)
    for row, ours, theirs in zip(rows, got.tolist(), expect(name, rows, options), strict=True):
        assert close(name, ours, theirs), f"{name}{row!r} {options}: {ours!r}, not {theirs!r}"


def close(name: str, ours: float, theirs: float) -> bool:
    """Equal to the last bit for SQuAD's own numbers, to the last but a few for the others."""
    if math.isnan(theirs):
        return math.isnan(ours)
    return ours == theirs or (not name.startswith("squad") and math.isclose(ours, theirs, rel_tol=1e-15))


@pytest.mark.parametrize(("name", "arguments", "options", "score"), cases.SCORES)
def test_worked_scores(name: str, arguments: tuple[Any, ...], options: dict[str, Any], score: float) -> None:
    assert getattr(lexical, name)(*arguments, **options) == pytest.approx(score, abs=1e-15)
    assert getattr(fm, name)(*[[argument] for argument in arguments], **options) == pytest.approx([score], abs=1e-15)


@BY_PAIR
@given(rows=strategies.pairs)
def test_any_pair(name: str, options: dict[str, Any], rows: list[tuple[Any, ...]]) -> None:
    check(name, rows, options)


@BY_NAME
@given(rows=strategies.multi_pairs)
def test_any_list_of_references(name: str, options: dict[str, Any], rows: list[tuple[Any, ...]]) -> None:
    check(name, rows, options)


@BY_TEXT
@given(rows=st.lists(st.tuples(st.none() | strategies.texts | strategies.markers), max_size=8))
def test_any_text(name: str, options: dict[str, Any], rows: list[tuple[Any, ...]]) -> None:
    check(name, rows or [(None,)], options)


@BY_PAIR
@given(one=strategies.surrogate_texts, other=strategies.surrogate_texts)
def test_lone_surrogates(name: str, options: dict[str, Any], one: str, other: str) -> None:
    rows = [(one, other), (one, one), (other, None)]
    mended = [tuple(None if text is None else well_formed(text) for text in row) for row in rows]
    score = getattr(fm, name)
    found, expected = (score(*map(list, zip(*some, strict=True)), **options) for some in (rows, mended))
    assert found.tobytes() == expected.tobytes()
    check(name, mended, options)


@pytest.mark.parametrize("size", [63, 64, 65, 128, 129])
def test_each_of_many_markers_counts(size: int) -> None:
    """They are looked for 64 at a time."""
    markers = tuple(f"marker{number:03}" for number in range(size))
    rows = [(f"So {one}.",) for one in markers] + [(f"{markers[0]} {one}",) for one in markers] + [("marker",)]
    check("politeness", rows, {"markers": markers})
    assert fm.politeness([markers[-1]], markers=markers).tolist() == [0.5]


def test_markers_with_white_space() -> None:
    """They match at the end of one word and the beginning of the next, over the same white space only."""
    markers = ("thank you", " a", "b ", "и\nд", "x  y", "\u00a0t", "né à", "\0 c")
    texts = [
        *("I thank  you", "thank you", "thanks, thankyou", "OUTTHANK YOUR", "thank\nyou", "a", " a", "ab b"),
        "b \u00a0",
        *("ИИ\nДД", "и д", "x  y x y", "x \ty", "NÉ À", "né", "\0 c\0", "\0c", "", " ", "İ b a\u00a0thank you"),
    ]
    check("politeness", [(text,) for text in texts], {"markers": markers})


@BY_PAIR
def test_tokens_that_are_nearly_equal(name: str, options: dict[str, Any]) -> None:
    """NULs at the end, one byte more, a shared prefix: each token against each other, in one column."""
    tokens = strategies.EDGE_TOKENS
    check(name, [(one, f"{other} {one}x") for one in tokens for other in tokens], options)


@BY_NAME
@given(text=strategies.texts)
def test_a_text_matches_itself(name: str, options: dict[str, Any], text: str) -> None:
    check(name, [(text, [text]), (text, ["zzz", None, text])], options)


@pytest.mark.parametrize("name", ["token_cosine", "jaccard", "exact_match", "token_f1", "squad_em", "squad_f1"])
@given(rows=strategies.pairs)
def test_order_of_columns_does_not_matter(name: str, rows: list[tuple[Any, ...]]) -> None:
    score: Callable[..., Any] = getattr(fm, name)
    one, other = [a for a, _ in rows], [b for _, b in rows]
    assert score(one, other) == pytest.approx(score(other, one), nan_ok=True, rel=1e-15)


FEW = st.lists(st.sampled_from(["a", "b", "A", " ", "é"]), max_size=12).map("".join)
TEXTS = FEW | strategies.texts
ROWS = st.lists(st.tuples(st.none() | TEXTS, st.none() | st.lists(st.none() | TEXTS, max_size=3)), max_size=8)
OPTIONS = [
    *[("wer", {"tokenizer": name}) for name in ("none", "split", "plain")],
    *[("cer", {"lowercase": flag}) for flag in (False, True)],
    *[("levenshtein_ratio", {"lowercase": flag, "substitution_cost": cost}) for flag, cost in ((False, 1), (True, 2))],
]


@given(ROWS)
@example([("\0a\0", ["a", "\0"]), (" a", ["a "]), ("a\tb", ["a b"]), ("", [" "]), ("x", [""]), ("İ", ["i"])])
@pytest.mark.parametrize(("name", "options"), OPTIONS)
def test_any_row(name: str, options: dict[str, Any], rows: list[tuple[Any, Any]]) -> None:
    answers, references = [answer for answer, _ in rows], [texts for _, texts in rows]
    expected = [getattr(edit_distance, name)(*row, **options) for row in rows]
    scores = getattr(fm, name)(answers, references, **options)
    np.testing.assert_array_equal(
        scores, np.array([np.nan if score is None else score for score in expected], np.float64), strict=True
    )


@given(ROWS)
def test_any_table(rows: list[tuple[Any, Any]]) -> None:
    answers, references = [answer for answer, _ in rows], [texts for _, texts in rows]
    assert fm.corpus_wer(answers, references).score == edit_distance.corpus_wer(answers, references)
    assert fm.corpus_cer(answers, references).score == edit_distance.corpus_cer(answers, references)


@pytest.fixture(scope="module")
def pairs() -> tuple[list[str], list[str]]:
    """Texts that differ a little or wholly, of up to some thousand characters, many of 60 to 70."""
    chance = random.Random(0)
    words = ["a", "bb", "the", "cat", "é", "сто", "中", "\U0001f600", "."]
    answers, references = [], []
    for row in range(3000):
        size = chance.choice((0, 1, 5, 33, 64, 65, 130)) if row % 50 else 1500
        tokens = chance.choices(words, k=chance.randint(0, size))
        kept = [chance.choice(words) if chance.random() < 0.2 else token for token in tokens if chance.random() > 0.1]
        answers.append(" ".join(tokens))
        references.append(" ".join(kept if chance.random() < 0.7 else chance.choices(words, k=chance.randint(0, size))))
    return answers, references


def test_equal_to_the_packages(pairs: tuple[list[str], list[str]]) -> None:
    import jiwer
    from rapidfuzz import fuzz
    from rapidfuzz.distance import Levenshtein

    answers, references = pairs
    rows = list(zip(answers, references, strict=True))
    assert fm.wer(answers, references).tolist() == [jiwer.wer(reference, answer) for answer, reference in rows]
    assert fm.cer(answers, references).tolist() == [jiwer.cer(reference, answer) for answer, reference in rows]
    assert fm.corpus_wer(answers, references).score == jiwer.wer(references, answers)
    assert fm.corpus_cer(answers, references).score == jiwer.cer(references, answers)
    assert fm.levenshtein_ratio(answers, references) == pytest.approx(
        [Levenshtein.normalized_similarity(*row) for row in rows], rel=1e-15
    )
    assert fm.levenshtein_ratio(answers, references, substitution_cost=2) == pytest.approx(
        [fuzz.ratio(*row) / 100 for row in rows], rel=1e-14
    )


def test_corpora_are_compared_by_resampling() -> None:
    rows = {"id": list(range(60)), "reference": ["a b c"] * 60}
    runs = {
        name: fm.score({**rows, "answer": [answer] * 30 + ["a b c"] * 30}, "corpus_wer", keep_counts=True)
        for name, answer in (("right", "a b c"), ("wrong", "a x c"))
    }
    found = fm.compare(runs, metrics="corpus_wer", seed=1)["corpus_wer"]
    assert found.delta == pytest.approx(1 / 6)
    assert found.low > 0
    assert found.p < 0.01


WORDS = st.lists(st.sampled_from(["a", "b", "c", "d", "A,", "don't."]), max_size=14).map(" ".join)
TER_ROWS = st.lists(st.tuples(WORDS | strategies.texts, st.lists(WORDS | strategies.texts, min_size=1, max_size=3)))
TER_OPTIONS: list[dict[str, Any]] = [
    {},
    {"case_sensitive": True},
    {"normalized": True, "asian_support": True, "no_punct": True},
]


@given(TER_ROWS)
@example([("", [""]), ("a b", [""]), ("", ["a b"]), ("c d e a b", ["a b c d e"])])
@pytest.mark.parametrize("options", TER_OPTIONS)
def test_any_row_of_ter(options: dict[str, Any], rows: list[tuple[str, list[str]]]) -> None:
    answers, references = [answer for answer, _ in rows], [texts for _, texts in rows]
    expected = [packages.ter(*row, **options) for row in rows]
    assert fm.ter(answers, references, **options) == pytest.approx(expected, rel=1e-14)


@pytest.fixture(scope="module")
def moved() -> tuple[list[str], list[str]]:
    """Texts of which runs of words have moved, some far, and texts of very different lengths."""
    chance = random.Random(3)
    answers, references = [], []
    for row in range(15):
        words = [f"w{chance.randrange(chance.choice((3, 40)))}" for _ in range(chance.choice((3, 12, 25, 40)))]
        if row == 5:
            words = [f"w{chance.randrange(200)}" for _ in range(90)]
        other = list(words)
        for _ in range(chance.randint(0, 4)):
            start = chance.randrange(len(other))
            run = other[start : start + chance.randint(1, 14)]
            del other[start : start + len(run)]
            place = chance.randint(0, len(other))
            other[place:place] = run
        if row % 9 == 0:
            other = other[: chance.randint(0, 3)] + ["x"] * chance.choice((0, 90))
        answers.append(" ".join(words))
        references.append(" ".join(other))
    return answers, references


def test_equal_to_sacrebleu(moved: tuple[list[str], list[str]]) -> None:
    answers, references = moved
    scorer = TER()
    assert fm.ter(answers, references).tolist() == [
        scorer.sentence_score(answer, [reference]).score for answer, reference in zip(answers, references, strict=True)
    ]
    others = references[1:] + references[:1]
    found = fm.corpus_ter(answers[:9], [list(pair) for pair in zip(references[:9], others[:9], strict=True)])
    expected = scorer.corpus_score(answers[:9], [references[:9], others[:9]])
    assert found.score == pytest.approx(expected.score, rel=1e-14)
    assert (found.num_edits, found.ref_length) == (expected.num_edits, expected.ref_length)
    assert found.signature == str(scorer.get_signature())


ends = st.lists(
    st.sampled_from(["(hi)", "hi.", ".", "..", ".a.", "(", "é)", ",é", "a", "-a-b-", "\x00", "\x00.", "中。"])
)
hostile = st.one_of(strategies.texts, ends.map(" ".join))
options = st.fixed_dictionaries(
    {},
    optional={
        "char_order": st.sampled_from([1, 3, 6]),
        "word_order": st.sampled_from([0, 1, 2]),
        "beta": st.sampled_from([1, 2, 3]),
        **{name: st.booleans() for name in ("lowercase", "whitespace", "eps_smoothing")},
    },
)


def check_of_chrf(answers: list[str], references: list[list[str]], given_options: dict[str, Any]) -> None:
    """Score rows both ways and show the first on which they differ."""
    scorer = CHRF(**given_options)
    got = fm.chrf(answers, references, **given_options)
    for ours, answer, wanted in zip(got, answers, references, strict=True):
        theirs = scorer.sentence_score(answer, wanted).score
        assert math.isclose(ours, theirs, rel_tol=1e-12), f"{answer!r}, {wanted!r}: {ours!r}, not {theirs!r}"


@given(
    rows=st.lists(st.tuples(hostile, st.lists(hostile, min_size=1, max_size=3)), min_size=1, max_size=5),
    given_options=options,
)
def test_any_text_of_chrf(rows: list[tuple[str, list[str]]], given_options: dict[str, Any]) -> None:
    check_of_chrf([row[0] for row in rows], [row[1] for row in rows], given_options)


@given(
    rows=st.lists(st.tuples(hostile, st.lists(hostile, min_size=1, max_size=3)), min_size=1, max_size=5),
    given_options=options,
)
def test_corpus_chrf(rows: list[tuple[str, list[str]]], given_options: dict[str, Any]) -> None:
    """Score, counts, name and signature are sacreBLEU's, of any number of references."""
    answers, references = [row[0] for row in rows], [row[1] for row in rows]
    columns = [[one[at] if at < len(one) else None for one in references] for at in range(max(map(len, references)))]
    scorer = CHRF(**given_options)
    wanted = scorer.corpus_score(answers, columns)
    got = fm.corpus_chrf([*answers, None, "a"], [*references, ["a"], []], **given_options)
    assert (got.score, got.name, got.signature) == (wanted.score, wanted.name, str(scorer.get_signature()))
    sums = np.sum(scorer._extract_corpus_statistics(answers, columns), axis=0).tolist()
    assert [sums[0::3], sums[1::3], sums[2::3]] == [got.in_answers, got.in_references, got.in_both]


def test_corpus_chrf_plus_plus_and_no_rows() -> None:
    answers, references = ["the cat sat.", "a mat"], [["the cats sat.", "(the) cat"], ["mat"]]
    got = getattr(fm, "corpus_chrf++")(answers, references)
    assert got.score == fm.corpus_chrf(answers, references, word_order=2).score == float(got)
    assert str(got).startswith("chrF2++|nrefs:var|case:mixed|eff:yes|nc:6|nw:2|space:no|version:")
    assert np.isnan([fm.corpus_chrf([], []).score, fm.corpus_chrf([None], ["a"]).score]).all()


def test_long_texts() -> None:
    """Hash tables in place of dense ones."""
    chance = random.Random(5)
    letters = "".join(chr(code) for code in range(0x400, 0x4F0)) + "  ."
    answer, reference = ("".join(chance.choices(letters, k=5000)) for _ in range(2))
    check_of_chrf([answer, answer], [[reference], [answer[300:] + reference]], {"word_order": 2})


def test_words_only() -> None:
    check_of_chrf(["a b. c"], [["a b c."]], {"char_order": 0, "word_order": 2})


def test_chrf_plus_plus() -> None:
    answers, references = ["the cat sat.", None, ""], [["the cats sat.", "(the) cat"], ["a"], ["a"]]
    got = fm.score({"answer": answers, "reference": references}, ["chrf", "chrf++", "chrf(word_order=2)"])
    assert got["chrf++"].to_pylist() == got["chrf(word_order=2)"].to_pylist()
    assert got["chrf++"].to_pylist()[1:] == [None, 0.0]
    assert got["chrf++"][0].as_py() == getattr(fm, "chrf++")(answers, references)[0]
    wanted = CHRF(word_order=2).sentence_score(answers[0], references[0]).score
    assert math.isclose(got["chrf++"][0].as_py(), wanted, rel_tol=1e-12)
    assert math.isclose(got["chrf"][0].as_py(), CHRF().sentence_score(answers[0], references[0]).score, rel_tol=1e-12)


def by_corpus(questions: list[str], answers: list[str]) -> list[float]:
    """scikit-learn fitted on all texts."""
    fitted = TfidfVectorizer().fit([*questions, *answers])
    products = fitted.transform(questions).multiply(fitted.transform(answers)).sum(axis=1)
    return np.asarray(products).ravel().tolist()


repeated = st.lists(st.sampled_from(["aa", "bb", "Bb", "a", "é", "éé", "中", "中文", "𐐀", "𐐀𐐀", "x_y", "1"])).map(
    " ".join
)
hostile_of_tfidf = st.one_of(strategies.texts, repeated)


@example(rows=[("aa bb bb", "aa")])
@given(rows=st.lists(st.tuples(hostile_of_tfidf, hostile_of_tfidf), min_size=1, max_size=6))
def test_pairs_equal_the_definition(rows: list[tuple[str, str]]) -> None:
    got = fm.tfidf_cosine(*zip(*rows, strict=True))
    np.testing.assert_allclose(got, [packages.tfidf(*row) for row in rows], rtol=1e-12, atol=1e-14)


@given(rows=st.lists(st.tuples(hostile_of_tfidf, hostile_of_tfidf), min_size=1, max_size=6))
def test_corpora_equal_the_definition(rows: list[tuple[str, str]]) -> None:
    questions, answers = ([*column, "two words"] for column in zip(*rows, strict=True))
    got = fm.tfidf_cosine(questions, answers, idf="corpus")
    np.testing.assert_allclose(np.nan_to_num(got), by_corpus(questions, answers), rtol=1e-12, atol=1e-14)
    assert np.array_equal(np.isnan(got), np.isnan(fm.tfidf_cosine(questions, answers)))


@pytest.mark.parametrize("idf", ["pair", "corpus"])
@pytest.mark.parametrize("threads", [1, 2])
def test_batching_does_not_change_bits(idf: str, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(4)
    names = [f"word{i}" for i in range(40)]
    questions, answers = ([" ".join(chance.choices(names, k=9)) for _ in range(50)] for _ in range(2))
    whole = fm.tfidf_cosine(questions, answers, idf=idf, threads=1)
    monkeypatch.setattr(SIZES, "batch_rows", 7)
    assert np.array_equal(fm.tfidf_cosine(questions, answers, idf=idf, threads=threads), whole)
    rows = pa.table({"question": questions, "answer": answers})
    scored = fm.score(rows.to_reader(5), [f"tfidf_cosine(idf={idf!r})", "jaccard"], threads=threads)
    assert np.array_equal(scored.column(0), whole)


def test_missing_texts_are_not_counted_as_documents() -> None:
    questions, answers = ["aa bb", None, "aa cc"], ["aa dd", "bb", None]
    present = [text for text in [*questions, *answers] if text is not None]
    fitted = TfidfVectorizer().fit(present)
    one, other = fitted.transform([questions[0], answers[0]])
    got = fm.tfidf_cosine(questions, answers, idf="corpus")
    assert got[0] == pytest.approx((one @ other.T).toarray()[0, 0], rel=1e-12)
    assert np.isnan(got[1:]).all()


def test_empty_texts() -> None:
    assert fm.tfidf_cosine(["", "a b", "aa"], ["aa", "aa", "aa"]).tolist() == [0.0, 0.0, 1.0]
    assert np.isnan(fm.tfidf_cosine(["", "a"], [" ", "b"])).all()


def test_files_are_read_twice(tmp_path: Path) -> None:
    rows = [{"question": f"who wrote book{i % 9}", "answer": f"word{i % 5} wrote book{i % 4}"} for i in range(700)]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    spec = "tfidf_cosine(idf='corpus')"
    fm.score(path, output=tmp_path / "scores.parquet", metrics=[spec], files=fm.tables.FileSettings(batch_rows=100))
    whole = fm.tfidf_cosine([row["question"] for row in rows], [row["answer"] for row in rows], idf="corpus")
    assert np.array_equal(pq.read_table(tmp_path / "scores.parquet")[spec], whole)


def test_column_with_late_type_change_is_read_twice(tmp_path: Path) -> None:
    """Ids that become strings, references that become lists; and a column that is kept need not be read before."""
    rows: list[dict[str, object]] = [
        {"id": i, "question": f"who wrote book{i}", "answer": f"jane wrote book{i % 4}", "reference": "jane"}
        for i in range(60)
    ]
    rows += [{**rows[0], "id": "late"}, {**rows[1], "reference": ["jane", "nobody"]}, rows[2]]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    spec = "tfidf_cosine(idf='corpus')"
    source = open_source(path, sizes=ReadSizes(line_block_bytes=500))
    fm.score(source, output=tmp_path / "scores.parquet", metrics=[spec, "token_f1"])
    made, both = (
        pq.read_table(tmp_path / "scores.parquet"),
        [[row[name] for row in rows] for name in ("question", "answer")],
    )
    assert made["id"].to_pylist()[-3:] == ["late", "1", "2"]
    assert np.array_equal(made[spec], fm.tfidf_cosine(*both, idf="corpus"))


def test_unreadable_rows_are_not_counted_as_documents(tmp_path: Path) -> None:
    lines = [f"who wrote book{i},jane wrote book{i % 4}" for i in range(40)]
    spec = "tfidf_cosine(idf='corpus')"
    made = []
    for bad in ([], [b"ragged", b"who wrote caf\xe9,jane", b"jane,jane,jane"]):
        path = tmp_path / f"{len(bad)}.csv"
        path.write_bytes(b"\n".join([b"question,answer", *bad, *(line.encode() for line in lines)]))
        found = fm.score(
            path, output=tmp_path / f"{len(bad)}.parquet", metrics=[spec], files=fm.tables.FileSettings(on_error="skip")
        )
        assert found.rejected == len(bad)
        made.append(pq.read_table(tmp_path / f"{len(bad)}.parquet")[spec].to_pylist())
    assert made[0] == made[1]


@pytest.mark.parametrize("version", [1, 2])
def test_official_squad_scores(data_folder: Path, version: int) -> None:
    golden = json.loads((data_folder / "oracles" / "text_golden.json").read_text(encoding="utf-8"))
    rows = [(case["pred"], [case["ref"]], case["squad"]) for case in golden["pairs"]]
    rows += [(case["pred"], case["refs"], case["squad"]) for case in golden["multi_ref"]]
    answers, references, official = map(list, zip(*rows, strict=True))
    for metric, key in (("squad_em", "em"), ("squad_f1", "f1")):
        expected = [float(scores[f"v{version}"][key]) for scores in official]
        slow = getattr(lexical, metric)
        assert [slow(a, r, version) for a, r in zip(answers, references, strict=True)] == expected
        assert getattr(fm, metric)(answers, references, version=version).tolist() == expected


def test_mkqa_english_cases(data_folder: Path) -> None:
    published = json.loads((data_folder / "oracles" / "mkqa" / "expected.json").read_text(encoding="utf-8"))
    english = [case for case in published["cases"] if case[2] == "en"]
    answers, references, _, f1, em = map(list, zip(*english, strict=True))
    assert fm.squad_f1(answers, references, version=2) == pytest.approx(f1, rel=1e-15)
    assert fm.squad_em(answers, references, version=2) == pytest.approx(em, rel=1e-15)
