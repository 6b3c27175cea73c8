"""Other views of scores: runs side by side, the primary table, correlations, histograms, means of segments."""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import pearsonr, spearmanr

import fastmetrics as fm
from fastmetrics.reporting.charts import SEGMENTS, fewer_segments
from fastmetrics.reporting.overview import lacking
from fastmetrics.results.distributions import MetricPair, histograms_of
from fastmetrics.results.opening_scores import open_scores
from fastmetrics.stats.association import correlate
from tests.support.named_tables import PAIRED
from tests.support.program import program

ROWS = {
    "id": list(range(6)),
    "answer": ["Paris", "in Rome", "I don't know.", "Bern", "Oslo", "Lima"],
    "reference": ["Paris", "Rome", "Kyiv", "Basel", "Oslo", None],
    "contexts": [["Paris is old."], ["Rome."], ["Kyiv."], ["Bern."], ["Oslo."], ["Lima."]],
    "latency_ms": [100.0, 110.0, 50.0, 120.0, 90.0, 400.0],
    "total_tokens": [10, 12, 3, 11, 9, 50],
}
METRICS = "token_f1,exact_match,abstained,latency_ms,total_tokens"


def scored(folder: Path, name: str, **changed: object) -> Path:
    """A file of scores of the rows, some columns of which are others."""
    pq.write_table(pa.table({**ROWS, **changed}), folder / "rows.parquet")
    fm.score(folder / "rows.parquet", output=folder / name, metrics=METRICS)
    return folder / name


def test_side_by_side_view_holds_each_summary(tmp_path):
    old, new = scored(tmp_path, "old.parquet"), scored(tmp_path, "new.parquet", answer=ROWS["reference"])
    found = fm.results.side_by_side([old, new])
    assert list(found) == ["old", "new"]
    assert found["old"].to_dict() == fm.summarize(old).to_dict()
    assert found["new"].to_dict() == fm.summarize(new).to_dict()
    assert json.loads(found.to_json())["runs"]["old"]["n_rows"] == 6


def test_side_by_side_view_accepts_different_metrics():
    found = fm.results.side_by_side({"a": {"token_f1": [0.5, 1.0]}, "b": {"rougeL_f1": [0.25]}})
    assert found.metrics == ["token_f1", "rougeL_f1"]
    assert [line.split() for line in str(found).splitlines()[1:4]] == [
        ["token_f1", "0.7500", "–"],
        ["rougeL_f1", "–", "0.2500"],
        ["rows", "2", "1"],
    ]


def test_primary_table_has_the_columns_and_figures_of_its_source(tmp_path):
    path = tmp_path / "s.parquet"
    pq.write_table(pa.table(ROWS), tmp_path / "rows.parquet")
    fm.score(tmp_path / "rows.parquet", output=path, metrics=f"{METRICS},rouge1_f1", name="monday")
    summary = fm.summarize(path)
    [row] = fm.results.primary_table(path)
    assert (row.run, row.n) == ("monday", 6)
    assert list(row.figures) == [
        *["Faithfulness", "Overlap", "F1", "Tokens", "Latency", "Abstain Rate", "Avg EM", "IDK+Cit Count"]
    ]
    assert row.figures["F1"] == summary["token_f1"].mean
    assert row.figures["Tokens"] == np.mean(ROWS["total_tokens"])
    assert row.figures["Latency"] == np.median(ROWS["latency_ms"])
    assert row.figures["Abstain Rate"] == 1 / 6
    assert math.isnan(row.figures["Overlap"])
    assert fm.results.primary_table(path).to_arrow().column("Overlap").to_pylist() == [None]
    assert json.loads(fm.results.primary_table(path).to_json())["runs"][0]["N"] == 6


