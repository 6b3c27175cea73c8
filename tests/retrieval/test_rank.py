"""Rankings against judgements: trec_eval's outputs, plain Python, pytrec_eval; names, forms and blocks."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import pytrec_eval
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.base.errors import ColumnError, FileFormatError
from fastmetrics.base.limits import RANKINGS, RankingSizes
from fastmetrics.retrieval import rank as ranking
from fastmetrics.retrieval.measures import FAMILIES, measure
from fastmetrics.retrieval.rankings import judgements
from fastmetrics.tables.rankings import Triples
from tests.reference import retrieval as reference

# (expected output, run, judgements, options), as trec_eval's own quick tests pair them
OFFICIAL = [
    ("out.test", "results.test", "qrels.test", {}),
    ("out.test", "results.test", "qrels.test.with-comments", {}),
    ("out.comment.test", "results.comment.test", "qrels.comment.test", {}),
    ("out.test.a", "results.test", "qrels.test", {}),
    ("out.test.aq", "results.test", "qrels.test", {}),
    ("out.test.aqc", "results.trunc", "qrels.test", {"missing": "zero"}),
    ("out.test.aqcM", "results.trunc", "qrels.test", {"missing": "zero", "depth": 100}),
    ("out.test.aql", "results.test", "qrels.rel_level", {"relevance_level": 2}),
    ("out.test.meas_params", "results.test", "qrels.test", {}),
]

# names of trec_eval with its own syntax for options
RENAMED = {"utility_2,-1,0,0": "utility(hit=2,junk=-1,missed=0)", "ndcg_1=3,2=9,4=4.5": "ndcg(gains={1:3,2:9,4:4.5})"}
NOT_NUMBERS = ("runid", "relstring", "11pt_avg_")

GRADES = st.sampled_from([-2, -1, 0, 0, 0.5, 1, 1, 2, 2.5, 3])
SCORES = st.one_of(st.sampled_from([0.0, 1.0, 1.00000001, -1.5, 1e9]), st.floats(-5, 5))
DOCS = st.sampled_from(["a", "b", "ab", "B", "é", "10", "9", "doc-7", "doc-70", "z" * 9, "z" * 17, ""])
RUNS = st.dictionaries(st.sampled_from("pqrstuv"), st.dictionaries(DOCS, SCORES, min_size=1), min_size=1, max_size=5)
JUDGED = st.dictionaries(st.sampled_from("pqrst"), st.dictionaries(DOCS, GRADES, min_size=1), min_size=1, max_size=4)


def lines(path: Path) -> list[tuple[str, str, str]]:
    """Measure, query and value of trec_eval's output."""
    rows = [tuple(line.split()) for line in path.read_text().splitlines()]
    return [row for row in rows if len(row) == 3 and not row[0].startswith(NOT_NUMBERS)]


@pytest.mark.parametrize(("output", "run", "judgements", "options"), OFFICIAL)
def test_all_measures_equal_trec_eval(data_folder, output, run, judgements, options):
    folder = data_folder / "oracles" / "trec_eval"
    expected = lines(folder / output)
    names = list(dict.fromkeys(RENAMED.get(name, name) for name, _, _ in expected))
    found = fm.rank(folder / run, folder / judgements, names, **{"no_relevant": "zero"} | options)
    per_query = {row["query_id"]: row for row in found.per_query.to_pylist()}
    assert len(expected) > 20
    for name, query, value in expected:
        ours = (found.mean if query == "all" else per_query[query])[RENAMED.get(name, name)]
        assert abs(ours - float(value)) <= 0.00005 + 1e-9, (name, query, value, ours)


@given(run=RUNS, judged=JUDGED)
def test_every_measure_equals_its_definition(run, judged):
    assume(not run or run.keys() & judged.keys())  # else an error
    found = fm.rank(run, judged, list(reference.MEASURES), missing="zero", no_relevant="zero")
    assert found.per_query["query_id"].to_pylist() == list(judged)
    for row in found.per_query.to_pylist():
        grades = judged[row["query_id"]]
        ranking = reference.ranked_ids(run.get(row["query_id"], {}))
        for name, define in reference.MEASURES.items():
            expected = define(ranking, grades)
            if math.isnan(expected) and row["query_id"] in run:
                assert math.isnan(row[name]), (name, row)
            else:
                expected = 0.0 if math.isnan(expected) else expected
                assert math.isclose(row[name], expected, rel_tol=1e-12, abs_tol=1e-12), (name, row)
    assert found.missing == [query for query in judged if query not in run]
    assert sorted(found.unjudged) == sorted(query for query in run if query not in judged)


