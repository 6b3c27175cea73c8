"""The numbers of ir_measures and ranx: every measure and parameter of theirs, or a reason."""

from __future__ import annotations

import math
import random
import re
import shutil
from contextlib import suppress
from pathlib import Path

import pytest

import fastmetrics as fm
from fastmetrics.base.errors import fold
from fastmetrics.retrieval.measures import FAMILIES, UNSUPPORTED
from tests.reference import retrieval as reference
from tests.support.optional_parts import needs

ir_measures = pytest.importorskip("ir_measures")

REGISTRY = ir_measures.measures.registry
KNOWN = {fold(name) for family in FAMILIES for name in family.names}
CLAIMED = [name for name in REGISTRY if fold(name) in KNOWN]

VALUES = {
    **{"cutoff": (2, 7), "rel": (1, 2, 3), "judged_only": (True,), "recall": (0.1, 0.5, 1.0)},
    **{"dcg": ("log2", "exp-log2"), "gains": ({0: 1, 1: 4}, {3: 0}), "beta": (0.5, 2.0), "relative": (True,)},
    **{"p": (0.3, 0.9), "normalize": (False,)},
}
"""Values of every parameter of the measures."""


def variants(name: str) -> list[ir_measures.Measure]:
    """A measure with each value of each parameter, alone and together with the first values of the others."""
    measure = REGISTRY[name]
    supported = type(measure).SUPPORTED_PARAMS
    needed = {key: VALUES[key][-1] for key, info in supported.items() if info.required}
    first = {key: VALUES[key][0] for key in supported if not {key, "gains"} <= {"dcg", "gains"}}
    found = [measure(**needed)]
    for key in supported:
        for value in VALUES[key]:
            found.append(measure(**{**needed, key: value}))
            together = {**first, key: value}
            if together.get("dcg") == "exp-log2":
                together.pop("gains", None)
            found.append(measure(**together))
    return list({str(one): one for one in found}.values())


MEASURES = [one for name in CLAIMED for one in variants(name)]


def made(seed: int, lowest: int = -1) -> tuple[dict, dict]:
    """A run of positive scores without ties and graded judgements, with one relevant document per query or more."""
    draw = random.Random(seed)
    docs = [f"d{n}" for n in range(30)]
    run, judged = {}, {}
    for number in range(60):
        retrieved = draw.sample(docs, draw.randint(1, 25))
        run[f"{number}"] = {doc: float(score) for score, doc in enumerate(retrieved, 1)}
        known = draw.sample(docs, draw.randint(2, 20))
        grades = [draw.randint(lowest, 3) for _ in known]
        judged[f"{number}"] = dict(zip(known, [draw.randint(1, 3), *grades[1:]], strict=True))
    return run, judged


RUN, JUDGED = made(11)


def expected(measure: ir_measures.Measure) -> dict[str, float]:
    """The values of ir_measures by query; in plain Python where no installed package computes the measure."""
    name, k, level = type(measure).NAME, measure.params.get("cutoff"), measure.params.get("rel")
    pairs = {query: (reference.ranked_ids(run), JUDGED[query]) for query, run in RUN.items()}
    if measure.params.get("judged_only"):
        pairs = {q: ([doc for doc in r if grades.get(doc, -1) >= 0], grades) for q, (r, grades) in pairs.items()}
    if name == "RBP":
        p = measure.params.get("p", 0.8 if level else 0.9)
        return {q: reference.rank_biased_precision(*pair, p, k, level) for q, pair in pairs.items()}
    if name == "NumRel":
        return {q: reference.n_relevant(grades, level or 1) for q, (_, grades) in pairs.items()}
    if name == "RR" and k:
        return {q: reference.reciprocal_rank(*pair, k, level or 1) for q, pair in pairs.items()}
    if name == "nDCG" and measure.params.get("dcg") == "exp-log2" and (not k or measure.params.get("judged_only")):
        return {q: reference.ndcg(*pair, k, "exponential") for q, pair in pairs.items()}
    if name == "ERR" and (not k or shutil.which("perl") is None):
        return {q: reference.expected_reciprocal_rank(*pair, k) for q, pair in pairs.items()}
    if name == "Accuracy":
        return of_each_query(measure)
    return {one.query_id: one.value for one in ir_measures.iter_calc([measure], JUDGED, RUN)}


