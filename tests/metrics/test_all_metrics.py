"""What holds for every metric: counts, orders, edges of definitions and exchanged columns."""

from __future__ import annotations

import copy
import functools
import itertools
import json
import math
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import fastmetrics as fm
from fastmetrics.base.arrays import floats_of_arrow
from fastmetrics.base.errors import FileFormatError
from fastmetrics.base.limits import SIZES
from fastmetrics.metrics import suites as families
from fastmetrics.metrics.batch import Light
from fastmetrics.metrics.metric import REGISTRY, Corpus
from fastmetrics.metrics.score_names import parse
from fastmetrics.plans.corpus_values import many_values
from fastmetrics.results.opening_scores import column_of
from fastmetrics.scoring.metric_functions import callable_of
from fastmetrics.stats.raters import agreement
from fastmetrics.stats.significance import PairedCounts, swap_p
from fastmetrics.tables.opening import open_source
from fastmetrics.text import statements
from tests.support.every_metric import CASES, EXEMPT, READERS, columns
from tests.support.goldens import refused
from tests.support.program import ENVIRONMENT, jsonl
from tests.support.strategies import is_plain

EVERY = pytest.mark.parametrize("name", sorted(CASES))
ONE_OF_EACH = pytest.mark.parametrize("name", READERS)
NUMBERS = (
    *("number_match", "hallucination", "hallucination_risk", "unsupported_share", "unsupported_count", "anchor_count"),
)


def call(name, given, **named):
    return callable_of(name)(**given, **named)


def same_bits(one, other):
    return one.dtype == other.dtype == np.float64 and one.tobytes() == other.tobytes()


def arrow(given):
    return {column: pa.array(values) for column, values in given.items()}


def told(row):
    """Whether tables of values decide a row: it has numbers in other spellings, which the definitions do not read."""
    cells = [cell if isinstance(cell, list) else [cell] for cell in row.values()]
    return not all(is_plain(text) for texts in cells for text in texts if isinstance(text, str))


@functools.cache
def plain(name):
    """The plain definition's scores of the rows of its case, with its None and NaN."""
    given = columns(name, CASES[name].rows)
    return [CASES[name].oracle(*row) for row in zip(*given.values(), strict=True)]


def test_every_metric_has_a_case():
    """A metric that is added joins the table in ``tests/support/every_metric.py``, and with it every test below."""
    assert set(CASES) | EXEMPT == {name for name, metric in REGISTRY.items() if metric.level == "row"}


def test_default_options_go_through_the_spec_and_back():
    for name, metric in REGISTRY.items():
        written = f"{name}({', '.join(f'{option}={value!r}' for option, value in metric.defaults.items())})"
        assert parse(written).options == metric.defaults
        assert parse(name).options == metric.defaults
        json.dumps(dict(metric.defaults))


@EVERY
def test_equal_to_the_plain_definition_and_within_bounds(name):
    given = columns(name, CASES[name].rows)
    scores = call(name, given)
    expected = plain(name)
    assert isinstance(scores, np.ndarray)
    assert (scores.dtype, scores.shape) == (np.float64, (len(expected),))
    for row, (ours, theirs) in enumerate(zip(scores.tolist(), expected, strict=True)):
        shown = {column: values[row] for column, values in given.items()}
        if name in NUMBERS and told(shown):
            continue
        if theirs is None or math.isnan(theirs):
            assert math.isnan(ours), shown
        else:
            assert math.isclose(ours, theirs, rel_tol=CASES[name].tolerance), (shown, ours, theirs)
    low, high = REGISTRY[name].bounds
    defined = scores[~np.isnan(scores)]
    assert defined.size
    assert low <= defined.min() <= defined.max() <= high * (1 + 1e-12), "beyond rounding"


