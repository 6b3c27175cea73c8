"""Citations and grounding."""

from __future__ import annotations

import itertools
import json
import math
import re
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.metrics.grounding import grounding_evidence
from fastmetrics.text.citation_marks import as_numbers, with_plain_marks
from fastmetrics.vectors.embedder import Embedder
from tests.reference import citations as oracle
from tests.support.every_metric import refusing

NAMES = ["Apples", "Bread", "Cheese"]


def one_hot(texts: list[str]) -> np.ndarray:
    """A made-up model: which of the names a text holds."""
    return np.array([[name in text for name in NAMES] for text in texts], np.float32)


def angles(texts: list[str]) -> np.ndarray:
    """A made-up model: a text that holds two numbers between bars is the vector of them."""
    parts = [text.split("|") for text in texts]
    return np.array([[float(part[1]), float(part[2])] if len(part) > 2 else [1.0, 0.0] for part in parts], np.float32)


def test_a_cosine_of_tau_supports() -> None:
    """3/5, 4/5 and 1 are cosines without a rounding: at τ itself a sentence is supported, just above it is not."""
    for x, y, cosine in ((3.0, 4.0, 0.6), (4.0, 3.0, 0.8), (2.0, 0.0, 1.0), (0.0, 1.0, 0.0), (-5.0, 0.0, -1.0)):
        for tau in (cosine, np.nextafter(cosine, 2.0), np.nextafter(cosine, -2.0)):
            if not -1.0 <= tau <= 1.0:
                continue
            options = {"threshold": float(tau), "embedder": Embedder(angles)}
            row = [f"So |{x}|{y}| it is [1]."], [["|1.0|0.0|"]]
            assert fm.grounding_overlap(*row, **options).tolist() == [float(cosine >= tau)], (cosine, tau)
            assert fm.citation_precision(*row, **options).tolist() == [float(cosine >= tau)], (cosine, tau)
            assert grounding_evidence(*row, **options)["cosine"].to_pylist() == [cosine]


@pytest.mark.parametrize("holes", list(itertools.product((None, "", "x"), repeat=3)))
def test_passages_keep_their_numbers_whatever_is_missing_before_them(holes: tuple[str | None, ...]) -> None:
    """A null passage is cited by its number, and supports nothing."""
    contexts = pa.array([[holes[0], "Apples", holes[1], "Bread", holes[2]], ["Cheese", holes[2]], [holes[0]]])
    answers = [" ".join(f"{name} [{n}]." for n in range(7) for name in NAMES)] * 3
    found = grounding_evidence(answers, contexts, embedder=Embedder(one_hot))
    supported = [(row["row"], row["citation"], row["sentence"]) for row in found.to_pylist() if row["supported"]]
    assert supported == [(0, 2, "Apples [2]."), (0, 4, "Bread [4]."), (1, 1, "Cheese [1].")]
    ranges = [
        {row["citation"] for row in found.to_pylist() if row["row"] == n and row["context"] is not None}
        for n in range(3)
    ]
    assert ranges == [{1, 2, 3, 4, 5}, {1, 2}, {1}]
    overlap = fm.grounding_overlap(answers, contexts, embedder=Embedder(one_hot))
    assert overlap.tolist() == [2 / 21, 1 / 21, 0.0]


@pytest.mark.parametrize("pattern", [r"\[([0-9]+)\]", r"\[(\d+)\]"])
def test_numbers_of_many_digits_are_out_of_range(pattern: str) -> None:
    """Whatever would be left of them in 32 or 64 bits; nought before a number changes nothing."""
    large = [1 << 31, (1 << 32) + 1, 9_999_999_999, 10_000_000_001, (1 << 63) + 1, (1 << 64) + 1, 10**19 + 1, 10**30]
    answers = [f"Apples [{number}]." for number in large]
    options = {"pattern": pattern, "embedder": Embedder(one_hot)}
    found = grounding_evidence(answers, [["Apples"]] * len(large), **options)
    assert found["reason"].to_pylist() == ["citation out of range"] * len(large)
    assert found["context"].null_count == len(large)
    assert min(found["citation"].to_pylist()) > 10**6
    zeros = grounding_evidence(["Apples [0000000000000000001].", "Apples [00]."], [["Apples"]] * 2, **options)
    assert zeros["reason"].to_pylist() == ["supported", "citation out of range"]
    assert zeros["citation"].to_pylist() == [1, 0]


