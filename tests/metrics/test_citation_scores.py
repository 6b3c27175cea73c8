"""Precision and recall of citations, by number and by id, against a plain reading of the definition."""

from __future__ import annotations

import json
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.text.citation_marks import as_numbers, with_plain_marks
from fastmetrics.vectors.embedder import Embedder
from tests.reference import citations as oracle
from tests.support.every_metric import refusing

MARKS = ["0", "1", "2", "3", "4", "a", "doc-7", "Bread", "7", "1, 2", "2;3", "1-3", "7-9", "4, 9", "^1", "Doc 2",
         "a, 2", "Document 9", "Source: 1", "Chapter 1", "1-a"]  # fmt: skip
WORDS = ["Apples", "Bread", "Cheese", "Dates"]


def letters(texts):
    """A made-up model: how often each small letter occurs."""
    return np.array([[text.lower().count(chr(97 + code)) for code in range(26)] for text in texts], np.float32)


EMBEDDER = Embedder(letters)


def supports(one, other):
    a, b = letters([one, other]).astype(float).tolist()
    norms = math.sqrt(sum(x * x for x in a)) * math.sqrt(sum(y * y for y in b))
    return bool(norms) and sum(x * y for x, y in zip(a, b, strict=True)) / norms >= 0.65


def both(answers, contexts, ids=None, **options):
    """Precision and recall of each row."""
    options = {"embedder": EMBEDDER, **options}
    return [
        getattr(fm, name)(answers, contexts, ids, **options).tolist()
        for name in ("citation_precision", "citation_recall")
    ]


def expected(answers, contexts, ids, pattern=""):
    rows = zip(answers, contexts, ids, strict=True)
    found = [oracle.judged(answer, own, names or (), refusing(), supports, pattern) for answer, own, names in rows]
    return [list(figures) for figures in zip(*found, strict=True)]


sentence = st.builds(
    lambda words, marks, end, after: (
        " ".join(words)
        + ("" if after else "".join(f" [{mark}]" for mark in marks))
        + end
        + ("".join(f" [{mark}]" for mark in marks) if after else "")
    ),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=3) | st.just(["I don't know"]),
    st.lists(st.sampled_from(MARKS), max_size=3),
    st.sampled_from([".", "?", "!"]),
    st.booleans(),
)
contexts = st.lists(st.sampled_from([*WORDS, "Eggs"]), min_size=1, max_size=3)
rows = contexts.flatmap(
    lambda own: st.tuples(
        st.lists(sentence, max_size=4).map(" ".join),
        st.just(own),
        st.none() | st.lists(st.sampled_from(["a", "doc-7", "2", "Bread"]), min_size=len(own), max_size=len(own)),
    )
)


@given(st.lists(rows, min_size=1, max_size=5))
def test_equals_the_plain_definition(rows):
    answers, own, ids = (list(column) for column in zip(*rows, strict=True))
    given = pa.array(own, pa.list_(pa.string())), pa.array(ids, pa.list_(pa.string()))
    assert both(answers, *given) == [pytest.approx(one, nan_ok=True, rel=1e-15) for one in expected(answers, own, ids)]
    without = expected(answers, own, [None] * len(own))
    assert both(answers, given[0]) == [pytest.approx(one, nan_ok=True, rel=1e-15) for one in without]


@given(st.lists(rows, min_size=1, max_size=5))
def test_another_pattern_finds_all_ids(rows):
    """Brackets of another kind; those of the default pattern are text then."""
    answers, own, ids = (list(column) for column in zip(*rows, strict=True))
    answers = [answer.replace("[", "{").replace("]", "}") + " So [1]." for answer in answers]
    given = pa.array(own, pa.list_(pa.string())), pa.array(ids, pa.list_(pa.string()))
    pattern = r"\{([^}]+)\}"
    found = both(answers, *given, pattern=pattern)
    assert found == [pytest.approx(one, nan_ok=True, rel=1e-15) for one in expected(answers, own, ids, pattern)]


def test_terms_of_the_definition():
    passages = [["Apples", "Bread"]]
    cases = {
        "Apples [1]. Bread [2].": (1.0, 1.0),
        "Apples [1][2].": (0.5, 1.0),
        "Apples [2].": (0.0, 0.0),
        "Apples [1][1][1].": (1.0, 1.0),
        "Apples [1]. Bread.": (1.0, 0.5),
        "Apples [3].": (0.0, 0.0),
        "Apples [1]. Bread?": (1.0, 1.0),
        "Apples [1]. I don't know [2].": (0.5, 1.0),
        "Apples.": (math.nan, 0.0),
        "Bread?": (math.nan, math.nan),
        "": (math.nan, math.nan),
        "I don't know.": (math.nan, math.nan),
        "Apples. [1] Bread. [2]": (1.0, 1.0),
    }
    for answer, figures in cases.items():
        assert both([answer], passages) == [[pytest.approx(one, nan_ok=True)] for one in figures], answer


def test_an_id_wins_over_a_number_and_the_first_of_two_over_the_other():
    passages = [["Apples", "Bread"]] * 4
    answers = ["Apples [2].", "Apples [1].", "Apples [x].", "Apples [2]."]
    ids = [["2", "1"], ["2", "1"], ["x", "x"], ["x", None]]
    assert both(answers, passages, pa.array(ids))[0] == [1.0, 0.0, 1.0, 0.0]
    whole = pa.array([[2, 1], [2, 1], [7, 7], [10, None]])
    assert both(["Apples [2].", "Apples [1].", "Apples [7].", "Apples [10]."], passages, whole)[0] == [
        *(1.0, 0.0, 1.0, 1.0),
    ]