def test_every_family_has_a_reference_definition():
    assert {measure(name).family.names for name in reference.MEASURES} == {family.names for family in FAMILIES}


def fuzzed(seed: int, queries: int) -> tuple[dict, dict]:
    """Runs with many ties, and graded judgements of which some are negative; scores that float32 can hold."""
    draw = random.Random(seed)
    docs = [f"d{n}" for n in range(40)]
    run, judged = {}, {}
    for number in range(queries):
        retrieved = draw.sample(docs, draw.randint(1, 25))
        run[f"q{number}"] = {doc: draw.choice([0.5, 1.0, 2.0, 3.25, float(draw.randint(0, 9))]) for doc in retrieved}
        known = draw.sample(docs, draw.randint(1, 15))
        judged[f"q{number}"] = {doc: draw.choice([-1, 0, 0, 1, 1, 2, 3]) for doc in known}
    return run, judged


PYTREC = {
    **{f"ndcg@{k}": f"ndcg_cut_{k}" for k in (5, 10, 100)},
    **{f"P@{k}": f"P_{k}" for k in (5, 10, 100)},
    **{f"R@{k}": f"recall_{k}" for k in (5, 10, 100)},
    **{f"AP@{k}": f"map_cut_{k}" for k in (5, 10, 100)},
    **{f"Success@{k}": f"success_{k}" for k in (1, 5, 10)},
    "AP": "map",
    "nDCG": "ndcg",
    "RR": "recip_rank",
    "Rprec": "Rprec",
    "Bpref": "bpref",
    "infAP": "infAP",
    "binG": "binG",
    "G": "G",
    "ndcg_rel": "ndcg_rel",
    "Rndcg": "Rndcg",
    "set_P": "set_P",
    "set_recall": "set_recall",
    "set_map": "set_map",
    "set_F": "set_F",
    "set_relative_P": "set_relative_P",
    "utility": "utility",
    "num_ret": "num_ret",
    "num_rel": "num_rel",
    "num_rel_ret": "num_rel_ret",
    "num_nonrel_judged_ret": "num_nonrel_judged_ret",
    **{f"Rprec_mult_{share}": f"Rprec_mult_{share}" for share in ("0.20", "1.40", "2.00")},
    **{f"relative_P_{k}": f"relative_P_{k}" for k in (5, 100)},
}


@pytest.mark.parametrize("level", [1, 2])
def test_equals_pytrec_eval_on_fuzzed_queries(level):
    run, judged = fuzzed(7 + level, 8_000)
    theirs = pytrec_eval.RelevanceEvaluator(judged, {"all_trec"}, relevance_level=level).evaluate(run)
    ours = fm.rank(run, judged, list(PYTREC), relevance_level=level, no_relevant="zero")
    for row in ours.per_query.to_pylist():
        other = theirs[row["query_id"]]
        for name, called in PYTREC.items():
            # pytrec_eval divides 0 by 0 for queries without relevant documents
            expected = 0.0 if math.isnan(other[called]) else other[called]
            assert math.isclose(row[name], expected, rel_tol=1e-12, abs_tol=1e-12), (name, row, other[called])


def test_scores_keep_full_precision():
    run = {"q": {"a": 1.00000001, "z": 1.0}}
    assert fm.rank(run, {"q": {"a": 1}}, "mrr").mean["mrr"] == 1.0
    assert fm.rank({"q": {"a": 2.0**53 + 2, "z": 2.0**53}}, {"q": {"a": 1}}, "mrr").mean["mrr"] == 1.0


