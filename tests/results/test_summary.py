"""Summaries: exact sums against fractions, any split and order, what metadata say, and the labels of figures."""

from __future__ import annotations

import json
import math
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.base.errors import ColumnError, InputError, UnknownNameError
from fastmetrics.kernels import exact_sums as sums
from fastmetrics.metrics.metric import REGISTRY, labelled
from fastmetrics.metrics.score_names import parse
from fastmetrics.plans.corpus_values import many_values
from fastmetrics.results.summary import Summary, summarize
from fastmetrics.stats.sums import State, counted
from tests.support.goldens import refused
from tests.support.program import jsonl, program

EDGES = [0.0, -0.0, 5e-324, -5e-324, 2.2250738585072014e-308, 1e308, -1e308, 1.7976931348623157e308, 0.1, 1.0, -3.5]
FLOATS = st.one_of(st.sampled_from(EDGES), st.floats(allow_nan=False, allow_infinity=False))


def root(square: Fraction) -> float:
    """The float64 nearest to the square root: a guess, then its neighbours tested at their midpoints."""
    exact = Fraction(math.isqrt(square.numerator), math.isqrt(square.denominator))
    if exact * exact == square:
        return float(exact)
    scale = 1 << 2400
    guess = float(Fraction(math.isqrt(int(square * scale * scale)), scale))
    for candidate in (math.nextafter(guess, 0.0), guess, math.nextafter(guess, math.inf)):
        low = (Fraction(math.nextafter(candidate, 0.0)) + Fraction(candidate)) / 2
        above = math.nextafter(candidate, math.inf)
        high = (Fraction(above) + Fraction(candidate)) / 2 if above < math.inf else Fraction(candidate) * 2
        if low * low <= square <= high * high:
            return candidate
    raise AssertionError(square)


def oracle(values: list[float]) -> tuple[float, float]:
    exact = [Fraction(value) for value in values]
    mean = sum(exact, Fraction()) / len(exact)
    return float(mean), root(sum(((x - mean) ** 2 for x in exact), Fraction()) / len(exact))


def bits(state: State) -> list[str]:
    return [value.hex() for value in (state.mean, state.std, state.min, state.max)]


def state_of(values: list[float] | np.ndarray) -> State:
    state = State()
    state.add(np.array(values, np.float64))
    return state


@given(st.lists(FLOATS, min_size=1, max_size=30))
@example([-1e308, -1e308, 1.7976931348623157e308, 1.7976931348623157e308])  # a deviation halfway between two floats
@example([5e-324, 0.0])
def test_mean_and_deviation_are_correctly_rounded(values: list[float]) -> None:
    state = state_of(values)
    assert (state.mean, state.std) == oracle(values)
    assert (state.min, state.max, state.n) == (min(values), max(values), len(values))


@given(st.lists(st.one_of(FLOATS, st.floats(), st.none()), max_size=30), st.randoms(use_true_random=False), st.data())
def test_splits_and_order_do_not_change_bits(values: list, shuffle: random.Random, data: st.DataObject) -> None:
    column = pa.array(values, pa.float64())
    whole = State()
    whole.add(column)
    shuffled = list(values)
    shuffle.shuffle(shuffled)
    cut = data.draw(st.integers(0, len(values)))
    left, right = State(), State()
    left.add(pa.array(shuffled[:cut], pa.float64()))
    right.add(pa.array(shuffled[cut:], pa.float64()))
    for merged in (left.merge(right), right.merge(left), State.from_json(left.to_json()).merge(right)):
        assert bits(merged) == bits(whole)
        assert merged == whole
        assert merged.n + merged.n_missing + merged.n_undefined == len(values)


def test_long_column_equals_fsum() -> None:
    values = np.random.default_rng(7).normal(size=3_000) * 10.0 ** np.random.default_rng(8).integers(-300, 300, 3_000)
    assert state_of(values).mean == float(Fraction(math.fsum(values)) / 3_000)
    scores = np.random.default_rng(9).random(2_000)
    assert state_of(scores).std == pytest.approx(scores.std(), rel=1e-14)