def of_each_query(measure: ir_measures.Measure) -> dict[str, float]:
    """The values of the queries separately: ir_measures divides by 0 if all retrieved documents are relevant."""
    values = {}
    for query, docs in RUN.items():
        with suppress(ZeroDivisionError):
            some = ir_measures.iter_calc([measure], {query: JUDGED[query]}, {query: docs})
            values |= {one.query_id: one.value for one in some}
    return values


@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_every_parameter_gives_the_numbers_of_ir_measures(measure):
    values = expected(measure)
    written = str(measure)
    ours = fm.rank(RUN, JUDGED, [written], no_relevant="zero")
    gdeval = type(measure).NAME == "ERR" or measure.params.get("dcg") == "exp-log2"
    assert values
    for row in ours.per_query.to_pylist():
        query, value = row["query_id"], row[written]
        if type(measure).NAME == "Accuracy" and query not in values:
            assert math.isnan(value)
        elif not (type(measure).NAME == "IPrec" and rounds_apart(measure, query)):
            theirs = 0.0 if math.isnan(values[query]) else values[query]  # pytrec_eval divides 0 by 0
            assert value == pytest.approx(theirs, abs=5.1e-6 if gdeval else 1e-12), (query, row)


def rounds_apart(measure: ir_measures.Measure, query: str) -> bool:
    """Whether trec_eval 10 and 9 (that of pytrec_eval) round the number of relevant documents differently."""
    wanted = measure.params["recall"] * reference.n_relevant(JUDGED[query], measure.params.get("rel", 1))
    return math.floor(wanted + 0.5) != int(wanted + 0.9)


def test_every_measure_is_supported_or_named_with_a_reason():
    assert {fold(name) for name in REGISTRY} == {fold(name) for name in [*CLAIMED, *UNSUPPORTED]}
    assert not {fold(name) for name in UNSUPPORTED} & KNOWN


def test_every_parameter_is_tried():
    wanted = {(type(REGISTRY[name]).NAME, key) for name in CLAIMED for key in type(REGISTRY[name]).SUPPORTED_PARAMS}
    assert {(type(one).NAME, key) for one in MEASURES for key in one.params} == wanted


@pytest.mark.parametrize("measure", ["Compat(p=0.95)", "Compat(p=0.9)", "Compat(p=0.8,normalize=False)", "Accuracy@50"])
def test_deep_runs_give_the_numbers_of_ir_measures(data_folder, measure):
    folder = data_folder / "oracles" / "ir_measures"
    qrels = list(ir_measures.read_trec_qrels(str(folder / "compat.qrels")))
    run = list(ir_measures.read_trec_run(str(folder / "compat.run")))
    values = ir_measures.iter_calc([ir_measures.parse_measure(measure)], qrels, run)
    theirs = {one.query_id: one.value for one in values}
    ours = fm.rank(folder / "compat.run", folder / "compat.qrels", [measure], no_relevant="zero").per_query.to_pylist()
    assert theirs
    for row in ours:
        if row["query_id"] in theirs:
            assert row[measure] == pytest.approx(theirs[row["query_id"]], abs=1e-12)


def test_compatibility_depends_on_ranks_not_on_scores():
    """ir_measures places documents that were not retrieved before those with a negative score."""
    below = {query: {doc: score - 1000 for doc, score in docs.items()} for query, docs in RUN.items()}
    assert fm.rank(below, JUDGED, "Compat").per_query.equals(fm.rank(RUN, JUDGED, "Compat").per_query)