def test_fractional_grades_are_not_truncated():
    found = fm.rank({"q": {"a": 2, "b": 1}}, {"q": {"a": 0.5, "b": 0.75}}, "ndcg,P@1,P(rel=0.5)@1", no_relevant="zero")
    ideal = 0.75 + 0.5 / math.log2(3)
    assert found.mean["ndcg"] == pytest.approx((0.5 + 0.75 / math.log2(3)) / ideal, abs=1e-15)
    assert found.mean["P@1"] == 0.0
    assert found.mean["P(rel=0.5)@1"] == 1.0


def test_long_integer_ids_do_not_collide():
    one, other = 2**53, 2**53 + 1
    run = pa.table({"query_id": [1, 1], "doc_id": [other, one], "score": [2.0, 1.0]})
    judged = pa.table({"query_id": [1], "doc_id": [one], "relevance": [1]})
    assert fm.rank(run, judged, "mrr").mean["mrr"] == 0.5
    assert fm.reciprocal_rank([[other, one]], [[one]]).tolist() == [0.5]


def test_queries_are_matched_by_key():
    run = {"q2": {"b": 1}, "q1": {"x": 1, "a": 0.5}, "q9": {"a": 1}}
    found = fm.rank(run, {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"c": 1}}, "mrr", missing="zero")
    assert found.per_query.to_pydict() == {"query_id": ["q1", "q2", "q3"], "mrr": [0.5, 1.0, 0.0]}
    assert (found.n_scored, found.missing, found.unjudged) == (3, ["q3"], ["q9"])


def test_cutoff_uses_the_best_documents_of_an_unsorted_run():
    docs = {f"d{n:02}": float(n) for n in range(50)}
    found = fm.rank({"q": docs}, {"q": {"d39": 1, "d00": 1}}, "mrr@10,mrr@11,mrr,R@11")
    assert found.mean == {"mrr@10": 0.0, "mrr@11": 1 / 11, "mrr": 1 / 11, "R@11": 0.5}


def test_ties_are_broken_by_id_descending_as_bytes():
    run = {"q": dict.fromkeys(["B", "a", "é", "10", "9"], 1.0)}
    for rank, doc in enumerate(["é", "a", "B", "9", "10"], 1):
        assert fm.rank(run, {"q": {doc: 1}}, "mrr").mean["mrr"] == 1 / rank


def test_query_without_relevant_is_zero_or_undefined_and_counted():
    run, judged = {"a": {"x": 1}, "b": {"y": 1}}, {"a": {"x": 1}, "b": {"y": 0, "z": -1}}
    as_zero = fm.rank(run, judged, "mrr,ndcg@5,Judged@1,num_ret", no_relevant="zero")
    undefined = fm.rank(run, judged, "mrr,ndcg@5,Judged@1,num_ret", no_relevant="undefined")
    assert as_zero.mean == {"mrr": 0.5, "ndcg@5": 0.5, "Judged@1": 1.0, "num_ret": 2.0}
    assert undefined.mean == {"mrr": 1.0, "ndcg@5": 1.0, "Judged@1": 1.0, "num_ret": 2.0}
    assert math.isnan(undefined.per_query["mrr"][1].as_py())
    assert as_zero.n_undefined == undefined.n_undefined == {"mrr": 1, "ndcg@5": 1, "Judged@1": 0, "num_ret": 0}


def test_document_retrieved_twice_raises_unless_first_counts():
    run = pa.table({"qid": ["q"] * 4, "docno": ["a", "b", "a", "c"], "sim": [3.0, 2.0, 1.0, 0.5]})
    judged = {"q": {"a": 1, "c": 1}}
    found = fm.rank(run, judged, "AP,P@3", duplicates="first")
    assert found.mean == {"AP": (1 + 2 / 4) / 2, "P@3": 1 / 3}
    assert found.n_duplicates == 1


def test_document_judged_twice_raises_unless_first_counts():
    judged = pa.table({"qid": ["q", "p", "q"], "docid": ["a", "a", "a"], "rel": [0, 1, 2]})
    found = fm.rank({"q": {"a": 1}, "p": {"a": 1}}, judged, "mrr,num_rel", duplicates="first", no_relevant="zero")
    assert found.per_query.to_pydict() == {"query_id": ["q", "p"], "mrr": [0.0, 1.0], "num_rel": [0.0, 1.0]}


