"""Dictionary columns whose dictionaries hold null, values twice and values no row has, whole, sliced and in chunks.

Such columns stand for the same rows as plain ones; Arrow counts neither those nulls nor those equals by itself.
"""

import random

import numpy as np
import pyarrow as pa
import pytest

import fastmetrics as fm
from fastmetrics.base.column_names import COLUMNS
from fastmetrics.base.errors import ColumnError
from fastmetrics.metrics.grounding import grounding_evidence
from fastmetrics.scoring.metric_functions import callable_of
from fastmetrics.stats.labels import clusters_of
from fastmetrics.vectors.embedder import Embedder
from tests.support.every_metric import READERS, columns
from tests.support.strategies import coded, coded_lists

ROWS = 60
WORDS = ["Apples", "Bread", "Cheese", "Dates"]
KINDS = ("dictionary with holes", "sliced dictionary with holes", "chunked dictionary with holes")


def letters(texts):
    """A made-up model: how often each small letter occurs."""
    return np.array([[text.lower().count(chr(97 + code)) for code in range(26)] for text in texts], np.float32)


def disguised(values, seed=0):
    """An Arrow column, and the same as dictionaries."""
    make = coded_lists if hasattr(values.type, "value_type") else coded
    return {"plain": values, **dict(make(values, random.Random(seed)))}


def made(seed=0):
    """Rows with answers that cite contexts, some of them null."""
    chance = random.Random(seed)
    answers = [chance.choice((None, *(f"{word} [{n}]." for word in WORDS for n in (1, 2)))) for _ in range(ROWS)]
    single = [chance.choice((None, *WORDS)) for _ in range(ROWS)]
    lists = [chance.choice((None, [], [chance.choice((None, *WORDS)), chance.choice(WORDS)])) for _ in range(ROWS)]
    return pa.array(answers), pa.array(single), pa.array(lists)


@pytest.mark.parametrize("name", READERS)
def test_dictionary_columns_score_as_their_values(name):
    given = {column: pa.array(values) for column, values in columns(name, ROWS).items()}
    expected = callable_of(name)(**given)
    scored = repr(fm.score(given, [name])[name].to_pylist())
    forms = {column: disguised(values) for column, values in given.items()}
    for kind in KINDS:
        alike = {column: form[kind] for column, form in forms.items()}
        assert callable_of(name)(**alike).tobytes() == expected.tobytes(), kind
        assert repr(fm.score(alike, [name])[name].to_pylist()) == scored, kind
    for column, form in forms.items():
        kinds = KINDS if COLUMNS[column].kind == "vector" else form
        for kind in kinds:
            values = form[kind]
            assert callable_of(name)(**{**given, column: values}).tobytes() == expected.tobytes(), (column, kind)


@pytest.mark.parametrize("name", ["grounding_overlap", "overlap_faithfulness"])
def test_contexts_cited_by_number(name):
    answers, single, lists = made()
    embedder = Embedder(letters)
    for contexts in (single, lists):
        expected = callable_of(name)(answers, contexts, embedder=embedder)
        assert 0 < np.nanmean(expected) < 1
        evidence = grounding_evidence(answers, contexts, embedder=embedder)
        for (kind, one), other in zip(disguised(contexts).items(), [*disguised(answers).values()] * 2, strict=False):
            assert callable_of(name)(other, one, embedder=embedder).tobytes() == expected.tobytes(), kind
            assert grounding_evidence(other, one, embedder=embedder).equals(evidence), kind


def test_an_answerable_question_is_one_with_a_reference():
    _, single, lists = made(1)
    for references in (single, lists):
        expected = fm.overlap_faithfulness(
            ["I don't know."] * ROWS, single, reference=references, embedder=Embedder(letters)
        )
        assert len(set(expected.tolist()) - {np.nan}) > 1
        for kind, one in disguised(references).items():
            found = fm.overlap_faithfulness(["I don't know."] * ROWS, single, reference=one, embedder=Embedder(letters))
            assert found.tobytes() == expected.tobytes(), kind


def test_repeats_are_equal_values_and_null_repeats_nothing():
    answers, questions, lists = made(2)
    vectors = np.random.default_rng(0).normal(size=(ROWS, 3))
    ids = pa.array([None if ids is None else [one or "-" for one in ids] for ids in lists.to_pylist()])

    def figures(answer, question, ranking):
        return (
            fm.response_exact_match_rate(answer, question),
            fm.response_semantic_consistency(vectors, question),
            fm.retrieval_consistency(question, ranking),
            fm.retrieval_rbo(question, ranking),
        )

    expected = figures(answers, questions, ids)
    forms = [disguised(one, seed) for seed, one in enumerate((answers, questions, ids))]
    for kind in KINDS:
        assert figures(*(form[kind] for form in forms)) == expected, kind
    for kind, ranking in forms[2].items():
        assert figures(answers, questions, ranking) == expected, kind


def test_an_id_that_is_null_in_a_dictionary_is_refused_as_any_null_id():
    holes = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]), pa.array(["a", None]))
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 3]), holes)
    with pytest.raises(ColumnError, match="column 'retrieved_ids', row 1: an id is null"):
        fm.retrieval_recall(lists, [["a"], ["a"]])
    with pytest.raises(ColumnError, match="column 'relevant_ids', row 1: an id is null"):
        fm.retrieval_recall([["a"], ["a"]], lists)


def test_texts_to_vectors_matches_and_bots():
    _, texts, _ = made(3)
    faq = pa.array([*WORDS, None, "Bread and Cheese"])
    expected = Embedder(letters).embed(texts), fm.retrieval.match_faq(texts, faq, k=2)
    replies = fm.retrieval.StrictMatchBot({"question": faq, "answer": faq}).answer_all(texts)
    assert replies["answer"].null_count < ROWS
    for (kind, one), other in zip(disguised(texts).items(), disguised(faq).values(), strict=True):
        np.testing.assert_array_equal(Embedder(letters).embed(one), expected[0], kind)
        found = fm.retrieval.match_faq(one, other, k=2)
        np.testing.assert_array_equal(found.index, expected[1].index, kind)
        np.testing.assert_array_equal(found.score, expected[1].score, kind)
        bot = fm.retrieval.StrictMatchBot({"question": other, "answer": other})
        assert bot.answer_all(one).equals(replies), kind


def test_ratings_ids_of_labels_and_groups():
    chance = random.Random(4)
    one, other = (pa.array(chance.choices((None, "bad", "fair", "good"), k=ROWS)) for _ in range(2))
    names = pa.array([None if row % 9 == 0 else f"q{row}" for row in range(ROWS)])
    groups = pa.array([f"g{row % 5}" for row in range(ROWS)])
    scores = [row * 7 % 11 / 11 for row in range(ROWS)]
    labels = pa.array([float(row % 3 > 0) for row in range(ROWS)])

    def figures(one, other, names, groups):
        table = {"id": names, "fit": scores, "group": groups}
        judged = {"id": names.to_pylist()[::-1], "label": labels[::-1]}
        found = fm.validate(pa.table(table), judged, metrics="fit", cluster="group")
        return fm.stats.agreement([one, other]), found.to_dict()

    expected = figures(one, other, names, groups)
    forms = [disguised(values, seed) for seed, values in enumerate((one, other, names, groups))]
    for kind in KINDS:
        assert repr(figures(*(form[kind] for form in forms))) == repr(expected), kind
    holes = {"scores": pa.table({"group": disguised(other)["chunked dictionary with holes"]})}
    with pytest.raises(ColumnError, match=rf"row {other.to_pylist().index(None)}: the group is null"):
        clusters_of(holes, "group", np.arange(ROWS))
