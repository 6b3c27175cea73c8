"""Texts in one spelling: each step, all together, in every kind of column, and as an option of metrics and of runs."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.base.arrays import text_of_strings
from fastmetrics.text.normalization import ALL, STEPS, Normalizer, may_change
from tests.support.goldens import tables
from tests.support.program import jsonl, program

TABLES = tables("spellings")

EQUAL = TABLES["equal"]


@pytest.mark.parametrize(("step", "given_text", "other"), EQUAL)
def test_each_step_makes_two_spellings_equal(step, given_text, other):
    normal = Normalizer(step)
    assert normal(given_text) == normal(other)
    assert Normalizer([name for name in STEPS if name not in (step, "nfkc", "casefold")])("plain") == "plain"


def test_other_letters_stay():
    assert Normalizer("all")("مدرسةٌ أحمد") == "مدرسة أحمد", "hamza and ta marbuta are letters"
    assert Normalizer(["arabic"])("ا\u0654") == "ا\u0654"
    assert Normalizer("tr")("Iı İi") == "ıı ii"


ODD = "aIİıß\u0307\u0301\u200bﬁ٣–ÅＩ"
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.text(ODD, max_size=8)


@given(st.lists(st.sampled_from([*STEPS, "all"]), min_size=1, max_size=4), st.lists(TEXTS | st.none(), max_size=6))
def test_columns_are_normalised_text_by_text_and_twice_is_once(steps, texts):
    normal = Normalizer(steps)
    expected = [None if text is None else normal(text) for text in texts]
    assert [None if text is None else normal(text) for text in expected] == expected
    for type_ in (pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())):
        column = pa.array(["É", *texts], pa.string()).cast(type_)[1:]
        assert normal.column(column).to_pylist() == expected
    lists = pa.array([["É"], texts, None, [], texts[:2]], pa.list_(pa.string()))[1:]
    assert normal.column(lists).to_pylist() == [expected, None, [], expected[:2]]
    assert normal.column(lists.cast(pa.large_list(pa.string()))).to_pylist() == [expected, None, [], expected[:2]]
    if "casefold" not in steps and "all" not in steps and not {"tr", "az"} & set(steps):
        changed = [text is not None and normal(text) != text for text in texts]
        hinted = may_change(text_of_strings(text or "" for text in texts)).tolist()
        assert all(hint or not is_changed for hint, is_changed in zip(hinted, changed, strict=True))


def test_metrics_and_runs_compare_normalised_texts(tmp_path):
    rows = [{"answer": "٤٢ كِتَاب", "reference": "42 كتاب"}, {"answer": "Straße", "reference": ["x", "STRASSE"]}]
    rows[0]["reference"] = [rows[0]["reference"]]
    metrics = ["exact_match(normalize='all')", "exact_match", "chrf(normalize=('digits', 'arabic'))"]
    with pytest.warns(fm.ScoreWarning) as said:
        scores = fm.score(rows, metrics)
    assert scores["exact_match(normalize='all')"].to_pylist() == [1.0, 1.0]
    assert scores["exact_match"].to_pylist() == [0.0, 0.0]
    assert "2 answers hold a reference but for its spelling" in str(said[0].message)
    assert scores["chrf(normalize=('digits', 'arabic'))"].to_pylist()[0] == 100.0
    assert fm.score(rows, "exact_match,chrf", normalize="all").to_pydict() == {
        "exact_match": [1.0, 1.0],
        "chrf": [100.0, 100.0],
    }
    path = jsonl(tmp_path / "rows.jsonl", *rows)
    out = tmp_path / "o.parquet"
    words = ("score", path, "-m", "exact_match", "-o", out)
    assert program(*words, "--normalize", "digits,arabic", "--normalize", "casefold").code == 0
    found = fm.summarize(out)
    assert found["exact_match"].mean == 1.0
    done = program(*words, "--resume", "--normalize", "nfc")
    assert (done.code, "normalize was ['digits', 'arabic', 'casefold'], is 'nfc'" in done.err) == (4, True)
    done = program(*words, "--overwrite", "--normalize", "ascii")
    assert (done.code, "'nfkc'" in done.err) == (2, True)


def test_texts_of_many_rows_are_the_same_bits_for_any_batches_and_threads():
    words = ["Straße", "STRASSE", "cafe\u0301", "café", "٣", "3", "Plain", "plain", "x\u200by", "xy"]
    columns = {"answer": [words[n % 10] for n in range(400)], "reference": [words[n * 7 % 10] for n in range(400)]}
    normal = Normalizer(ALL)
    before = {name: list(map(normal, texts)) for name, texts in columns.items()}
    expected, rows = fm.score(before, "token_f1,chrf,exact_match,cer"), pa.table(columns)
    pieces = pa.concat_tables([rows.slice(start, 33) for start in range(0, 400, 33)])
    for table, threads in ((rows, 1), (pieces, 2)):
        assert fm.score(table, "token_f1,chrf,exact_match,cer", normalize="all", threads=threads).equals(expected)


PAIRS = [
    (["It was in 1939–45."], ["1939-45"], "1 answer holds .* normalize='dashes' .--normalize dashes."),
    (["Straße 5", "x"], [["Berlin", "STRASSE 5"], ["y"]], "1 answer .* normalize='casefold'"),
    (["İzmir ٣", "izmir"], ["izmir 3", "İzmir"], r"2 answers .* normalize=\['tr', 'digits'\] .--normalize tr,digits."),
    (["ﬁn"], ["fin"], "normalize='all'"),
    (["Королёв"], ["королев"], "normalize='ru'"),
    (["i\u0307zmir"], ["İzmir"], None),
]
"""Answers and references, and what is noted; the last is İ in lower case by the rules of other languages."""


@pytest.mark.parametrize(("answers", "references", "note"), PAIRS)
def test_a_note_names_the_steps_that_make_pairs_alike(answers, references, note):
    table = {"answer": answers, "reference": references}
    if note is not None:
        with pytest.warns(fm.ScoreWarning, match=note):
            fm.score(table, "exact_match,token_f1")
        with pytest.warns(fm.ScoreWarning, match=note):
            fm.token_f1(answers, references)
    assert fm.score(table, "cover_match", normalize=["all", "tr", "ru"])["cover_match"][0].as_py() == 1.0
    fm.score(table, "answer_words")


NONE = [("naïve", "naïve"), ("Müller", "Mueller"), ("x" * 201 + "٣", "3"), ("Straße", ["x", "Straße", "STRASSE"])]


@pytest.mark.parametrize(("answer", "reference"), [*NONE, ("–", " ")])
def test_there_is_no_note_where_no_step_helps_or_nothing_is_amiss(answer, reference):
    fm.score({"answer": [answer, None], "reference": [reference, None]}, "exact_match,token_f1,cer")


def test_all_batches_count_the_same_pairs(tmp_path):
    rows = [
        {"id": n, "answer": ["٣", "Straße", "b"][n % 3], "reference": ["3", "STRASSE", "b"][n % 3]} for n in range(90)
    ]
    path = jsonl(tmp_path / "rows.jsonl", *rows)
    for size in (7, 50):
        files = fm.tables.FileSettings(batch_rows=size)
        found = fm.score(path, "exact_match", output=tmp_path / f"{size}.parquet", files=files).summary
        assert "60 answers hold a reference but for its spelling" in found.notes[0]
    path = jsonl(tmp_path / "one.jsonl", *rows[2:90:3], rows[1])
    found = fm.score(path, "exact_match", output=tmp_path / "one.parquet", files=fm.tables.FileSettings(batch_rows=7))
    assert "1 answer holds a reference but for its spelling" in found.summary.notes[0]


def test_a_metric_within_another_reads_texts_by_its_own_options():
    field = fm.json_match(['{"t": "Straße"}'], ['{"t": "STRASSE"}'], fields="t=token_f1(normalize='casefold')")
    assert field.tolist() == [1.0]