@pytest.mark.parametrize("rows", [1, 4, 7])
def test_bins_are_emptied_before_overflow(rows: int) -> None:
    values = np.random.default_rng(5).normal(size=50)
    whole = state_of(values)
    parts = State(rows)
    for start in range(0, 50, 3):
        parts.add(values[start : start + 3])
        assert parts._pending <= rows
    assert parts == whole == state_of(values)


def test_the_widest_significands_fill_a_bin_but_do_not_overflow_it() -> None:
    widest = math.nextafter(2.0, 1.0)
    seen, bins = np.zeros(4, np.int64), np.zeros((2048, 8), np.int64)
    sums.accumulate(np.array([widest]).view(np.int64), bins, seen)
    assert int(bins.max()) * sums.ROWS < 1 << 62


def test_infinite_scores_are_undefined() -> None:
    state = state_of([1.0, math.inf, 3.0, -math.inf, math.nan])
    assert (state.mean, state.std, state.min, state.max, state.sum) == (2.0, 1.0, 1.0, 3.0, 4.0)
    assert (state.n, state.n_undefined, state.n_infinite) == (2, 3, 2)
    assert State.from_json(state.to_json()) == state
    nothing = state_of([math.inf, -math.inf])
    assert nothing.n == 0
    assert all(math.isnan(value) for value in (nothing.mean, nothing.std, nothing.min, nothing.max, nothing.sum))


def test_column_without_scores() -> None:
    state = State()
    assert state.n == 0
    assert all(math.isnan(value) for value in (state.mean, state.std, state.min, state.max))
    assert State.from_json(state.to_json()) == state
    assert state != state_of([1.0])
    assert state != 0


def test_float32_and_integers_are_summed_exactly() -> None:
    state = State()
    state.add(np.array([0.1, 0.7], np.float32))
    assert state.mean == float(sum(map(Fraction, np.array([0.1, 0.7], np.float32).tolist())) / 2)
    state = State()
    state.add([1, 2, 4])
    assert state.mean == 7 / 3


def test_invalid_states_and_columns_raise() -> None:
    with pytest.raises(InputError):
        State.from_json('{"total": "zz"}')
    with pytest.raises(InputError):
        State().add(["a", "b"])
    state = State()
    state.add([None, 1.0])
    with pytest.raises(InputError):
        state.tell_apart(2, 0)


TABLE = {
    "id": pa.array(["a", "b", "c", "d", "e"]),
    "token_f1": pa.array([0.5, None, 1.0, math.nan, 0.25]),
    "latency_ms": pa.array([10.0, 20.0, 30.0, 45.0, 1000.0], pa.float32()),
    "rank": pa.array([1, 2, 3, 4, 5]),
}


def test_summary_of_a_table() -> None:
    summary = summarize(pa.table(TABLE), labels={"token_f1.mean": "f1", "latency_ms.p50": "median_latency"})
    assert list(summary) == ["token_f1", "latency_ms", "rank"]
    f1 = summary["token_f1"]
    assert (f1.mean, f1.std) == oracle([0.5, 1.0, 0.25])
    assert (f1.min, f1.max, f1.n, f1.n_missing, f1.n_undefined, f1.n_error) == (0.25, 1.0, 3, 1, 1, 0)
    assert summary["latency_ms"].extra["p95"] == np.percentile([10.0, 20, 30, 45, 1000], 95)
    assert summary.figures["f1"] == f1.mean
    assert summary.figures["median_latency"] == 30.0
    assert summary.n_rows == 5
    assert len(summary) == 3


def forms() -> dict[str, object]:
    table = pa.table(TABLE)
    return {
        "batch": table.to_batches()[0],
        "slices": table.to_batches(max_chunksize=2),
        "chunked": pa.concat_tables([table.slice(3), table.slice(0, 3)]),
        "reader": table.to_reader(max_chunksize=2),
        "generator": (batch for batch in table.to_batches(max_chunksize=1)),
        "readers": [table.slice(0, 2).to_reader(), table.slice(2).to_reader()],
        "function": lambda: iter(table.to_batches(max_chunksize=3)),
        "mapping": dict(TABLE),
        "polars": pl.DataFrame(dict(TABLE)),
    }


