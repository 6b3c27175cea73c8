"""The whole job on files: what may change between runs, and what must not."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fastmetrics import score
from fastmetrics.base.errors import FileFormatError, OutputError
from fastmetrics.tables.input_files import FileSettings


class StopError(Exception):
    """What ends a run early here."""


def many(path, rows):
    """Rows of several parts."""
    pq.write_table(pa.table({"id": range(rows), "answer": ["a b"] * rows, "reference": ["b"] * rows}), path)
    return path


@pytest.mark.parametrize("name", ["o.csv", "o.parquet"])
def test_metric_order_is_part_of_the_run(tmp_path, name):
    """Parts that are kept and parts that are new must have their columns in one order."""
    rows, left = many(tmp_path / "in.parquet", 80_000), [6]

    def stopping(progress):
        left[0] -= 1
        if left[0] < 0:
            raise StopError

    with pytest.raises(StopError):
        score(rows, output=tmp_path / name, metrics=["token_f1", "exact_match"], progress=stopping)
    with pytest.raises(OutputError, match=r"order was .*; choose overwrite=True"):
        score(rows, output=tmp_path / name, metrics=["exact_match", "token_f1"], resume=True)
    made = score(rows, output=tmp_path / name, metrics=["token_f1", "exact_match"], resume=True)
    assert made.resumed_rows > 0


def test_batch_size_does_not_change_parts(tmp_path):
    rows = many(tmp_path / "in.parquet", 40_000)
    for name in ("o/", "p/"):
        score(
            rows,
            output=f"{tmp_path}/{name}",
            metrics=["token_f1"],
            files=FileSettings(batch_rows=1000 if name == "p/" else None),
        )
    first, second = ({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("o", "p"))
    assert first == second


def test_rows_of_a_file_with_only_bad_rows_are_rejected(tmp_path):
    (tmp_path / "0.jsonl").write_text("{bad\nworse\n")
    with pytest.raises(FileFormatError, match=f"^{tmp_path}/0.jsonl, line 1: malformed JSON"):
        score(tmp_path, output=tmp_path / "o.csv", metrics=["token_f1"], files=FileSettings(on_error="skip"))
    (tmp_path / "1.jsonl").write_text('{"id": 1, "answer": "a", "reference": "a"}\n')
    with pytest.raises(FileFormatError, match=f"^{tmp_path}/0.jsonl, line 1: malformed JSON"):
        score(tmp_path, output=tmp_path / "o.csv", metrics=["token_f1"])
    made = score(tmp_path, output=tmp_path / "o.csv", metrics=["token_f1"], files=FileSettings(on_error="skip"))
    assert (made.rows, made.rejected) == (1, 2)


def test_rows_of_files_without_columns_are_kept(tmp_path):
    """Objects without keys are rows all the same; a file that holds neither columns nor rows is none."""
    pq.write_table(pa.table({}), tmp_path / "0.parquet")
    (tmp_path / "1.jsonl").write_text("{}\n{}\n")
    (tmp_path / "2.jsonl").write_text('{"id": 1, "answer": "a", "reference": "a"}\n')
    made = score(tmp_path, output=tmp_path / "o.csv", metrics=["token_f1"])
    assert (made.rows, made.summary["token_f1"].n_missing) == (3, 2)