def test_ids_behind_the_full_stop_stay_with_their_sentence():
    found = both(["Apples. [doc-a] Bread. [doc-b]"], [["Apples", "Bread"]], [["doc-a", "doc-b"]])
    assert found == [[1.0], [1.0]]


def test_grounding_reads_ids_too():
    answers, passages, ids = ["Apples [b]. Bread [a]. Bread."], [["Bread", "Apples"]], [["a", "b"]]
    assert fm.grounding_overlap(answers, passages, ids, embedder=EMBEDDER).tolist() == [2 / 3]
    faithful = fm.overlap_faithfulness(answers, passages, context_ids=ids, embedder=EMBEDDER)
    assert faithful.tolist() == pytest.approx([0.6 + 0.4 * 2 / 3])
    assert fm.grounding_overlap(answers, passages, embedder=EMBEDDER).tolist() == [0.0]


def test_missing_inputs():
    passages = pa.array([["Apples"], None, [], ["Apples"], [None, "Apples"]], pa.list_(pa.string()))
    answers = ["Apples [1].", "Apples [1].", "Apples [1].", None, "Apples [1]. Apples [2]."]
    table = {"answer": answers, "contexts": passages, "id": list(range(5))}
    made = fm.score(table, "citation_precision,citation_recall", embedder=EMBEDDER)
    for name in ("citation_precision", "citation_recall"):
        assert made[name].to_pylist() == [1.0, None, 0.0, None, 0.5]


def test_files_threads_and_batches_give_the_same_bits(tmp_path):
    chance = np.random.default_rng(0)
    marks = ["[1]", "[a]", "[b]", "[7]", ""]
    table = pa.table(
        {
            "id": list(range(1000)),
            "answer": [
                " ".join(f"{chance.choice(WORDS)} {''.join(chance.choice(marks, 2))}." for _ in range(4))
                for _ in range(1000)
            ],
            "contexts": [list(chance.choice(WORDS, 2)) for _ in range(1000)],
            "document_ids": [["a", "b"] if chance.random() < 0.9 else None for _ in range(1000)],
        }
    )
    specs = "citation_precision,citation_recall"
    made = [fm.score(table, specs, embedder=letters, threads=threads) for threads in (1, 3)]
    assert all(made[0][name].to_numpy().tobytes() == made[1][name].to_numpy().tobytes() for name in specs.split(","))
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    for size in (50, 700):
        out = tmp_path / f"{size}.parquet"
        fm.score(
            tmp_path / "rows.jsonl",
            output=out,
            metrics=specs,
            embedder=letters,
            files=fm.tables.FileSettings(batch_rows=size),
        )
        scores = pq.read_table(out).select(made[0].schema.names)
        undefined = [None if math.isnan(one) else one for one in made[0]["citation_precision"].to_pylist()]
        assert scores["citation_precision"].to_pylist() == undefined
        assert scores["citation_recall"].to_pylist() == made[0]["citation_recall"].to_pylist()


def test_citation_scores_by_name_and_in_suite_grounding():
    table = {"answer": ["Apples [1]."], "contexts": [["Apples"]]}
    assert "citation_recall" not in fm.score(table, suites="all").schema.names
    assert "citation_recall" in fm.score(table, suites="grounding", embedder=EMBEDDER).schema.names


@pytest.mark.parametrize(
    ("answer", "precision", "recall"),
    [
        ("Apples [1, 2].", 0.5, 1.0),
        ("Apples [1-2].", 0.5, 1.0),
        ("Apples 【1】.", 1.0, 1.0),
        ("Apples【1:0†list.pdf】.", 1.0, 1.0),
        ("Apples [^1].\n\n[^1]: A list of fruit.", 1.0, 1.0),
        ("Apples [Doc 1].", 1.0, 1.0),
        ("Apples [Document 9].", 0.0, 0.0),
        ("Apples [Chapter 1].", math.nan, 0.0),
        ("Apples.¹ Bread.²", 1.0, 1.0),
        ("Apples in 5 km² [1].", 1.0, 1.0),
        ("Apples of a kind² [1].", 1.0, 1.0),
        ("Apples on 5 km².", math.nan, 0.0),
        ("Apples [10, 20].", math.nan, 0.0),
        ("Apples [1].\n\nSources:\n[1] A list of fruit.\n[2] A book on baking.", 1.0, 1.0),
        ("Apples [1].\n\n## References\n1. A list of fruit.", 1.0, 1.0),
        ("Apples [1]. Bread [2].\n\n[1] A list of fruit.\n[2] A book on baking.", 1.0, 1.0),
        ("Apples [1].\n\n[1] Zzz.", 0.5, 0.5),
        ("Apples [1]. bread [2].", 1.0, 1.0),
        ("Apples [1]. bread.", 1.0, 0.5),
        ("[1] Apples.\n[2] Bread.", 1.0, 1.0),
    ],
)
def test_citations_are_read_in_the_forms_of_models(answer, precision, recall):
    found = both([answer], pa.array([["Apples", "Bread"]]))
    assert found == [[pytest.approx(one, nan_ok=True)] for one in (precision, recall)]


@pytest.mark.parametrize(
    "answer", ["Apples [1]. Bread, km² [2].", "x [1](http://a.b) [[2]]", "[2019-2021]", "[x] a\n- b"]
)
def test_other_texts_are_unchanged(answer):
    assert as_numbers(answer, {}, 2) == answer
    assert with_plain_marks(pa.array([answer, None]), [2, 2]).to_pylist() == [answer, None]
