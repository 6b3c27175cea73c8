"""What holds for every metric, whatever it measures."""

import copy
import functools
import itertools
import json
import math
import re

import numpy as np
import pyarrow as pa
import pytest

import fastmetrics as fm
from fastmetrics.base.column_names import COLUMNS
from fastmetrics.base.limits import SIZES
from fastmetrics.metrics import suites as families
from fastmetrics.metrics.metric import REGISTRY
from fastmetrics.metrics.score_names import parse
from fastmetrics.metrics.suites import function_of
from fastmetrics.scoring.metric_functions import callable_of
from tests.support.every_metric import CASES, EXEMPT, READERS, columns
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


def test_declarations_are_complete():
    for name, metric in REGISTRY.items():
        first, _, rest = metric.function.__doc__.strip().partition("\n")
        assert first.endswith("."), name
        called = rf"fm\.{function_of(name)}\(" if name.isidentifier() else rf'"{re.escape(name)}"'
        assert re.search(called, rest), f"the example calls {name}"
        assert metric.source, name
        assert metric.level in ("row", "corpus"), name
        assert metric.bounds[0] < metric.bounds[1], name
        assert set(metric.needs) <= set(COLUMNS), name
        assert metric.required or metric.rows.either, name
        assert callable_of(name).__doc__ == metric.function.__doc__, name


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