def test_documents_listed_again_are_counted_over_all_queries():
    queries = ["p", "p", "q", "q", "q", "r", "r"]
    run = pa.table({"qid": queries, "docno": ["a", "a", "a", "b", "a", "b", "b"], "sim": [1.0] * 7})
    judged = {query: {"a": 1} for query in "pqr"}
    assert fm.rank(run, judged, "mrr", duplicates="first").n_duplicates == 3


def test_duplicates_are_those_of_the_judgements_of_several_runs_too():
    judged = pa.table({"qid": ["q", "q"], "docid": ["a", "a"], "rel": [1, 0]})
    runs = {"one": {"q": {"a": 1}}, "two": {"q": {"b": 2, "a": 1}}}
    found = fm.rank(runs, judged, "mrr", duplicates="first")
    assert {name: result.mean["mrr"] for name, result in found.results.items()} == {"one": 1.0, "two": 0.5}


@settings(max_examples=25)
@given(run=RUNS, judged=JUDGED, seed=st.integers(0, 99), threads=st.integers(1, 3))
def test_row_order_and_threads_do_not_change_results(run, judged, seed, threads):
    assume(not run or run.keys() & judged.keys())  # else an error
    rows = [(query, doc, score) for query, docs in run.items() for doc, score in docs.items()]
    names = list(reference.MEASURES)
    expected = fm.rank(run, judged, names, threads=1, no_relevant="zero")
    random.Random(seed).shuffle(rows)
    columns = dict(zip(("query_id", "doc_id", "score"), map(list, zip(*rows, strict=True)), strict=True))
    found = fm.rank(columns, judged, names, threads=threads, no_relevant="zero")
    assert str(found.per_query.to_pydict()) == str(expected.per_query.to_pydict())  # NaN is equal to itself as text
    assert str(found.mean) == str(expected.mean)
    assert sorted(found.unjudged) == sorted(expected.unjudged)


def test_block_and_slice_sizes_do_not_change_results():
    run, judged = fuzzed(3, 30)
    expected = fm.rank(run, judged, list(PYTREC), no_relevant="zero").per_query
    rows = [(query, doc, score) for query, docs in run.items() for doc, score in docs.items()]
    shuffled = random.Random(1).sample(rows, len(rows))
    for size, held in ((1, 50), (7, 1000), (64, 10), (1 << 17, 1 << 24)):
        for some in (rows, shuffled):
            query, doc, score = map(list, zip(*some, strict=True))
            table = pa.table({"qid": query, "pid": doc, "score": score})
            triples = Triples(table, "score", RankingSizes(size, held))
            assert fm.rank(triples, judged, list(PYTREC), no_relevant="zero").per_query.equals(expected)


def test_judged_only_restricts_the_ranking():
    run, judged = {"q": {"x": 3, "n": 2.5, "a": 2, "b": 1}}, {"q": {"a": 0, "b": 1, "n": -1}}
    found = fm.rank(run, judged, "RR,RR(judged_only=True),P(judged_only=True)@2").mean
    assert found == {"RR": 0.25, "RR(judged_only=True)": 0.5, "P(judged_only=True)@2": 0.5}


def test_empty_run_misses_every_query():
    measures = "mrr,ndcg,gm_map,infAP,IPrec@0.5,unj_5,Judged@5,rbp_resid,Accuracy,Compat"
    assert all(map(math.isnan, fm.rank({}, {"q": {"a": 1}}, measures).mean.values()))
    found = fm.rank({}, {"q": {"a": 1}}, measures, missing="zero")
    assert found.missing == ["q"]
    assert {name: value for name, value in found.mean.items() if value} == {"gm_map": pytest.approx(0.00001)}


@pytest.mark.parametrize(
    ("depth", "rank", "recall"), [(None, 1 / 3, 1.0), (4, 1 / 3, 1.0), (3, 1 / 3, 0.5), (2, 0.0, 0.0)]
)
def test_depth_is_the_end_of_every_ranking(depth: int | None, rank: float, recall: float) -> None:
    run = {"q": {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0}}
    mean = fm.rank(run, {"q": {"c": 1, "d": 2}}, ["mrr", "recall@10"], depth=depth).mean
    assert (mean["mrr"], mean["recall@10"]) == (pytest.approx(rank), recall)


