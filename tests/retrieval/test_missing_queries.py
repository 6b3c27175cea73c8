"""Judged queries that a run lacks: counted in every output, and scored by a rule that the output names."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import pytrec_eval
from pyarrow import csv

import fastmetrics as fm
from fastmetrics.base.errors import OptionError
from fastmetrics.base.score_metadata import METADATA
from tests.support.program import program, unfolded

MEASURES = ["mrr", "AP"]
ZERO = (
    "60 of 150 judged queries are not in the ranking and score 0 (as trec_eval -c; missing='skip' (--missing skip) "
    "leaves them out)"
)
SKIP = (
    "60 of 150 judged queries are not in the ranking and are left out (the default of trec_eval; missing='zero' "
    "(--missing zero) scores them 0)"
)
GATED = (
    "partial: 60 of 150 judged queries are not in the ranking: the means of rank leave them out, rules count them as "
    "rows without a score"
)
NOTES = {"zero": ZERO, "skip": SKIP}


def made() -> tuple[dict, dict, dict]:
    """Judgements of 150 queries, a run of all and a better one that lacks 60."""
    draw = random.Random(1)
    docs = [f"d{n}" for n in range(20)]
    qrels = {f"q{n:03}": dict.fromkeys(draw.sample(docs, 3), 1) for n in range(150)}

    def run(queries: list[str], skill: float) -> dict:
        return {q: {doc: draw.gauss(0, 1) + skill * (doc in qrels[q]) for doc in docs} for q in queries}

    return qrels, run(list(qrels), 0.5), run(list(qrels)[:90], 0.8)


QRELS, WHOLE, PARTIAL = made()
RUNS = {"whole": WHOLE, "partial": PARTIAL}


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, run in RUNS.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(run))
    (tmp_path / "qrels.json").write_text(json.dumps(QRELS))
    return ["whole.json", "partial.json", "qrels.json"]


def means(run: dict, divisor: int) -> dict[str, float]:
    """The sums of pytrec_eval over the queries of the run, divided by a number of queries."""
    values = pytrec_eval.RelevanceEvaluator(QRELS, {"recip_rank", "map"}).evaluate(run).values()
    names = {"mrr": "recip_rank", "AP": "map"}
    return {name: math.fsum(row[theirs] for row in values) / divisor for name, theirs in names.items()}


def test_one_run_is_evaluated_as_by_trec_eval_and_missing_queries_are_null_and_counted():
    found = fm.rank(PARTIAL, QRELS, MEASURES)
    assert found.mean == pytest.approx(means(PARTIAL, 90), abs=1e-12)
    assert (found.n_scored, len(found.missing), found.per_query.num_rows) == (90, 60, 150)
    assert [found.per_query[name].null_count for name in MEASURES] == [60, 60]
    assert found.notes == [SKIP]
    assert SKIP in str(found).replace("\n", " ")
    told = json.loads(found.to_json())
    assert [told[key] for key in ("n_scored", "n_judged", "n_missing", "missing")] == [90, 150, 60, "skip"]


def test_zero_scores_missing_queries_as_trec_eval_with_c():
    found = fm.rank(PARTIAL, QRELS, MEASURES, missing="zero")
    assert found.mean == pytest.approx(means(PARTIAL, 150), abs=1e-12)
    assert (found.n_scored, len(found.missing), found.notes) == (150, 60, [ZERO])
    assert [found.per_query[name].null_count for name in MEASURES] == [0, 0]
    told = json.loads(found.to_json())
    assert [told[key] for key in ("n_scored", "n_judged", "n_missing", "missing")] == [150, 150, 60, "zero"]
    assert (
        fm.rank(PARTIAL, QRELS, "Accuracy,num_q", missing="zero").per_query["Accuracy"].to_pylist()[90:] == [0.0] * 60
    )
    assert [fm.rank(PARTIAL, QRELS, "num_q", missing=rule).mean["num_q"] for rule in NOTES] == [150.0, 90.0]


@pytest.mark.parametrize("rule", NOTES)
def test_no_missing_query_gives_no_note(rule):
    found = fm.rank(WHOLE, QRELS, MEASURES, missing=rule)
    assert (found.n_scored, found.missing, found.notes) == (150, [], [])
    assert found.to_dict()["missing"] == rule
    assert fm.results.compare_rankings({"a": WHOLE, "b": WHOLE}, QRELS, "mrr", missing=rule).notes[1].startswith("95 %")


@pytest.mark.parametrize(("rule", "note", "n_worst"), [("zero", f"partial: {ZERO}", 0), ("skip", GATED, 60)])
def test_gate_says_how_missing_queries_count(rule, note, n_worst, tmp_path):
    scores = tmp_path / "partial.parquet"
    fm.rank(PARTIAL, QRELS, MEASURES, missing=rule, output=scores)
    found = fm.gate(scores, "mrr >= 0.1")
    assert note in found.remarks()
    assert found[0].n_worst == n_worst


def test_table_of_runs_counts_missing_queries_and_names_the_rule():
    table = fm.rank(RUNS, QRELS, MEASURES).to_arrow()
    assert table.column_names == ["ranking", "n_scored", "n_missing", "missing", *MEASURES]
    assert table.drop_columns(MEASURES).to_pylist() == [
        {"ranking": "whole", "n_scored": 150, "n_missing": 0, "missing": "zero"},
        {"ranking": "partial", "n_scored": 150, "n_missing": 60, "missing": "zero"},
    ]
    assert table["AP"][1].as_py() == pytest.approx(means(PARTIAL, 150)["AP"], abs=1e-12)
    skip = fm.rank(RUNS, QRELS, MEASURES, missing="skip").to_arrow().to_pylist()[1]
    assert (skip["n_scored"], skip["n_missing"], skip["missing"]) == (90, 60, "skip")
    assert skip["AP"] == fm.rank(PARTIAL, QRELS, MEASURES).mean["AP"]


def test_comparison_counts_missing_queries_and_no_run_gains_by_failing():
    found = fm.results.compare_rankings(RUNS, QRELS, MEASURES)
    one = found["mrr"]
    assert (one.n_paired, one.n_missing_baseline, one.n_missing_other) == (150, 0, 60)
    assert one.mean_other == pytest.approx(means(PARTIAL, 150)["mrr"], abs=1e-12)
    assert f"partial: {ZERO}" in found.notes
    skip = fm.results.compare_rankings(RUNS, QRELS, MEASURES, missing="skip")
    one = skip["mrr"]
    assert (one.n_paired, one.n_only_baseline, one.n_missing_baseline, one.n_missing_other) == (90, 60, 0, 60)
    assert one.mean_other == pytest.approx(means(PARTIAL, 90)["mrr"], abs=1e-12)
    assert f"partial: {SKIP}" in skip.notes


@pytest.mark.parametrize("rule", NOTES)
@pytest.mark.parametrize("suffix", [None, "parquet", "csv", "jsonl"])
def test_rankings_of_one_table_keep_their_own_missing_queries(tmp_path, rule, suffix):
    output = None if suffix is None else tmp_path / f"both.{suffix}"
    report = fm.rank(RUNS, QRELS, MEASURES, output=output, missing=rule)
    table = report.per_query if output is None else output
    compared = fm.compare(table, system="ranking")
    separate = fm.results.compare_rankings(RUNS, QRELS, MEASURES, missing=rule)
    assert compared.to_dict()["missing_queries"] == separate.to_dict()["missing_queries"]
    assert [(one.n_missing_baseline, one.n_missing_other) for one in compared] == [(0, 60)] * len(compared)
    assert [note for note in compared.notes if "queries" in note] == [f"partial: {NOTES[rule]}"]
    pooled, *others = fm.summarize(table).notes
    assert pooled.startswith("the rows of 2 systems are pooled (whole, partial)")
    assert others == [NOTES[rule].replace("150", "300")]


def test_parts_of_a_ranking_by_another_column_have_no_count_of_missing_queries():
    table = fm.rank(RUNS, QRELS, MEASURES).per_query
    teams = table.append_column("team", [["a"] * 150 + ["b"] * 150])
    assert fm.compare(teams, system="team").missing_queries == {}


def test_comparison_of_other_scores_has_no_column_of_missing_queries():
    scores = {"id": [1, 2, 3], "token_f1": [0.1, 0.5, 0.7]}
    found = fm.compare({"a": scores, "b": scores})
    assert "missing" not in str(found)
    assert (found[0].n_missing_baseline, found[0].n_missing_other, found.to_dict()["missing_queries"]) == (
        None,
        None,
        {},
    )


def test_command_evaluates_one_run_as_trec_eval_and_several_with_zeros(files):
    whole, partial, qrels = files
    one = program("rank", partial, qrels, "-m", "mrr")
    assert one.out.splitlines()[1].split() == [partial, "90", "60", "0", f"{means(PARTIAL, 90)['mrr']:.4f}"]
    assert SKIP in unfolded(one.out)
    both = program("rank", whole, partial, qrels, "-m", "mrr")
    assert both.out.splitlines()[2].split() == [partial, "150", "60", "0", f"{means(PARTIAL, 150)['mrr']:.4f}"]
    assert f"{partial}: {ZERO}" in unfolded(both.out)
    for rule, n in (("zero", 150), ("skip", 90)):
        told = json.loads(program("rank", whole, partial, qrels, "--missing", rule, "--json").out)[partial]
        assert (told["n_scored"], told["n_judged"], told["n_missing"], told["missing"]) == (n, 150, 60, rule)
        assert told == fm.rank([whole, partial], qrels, missing=rule).to_dict()[partial]
        assert NOTES[rule] in told["notes"]
    assert program("rank", partial, qrels, "--missing", "drop").code == 2


@pytest.mark.parametrize("rule", NOTES)
@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl", "arrow"])
def test_files_of_query_values_keep_the_counts_and_every_reader_tells_them(files, suffix, rule):
    whole, partial, qrels = files
    for run, name in ((whole, "old"), (partial, "new")):
        fm.rank(run, qrels, output=f"{name}.{suffix}", measures=MEASURES, missing=rule)
    new = f"new.{suffix}"
    if suffix == "parquet":
        metadata = json.loads(pq.read_schema(new).metadata[METADATA])
    else:
        metadata = json.loads(Path(f"{new}.meta.json").read_text())
    assert metadata["missing_queries"] == {"count": 60, "judged": 150, "rule": rule}
    assert metadata["metrics"]["mrr"]["n_missing"] == (60 if rule == "skip" else 0)
    assert metadata["scores"]["AP"]["missing"] == rule
    assert "threads" not in json.dumps(metadata)
    summary = fm.summarize(new)
    mean = fm.rank(PARTIAL, QRELS, MEASURES, missing=rule).mean["mrr"]
    assert summary["mrr"].mean == pytest.approx(mean, rel=1e-15)
    assert (summary["mrr"].n, summary["mrr"].n_missing) == ((90, 60) if rule == "skip" else (150, 0))
    assert list(summary.notes) == [NOTES[rule]]
    assert NOTES[rule] in unfolded(program("summarize", new).out)
    assert NOTES[rule] in json.loads(program("summarize", new, "--json").out)["notes"]
    compared = fm.compare([f"old.{suffix}", new])
    assert f"new: {NOTES[rule]}" in compared.notes
    assert compared["mrr"].delta == fm.results.compare_rankings(RUNS, QRELS, "mrr", missing=rule)["mrr"].delta
    gate = fm.gate(f"old.{suffix}", ["mrr >= 0.1"], baseline=new)
    of_gate = {"zero": f"new: {ZERO}", "skip": GATED.replace("partial", "new")}[rule]
    assert of_gate in gate.notes
    assert of_gate in unfolded(program("gate", new, "-r", "mrr >= 0.1").out)


def test_values_in_memory_carry_the_counts():
    table = fm.rank(PARTIAL, QRELS, MEASURES).per_query
    summary = fm.summarize(table)
    assert (summary["mrr"].n, summary["mrr"].n_missing, list(summary.notes)) == (90, 60, [SKIP])
    assert list(fm.summarize([table, table]).notes) == [SKIP.replace("60 of 150", "120 of 300")]
    assert list(fm.summarize(table.slice(0, 20)).notes) == []


def test_missing_queries_without_relevant_documents_are_undefined_too():
    qrels = {"q1": {"d": 1}, "q2": {"d": 0}, "q3": {"d": 1}}
    found = fm.rank({"q1": {"d": 1.0}}, qrels, "mrr", missing="zero", no_relevant="undefined")
    assert (found.mean["mrr"], found.n_undefined["mrr"]) == (0.5, 1)
    values = found.per_query["mrr"].to_pylist()
    assert (values[0], math.isnan(values[1]), values[2]) == (1.0, True, 0.0)


def test_undefined_values_are_told_from_missing_ones(tmp_path):
    qrels = {**{query: QRELS[query] for query in list(QRELS)[88:92]}, "q000": {"d1": 0}}
    (tmp_path / "run.json").write_text(json.dumps(PARTIAL))
    (tmp_path / "qrels.json").write_text(json.dumps(qrels))
    out = tmp_path / "out.csv"
    result = fm.rank(
        tmp_path / "run.json", tmp_path / "qrels.json", output=out, measures="mrr", no_relevant="undefined"
    )
    assert (result.n_scored, result.n, len(result.missing), result.n_undefined) == (3, {"mrr": 2}, 2, {"mrr": 1})
    assert csv.read_csv(out)["mrr"].null_count == 3
    summary = fm.summarize(out)
    mrr = summary["mrr"]
    assert (mrr.n, mrr.n_missing, mrr.n_undefined) == (2, 2, 1)
    assert [*summary.figures] == [f"mrr.{figure}" for figure in ("mean", "std", "min", "max")]
    assert result.grids()[0].rows == (("mrr", "0.3750", "2"),)


def test_runs_evaluated_by_different_rules_are_not_compared():
    ranked = {rule: fm.rank(PARTIAL, QRELS, MEASURES, missing=rule) for rule in NOTES}
    with pytest.raises(OptionError):
        fm.compare(ranked)
    assert fm.compare(ranked, allow_differences=True)["mrr"].n_paired == 90