def test_an_empty_list_of_references_makes_no_question_answerable() -> None:
    """Nor do null references: only one that does not itself abstain."""
    references = pa.array(
        [[], None, [None], ["Bread"], [None, "Bread"], [], ["I don't know."], ["I don't know.", "So."]]
    )
    expected = [0.6, 0.6, 0.6, 0.0, 0.0, 0.6, 0.6, 0.0]
    for order in (slice(None), slice(None, None, -1)):
        rows = len(expected)
        found = fm.overlap_faithfulness(
            ["I don't know."] * rows,
            [["Bread"]] * rows,
            reference=pa.array(references.to_pylist()[order]),
            embedder=Embedder(one_hot),
        )
        assert found.tolist() == expected[order]


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


@pytest.fixture(scope="module")
def embedder():
    return Embedder(letters)


def cosine(one, other):
    a, b = letters([one, other]).astype(float).tolist()
    norms = math.sqrt(sum(x * x for x in a)) * math.sqrt(sum(y * y for y in b))
    return sum(x * y for x, y in zip(a, b, strict=True)) / norms if norms else math.nan


def judge(sentence_of_grounding, contexts, tau):
    """S1's rule for one sentence that is no "I don't know"."""
    marks = re.findall(r"\[(\d+)\]", sentence_of_grounding)
    if len(marks) != 1 or not 1 <= int(marks[0]) <= len(contexts):
        return False
    return cosine(re.sub(r"\s*\[\d+\]", "", sentence_of_grounding), contexts[int(marks[0]) - 1]) >= tau


sentence_of_grounding = st.builds(
    lambda words, marks: " ".join(words) + "".join(f" [{mark}]" for mark in marks) + ".",
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=3),
    st.lists(st.integers(0, 4), max_size=2),
)


@given(
    st.lists(
        st.tuples(st.lists(sentence_of_grounding, max_size=4), st.lists(st.sampled_from([*WORDS, "Eggs"]), max_size=3)),
        min_size=1,
        max_size=5,
    ),
    st.sampled_from([0.3, 0.65, 0.9]),
)
@example(rows=[(["Bread [] [1]."], ["Bread"])], tau=0.9)
def test_equals_the_plain_rule(embedder, rows, tau):
    answers = [" ".join(sentences) for sentences, _ in rows]
    contexts = pa.array([passages for _, passages in rows], pa.list_(pa.string()))
    expected = [
        sum(judge(one, passages, tau) for one in sentences) / len(sentences) if sentences else 0.0
        for sentences, passages in rows
    ]
    assert fm.grounding_overlap(answers, contexts, threshold=tau, embedder=embedder).tolist() == expected
    faithful = fm.overlap_faithfulness(answers, contexts, threshold=tau, embedder=embedder)
    assert faithful == pytest.approx([min(1, 0.6 + 0.4 * overlap) for overlap in expected])


def test_evidence_explains_the_score(embedder):
    answer = "Bread [1]. Bread [2]. Bread. Bread [1][2]. Cheese [3]. I don't know [1]. Bread [0]."
    table = grounding_evidence([answer], [["Bread", "Qqq"]], embedder=embedder)
    assert table["reason"].to_pylist() == [
        *("supported", "below threshold", "no citation", "several citations", "citation out of range"),
        *("says it does not know", "citation out of range"),
    ]
    assert table["supported"].to_pylist() == [True] + 6 * [False]
    assert table["citation"].to_pylist() == [1, 2, None, None, 3, 1, 0]
    assert table["context"].to_pylist() == ["Bread", "Qqq", None, None, None, "Bread", None]
    assert table["cosine"].to_pylist() == [pytest.approx(1.0), 0.0, None, None, None, None, None]
    assert table["sentence"].to_pylist()[3] == "Bread [1][2]."
    assert fm.grounding_overlap([answer], [["Bread", "Qqq"]], embedder=embedder).tolist() == [1 / 7]


def test_abstaining_from_an_answerable_question_is_unfaithful(embedder):
    answers = ["I don't know."] * 6 + ["Bread [1]."]
    contexts = [["Bread"]] * 7
    flags = [True, False, None, None, None, None, None]
    references = [None, "Bread", ["Bread"], None, ["I don't know."], ["I don't know.", "Bread"], None]
    references = [one if one is None or isinstance(one, list) else [one] for one in references]
    found = fm.overlap_faithfulness(answers, contexts, flags, pa.array(references), embedder=embedder)
    assert found.tolist() == [0.0, 0.6, 0.0, 0.6, 0.6, 0.0, 1.0]
    alone = fm.overlap_faithfulness(answers, contexts, reference=["Bread"] * 7, embedder=embedder)
    assert alone.tolist() == [0.0] * 6 + [1.0]