@pytest.mark.parametrize("name", list(forms()))
def test_every_input_form_gives_the_same_summary(name: str) -> None:
    expected = summarize(pa.table(TABLE))
    found = summarize(forms()[name])
    assert found.to_json() == expected.to_json()


def test_pandas_nan_is_missing() -> None:
    frame = pd.DataFrame({"token_f1": [0.5, math.nan, 1.0]})
    metric = summarize(frame)["token_f1"]
    assert (metric.mean, metric.n, metric.n_missing) == (0.75, 2, 1)


def test_numpy_nan_is_undefined() -> None:
    metric = summarize({"token_f1": np.array([0.5, math.nan, 1.0])})["token_f1"]
    assert (metric.n, metric.n_missing, metric.n_undefined) == (2, 0, 1)


def part(values: list, n_rows: int, counts: tuple[int, int, int], corpus: list[int] | None = None) -> pa.Table:
    claim = dict(zip(("n_rows", "n_missing", "n_undefined", "n_error"), (n_rows, *counts), strict=True))
    fields = {"metrics": {"f1": claim}, **({"counts": {"corpus_bleu": corpus}} if corpus else {})}
    table = pa.table({"f1": pa.array(values, pa.float64())})
    return table.replace_schema_metadata({"fastmetrics": json.dumps(fields)})


def counts_of(summary: Summary) -> tuple[int, int, int, int]:
    metric = summary["f1"]
    return metric.n, metric.n_missing, metric.n_undefined, metric.n_error


def test_metadata_distinguish_missing_from_undefined() -> None:
    table = part([0.5, None, None, None, math.nan], 5, (1, 1, 1))
    for form in (table, table.to_batches(max_chunksize=2), table.to_reader(max_chunksize=1)):
        summary = summarize(form)
        assert counts_of(summary) == (1, 1, 2, 1)
        assert summary.notes == []


def test_parts_with_more_or_fewer_scores_are_refused() -> None:
    few, more = {"f1": [0.5]}, {"f1": [0.5], "em": [1.0]}
    for parts in ((few, more), (more, few), (few, {"em": [1.0]})):
        refused(ColumnError, "em", summarize, map(pa.table, parts))


def test_equal_parts_are_counted_separately() -> None:
    one, empty = part([None, 1.0], 2, (0, 1, 0)), part([], 0, (0, 0, 0))
    batches = [batch for table in (one, one, one) for batch in table.to_batches(max_chunksize=1)]
    assert counts_of(summarize(batches)) == (3, 0, 3, 0)
    assert counts_of(summarize([one, empty, one.to_reader()])) == (2, 0, 2, 0)


@pytest.mark.parametrize(
    ("table", "note"),
    [
        (part([0.5, None, None, None], 5, (1, 1, 1)).slice(1), "describe 5 rows, but there are 3"),
        (part([0.5, None], 2, (1, 1, 0)), "do not count 1 nulls"),
        (part([None] * 7, 5, (1, 1, 1)), "describe 5 rows, but there are 7"),
    ],
)
def test_mismatched_metadata_are_ignored(table: pa.Table, note: str) -> None:
    summary = summarize(table)
    n_null = table["f1"].null_count
    assert counts_of(summary) == (table.num_rows - n_null, n_null, 0, 0)
    assert note in summary.notes[0]
    assert note in str(summary)


def test_mismatched_metadata_without_nulls_give_no_note() -> None:
    assert summarize(part([0.5, 1.0, 0.0], 5, (1, 1, 0))).notes == []


def test_corpus_counts_are_pooled() -> None:
    parts = [part([0.5, 1.0], 2, (0, 0, 0), [1, 2]), part([None], 1, (1, 0, 0), [10, 20])]
    summary = summarize(parts, finish=lambda name, counts: counts[0] / counts[1] if name == "corpus_bleu" else -1)
    assert summary.corpus == {"corpus_bleu": 0.5}
    assert summary.figures["corpus_bleu"] == 0.5
    assert "corpus_bleu" in str(summary)
    assert summary.to_arrow().to_pylist()[-1]["corpus"] == 0.5