def test_accuracy_is_undefined_without_a_pair_and_counted():
    run = {"all": {"a": 2, "b": 1}, "none": {"x": 1}, "good": {"a": 2, "x": 1}, "half": {"x": 3, "a": 2, "y": 1}}
    found = fm.rank(run, {query: {"a": 1, "b": 2} for query in run}, "Accuracy,mrr")
    values = dict(zip(run, found.per_query["Accuracy"].to_pylist(), strict=True))
    assert [name for name, value in values.items() if math.isnan(value)] == ["all", "none"]
    assert (values["good"], values["half"], found.mean["Accuracy"]) == (1.0, 0.5, 0.75)
    assert found.n_undefined == {"Accuracy": 2, "mrr": 0}
    (note,) = found.notes
    assert note.startswith("Accuracy: 2 of 4 queries have no retrieved pair of a relevant and another document")
    assert fm.rank(run, {query: {"z": 1} for query in run}, "Accuracy", no_relevant="zero").n_undefined == {
        "Accuracy": 4
    }


TIED = {query: {doc: float(score // 6) for doc, score in docs.items()} for query, docs in RUN.items()}


@pytest.mark.parametrize(
    ("measure", "alike"),
    [
        *((name, True) for name in ("nDCG@10", "AP@10", "P@10", "R@10", "Success@10", "RR")),
        *((name, False) for name in ("RR@10", "RR(rel=2)@10", "Judged@10", "Compat")),
    ],
)
def test_which_measures_of_ir_measures_order_ties_as_trec_eval_does_is_as_the_page_says(measure, alike):
    theirs = {
        one.query_id: one.value for one in ir_measures.iter_calc([ir_measures.parse_measure(measure)], JUDGED, TIED)
    }
    ours = fm.rank(TIED, JUDGED, measures=measure).per_query
    ours = dict(zip(ours["query_id"].to_pylist(), ours.column(1).to_pylist(), strict=True))
    assert all(abs(ours[query] - value) < 1e-9 for query, value in theirs.items()) is alike
    page = (Path(__file__).parents[2] / "docs" / "retrieval.md").read_text(encoding="utf-8")
    first, _, others = page.partition("equal scores")[2].partition("otherwise")
    name = re.sub(r"\(.*\)", "", measure).replace("@10", "@k")
    assert f"`{name}`" in (first if alike else others.partition("ranx")[0])


QUERIES = 300


def graded(seed: int, lowest: int) -> tuple[dict, dict]:
    """A run without ties and graded judgements, something being relevant for every query."""
    draw = random.Random(seed)
    docs = [f"d{n}" for n in range(60)]
    run, judged = {}, {}
    for number in range(QUERIES):
        retrieved = draw.sample(docs, draw.randint(1, 50))
        run[str(number)] = {doc: float(score) for score, doc in enumerate(retrieved)}
        known = draw.sample(docs, draw.randint(2, 30))
        grades = [draw.randint(lowest, 3) for _ in known]
        judged[str(number)] = dict(zip(known, [draw.randint(1, 3), *grades[1:]], strict=True))
    return run, judged


# RBP is omitted: it sums grades instead of 0 or 1; so is bpref: it is NaN if all judged documents are relevant
RANX = ["ndcg", "ndcg@5", "ndcg_burges@10", "map", "map@10", "mrr", "mrr@3", "recall@10", "precision@10", "f1@10"]
RANX += ["hits@10", "hit_rate@3", "r-precision", "precision@5-l2", "map-l2"]


@needs("ranx")
@pytest.mark.filterwarnings("ignore::numba.core.errors.NumbaTypeSafetyWarning")  # within ranx
def test_equals_ranx():
    import ranx

    run, judged = graded(3, 0)
    theirs = ranx.Run(run)
    ranx.evaluate(ranx.Qrels(judged), theirs, RANX)
    for row in fm.rank(run, judged, RANX, no_relevant="zero").per_query.to_pylist():
        for name in RANX:
            assert row[name] == pytest.approx(theirs.scores[name][row["query_id"]], abs=1e-12), (name, row)