@ONE_OF_EACH
def test_missing_and_undefined_scores(name):
    given = columns(name, CASES[name].rows)
    expected = plain(name)
    made = fm.score(given, metrics=[name])[name]
    assert made.type == pa.float64()
    rows = zip(made.to_pylist(), call(name, given).tolist(), expected, strict=True)
    for row, (ours, alone, theirs) in enumerate(rows):
        if name in NUMBERS and told({column: values[row] for column, values in given.items()}):
            continue
        assert (ours is None) == (theirs is None)
        assert theirs is not None or math.isnan(alone)
        assert ours is None or (math.isnan(ours) if math.isnan(theirs) else ours == alone)
    assert None in expected
    for column in REGISTRY[name].required:
        blank = {**given, column: [None] * len(expected)}
        assert np.isnan(call(name, blank)).all()
        assert fm.score(blank, metrics=[name])[name].null_count == len(expected)


@ONE_OF_EACH
def test_any_batches_slices_chunks_threads_and_order_give_the_same_bits(name, monkeypatch):
    rows = 40
    given = columns(name, rows)
    expected = call(name, given, threads=1)
    assert same_bits(call(name, given, threads=3), expected)
    table = arrow(given)
    padded = {
        column: pa.concat_arrays([array.slice(5, 7), array, array.slice(0, 3)]) for column, array in table.items()
    }
    assert same_bits(call(name, {column: array.slice(7, rows) for column, array in padded.items()}), expected)
    cuts = [0, 1, 1, rows // 6, rows // 2, rows]
    for shift, start in ((0, "chunked alike"), (1, "chunked apart")):
        chunked = {
            column: pa.chunked_array([array.slice(a, b - a) for a, b in itertools.pairwise(bounds)], type=array.type)
            for at, (column, array) in enumerate(table.items())
            for bounds in [[*cuts[:3], cuts[3] + at * shift, *cuts[4:]]]
        }
        assert same_bits(call(name, chunked, threads=2), expected), start
    order = np.random.default_rng(0).permutation(rows)
    shuffled = {column: array.take(pa.array(order)) for column, array in table.items()}
    assert same_bits(call(name, shuffled, threads=2), expected[order])
    assert same_bits(
        np.concatenate([call(name, {c: v[a : a + 1] for c, v in given.items()}) for a in range(8)]), expected[:8]
    )
    for size, threads in ((1, 3), (7, 2)):
        monkeypatch.setattr(SIZES, "batch_rows", size)
        assert same_bits(call(name, given, threads=threads), expected), size


@ONE_OF_EACH
def test_no_rows_give_no_scores(name):
    given = {column: [] for column in REGISTRY[name].needs}
    assert call(name, given).shape == (0,)
    table = pa.table({"id": pa.array([1, 2, 3]), **arrow(columns(name, 3))})
    for empty in (table.slice(0, 0), pa.RecordBatchReader.from_batches(table.schema, [])):
        assert fm.score(empty, [name]).schema == fm.score(table, [name]).schema


@ONE_OF_EACH
def test_inputs_are_unchanged(name):
    given = columns(name, CASES[name].rows)
    kept, table = copy.deepcopy(given), arrow(given)
    before = [[buffer and buffer.to_pybytes() for buffer in array.buffers()] for array in table.values()]
    call(name, given)
    call(name, table)
    fm.score(pa.table(table), metrics=[name])
    assert given == kept
    assert [[buffer and buffer.to_pybytes() for buffer in array.buffers()] for array in table.values()] == before


@pytest.mark.parametrize(("options", "suite"), [({}, "core"), ({"suites": "all"}, "all")])
def test_one_table_scored_with_everything_equals_each_metric_alone(options, suite):
    chosen = {name: columns(name, 50) for name in CASES}
    table = {column: values for given in chosen.values() for column, values in given.items()}
    table["id"] = list(range(50))
    made = fm.score(table, threads=3, **options)
    names = [metric.name for metric in families.suite(suite) if metric.level == "row"]
    assert [name for name in made.schema.names if not name.startswith("verdict_")] == ["id", *names]
    for name in names:
        alone = call(name, {column: table[column] for column in REGISTRY[name].needs if column in table})
        ours = made[name].to_numpy()
        assert same_bits(np.where(np.isnan(ours), np.nan, ours), np.where(np.isnan(alone), np.nan, alone))


ROWS = 24
NAMES = sorted(CASES)


@pytest.fixture(scope="module")
def table() -> pa.Table:
    """Rows with all columns that metrics read, some of their cells null."""
    cells = {column: values for name in NAMES for column, values in columns(name, ROWS).items()}
    return pa.table({"id": [f"q{row}" for row in range(ROWS)], **cells})


@pytest.fixture(scope="module")
def scores(table: pa.Table) -> pa.Table:
    return fm.score(table, NAMES)


def counted(summary: Any) -> dict[str, tuple[int, ...]]:
    """Of each metric the rows with a score, without one, and with an undefined one, as it is where a row is unread."""
    return {name: (one.n, one.n_missing, one.n_undefined + one.n_unread) for name, one in summary.metrics.items()}


def of_columns(scores: pa.Table) -> dict[str, tuple[int, ...]]:
    """The same, counted here."""
    columns = {name: scores[name].to_pylist() for name in NAMES}
    undefined = {name: sum(one is not None and math.isnan(one) for one in cells) for name, cells in columns.items()}
    return {
        name: (len(cells) - cells.count(None) - undefined[name], cells.count(None), undefined[name])
        for name, cells in columns.items()
    }


def same(one: pa.Table, other: pa.Table) -> list[str]:
    """The metrics whose scores differ by a bit."""
    return [name for name in NAMES if str(one[name].to_pylist()) != str(other[name].to_pylist())]


def test_rows_with_a_score_without_one_and_undefined_ones_are_all_rows(scores: pa.Table) -> None:
    found = fm.summarize(scores)
    assert counted(found) == of_columns(scores)
    assert {sum(counts) for counts in counted(found).values()} == {ROWS}
    for name in NAMES:
        known = [one for one in scores[name].to_pylist() if one is not None and not math.isnan(one)]
        assert found[name].mean == pytest.approx(math.fsum(known) / len(known) if known else math.nan, nan_ok=True), (
            name
        )


@pytest.mark.parametrize("part", range(8))
def test_a_null_takes_a_row_from_those_with_a_score_and_leaves_the_others(table: Any, scores: Any, part: int) -> None:
    """One row loses its cell in each column that a metric requires, one column after the other."""
    row, keep = 11, pa.array([at != 11 for at in range(ROWS)])
    for column in sorted({column for name in NAMES for column in REGISTRY[name].required})[part::8]:
        at = table.schema.get_field_index(column)
        lacking = pa.compute.if_else(keep, table[column], pa.scalar(None, table[column].type))
        names = [name for name in NAMES if column in REGISTRY[name].required]
        found = fm.score(table.set_column(at, column, lacking), names)
        for name in names:
            before, after = scores[name].to_pylist(), found[name].to_pylist()
            assert after[row] is None, (name, column)
            assert str(after[:row] + after[row + 1 :]) == str(before[:row] + before[row + 1 :]), (name, column)
            change = np.subtract(counted(fm.summarize(found))[name], of_columns(scores)[name])
            assert change[1] == int(before[row] is not None), (name, column)
            assert change.sum() == 0, (name, column)


@pytest.mark.parametrize("kept", [0, 1, ROWS // 2, ROWS - 1, ROWS])
def test_a_filter_counts_what_is_left(scores: pa.Table, kept: int) -> None:
    left = scores.take(np.random.default_rng(kept).permutation(ROWS)[:kept])
    found = fm.summarize(left)
    assert found.n_rows == kept
    assert counted(found) == of_columns(left)


@pytest.mark.parametrize("order", ["turned", "drawn"])
def test_the_order_of_rows_and_of_metrics_changes_nothing(table: pa.Table, scores: pa.Table, order: str) -> None:
    places = np.arange(ROWS)[::-1] if order == "turned" else np.random.default_rng(1).permutation(ROWS)
    found = fm.score(table.take(places), NAMES[::-1])
    assert [name for name in found.column_names if name in NAMES] == NAMES[::-1]
    assert same(found, scores.take(places)) == []
    assert counted(fm.summarize(found)) == of_columns(scores)


def test_parts_are_added_up_and_a_second_call_counts_once(tmp_path: Path, table: pa.Table, scores: pa.Table) -> None:
    parts = [scores.slice(0, 5), scores.slice(5, 0), scores.slice(5)]
    assert counted(fm.summarize(parts)) == of_columns(scores)
    names = ["token_f1", "ndcg", "latency_ms", "hallucination", "total_tokens"]
    rows = jsonl(tmp_path / "rows.jsonl", *table.to_pylist())
    output, files = tmp_path / "s.parquet", fm.tables.FileSettings(batch_rows=7)
    expected = {name: of_columns(scores)[name] for name in names}
    for at, part in enumerate((table.slice(0, 5), table.slice(5))):
        fm.score(jsonl(tmp_path / "part.jsonl", *part.to_pylist()), names, output=tmp_path / f"{at}.parquet")
    assert counted(fm.summarize([tmp_path / "0.parquet", tmp_path / "1.parquet"])) == expected
    for call in ({}, {"resume": True}, {"resume": True}, {"overwrite": True, "threads": 3}):
        run = fm.score(rows, names, output=output, files=files, **call)
        assert (run.rows, run.rejected, run.summary.n_rows) == (ROWS, 0, ROWS), call
        assert counted(run.summary) == counted(fm.summarize(output)) == expected, call


@pytest.mark.parametrize("bad", [[0], [11], [ROWS - 1], [3, 4, 20]])
def test_rows_that_cannot_be_read_are_counted_apart(
    tmp_path: Path, table: pa.Table, scores: pa.Table, bad: list[int]
) -> None:
    names = ["token_f1", "ndcg", "latency_ms"]
    rows = ["{" if at in bad else row for at, row in enumerate(table.to_pylist())]
    left = scores.take([at for at in range(ROWS) if at not in bad])
    files = fm.tables.FileSettings(on_error="skip", batch_rows=5)
    run = fm.score(jsonl(tmp_path / "rows.jsonl", *rows), names, output=tmp_path / "s.parquet", files=files)
    assert (run.rows, run.rejected, run.summary.n_rows) == (ROWS - len(bad), len(bad), ROWS - len(bad))
    assert counted(run.summary) == {name: of_columns(left)[name] for name in names}
    assert len((tmp_path / "s.parquet.rejects.jsonl").read_text().splitlines()) == len(bad)


CORPUS = ["corpus_bleu", "corpus_chrf", "corpus_chrf++", "abstention_f1"]
CHANCE = np.random.default_rng(4)
TEXTS = [" ".join(CHANCE.choice([*"abcdefg", "the", "cat.", "sat"], CHANCE.integers(0, 9))) for _ in range(120)]
ANSWERS = [text if n % 3 else f"{text} I don't know." for n, text in enumerate(TEXTS[::-1])]
SWAPPED_COUNTS_ROWS = {
    "id": range(120),
    "answer": ANSWERS,
    "reference": TEXTS,
    "answerable": [n % 2 == 0 for n in range(120)],
}
POOL = fm.score(SWAPPED_COUNTS_ROWS, CORPUS, keep_counts=True)


def check(first, second, formula):
    """Assert that p is that of an enumeration of all patterns both ways, and the same both ways from random draws."""
    n = len(first)
    there, back = (PairedCounts.of(*both, formula) for both in ((first, second), (second, first)))
    keep = np.arange(2**n)[:, None] >> np.arange(n) & 1
    sums = keep @ first + (1 - keep) @ second
    values = np.abs(formula(sums) - formula((first + second).sum(axis=0) - sums))
    delta = abs(there.values[1] - there.values[0])
    exact = math.nan if math.isnan(delta) else float(np.mean(~(values < delta * (1 - 1e-12))))
    drawn = []
    for pair in (there, back):
        p = swap_p(pair, 2**n, 0, 1)
        assert p == exact or (math.isnan(p) and math.isnan(exact))
        drawn.append(swap_p(pair, 2**n // 4 + 20, 3, 1))
    assert drawn[0] == drawn[1] or math.isnan(exact)


@given(st.sampled_from(CORPUS), st.integers(1, 10), st.integers(0, 10**6), st.integers(0, 1))
def test_p_does_not_depend_on_the_direction_and_is_that_of_all_patterns(name, n, seed, extra):
    """Signed sums of differences of one sign are negative too."""
    pool = np.array(POOL[f"{name}.counts"].to_pylist())
    first = pool[np.random.default_rng(seed).integers(0, len(pool), n)]
    check(first, first + extra * (first.max(axis=1, keepdims=True) > 0), partial(many_values, name))
    other = pool[np.random.default_rng(seed + 1).integers(0, len(pool), n)]
    check(first, other, partial(many_values, name))


@dataclass(frozen=True)
class Value:
    """The value of a corpus metric."""

    score: float


def ratio(sums):
    """Words of both texts by words of the reference: undefined without any."""
    return Value(sums[0] / sums[1] if sums[1] else math.nan)


def root(sums):
    """A formula of differences, which may be negative and not linear."""
    return Value(math.copysign(math.sqrt(abs(sums[0] - sums[1])), sums[0] - sums[1]))


@pytest.mark.parametrize("finish", [ratio, root])
def test_p_of_a_plugins_corpus_metric_is_that_of_all_patterns(finish):
    """Also from the scores that ``compare`` reads, where rows may have counts of 0."""

    @fm.metric(bounds=(-math.inf, math.inf), better="higher", corpus=Corpus(finish=finish))
    def swapped_words(answer: Light, reference: Light):
        """Counts of the words of the answer and of the reference."""
        return np.stack([text.stops - text.starts for text in (answer, reference)], axis=1).astype(np.int64)

    formula = partial(many_values, "swapped_words")
    for n in range(1, 11):
        rng = np.random.default_rng(n)
        first, second = rng.integers(0, [[4, 3]], (2, n, 2))
        check(first, second, formula)
        check(first, first + np.array([1, 0]), formula)
    rows = {"id": range(10), "reference": TEXTS[:10]}
    runs = [fm.score(rows | {"answer": ANSWERS[at : at + 10]}, "swapped_words", keep_counts=True) for at in (0, 10)]
    counts = [np.array(run["swapped_words.counts"].to_pylist()) for run in runs]
    expected = swap_p(PairedCounts.of(*counts, formula), 2**10, 0, 1)
    compared = [fm.compare(pair, metrics="swapped_words")["swapped_words"].p for pair in (runs, runs[::-1])]
    assert compared == pytest.approx([expected, expected], nan_ok=True)


def test_percentiles_exclude_rows_without_a_score() -> None:
    scores = pa.table({"latency_ms": pa.array([10.0, None, 30.0, None, 50.0])})
    assert fm.summarize(scores).figures["latency_ms.p50"] == 30.0
    assert str(floats_of_arrow(scores["latency_ms"].combine_chunks(), "x").tolist()) == "[10.0, nan, 30.0, nan, 50.0]"


def test_phrases_ignore_case() -> None:
    assert fm.abstained(["we cannot tell.", "Paris."], phrases=("We CANNOT tell",)).tolist() == [1.0, 0.0]


@pytest.mark.parametrize("closer", "\"'”’»›)]}」』）")
def test_sentence_ends_after_closing_punctuation(closer: str) -> None:
    assert statements([f"It closed.{closer} Then it opened."]) == [[f"It closed.{closer}", "Then it opened."]]


def test_units_with_one_rating_are_excluded_from_agreement() -> None:
    found = agreement({"a": [1, 2, 3, None], "b": [1, 2, None, None]})
    assert found.n_units == 2


def test_constant_score_has_no_agreement() -> None:
    found = fm.validate({"own": [1.0, 1.0, 1.0, 1.0], "varied": [0.0, 1.0, 1.0, 0.0]}, [0, 1, 1, 0])
    assert found["own"].agreement is None
    assert found["varied"].agreement is not None


@pytest.mark.parametrize(
    ("keys", "kind"), [(("007", "8"), pa.string()), (("0", "-8"), pa.int64()), (("-0", "1"), pa.string())]
)
def test_folder_keys_are_numbers_only_in_canonical_spelling(keys, kind, tmp_path) -> None:
    for key in keys:
        (tmp_path / f"code={key}").mkdir()
        (tmp_path / f"code={key}" / "rows.jsonl").write_text('{"answer": "yes"}\n')
    assert open_source(tmp_path).schema.field("code").type == kind


@pytest.mark.parametrize(
    ("answer", "abstains"),
    [
        ("I don't know the name, but we try it.", True),
        ("I don't know the name, but we try it again.", False),
        ("Paris was big and old and rich and but I don't know.", True),
        ("Paris was big and old and rich and grand but I don't know.", False),
    ],
)
def test_answer_around_but_needs_enough_words(answer: str, abstains: bool) -> None:
    assert fm.abstained([answer]).tolist() == [abstains]


def test_politeness_markers_ignore_case() -> None:
    assert fm.politeness(["pray wait", "no"], markers=("PRAY",)).tolist() == [0.5, 0.0]


def test_percentiles_0_and_100_are_minimum_and_maximum() -> None:
    figures = fm.summarize({"own": [2.0, 1.0, 4.0]}, statistics={"own": ["p0", "p100"]}).figures
    assert (figures["own.p0"], figures["own.p100"]) == (1.0, 4.0)


def test_damaged_row_of_a_score_file_raises(tmp_path) -> None:
    path = tmp_path / "scores.jsonl"
    fm.score(write_rows(tmp_path), output=path, metrics="token_f1")
    path.write_text(path.read_text() + '{"token_f1": 0.\n')
    for read in (fm.summarize, lambda file: list(column_of(file, "token_f1"))):
        refused(FileFormatError, "scores.jsonl 3", read, path)


def write_rows(folder: Path) -> Path:
    (folder / "rows.jsonl").write_text('{"answer": "a", "reference": "a"}\n{"answer": "b", "reference": "c"}\n')
    return folder / "rows.jsonl"


@pytest.mark.parametrize("answerable", [True, False])
def test_answerability_label_overrides_the_reference(answerable: bool) -> None:
    """Whether a question can be answered is guessed from its reference only where nothing is said."""
    references = ["I don't know."] if answerable else ["Paris"]
    found = fm.answered_unanswerable(["Rome", "Oslo"], [answerable, None], [*references, "Oslo"])
    assert str(found.tolist()) == ("[nan, nan]" if answerable else "[1.0, nan]")


@pytest.mark.full
def test_closed_output_pipe_is_not_a_failure() -> None:
    """As behind ``| head``: the program has done its work, whoever reads on."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-P", "-m", "fastmetrics", "metrics"],
        stdout=writer,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("space", [" ", "\t", "\n", "\v \r"])
def test_sentence_is_embedded_without_citation_and_space(space: str) -> None:
    seen: list[str] = []

    def encode(texts: Sequence[str]) -> NDArray[np.float64]:
        seen.extend(texts)
        return np.ones((len(texts), 2))

    fm.grounding_overlap([f"Paris is old{space}[1]."], [["Paris."]], embedder=encode)
    assert seen[-2:] == ["Paris is old.", "Paris."]  # the first call determines the vector length