def test_incomplete_corpus_counts_are_excluded() -> None:
    whole = part([0.5, 1.0], 2, (0, 0, 0), [1, 2])
    others = [whole.slice(1), part([0.5], 1, (0, 0, 0)), part([0.5], 1, (0, 0, 0), [1, 2, 3])]
    for pieces in [*([whole, other] for other in others), *([other, whole] for other in others)]:
        summary = summarize(pieces, finish=lambda *_: 0.0)
        assert summary.corpus == {}
        assert "corpus_bleu" in summary.notes[-1]


SENTENCE = "the cat sat on the mat"
HALF_RIGHT = {"id": list(range(8)), "answer": [SENTENCE] * 4 + ["a b c d e f"] * 4, "reference": [SENTENCE] * 8}
CHANGES = {
    "slice": lambda scores: scores.slice(4),
    "take": lambda scores: scores.take([4, 5, 6, 7] * 2),
    "filter": lambda scores: scores.filter(pc.greater(scores["id"], 3)),
    "batches": lambda scores: scores.slice(3, 5).to_batches(max_chunksize=2),
    "nothing": lambda scores: scores.slice(0, 0),
}


@pytest.mark.parametrize("change", CHANGES)
def test_corpus_metrics_are_those_of_the_rows_of_a_changed_table(change: str, tmp_path: Path) -> None:
    changed = CHANGES[change](fm.score(HALF_RIGHT, "corpus_bleu,bleu", keep_counts=True))
    table = changed if isinstance(changed, pa.Table) else pa.Table.from_batches(changed)
    counts = np.array([*filter(None, table["corpus_bleu.counts"].to_pylist()), [0] * 13]).sum(axis=0)
    value = many_values("corpus_bleu", counts[None])[0]
    pq.write_table(table, tmp_path / "changed.parquet")
    for scores in (changed, tmp_path / "changed.parquet"):
        summary = fm.summarize(scores)
        assert summary.corpus["corpus_bleu"] == pytest.approx(value, abs=0, nan_ok=True)
        assert summary.n_rows == len(table)
        assert not any("left out" in note for note in summary.notes)
    if len(table):
        (checked,) = fm.gate(table, "corpus_bleu >= 0 with n >= 1")
        assert checked.value == pytest.approx(value, abs=0, nan_ok=True)


def test_corpus_metrics_without_counts_of_rows_are_left_out_for_other_ids() -> None:
    scores = fm.score(HALF_RIGHT, "corpus_bleu,bleu")
    assert fm.summarize(scores.take([7, 6, 5, 4, 3, 2, 1, 0])).corpus == fm.summarize(scores).corpus != {}
    changed = fm.summarize(scores.take([4, 5, 6, 7] * 2))
    assert (changed.corpus, changed["bleu"].n) == ({}, 8)
    assert "the rows are not those that were scored, by the fingerprint of their ids" in changed.notes
    assert "left out, because some parts lack the counts of their rows: corpus_bleu" in changed.notes
    with pytest.raises(UnknownNameError):
        fm.gate(scores.take([4, 5, 6, 7] * 2), "corpus_bleu >= 0")


def test_a_column_of_counts_of_another_length_leaves_the_metric_out() -> None:
    scores = fm.score(HALF_RIGHT, "corpus_bleu,bleu", keep_counts=True)
    at = scores.schema.get_field_index("corpus_bleu.counts")
    for counts in ([[1, 2]] * 8, [[1]] * 7 + [[1, 2]], [[None] * 13] * 8, [[0.5] * 13] * 8):
        broken = scores.set_column(at, "corpus_bleu.counts", [counts])
        assert fm.summarize(broken).corpus == {}