def test_missing_inputs_are_null_and_no_contexts_score_zero(embedder):
    table = pa.table(
        {
            "answer": ["Bread [1].", None, "Bread [1].", "Bread [2].", "", "Bread [1]."],
            "contexts": pa.array([["Bread"], ["Bread"], [], [None, "Bread"], ["Bread"], None], pa.list_(pa.string())),
        }
    )
    found = fm.grounding_overlap(table["answer"], table["contexts"], embedder=embedder)
    assert found[[0, 2, 3, 4]].tolist() == [1.0, 0.0, 1.0, 0.0]
    assert np.isnan(found[[1, 5]]).all()
    single = fm.grounding_overlap(["Bread [1]."], ["Bread"], embedder=embedder)
    assert single.tolist() == [1.0]


def test_another_citation_pattern(embedder):
    answers = ["Bread (source 1). Bread [1]."]
    options = {"pattern": r"\(source (\d+)\)", "embedder": embedder}
    assert fm.grounding_overlap(answers, [["Bread"]], **options).tolist() == [0.5]


@pytest.mark.parametrize(
    ("pattern", "numbers"),
    [
        (r"[\[［](\d+)[\]］]", [1, 2, None, None]),
        (r"\u3010(\d+)\u3011", [None, None, 3, None]),
        (r"\[(\d+)\]|\((\d+)\)", [1, None, None, 4]),
        (r"\[(\d+)\]|(нет)", [1, None, None, None]),
        (r"\((\d{500})\)", [None] * 4),
    ],
)
def test_citation_patterns_of_any_script(embedder, pattern, numbers):
    answer = "Хлеб [1]. Хлеб ［2］. Хлеб 【3】. Хлеб (4)."
    found = grounding_evidence([answer], [["Bread"] * 4], pattern=pattern, embedder=embedder)
    assert found["citation"].to_pylist() == numbers
    digits = grounding_evidence([f"Bread ({'9' * 5000})."], [["Bread"]], pattern=r"\((\d+)\)", embedder=embedder)
    assert digits["reason"].to_pylist() == ["citation out of range"]


def test_citation_mark_is_removed_for_any_bytes():
    asked = []

    def model(texts):
        asked.extend(texts)
        return letters(texts)

    fm.grounding_overlap(["Хлеб ［1］."], [["Хлеб"]], pattern=r"[\[［](\d+)[\]］]", embedder=Embedder(model))
    assert "Хлеб." in asked


def test_a_row_without_contexts_has_none_to_cite(embedder):
    contexts = pa.array([[], ["Bread"]], pa.list_(pa.string()))
    found = grounding_evidence(
        ["Bread [1]."] * 2, contexts, threshold=-1.0, embedder=Embedder(lambda t: letters(t) + 1)
    )
    assert found["reason"].to_pylist() == ["citation out of range", "supported"]
    assert found["context"].to_pylist() == [None, "Bread"]
    overlap = fm.grounding_overlap(
        ["Bread [1]."] * 2, contexts, threshold=-1.0, embedder=Embedder(lambda t: letters(t) + 1)
    )
    assert overlap.tolist() == [0.0, 1.0]


def test_lone_surrogates(embedder):
    found = fm.grounding_overlap(["Bread\ud800 [1].", "Bread [1]."], [["Bread"], ["Bread\udc00"]], embedder=embedder)
    assert found.tolist() == [1.0, 1.0]
    assert grounding_evidence(["Bread\ud800 [1]."], [["Bread"]], embedder=embedder)["supported"].to_pylist() == [True]


def test_each_distinct_text_is_embedded_once():
    asked = []

    def model(texts):
        asked.extend(texts)
        time.sleep(0.02)  # long enough for another thread to make the same call
        return letters(texts)

    answers = [f"Bread number {'abcdefghij'[row % 10]} [1]." for row in range(9000)]
    fm.grounding_overlap(answers, [["Bread"]] * 9000, embedder=model, threads=2)
    assert len(asked) == 1 + 10 + 1
    assert len(set(asked)) == 12
