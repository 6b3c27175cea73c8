"""What other processes hand over, Ray's blocks and Spark's batches, is checked where it comes in."""

import pyarrow as pa
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import InputError
from tests.base.test_invalid_arrow_data import DAMAGED


@pytest.mark.parametrize("kind", ["table", "batch"])
@pytest.mark.parametrize("name", DAMAGED)
def test_batches_of_rows_are_checked(name, kind):
    column = DAMAGED[name]()
    table = pa.table({"answer": column.array, "reference": pa.nulls(4, pa.string())})
    batch = table if kind == "table" else table.to_batches()[0]
    column.spoil()
    with pytest.raises(InputError, match=r"'answer': the data are damaged"):
        fm.scorer("exact_match")(batch)