def test_dictionary_json_and_arrow_agree() -> None:
    none = pa.array([None], pa.float64()).take(pa.array([0, 0]))
    summary = summarize({"f1": [0.5, 1.0], "none": none, "inf": [math.inf, 0.0], "less": [-math.inf, 0.0]})
    fields = json.loads(summary.to_json())
    assert fields["metrics"]["f1"] == {
        "mean": 0.75, "std": 0.25, "min": 0.5, "max": 1.0, "n": 2, "n_missing": 0, "n_undefined": 0, "n_unread": 0,
        "n_error": 0
    }  # fmt: skip
    assert fields["metrics"]["none"]["mean"] is None
    assert [fields["metrics"][name]["n_undefined"] for name in ("f1", "inf", "less")] == [0, 1, 1]
    assert fields["figures"]["f1.mean"] == 0.75
    table = summary.to_arrow()
    assert table["metric"].to_pylist() == ["f1", "none", "inf", "less"]
    assert table["n_missing"].to_pylist() == [0, 2, 0, 0]
    assert table["mean"][0].as_py() == 0.75


@pytest.mark.parametrize("keep_counts", [False, True])
def test_corpus_metrics_say_how_many_rows_they_are_of(keep_counts):
    rows = {"id": [1, 2, 3], "answer": ["in Paris", None, None], "reference": ["in Paris", "a", "b"]}
    scores = fm.score(rows, "corpus_bleu,corpus_chrf,token_f1", keep_counts=keep_counts)
    note = "corpus_bleu, corpus_chrf: computed from {} rows; the others have no score"
    assert fm.summarize(scores).notes == [note.format("1 of 3")]
    assert fm.summarize([scores, scores]).notes == [note.format("2 of 6")]
    whole = fm.score({**rows, "answer": rows["reference"]}, "corpus_bleu,token_f1", keep_counts=keep_counts)
    assert fm.summarize(whole).notes == []
    if keep_counts:
        assert note.format("0 of 2") in fm.summarize(scores.slice(1)).notes
        assert not any("computed" in text for text in fm.summarize(scores.take([0, 0])).notes)


ROWS = [{"id": number, "token_f1": None, "chrf": 50.0 + number % 7, "comment": None} for number in range(40)]
BASELINE = [{**row, "token_f1": 0.9} for row in ROWS]


@pytest.fixture(params=["records", "files"])
def runs(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Any, Any]:
    if request.param == "records":
        return BASELINE, ROWS
    paths = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    for path, rows in zip(paths, (BASELINE, ROWS), strict=True):
        path.write_text("\n".join(map(json.dumps, rows)))
    return paths


def test_summary_counts_the_rows_without_a_score(runs: tuple[Any, Any]) -> None:
    summary = fm.summarize(runs[1])
    assert (summary["token_f1"].n, summary["token_f1"].n_missing) == (0, 40)
    assert list(summary.metrics) == ["token_f1", "chrf"]


def test_gate_is_not_passed_by_a_metric_that_lost_all_its_scores(runs: tuple[Any, Any]) -> None:
    result = fm.gate(runs[1], ["drop <= 10"], baseline=runs[0])
    assert not result.passed
    assert "drop <= 10 · token_f1: 0 rows with a score" in str(result)


def test_comparison_shows_the_rows_that_only_the_baseline_scores(runs: tuple[Any, Any]) -> None:
    assert "token_f1   0         40           0" in str(fm.compare(list(runs)))


def test_no_rows_fail_the_gate_in_words() -> None:
    assert not fm.gate({"id": [], "token_f1": []}, ["token_f1 >= 0"]).passed


LABELLED = sorted(name for name, metric in REGISTRY.items() if metric.labels)
EVERY = pytest.mark.parametrize("name", LABELLED)


def specs(name):
    """Ways to ask for a metric with some options that are not its defaults, and its name alone."""
    options = REGISTRY[name].defaults
    changed = [f"{name}({option}={value!r})" for option, value in options.items() if isinstance(value, str | float)]
    changed += [name + of for of, _, _ in labelled(REGISTRY[name].labels) if of]
    cut = [f"{name}@1", f"{name}@10", f"{name}(k=1)", f"{name}@1(relevance_level=2)"] if "k" in options else []
    return [name, f"{name}()", *changed, *cut]


def test_the_labels_are_known_and_differ():
    labels = [label for name in LABELLED for label in REGISTRY[name].labels.values()]
    assert len(set(labels)) == len(labels)
    assert not set(labels) & set(REGISTRY)