NAMES = [
    ("ndcg@10", "nDCG@10", "ndcg_cut_10", "ndcg_cut.10", "NDCG@10", " ndcg(k=10)"),
    *[("mrr", "MRR", "RR", "recip_rank", "reciprocal_rank"), ("RR@10", "mrr@10", "RR(cutoff=10)")],
    *[("P@5", "P_5", "P.5", "precision@5"), ("R@100", "recall@100", "recall_100")],
    *[("AP", "map", "MAP", "average_precision"), ("AP@7", "map_cut_7", "map@7")],
    *[("Success@5", "success_5", "hit_rate@5"), ("Rprec", "r-precision", "R_precision")],
    *[("RBP(p=0.8)", "rbp.80", "rbp(p=.8)"), ("ndcg(dcg='exp-log2')@5", "ndcg(gain='exponential')@5")],
    *[("P@5-l2", "P(rel=2)@5", "precision(relevance_level=2)@5"), ("IPrec@0.1", "iprec_at_recall_0.10")],
    ("SetP", "set_P", "P"),
]


@pytest.mark.parametrize("names", NAMES)
def test_spellings_of_one_measure(names):
    one, *others = (measure(name) for name in names)
    for other in others:
        assert (other.family, other.options) == (one.family, one.options)


def test_column_has_the_requested_name():
    names = ["nDCG@10", "ndcg_cut_10", "RBP(p=0.8)"]
    assert fm.rank({"q": {"a": 1}}, {"q": {"a": 1}}, names).per_query.column_names == ["query_id", *names]


QRELS = {"q1": {"d1": 1, "d3": 1}, "q2": {"d2": 1}}
RANKED = {"q1": ["d9", "d1", "d3"], "q2": ["d2", "d1"]}
MEASURES = "mrr,map,P@2"


def expected() -> dict[str, float]:
    scored = {query: {doc: float(-place) for place, doc in enumerate(docs)} for query, docs in RANKED.items()}
    return fm.rank(scored, QRELS, MEASURES).mean


def written(form: str, mark: str) -> str:
    rows = [(query, doc, place) for query, docs in RANKED.items() for place, doc in enumerate(docs, 1)]
    ends = {"rank": lambda place: [str(place)], "score": lambda place: [str(10.5 - place)], "order": lambda place: []}
    return "\n".join(mark.join([query, doc, *ends[form](place)]) for query, doc, place in rows)


@pytest.mark.parametrize("form", ["rank", "score", "order"])
@pytest.mark.parametrize("mark", ["\t", " "])
@pytest.mark.parametrize("end", ["", "\n"])
def test_lines_of_query_and_document(tmp_path: Path, form: str, mark: str, end: str) -> None:
    (tmp_path / "run").write_text("# made\n" * (mark == " ") + written(form, mark) + end)
    assert fm.rank(tmp_path / "run", QRELS, MEASURES).mean == expected()


@pytest.mark.parametrize("kind", ["memory", "file", "several"])
def test_lists_of_documents_by_query(tmp_path: Path, kind: str) -> None:
    ranking: Any = RANKED
    if kind == "file":
        ranking = tmp_path / "run.json"
        ranking.write_text(json.dumps(RANKED))
    if kind == "several":
        report = fm.rank({"a": RANKED, "b": RANKED}, QRELS, MEASURES)
        assert [result.mean for result in report.results.values()] == [expected()] * 2
        return
    assert fm.rank(ranking, QRELS, MEASURES).mean == expected()
    relevant = {query: list(docs) for query, docs in QRELS.items()}
    assert fm.rank(ranking, relevant, MEASURES).mean == expected()


def test_a_dict_of_columns_is_still_a_table() -> None:
    table = {"query_id": ["q1", "q2"], "doc_id": ["d1", "d2"], "score": [1.0, 1.0]}
    assert fm.rank(table, QRELS, "mrr").mean == {"mrr": 1.0}


