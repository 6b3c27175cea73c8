"""What other processes hand over, Ray's blocks and Spark's batches, is checked where it comes in."""

import pickle
from types import SimpleNamespace

import pyarrow as pa
import pytest
from fastmetrics.engines.cluster_rows import BatchWorker, RowScoring, _batches, _pack, pack, plan_rows

from fastmetrics.base.errors import InputError
from fastmetrics.engines import cluster_rows
from fastmetrics.metrics.plan import ScoreRequest
from tests.base.test_invalid_arrow_data import DAMAGED, UNWRITABLE
from tests.support.optional_parts import needs

WRITABLE = sorted(set(DAMAGED) - UNWRITABLE)


def damaged(name):
    """A good table whose column goes bad when it is asked to, and what makes it."""
    column = DAMAGED[name]()
    return pa.table({"answer": column.array, "reference": pa.nulls(4)}), column.spoil


def rows() -> RowScoring:
    planned = plan_rows(["answer", "reference"], ScoreRequest(["exact_match"]))
    return RowScoring(planned, {"reference": pa.string()})


@pytest.mark.parametrize("name", DAMAGED)
def test_blocks_of_rows_are_checked(name):
    table, spoil = damaged(name)
    spoil()
    with pytest.raises(InputError, match=r"'answer': the data are damaged"):
        BatchWorker(pickle.dumps(rows()))(table)


@pytest.mark.parametrize("name", DAMAGED)
def test_batches_of_spark_are_checked(name):
    table, spoil = damaged(name)
    (batch,) = table.to_batches()
    spoil()
    with pytest.raises(InputError, match=r"'answer': the data are damaged"):
        list(cluster_rows._scores(pickle.dumps(rows()), ["answer", "reference"], [batch]))


@pytest.mark.parametrize("name", DAMAGED)
def test_columns_to_sum_are_checked(name):
    table, spoil = damaged(name)
    spoil()
    with pytest.raises(InputError, match=r"'answer': the data are damaged"):
        list(pack([table], ["answer"], []))
    with pytest.raises(InputError, match=r"'answer': the data are damaged"):
        _pack(table, ["answer"], [])
    assert len(list(pack([table], ["reference"], []))) == 2  # the other columns are not read


@pytest.mark.parametrize("name", DAMAGED)
def test_blocks_that_a_metric_must_know_first_are_checked(name):
    table, spoil = damaged(name)
    spoil()
    with pytest.raises(InputError, match=r"'answer': the data are damaged"):
        list(_batches(SimpleNamespace(iter_batches=lambda **_: [table])))


class Frame:
    """A DataFrame of Spark as far as it matters here: its batches go through a function, and come back as rows."""

    def __init__(self, batches):
        self._batches = batches

    def selectExpr(self, *_):
        return self

    def mapInArrow(self, function, _):
        return Frame(list(function(self._batches)))

    def toLocalIterator(self, **_):
        for batch in self._batches:
            yield from batch.to_pylist()


@needs("pyspark")
@pytest.mark.parametrize("name", WRITABLE)
def test_batches_of_spark_that_come_to_this_process_are_checked(name):
    table, spoil = damaged(name)
    frame = Frame(table.to_batches())
    spoil()
    with pytest.raises(InputError, match=r"'answer': the data are damaged"):
        list(cluster_rows._local(frame, ["answer", "reference"]))