def shown_label(label, its_options, options):
    """The label of a score with these options; None if it has none."""
    if label.endswith("@k") and not options.startswith("@"):
        return None
    if options == its_options:
        return label
    return label.removesuffix("@k") + options if options not in ("", "()") else None


@EVERY
def test_a_label_has_the_options_that_are_not_its_own(name):
    columns = specs(name)
    least, most = REGISTRY[name].bounds
    least, step = (0.0, 1.0) if most == np.inf else (least, (most - least) / len(columns))
    table = {spec: [least + step * place] for place, spec in enumerate(columns)}
    random.Random(name).shuffle(columns)
    summary = summarize({spec: table[spec] for spec in columns})
    expected = {}
    for options, statistic, label in labelled(REGISTRY[name].labels):
        for spec in columns:
            score = counted([statistic]).get(statistic)
            value = table[spec][0] if score is None else float(table[spec][0] == score)
            assert summary.figures[f"{spec}.{statistic}"] == value, spec
            expected[shown_label(label, options, spec.removeprefix(name))] = value
    expected.pop(None, None)
    assert summary.figures == summary.unlabelled | expected


@EVERY
def test_options_alone_do_not_take_the_label(name):
    for spec in specs(name)[1:]:
        fitting = {label for options, _, label in labelled(REGISTRY[name].labels) if options != spec.removeprefix(name)}
        assert not fitting & set(summarize({spec: [REGISTRY[name].bounds[1]]}).figures), spec


def test_every_mean_is_printed_and_in_the_json(tmp_path):
    rows = [{"retrieved_ids": ["a", "b"], "relevant_ids": ["b"]}, {"retrieved_ids": ["b"], "relevant_ids": ["b"]}]
    table = jsonl(tmp_path / "t.jsonl", *rows)
    asked = "reciprocal_rank,reciprocal_rank@1,average_precision@1,reciprocal_rank(relevance_level=0.5)"
    done = program("score", table, "-o", tmp_path / "o.parquet", "-m", asked)
    assert done.code == 0
    printed = [line.split() for line in done.out.split("figure")[1].split("\n\n")[0].splitlines()[1:]]
    assert printed == [
        ["mrr", "0.7500", "reciprocal_rank.mean"],
        ["mrr@1", "0.5000", "reciprocal_rank@1.mean"],
        ["map@1", "0.5000", "average_precision@1.mean"],
        ["mrr(relevance_level=0.5)", "0.7500", "reciprocal_rank(relevance_level=0.5).mean"],
    ]
    found = json.loads(program("summarize", tmp_path / "o.parquet", "--json").out)["figures"]
    means = {name: value for name, value in found.items() if name.endswith(".mean")}
    assert means == dict(zip([f"{name}.mean" for name in asked.split(",")], [0.75, 0.5, 0.5, 0.75], strict=True))
    assert {name: value for name, value in found.items() if "." not in name} == {
        "mrr": 0.75,
        "mrr@1": 0.5,
        "map@1": 0.5,
    }
    assert found["mrr(relevance_level=0.5)"] == 0.75


SOURCES = {
    **{"final_o": "grounding_overlap.mean", "final_f": "overlap_faithfulness.mean", "Avg F1": "token_f1.mean"},
    **{"Avg EM": "exact_match(tokenizer='plain').mean"},
    **{"abstain_rate": "abstained.mean", "Avg Total Tokens": "total_tokens.mean"},
    **{"P50 Latency (ms)": "latency_ms.p50", "IDK+Cit Count": "idk_citations.sum"},
    **{"mrr": "reciprocal_rank.mean", "map": "average_precision.mean"},
    **{f"{name}@{k}": f"retrieval_{name}@{k}.mean" for name in ("recall", "precision") for k in (1, 3, 5, 10)},
    **{f"avg_rouge{kind}_f": f"rouge{kind}_f1(tokenizer='by_script').mean" for kind in "12L"},
    **{"avg_bleu": "bleu.mean", "avg_semantic_similarity": "semantic_similarity.mean"},
    **{"avg_dot_similarity": "dot_similarity.mean", "avg_euclidean_distance": "euclidean_distance.mean"},
}