@pytest.mark.parametrize("kind", ["memory", "file"])
def test_documents_with_the_id_of_their_query_are_left_out(tmp_path: Path, kind: str) -> None:
    ranking: Any = {"d1": {"d1": 9.0, "d2": 1.0}, "d2": {"d3": 2.0, "d1": 1.0}}
    without = {"d1": {"d2": 1.0}, "d2": ranking["d2"]}
    qrels = {"d1": {"d2": 1}, "d2": {"d1": 1}}
    expected = fm.rank(without, qrels, MEASURES).mean
    if kind == "file":
        (tmp_path / "run").write_text("d1 Q0 d1 1 9 t\nd1 Q0 d2 2 1 t\nd2 Q0 d3 1 2 t\nd2 Q0 d1 2 1 t\n")
        ranking = tmp_path / "run"
    assert fm.rank(ranking, qrels, MEASURES, drop_self=True).mean == expected
    assert fm.rank(ranking, qrels, MEASURES).mean != expected
    compared = fm.results.compare_rankings({"a": ranking, "b": without}, qrels, MEASURES, drop_self=True)
    assert {name: compared[name].delta for name in expected} == dict.fromkeys(expected, 0.0)


def test_predictions_of_mteb_are_read(tmp_path: Path) -> None:
    """As its ``_save_task_predictions`` writes them: by subset and split, beside the model."""
    model, ranking = {"model_name": "m", "revision": None}, {"q1": {"d1": 2.0, "d2": 1.0}, "q2": {"d3": 1.5}}
    path = tmp_path / "NFCorpus_predictions.json"
    path.write_text(json.dumps({"mteb_model_meta": model, "default": {"test": ranking}}))
    assert fm.rank(path, QRELS, MEASURES).mean == fm.rank(ranking, QRELS, MEASURES).mean
    path.write_text(json.dumps({"mteb_model_meta": model, "en": {"test": ranking, "dev": ranking}, "ru": {}}))


def test_a_cut_off_that_no_ranking_reaches_has_a_note() -> None:
    short = "scored rows (100 %) have fewer retrieved documents than the cut-off"
    rows = {"retrieved_ids": [["a", "b", "c"], ["b"], []], "relevant_ids": [["a"], ["b"], ["c"]]}
    notes = fm.summarize(fm.score(rows, "hit_rate@3,ndcg@10,recall@10,P@4,mrr")).notes
    assert [note.partition(": ")[0] for note in notes] == ["ndcg@10, retrieval_recall@10", "retrieval_precision@4"]
    assert all(short in note for note in notes)
    assert "the search was not asked for 10, or found no more: the scores" in notes[0]
    result = fm.rank({"q": {"a": 2.0, "b": 1.0}}, {"q": {"a": 1}}, "ndcg@10,P@2,mrr,recall@100")
    assert result.notes == ["ndcg@10, recall@100: the ranking has at most 2 documents for a query"]
    assert fm.rank({"q": {"a": 2.0, "b": 1.0}}, {"q": {"a": 1}}, "ndcg@2").notes == []


SAME = {f"q{n}": {"d1": 1} for n in range(30)}
GOOD = {f"q{n}": {"d1": 2.0, "d2": 1.0} for n in range(30)}
POOR = {f"q{n}": {"d1": 1.0, "d2": 2.0} for n in range(1, 30)}


def test_the_rankings_are_runs_of_one_file(tmp_path: Path) -> None:
    report = fm.rank({"good": GOOD, "poor": POOR}, SAME, "mrr", output=tmp_path / "q.parquet")
    table = pq.read_table(tmp_path / "q.parquet")
    assert table.column_names == ["ranking", "query_id", "mrr"]
    assert table["ranking"].to_pylist() == ["good"] * 30 + ["poor"] * 30
    assert table.replace_schema_metadata().equals(report.per_query.replace_schema_metadata())
    for name, result in report.results.items():
        rows = table.filter(table["ranking"].to_numpy(zero_copy_only=False) == name).drop_columns("ranking")
        assert rows.replace_schema_metadata().equals(result.per_query.replace_schema_metadata())
    (pair,) = fm.compare(tmp_path / "q.parquet", system="ranking").comparisons
    (direct,) = fm.results.compare_rankings({"good": GOOD, "poor": POOR}, SAME, "mrr").comparisons
    assert (pair.delta, pair.p, pair.n_paired) == (direct.delta, direct.p, 30)
    assert fm.summarize(tmp_path / "q.parquet")["mrr"].n == 60