def test_primary_table_has_exact_match_in_its_appendix(tmp_path):
    """S1's, which is normalised as its F1, and no other."""
    texts = {"answer": ["Paris.", "Rome", None], "reference": ["paris", "Milan", "Oslo"]}
    scores = fm.score(texts, "token_f1,exact_match,squad_em,exact_match(tokenizer='plain')")
    runs = {"new": scores, "old": scores.select(["token_f1", "exact_match", "squad_em"])}
    table = fm.results.primary_table(runs)
    assert table.to_arrow().column("Avg EM").to_pylist() == [0.5, None]
    first, appendix, _ = str(table).split("\n\n")
    assert "EM" not in first
    assert [line.split() for line in appendix.splitlines()] == [
        ["appendix", "N", "Avg", "EM"],
        ["new", "3*", "0.5000"],
        ["old", "3", "–"],
    ]
    assert "Avg EM = exact_match(tokenizer='plain').mean" in " ".join(str(table).split())
    bare = fm.results.primary_table({"old": runs["old"]})
    assert len(bare.grids()) == 1
    assert "Avg EM needs exact_match(tokenizer='plain')" in " ".join(str(bare).split())
    fm.report(scores, tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text("utf-8")
    assert re.search(r"<bdi>appendix</bdi></th><th[^>]*><bdi>N</bdi></th><th[^>]*><bdi>Avg EM</bdi></th>", page)


def test_faithfulness_prefers_the_judge_score():
    judged = {"judge_answer_faithfulness": [0.25, 1.0], "overlap_faithfulness": [0.5, 0.7]}
    silent = {"judge_answer_faithfulness": [None, None], "overlap_faithfulness": [0.5, 0.7]}
    found = fm.results.primary_table(
        {"a": pa.table(judged), "b": pa.table({**silent, "judge_answer_faithfulness": pa.nulls(2, pa.float64())})}
    )
    assert [row.figures["Faithfulness"] for row in found] == [0.625, 0.6]
    assert "Faithfulness = judge_answer_faithfulness.mean or overlap_faithfulness.mean" in " ".join(str(found).split())


def test_primary_table_has_a_paired_analysis(tmp_path):
    table = fm.results.primary_table({"new": PAIRED})
    counts = {(one.first, one.second): (one.both, one.only_first, one.only_second, one.neither) for one in table.paired}
    assert counts == {
        ("Faithfulness", "F1"): (1, 1, 1, 1),
        ("Faithfulness", "Avg EM"): (1, 1, 0, 2),
        ("Overlap", "F1"): (1, 1, 2, 1),
        ("Overlap", "Avg EM"): (1, 1, 0, 3),
    }
    costs = {one.figure: (one.abstained, one.n_abstained, one.answered, one.n_answered) for one in table.abstentions}
    assert costs == {"Tokens": (40.0, 1, 90.0, 4), "Latency": (5.0, 1, 25.0, 4)}
    fm.report({"new": PAIRED}, tmp_path / "r.html")
    assert "Paired analysis" in (tmp_path / "r.html").read_text()


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_rows_have_a_paired_analysis_of_what_they_have(n):
    few = {name: pa.array(values[:n], None if name == "id" else pa.float64()) for name, values in PAIRED.items()}
    table = fm.results.primary_table({"new": few, "old": PAIRED}) if n else fm.results.primary_table({"old": PAIRED})
    assert sum(one.both + one.only_first for one in table.paired if one.run == "new") == 4 * n
    assert {one.run for one in table.abstentions} == {"old"}


def test_the_suite_primary_has_every_figure_of_the_table():
    rows = {
        **{"question": ["Where?", "When?"], "answer": ["Paris [1].", "I don't know."]},
        **{"reference": ["Paris", "1889"], "contexts": [["It is in Paris."], ["It opened."]], "latency_ms": [1, 2]},
        "total_tokens": [5, 6],
    }
    alike = fm.Embedder(lambda texts: np.ones((len(texts), 2)))
    table = fm.results.primary_table(fm.score(rows, suites="primary", embedder=alike))
    assert not any(math.isnan(figure) for figure in table[0].figures.values())
    assert table[0].figures["Avg EM"] == 0.0


def test_primary_table_has_no_faithfulness_of_another_scale():
    runs = {"a": {"judge_faithfulness": [4.0, 5.0]}, "b": {"judge_answer_faithfulness": [0.5, 1.0]}}
    five, one = fm.results.primary_table({name: pa.table(columns) for name, columns in runs.items()})
    assert math.isnan(five.figures["Faithfulness"])
    assert one.figures["Faithfulness"] == 0.75


FLOATS = st.one_of(
    st.none(), st.sampled_from([0.0, -0.0, 1.0, 0.5, math.nan, math.inf, 1e300, 5e-324]), st.floats(-10, 10)
)


@given(st.integers(0, 12).flatmap(lambda n: st.lists(st.lists(FLOATS, min_size=n, max_size=n), min_size=2, max_size=4)))
def test_correlations_equal_scipy_on_common_rows(columns):
    arrays = [np.array([np.nan if x is None else x for x in column], float) for column in columns]
    found = {(one.a, one.b): one for one in correlate(arrays)}
    assert sorted(found) == [(a, b) for a in range(len(arrays)) for b in range(a + 1, len(arrays))]
    for (a, b), one in found.items():
        both = np.isfinite(arrays[a]) & np.isfinite(arrays[b])
        x, y = arrays[a][both], arrays[b][both]
        assert one.n == len(x)
        if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
            assert math.isnan(one.spearman)
            continue
        assert one.spearman == pytest.approx(spearmanr(x, y).statistic, abs=1e-12)
        if max(np.abs(x).max(), np.abs(y).max()) < 100 and min(np.ptp(x), np.ptp(y)) > 1e-3:
            assert one.pearson == pytest.approx(pearsonr(x, y).statistic, abs=1e-9)


def test_scores_of_any_magnitude_are_correlated():
    x = np.array([1e300, 2e300, 3e300, -1e300])
    for scale in (1.0, 1e-300, 1e-320):
        [one] = correlate([x, np.array([1.0, 2.0, 3.0, -1.0]) * scale])
        assert one.pearson == pytest.approx(1.0, abs=1e-3)
        assert one.spearman == 1.0


def test_most_contrary_metrics_come_first():
    x = np.linspace(0, 1, 50)
    scores = {"token_f1": x, "rougeL_f1": 1 - x, "hallucination": 1 - x, "exact_match": np.ones(50)}
    found = fm.results.correlations(scores)
    assert found[0] == MetricPair("token_f1", "rougeL_f1", 50, pytest.approx(-1), pytest.approx(-1), pytest.approx(-1))
    alike = next(one for one in found if (one.a, one.b) == ("token_f1", "hallucination"))
    assert (alike.spearman, alike.agreement) == (pytest.approx(-1), pytest.approx(1))
    assert found.to_arrow().num_rows == 6
    assert json.loads(found.to_json())["pairs"][-1]["spearman"] is None


@given(st.lists(FLOATS, max_size=30))
def test_histogram_counts_equal_numpy(values):
    column = pa.array(values, pa.float64())
    own = {"own": column} | ({"token_f1": column} if all(0 <= x <= 1 for x in values if x is not None) else {})
    found = fm.results.histograms(pa.table(own))
    known = [x for x in values if x is not None and math.isfinite(x)]
    for name, one in found.items():
        assert (one.n, one.n_missing) == (len(known), len(values) - len(known))
        assert sum(one.counts) == len(known)
        assert len(one.counts) == len(one.drawn()) == 20
        if known:
            within = name == "token_f1" and min(known) >= 0 and max(known) <= 1
            try:
                counts, edges = np.histogram(known, 20, (0, 1) if within else None)
            except ValueError:  # float64 has too few numbers between the least and the greatest value
                assert one.edges[0] <= min(known) <= max(known) <= one.edges[-1]
            else:
                assert (list(counts), list(edges)) == (one.counts, one.edges)
            assert (np.diff(one.edges) > 0).all()


@pytest.mark.parametrize("values", [[1e300], [sys.float_info.max] * 3, [-sys.float_info.max], [1.0, 1.0 + 2**-52]])
def test_histogram_of_a_range_too_narrow_for_its_bins(values):
    one = fm.results.histograms({"own": values})["own"]
    assert (np.diff(one.edges) > 0).all()
    assert np.isfinite(one.edges).all()
    assert one.edges[0] <= min(values) <= max(values) <= one.edges[-1]
    assert sum(one.counts) == len(values)


def test_histogram_of_the_widest_range_has_finite_edges():
    one = fm.results.histograms({"own": [-1.7e308, 1.7e308, 0.0]})["own"]
    assert [at for at, count in enumerate(one.counts) if count] == [0, 10, 19]
    assert np.isfinite(one.edges).all()


def test_histogram_bars_are_scaled_to_the_largest_count():
    found = fm.results.histograms({"token_f1": [0.0] * 8 + [0.4] * 4 + [1.0]})
    drawn = f"█{'·' * 7}▄{'·' * 10}▁"
    assert found["token_f1"].drawn() == drawn
    assert str(found).splitlines()[1].split() == ["token_f1", "0", drawn, "1", "13"]
    empty = fm.results.histograms(
        {"token_f1": pa.nulls(3, pa.float64())} and pa.table({"token_f1": pa.nulls(3, pa.float64())})
    )
    assert empty["token_f1"].n == 0
    assert "–" in str(empty)


@pytest.mark.parametrize(
    ("command", "function"),
    [
        ("--side-by-side", lambda path: fm.results.side_by_side([path])),
        ("--primary", fm.results.primary_table),
        ("--correlations", fm.results.correlations),
        ("--histograms", fm.results.histograms),
    ],
)
def test_program_prints_each_view_and_its_json(command, function, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = scored(tmp_path, "scores.parquet").name
    shown = program("summarize", path, command)
    assert (shown.code, shown.out) == (0, f"{function(path)}\n")
    assert max(map(len, shown.out.splitlines())) <= 80
    told = program("summarize", path, command, "--json")
    assert json.loads(told.out) == json.loads(function(path).to_json())


KEPT = [
    # cells of a kept column, further options, and its mean or what is said
    *[(["4,25", "3,5", "5"], [], 4.25), (["4.25", "", "5.5"], [], 4.875), (["true", "false", "true"], [], 2 / 3)],
    *[(["1,250", "2,500", "3"], [], "--decimal ,"), (["1,250", "2,500", "3"], ["--decimal", ","], 2.25)],
    *[(["1,250", "2,5", "3"], [], 2.25), (["gut", "1", "2"], [], "'mark'"), ([4.25, 3.5, 5], [], 4.25)],
    *[([1, 2, 6], [], 3), ([True, False, True], [], 2 / 3)],
]


@pytest.mark.parametrize(("cells", "options", "mean"), KEPT)
@pytest.mark.parametrize("end", ["parquet", "csv"])
def test_kept_columns_of_numbers_are_metrics_where_they_are_asked_for(cells, options, mean, end, tmp_path):
    rows = [{"id": n, "answer": "a", "reference": "a", "mark": cell} for n, cell in enumerate(cells)]
    path = tmp_path / f"s.{end}"
    fm.score(pa.Table.from_pylist(rows), "token_f1", keep="mark", output=path)
    assert list(fm.summarize(path)) == ["token_f1"]
    for way in ([], ["--intervals"], ["--side-by-side"]):
        done = program("summarize", path, "-m", "mark", "--json", *way, *options)
        if isinstance(mean, str):
            assert (done.code in (2, 3), mean in done.err) == (True, True), done
        else:
            told = json.loads(done.out)
            told = told["runs"]["s"] if "runs" in told else told
            found = told["metrics"]["mark"] if "metrics" in told else told["means"][0]
            assert found["mean"] == pytest.approx(mean)
    if not isinstance(mean, str):
        rule = f"mark >= {mean - 0.001} with n >= 2, unpaired=ignore"
        assert program("gate", path, "-r", rule, *options).code == 0


def test_the_rankings_of_one_file_are_systems(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    judged = {f"q{n}": {"d1": 1} for n in range(8)}
    good = {query: {"d1": 2.0, "d2": 1.0} for query in judged}
    poor = {query: {"d1": 1.0, "d2": 2.0} for query in judged}
    fm.rank({"good": good, "poor": poor}, judged, "mrr", output="two.parquet")
    summary = fm.summarize("two.parquet")
    assert (summary["mrr"].mean, summary["mrr"].n) == (0.75, 16)
    assert [note for note in summary.notes if "the rows of 2 systems are pooled (good, poor)" in note]
    assert not [note for note in summary.notes if "answers to each" in note]
    both = fm.results.side_by_side("two.parquet", system="ranking")
    assert {name: one["mrr"].mean for name, one in both.items()} == {"good": 1.0, "poor": 0.5}
    assert program("summarize", "two.parquet", "--system", "ranking").out == f"{both}\n"
    found = fm.gate("two.parquet", ["mrr >= 0.7", "mrr >= 0.7 where ranking=good", "mrr.n >= 16"])
    assert [(one.segment, one.value, one.met) for one in found] == [
        ("ranking=good", 1.0, True),
        ("ranking=poor", 0.5, False),
        ("ranking=good", 1.0, True),
        (None, 16, True),
    ]
    assert "--system ranking" in program("compare", "two.parquet").err
    fm.report("two.parquet", "page.html", overwrite=True)
    assert "good" in Path("page.html").read_text()
    (tmp_path / "runs").mkdir()
    Path("two.parquet").rename("runs/two.parquet")
    assert "two.parquet: the rows of 2 systems are pooled (good, poor)" in str(fm.trend("runs", "mrr")).replace(
        "\n", " "
    )


def test_primary_table_marks_figures_over_some_rows():
    table = fm.results.primary_table({"new": {"token_f1": [0.5, None, 0.7], "latency_ms": [1.0, 2.0, 3.0]}})
    assert table[0].scored == {"F1": 2, "Latency": 3}
    assert "3*" in str(table)
    assert "F1 2 of 3 (new)" in str(table)


def test_primary_table_of_several_runs_is_over_the_rows_that_all_have():
    rng = np.random.default_rng(3)
    old = {"id": np.arange(60), "token_f1": rng.random(60), "latency_ms": rng.exponential(9, 60)}
    new = {"id": np.arange(50)[::-1], "token_f1": rng.random(50), "latency_ms": rng.exponential(9, 50)}
    new["token_f1"][[0, 3]] = np.nan
    new["abstained"] = np.zeros(50)
    table = fm.results.primary_table({"old": old, "new": new})
    compared = fm.compare({"old": old, "new": new}, metrics="token_f1")["token_f1"]
    assert [row.figures["F1"] for row in table] == [compared.mean_baseline, compared.mean_other]
    assert [row.figures["Latency"] for row in table] == [
        np.median(old["latency_ms"][:50]),
        np.median(new["latency_ms"]),
    ]
    assert math.isnan(table[0].figures["Abstain Rate"])
    assert [(row.n, row.n_other, row.scored["F1"]) for row in table] == [(50, 10, 48), (50, 0, 48)]
    assert table.to_arrow().column("N").to_pylist() == [50, 50]
    notes = " ".join(str(table).split())
    assert "figures over the 50 rows that all runs have; other rows: old 10" in notes
    assert "* over the rows with a score: F1 48 of 50 (old), F1 48 of 50 (new)" in notes
    assert [line.split()[1] for line in str(table).splitlines()[1:3]] == ["50*", "50*"]
    alone = fm.results.primary_table({"old": old})
    assert (alone[0].n, alone[0].figures["F1"]) == (60, old["token_f1"].mean())
    same = fm.results.primary_table({"old": old, "again": old})
    assert (same.notes, [row.n for row in same]) == ([], [60, 60])


@pytest.mark.parametrize("ids", [None, [5, 6], [1, 1]])
def test_primary_table_of_runs_with_other_ids_or_uneven_repeats_says_so(ids):
    old = {"id": [1, 2], "token_f1": [0.5, 0.7]}
    new = {"token_f1": [0.1, 0.3]} | ({} if ids is None else {"id": ids})
    if ids == [1, 1]:
        new = {"token_f1": [0.1, 0.2, 0.3], "id": [1, 1, 2]}
    table = fm.results.primary_table({"old": old, "new": new})
    assert [row.figures["F1"] for row in table] == pytest.approx([0.6, 0.225 if ids == [1, 1] else 0.2])
    said = " ".join(str(table).split())
    repeated = "new: 1 to 2 answers to each of 2 questions"
    assert (repeated if ids == [1, 1] else "rows cannot be paired by id, so each figure is over the run's own") in said


def test_primary_table_has_the_means_of_questions_with_several_answers():
    old = {"id": [1, 2], "token_f1": [0.5, 0.7]}
    new = {"id": [1, 1, 2, 2], "token_f1": [0.1, 0.3, 0.5, 0.5]}
    table = fm.results.primary_table({"old": old, "new": new})
    assert [(row.n, row.figures["F1"]) for row in table] == [(2, 0.6), (2, 0.35)]
    assert "2 answers to each of 2 questions" in " ".join(str(table).split())


@pytest.mark.parametrize(
    ("metrics", "sign"),
    [
        (("token_f1", "rougeL_f1"), 1),
        (("token_f1", "hallucination"), -1),
        (("hallucination", "token_f1"), -1),
        (("hallucination", "latency_ms"), 1),
    ],
)
def test_agreement_turns_where_lower_is_better_for_one_of_two(metrics, sign):
    rng = np.random.default_rng(1)
    [pair] = fm.results.correlations({"id": range(30), **{name: rng.random(30) for name in metrics}})
    assert pair.agreement == sign * pair.spearman != 0


def test_histograms_of_several_runs_have_the_same_bins():
    runs = [open_scores({"length": values}) for values in ([0.0, 1.0], [3.0, 4.0, None], [None, None])]
    first, second, none = histograms_of("length", runs)
    assert first.edges == second.edges == pytest.approx([at / 5 for at in range(21)])
    places = [{at: count for at, count in enumerate(one.counts) if count} for one in (first, second)]
    assert places == [{0: 1, 5: 1}, {15: 1, 19: 1}]
    assert (second.n, second.n_missing, none.n, none.counts) == (2, 1, 0, [0] * 20)
    assert histograms_of("other", runs)[0].n == 0


def test_primary_table_draws_each_figure_over_the_runs():
    runs = {f"gate {at}": {"token_f1": [at / 10] * 2, "abstained": [1.0, 0.0]} for at in (2, 5)}
    axes = fm.results.primary_table(runs).plot()
    drawn = {one.get_title(): one.lines[0].get_ydata().tolist() for one in axes}
    assert drawn == {"F1": [0.2, 0.5], "Abstain Rate": [0.5, 0.5]}
    assert [label.get_text() for label in axes[0].get_xticklabels()] == ["gate 2", "gate 5"]


N = 400
RNG = np.random.default_rng(6)
VALUES = RNG.random(N)
LANGUAGE = [None if n % 40 == 0 else ("en", "ru")[n % 2] for n in range(N)]
SCORES = pa.table(
    {
        "token_f1": pa.array([None if n % 10 == 0 else value for n, value in enumerate(VALUES)]),
        "hallucination": VALUES,
        "language": LANGUAGE,
        "session": np.arange(N) // 8,
    }
)


def test_means_are_those_of_the_rows_and_intervals_hold_them():
    found = fm.results.summarize_by(SCORES, by="language", metrics="token_f1")
    assert [one.segment for one in found] == [None, "language=en", "language=ru", "language=null"]
    for one in found:
        rows = [
            n for n in range(N) if one.segment in (None, f"language={'null' if LANGUAGE[n] is None else LANGUAGE[n]}")
        ]
        known = [VALUES[n] for n in rows if n % 10]
        assert (one.n, one.n_missing) == (len(known), len(rows) - len(known))
        if known:
            assert one.mean == pytest.approx(np.mean(known), rel=1e-12)
            assert one.low < one.mean < one.high
            margin = 1.96 * np.std(known, ddof=1) / math.sqrt(len(known))
            assert one.high - one.low == pytest.approx(2 * margin, rel=0.15)
        else:
            assert math.isnan(one.mean)


def test_clusters_widen_intervals_and_threads_do_not_matter():
    shared = pa.table({"token_f1": np.repeat(RNG.random(50), 8), "session": np.arange(N) // 8})
    alone, together = (
        fm.results.summarize_by(shared, metrics="token_f1", cluster=name)[0] for name in (None, "session")
    )
    assert together.high - together.low > 2 * (alone.high - alone.low)
    assert (
        fm.results.summarize_by(SCORES, by="language", threads=1).to_json()
        == fm.results.summarize_by(SCORES, by="language", threads=3).to_json()
    )


def test_a_table_lists_segments_from_the_worst_and_equal_ones_by_name() -> None:
    n = 60
    scores = {
        "id": range(n),
        "token_f1": [(row % 5) / 4 for row in range(n)],
        "topic": [f"t{row % 20}" for row in range(n)],
    }
    means = {f"topic=t{topic}": (topic % 5) / 4 for topic in range(20)}
    table = fm.results.summarize_by(scores, by="topic").grids()[1]
    assert [row[0] for row in table.rows] == sorted(means, key=lambda name: (means[name], name))
    other = {**scores, "token_f1": [1.0 - score for score in scores["token_f1"]]}
    found = fm.compare({"a": scores, "b": other}, by="topic", tests="t", interval="t")
    shown = [row[0] for row in found.grids()[2].rows]
    assert shown == sorted(means, key=lambda name: (1 - 2 * means[name], name))


def test_many_segments_are_merged_except_for_the_largest() -> None:
    sizes = {f"t{number:03d}": 1 + number % 97 for number in range(97)}
    topics = [name for name, size in sizes.items() for _ in range(size)]
    order = np.random.default_rng(0).permutation(len(topics))
    table = pa.table(
        {"id": list(map(str, order)), "token_f1": order / len(order), "topic": [topics[at] for at in order]}
    )
    [run], [note] = fewer_segments([open_scores(table)], ["topic"])
    kept = run.column("topic", "").to_pylist()
    largest = sorted(sizes, key=lambda name: -sizes[name])[:SEGMENTS]
    others = 97 - SEGMENTS
    assert set(kept) == {*largest, f"({others} others)"}
    assert kept.count(f"({others} others)") == sum(sizes.values()) - sum(sizes[name] for name in largest)
    assert f"shows {SEGMENTS} of 97 segments, those of most rows" in note


def test_a_column_that_is_given_twice_segments_once() -> None:
    table = {"id": list("abcd"), "token_f1": [0.1, 0.2, 0.3, 0.4], "lang": ["en", "ru", "en", "ru"]}
    worst = fm.worst_rows(table, "token_f1", by=["lang", "lang"], segment="lang=ru")
    assert worst["id"].to_pylist() == ["b", "d"]
    found = fm.compare({"a": table, "b": table}, by=[["lang"], "lang,lang", ["lang"]])
    assert [one.segment for one in found] == [None, "lang=en", "lang=ru"]
    judged = {"id": list("abcd"), "judge_x": [1.0, 2.0, 3.0, 4.0], "judge_x_status": ["ok"] * 4, "lang": table["lang"]}
    [axis] = fm.judge_report(judged, by="lang,lang").axes
    assert [one.segment for one in axis.segments] == ["lang=en", "lang=ru"]


def test_a_segment_of_each_row_is_listed() -> None:
    n = 2_000
    scores = np.random.default_rng(n).random(n)
    ids, topics = [f"{row:08d}" for row in range(n)], [f"topic {row:07d}" for row in range(n)]
    old, new = (pa.table({"id": ids, "token_f1": some, "topic": topics}) for some in (scores, scores[::-1]))
    compared = fm.compare({"old": old, "new": new}, by="topic", tests="t", threads=1)
    means = fm.results.summarize_by(old, by="topic", threads=1)
    checked = fm.gate(old, "token_f1 >= 0.5 where topic=* with n >= 1")
    for found, segments in ((compared, n + 1), (means, n + 1), (checked, n)):
        assert len(found) == segments
        assert str(found).count("topic=") >= n
        assert json.loads(found.to_json())
    assert len(compared.to_arrow()) == n + 1


def test_results_of_segments_are_tables_of_declared_types() -> None:
    scores = {"id": list("abcd"), "token_f1": [0.1, 0.2, 0.3, 0.4], "lang": ["en", "ru", "en", "ru"]}
    means = fm.results.summarize_by(scores, by="lang").to_arrow()
    assert means["segment"].to_pylist() == [None, "lang=en", "lang=ru"]
    compared = fm.compare({"a": scores, "b": scores}, by="lang").to_arrow()
    assert compared["segment"].to_pylist() == [None, "lang=en", "lang=ru"]
    for table, name in ((means, "n_clusters"), (compared, "n_clusters"), (compared, "n_missing_other")):
        assert (table[name].type, table[name].null_count) == (pa.int64(), len(table))
    assert (compared["p_equivalent"].type, compared["better"].type) == (pa.float64(), pa.string())


def test_a_number_at_a_quartile_is_in_the_range_that_begins_there() -> None:
    scores = {"token_f1": [0.5] * 13, "length": list(range(13))}
    found = fm.results.summarize_by(scores, by="length")
    ranges = ["[0, 3)", "[3, 6)", "[6, 9)", "[9, 12]"]
    assert [(one.segment, one.n) for one in found][1:] == [
        (f"length={name}", n) for name, n in zip(ranges, (3, 3, 3, 4), strict=True)
    ]


REJECTED = {
    # each view of 40 scores of 42 rows, 2 of them rejected, and what it says of them
    "means": (lambda out: [one.n_missing for one in fm.results.summarize_by(out)], [2]),
    "segments": (lambda out: [one.n_missing for one in fm.results.summarize_by(out, by="g")], [2, 0, 0]),
    "part": (lambda out: fm.results.summarize_by(pq.read_table(out).slice(5))[0].n_missing, 0),
    "histograms": (lambda out: fm.results.histograms(out)["token_f1"].n_missing, 2),
    "side by side": (lambda out: str(fm.results.side_by_side({"new": out})).split()[3][-1], "*"),
    "causes": (lambda out: lacking(fm.results.side_by_side([out]).summaries)[0].causes, (("rejected", 2),)),
}
NOTED = {
    "segments": lambda out: fm.results.summarize_by(out, by="g"),
    "compare": lambda out: fm.compare([out, {"id": list(range(40)), "token_f1": [0.5] * 40}]),
    "trend": lambda out: fm.trend(out.parent, "token_f1", skip_unreadable=True),
    "primary": fm.results.primary_table,
}


@pytest.fixture(scope="module")
def with_rejected(tmp_path_factory) -> Path:
    """A file of scores of 42 rows, of which scoring rejected 2."""
    folder = tmp_path_factory.mktemp("rejected")
    lines = [json.dumps({"id": n, "answer": f"mat {n % 7}", "reference": "mat 5", "g": "ab"[n % 2]}) for n in range(40)]
    (folder / "rows.jsonl").write_text("\n".join([*lines[:10], "{", "{", *lines[10:]]))
    files, runs = fm.tables.FileSettings(on_error="skip"), folder / "runs"
    runs.mkdir()
    fm.score(folder / "rows.jsonl", "token_f1", output=runs / "scores.parquet", keep="g", files=files)
    return runs / "scores.parquet"


@pytest.mark.filterwarnings("ignore::fastmetrics.base.errors.ScoreWarning")
@pytest.mark.parametrize(("view", "expected"), REJECTED.values(), ids=REJECTED)
def test_rejected_rows_are_counted(view, expected, with_rejected):
    assert view(with_rejected) == expected


@pytest.mark.parametrize("view", NOTED.values(), ids=NOTED)
def test_rejected_rows_are_noted(view, with_rejected):
    assert any("2 rows that scoring rejected have no score" in note for note in view(with_rejected).remarks())