def test_the_names_of_the_sources_are_labels_of_figures(tmp_path):
    """The names are those of the tables of S1 and S2."""
    columns = {flat.rpartition(".")[0]: [0.5, 0.25, None] for flat in SOURCES.values()}
    summary = summarize(columns)
    assert {label: flat for flat, label in summary.labels.items()} == SOURCES
    for label, flat in SOURCES.items():
        assert summary.figures[label] == summary.figures[flat] == (0.75 if flat.endswith("sum") else 0.375)
    listed = {(name, of) for name, _, of in summary.further if of}
    assert listed == set(SOURCES.items())
    for label, flat in SOURCES.items():
        assert any(line.startswith(label) and line.endswith(flat) for line in str(summary).splitlines())
    assert list(summary.metrics) == list(columns)
    found = fm.gate(columns, [f"{label} > 0.3" for label in SOURCES], unpaired="ignore", min_n=1)
    assert (found.passed, [one.n for one in found]) == (True, [2] * len(SOURCES))


def test_the_description_of_a_metric_names_its_labels():
    assert "in a summary, its sum is also IDK+Cit Count" in program("metrics", "idk_citations").out
    said = program("metrics", "rouge1_f1").out
    assert "in a summary, its mean is also avg_rouge1_f with tokenizer='by_script'" in said
    assert "also called" not in program("metrics", "token_f1").out
    assert "in a summary, its mean is also Avg EM with tokenizer='plain'" in program("metrics", "exact_match").out


def test_a_label_of_options_is_that_of_the_scores_with_these_options(tmp_path):
    pair = {"answer": "Paris.", "reference": "paris"}, {"answer": "a b", "reference": "b"}
    rows = jsonl(tmp_path / "t.jsonl", *pair * 5)
    done = program(
        "score", rows, "-o", tmp_path / "o.parquet", "-m", 'exact_match,exact_match(tokenizer="plain"),squad_em'
    )
    assert done.code == 0
    figures = json.loads(program("summarize", tmp_path / "o.parquet", "--json").out)["figures"]
    assert (figures["Avg EM"], figures["exact_match.mean"], figures["squad_em.mean"]) == (0.5, 0.0, 1.0)
    assert program("gate", tmp_path / "o.parquet", "-r", "Avg EM >= 0.1").code == 0
    assert parse("avg_em").spec == "exact_match(tokenizer='plain')"


def test_the_report_names_labels_and_their_statistics(tmp_path):
    fm.report({"id": ["a", "b"], "token_f1": [0.5, 1.0], "idk_citations": [0.0, 2.0]}, tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text("utf-8")
    for label, flat in (("Avg F1", "token_f1.mean"), ("IDK+Cit Count", "idk_citations.sum")):
        assert f"<bdi>{label}</bdi></th><td><bdi>{flat}</bdi></td>" in page


@pytest.mark.parametrize("kind", ["table", "file"])
def test_metrics_choose_what_is_summarised(kind, tmp_path):
    rows = {"answer": ["a b", "```x", None], "reference": ["a", "b", "c"]}
    scores = fm.score(rows, "token_f1,exact_match,corpus_bleu,json_match", output=tmp_path / "scores.parquet")
    scores = tmp_path / "scores.parquet" if kind == "file" else fm.score(rows, "token_f1,exact_match,corpus_bleu")
    whole, chosen = fm.summarize(scores), fm.summarize(scores, "corpus_bleu,token_f1")
    assert list(chosen) == ["token_f1"]
    assert list(chosen.corpus) == ["corpus_bleu"]
    assert {name: whole.figures[name] for name in chosen.figures} == chosen.figures
    assert not any("json_match" in note for note in chosen.notes)
    assert next(iter(fm.summarize(scores, metrics=["exact_match"]).figures)) == "exact_match.mean"
    with pytest.raises(UnknownNameError, match="did you mean 'token_f1'"):
        fm.summarize(scores, "tokn_f1")
