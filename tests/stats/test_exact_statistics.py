"""Statistics at their edges: deviations between two floats, signs of zero, empty parts."""

from __future__ import annotations

import json
import math

import pyarrow as pa
import pytest

from fastmetrics.base.errors import InputError
from fastmetrics.kernels import exact_sums as sums
from fastmetrics.results.summary import summarize
from fastmetrics.stats.sums import State

SMALLEST = 5e-324


def state_of(values: list[float]) -> State:
    state = State()
    state.add(values)
    return state


@pytest.mark.parametrize(
    ("units", "deviation"),
    [
        ([0, 1, 6], 3),  # √62 / 3 = 2.62; the integer root alone would give 2.5, rounded to 2
        ([0, 1], 0),  # exactly one half, rounded to the even neighbour
        ([0, 3], 2),
        ([0, 5], 2),
        ([0, 0, 0, 1], 0),
        ([0, 1, 3, 4], 2),
    ],
)
def test_deviations_of_the_smallest_numbers_are_rounded_once_and_to_the_nearest(units, deviation):
    assert state_of([unit * SMALLEST for unit in units]).std == deviation * SMALLEST
    assert state_of([-unit * SMALLEST for unit in units]).std == deviation * SMALLEST


def test_the_mean_is_rounded_once():
    assert state_of([0.1] * 10).mean == 0.1
    assert state_of([1e308, 1e308]).mean == 1e308
    assert state_of([2.0**53, 1.0, 1.0]).mean == (2**53 + 2) / 3
    assert state_of([SMALLEST, 0.0, 0.0]).mean == 0.0
    assert state_of([SMALLEST, SMALLEST, 0.0]).mean == SMALLEST


def test_bins_take_no_more_values_than_they_have_room_for(monkeypatch):
    """However many columns come one after the other: a one adds 2**32 to the last of its bins."""
    held = []
    accumulate = sums.accumulate

    def watched(bits, bins, seen):
        accumulate(bits, bins, seen)
        held.append(int(bins[1023, 7]) >> 32)

    monkeypatch.setattr(sums, "accumulate", watched)
    state = State(10)
    for size in (3, 4, 4, 9, 1, 10, 1, 25, 2, 2, 2, 2, 2, 2):
        state.add([1.0] * size)
    assert max(held) == 10
    assert (state.n, state.mean, state.std) == (69, 1.0, 0.0)


@pytest.mark.parametrize("values", [[-0.0, 0.0], [0.0, -0.0], [-0.0]])
def test_minus_zero_is_zero(values):
    state = state_of(values)
    for number in (state.mean, state.std, state.min, state.max):
        assert math.copysign(1.0, number) == 1.0
    assert state == state_of([0.0] * len(values))


def test_missing_rows_need_consistent_counts():
    state = State()
    state.add([None, None, None, 1.0])
    for undefined, errors in ((-1, 1), (1, -1), (2, 2), (0, 4)):
        with pytest.raises(InputError, match=f"{undefined} undefined and {errors} failed of 3 missing rows"):
            state.tell_apart(undefined, errors)
    state.tell_apart(2, 1)
    assert (state.n, state.n_missing, state.n_undefined, state.n_error) == (1, 0, 2, 1)


@pytest.mark.parametrize("absent", ["n", "n_missing", "n_infinite", "n_error", "total", "squares", "min", "max"])
def test_incomplete_state_raises(absent):
    fields = json.loads(state_of([1.0, 2.0]).to_json())
    del fields[absent]
    with pytest.raises(InputError, match="expected the state of a column"):
        State.from_json(json.dumps(fields))


def part(values: list, counts: tuple[int, int, int], corpus: list[int] | None = None, rejected: int = 0) -> pa.Table:
    claim = dict(zip(("n_rows", "n_missing", "n_undefined", "n_error"), (len(values), *counts), strict=True))
    fields = {"metrics": {"f1": claim}, "n_rejected": rejected} | (
        {"counts": {"corpus_bleu": corpus}} if corpus else {}
    )
    table = pa.table({"f1": pa.array(values, pa.float64())})
    return table.replace_schema_metadata({"fastmetrics": json.dumps(fields)})


def test_rejected_rows_count_as_errors_of_the_whole_part_alone():
    whole = part([0.5, None], (0, 1, 0), rejected=3)
    assert (summarize(whole)["f1"].n_error, summarize(whole)["f1"].n_undefined) == (3, 1)
    assert summarize([whole, whole])["f1"].n_error == 6
    assert summarize(whole.slice(1))["f1"].n_error == 0


def test_empty_batches_do_not_change_corpus_counts():
    one, nothing = part([0.5, 1.0], (0, 0, 0), [1, 2]), part([], (0, 0, 0), [0, 0])
    empty = one.slice(2)
    share = lambda _, counts: counts[0] / counts[1]  # noqa: E731
    for pieces in ([one, empty], [empty, one], [one, nothing], [nothing, one], [one, one.to_reader(), empty]):
        summary = summarize(pieces, finish=share)
        assert (summary.corpus, summary.notes) == ({"corpus_bleu": 0.5}, [])


def test_failed_rows_differ_from_undefined_rows():
    metric = summarize(part([None, None, None, 1.0], (0, 1, 2)))["f1"]
    assert (metric.n_missing, metric.n_undefined, metric.n_error) == (0, 1, 2)


def test_a_reader_without_a_batch_still_names_its_columns():
    summary = summarize(pa.RecordBatchReader.from_batches(pa.schema([("f1", pa.float64())]), []))
    assert (list(summary), summary["f1"].n, summary.n_rows) == (["f1"], 0, 0)
