"""TF-IDF cosine against scikit-learn."""

import json
import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

import fastmetrics as fm
from fastmetrics.base.limits import SIZES, ReadSizes
from fastmetrics.tables.opening import open_source
from tests.reference import packages
from tests.support import strategies


def by_corpus(questions: list[str], answers: list[str]) -> list[float]:
    """scikit-learn fitted on all texts."""
    fitted = TfidfVectorizer().fit([*questions, *answers])
    products = fitted.transform(questions).multiply(fitted.transform(answers)).sum(axis=1)
    return np.asarray(products).ravel().tolist()


repeated = st.lists(st.sampled_from(["aa", "bb", "Bb", "a", "é", "éé", "中", "中文", "𐐀", "𐐀𐐀", "x_y", "1"])).map(
    " ".join
)
hostile = st.one_of(strategies.texts, repeated)


@given(rows=st.lists(st.tuples(hostile, hostile), min_size=1, max_size=6))
def test_pairs_equal_the_definition(rows: list[tuple[str, str]]) -> None:
    got = fm.tfidf_cosine(*zip(*rows, strict=True))
    np.testing.assert_allclose(got, [packages.tfidf(*row) for row in rows], rtol=1e-12, atol=1e-14)


@given(rows=st.lists(st.tuples(hostile, hostile), min_size=1, max_size=6))
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