def test_one_ranking_in_a_list_has_no_column_of_its_name(tmp_path: Path) -> None:
    fm.rank({"good": GOOD}, SAME, "mrr", output=tmp_path / "q.parquet")
    assert pq.read_table(tmp_path / "q.parquet").column_names == ["query_id", "mrr"]


def test_queries_that_are_left_out_are_null_in_each_ranking(tmp_path: Path) -> None:
    fm.rank({"good": GOOD, "poor": POOR}, SAME, "mrr", missing="skip", output=tmp_path / "q.csv")
    table = fm.rank({"good": GOOD, "poor": POOR}, SAME, "mrr", missing="skip").per_query
    assert table["mrr"].null_count == 1
    summary = fm.summarize(tmp_path / "q.csv")["mrr"]
    assert (summary.n, summary.n_missing) == (59, 1)


def documents(path: Path, sizes: RankingSizes = RANKINGS) -> list[str]:
    return pa.Table.from_batches(Triples(path, "score", sizes).batches())["doc"].to_pylist()


def test_comment_lines_start_with_a_hash(tmp_path: Path):
    path = tmp_path / "run.txt"
    path.write_text("# q Q0 x 1 9.0 t\n  #q Q0 y 1 8.0 t\nq Q0 #a 1 3.0 t\nq# Q0 b 2 2.0 t # c\nq Q0 c# 3 1.0 t\n#\n")
    assert documents(path) == ["#a", "b", "c#"]
    assert fm.rank(path, {"q": {"#a": 1}}, "mrr").mean == {"mrr": 1.0}


@pytest.mark.parametrize("size", [1, 30, 64, 1000])
@pytest.mark.parametrize("line", ["q Q0 z 2 high t", "q Q0 z 2"])
def test_malformed_line_in_any_block_has_its_line_number(tmp_path, size, line):
    path = tmp_path / "run.txt"
    good = "".join(f"q Q0 d{n} 1 {n} t\n" for n in range(20))
    path.write_text(f"# head\n\n{good}\n{line}\nq Q0 e 1 2.0 t\n")
    with pytest.raises(FileFormatError) as raised:
        documents(path, RankingSizes(trec_block_bytes=size))
    assert "line 24: " in str(raised.value)


def table(queries: list[str]) -> pa.Table:
    docs = [f"d{row}" for row in range(len(queries))]
    return pa.table({"qid": queries, "pid": docs, "score": [float(-row) for row in range(len(queries))]})


LETTERS = judgements({query: {"d0": 1} for query in "abcdefgh"})


def cut(some: pa.Table, size: int) -> list[list[str]]:
    """The queries of each block of a grouped run whose batches have ``size`` rows, each with its number of rows."""
    found = list(ranking.grouped(Triples(some, "score", RankingSizes(size)).batches(), LETTERS))
    for block in found:
        assert len(block.docs) == len(block.scores) == block.starts[-1]
    return [
        [
            f"{query}{stop - start}"
            for query, start, stop in zip(b.names.to_pylist(), b.starts, b.starts[1:], strict=False)
        ]
        for b in found
    ]


def test_query_across_batches_is_one_query():
    ends_with_its_batch = table(list("aabbcc"))
    assert cut(ends_with_its_batch, 2) == [["a2"], ["b2"], ["c2"]]
    goes_on = table(list("aaabbbbbc"))
    for size in (1, 2, 4, 5, 8):
        assert sorted(query for block in cut(goes_on, size) for query in block) == ["a3", "b5", "c1"], size
    several = table(list("abcddefg"))
    assert cut(several, 8) == [["a1", "b1", "c1", "d2", "e1", "f1"], ["g1"]]
    assert cut(several, 4) == [["a1", "b1", "c1"], ["d2", "e1", "f1"], ["g1"]]
    assert cut(several, 3) == [["a1", "b1"], ["c1", "d2"], ["e1", "f1"], ["g1"]]
    long_one = table(list("abbbbbbcdde"))
    assert cut(long_one, 3) == [["a1"], ["b6", "c1"], ["d2"], ["e1"]]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
@pytest.mark.parametrize("encoded", [False, True])
def test_grouped_runs_are_detected(monkeypatch, size, encoded):
    def never(*_):
        raise AssertionError("a grouped run was read a second time")

    monkeypatch.setattr(ranking, "together", never)
    some = table(list("aaabbcddddde"))
    if encoded:
        some = some.set_column(0, "qid", some["qid"].combine_chunks().dictionary_encode())
    judged = {query: {f"d{row}": 1} for query, row in zip("abcde", (0, 4, 5, 8, 11), strict=True)}
    found = fm.rank(Triples(some, "score", RankingSizes(size)), judged, "mrr").per_query["mrr"].to_pylist()
    assert found == [1.0, 0.5, 1.0, 1 / 3, 1.0]


@pytest.mark.parametrize("size", [1, 4, 100])
def test_rows_of_a_query_are_brought_together_in_their_order(size):
    some = table(list("eabdececeadeeeefea"))
    found = pa.Table.from_batches(ranking.together(Triples(some, "score", RankingSizes(size))))
    assert "".join(found["query"].to_pylist()) == "eeeeeeeeeaaabddccf"
    assert found["doc"].to_pylist()[9:12] == ["d1", "d9", "d17"]
    judged = {query: {"d17": 1, "d14": 2, "d3": 1, "d16": 1} for query in "aedf"}
    grouped = fm.rank(some.take(pa.array(sorted(range(18), key=lambda row: some["qid"][row].as_py()))), judged)
    assert fm.rank(Triples(some, "score", RankingSizes(size)), judged).to_dict() == grouped.to_dict()


@pytest.mark.parametrize("suffix", ["jsonl", "parquet", "memory"])
@pytest.mark.parametrize("row", [0, 3, 4, 9, 10])
def test_rows_in_messages_count_from_the_first_row_of_the_file(tmp_path, suffix, row):
    """The row of a null id is that of the table, in whichever block it is read."""
    some = table(list("aabbccddeef"))
    ids = [None if at == row else name for at, name in enumerate(some["pid"].to_pylist())]
    some = some.set_column(some.schema.get_field_index("pid"), "pid", pa.array(ids, pa.string()))
    path = tmp_path / f"run.{suffix}"
    if suffix == "parquet":
        pq.write_table(some, path)
    elif suffix == "jsonl":
        path.write_text("".join(json.dumps(each) + "\n" for each in some.to_pylist()))
    with pytest.raises(ColumnError) as raised:
        fm.rank(Triples(some if suffix == "memory" else path, "score", RankingSizes(4)), {"a": {"d": 1}}, "mrr")
    assert f"row {row}: " in str(raised.value)


@pytest.mark.parametrize(
    ("measure", "qrels", "expected"),
    [
        (
            "ndcg(gains={1:5,2:1,3:2})",
            {"x": 1, "b": 2, "a": 3},
            (2 + 5 / math.log2(3) + 1 / math.log2(5)) / (5 + 2 / math.log2(3) + 1 / 2),
        ),
        ("iprec_at_recall_0.30", dict.fromkeys("abcde", 1), 2 / 4),
        ("set_F(beta=2)", dict.fromkeys("abcde", 1), 3 * 0.5 * 0.4 / (0.4 + 2 * 0.5)),
        ("ERR(max_grade=2)", {"a": 1, "y": 2}, 1 / 4 + 3 / 4 * 3 / 4 / 3),
        ("Accuracy", {"a": 1, "b": 1}, 2 / 4),
        ("Bpref", {"a": 0, "x": 0, "y": 0, "b": 1}, 0.0),
        ("RBP(rel=1)", {"a": 1, "b": 1}, 0.2 * (1 + 0.8**3)),
        ("RBP", {"a": 1, "b": 2}, 0.1 * (1 / 2 + 0.9**3)),
        ("SetP(relative=True)", {"a": 1, "b": 1}, 2 / 2),
    ],
)
def test_values_worked_by_hand(measure, qrels, expected):
    """The ranking a, x, y, b; the gains are in another order than the grades."""
    found = fm.rank({"q": {"a": 9.0, "x": 8.0, "y": 7.0, "b": 6.0}}, {"q": qrels}, measure)
    assert list(found.mean.values()) == [pytest.approx(expected)]
