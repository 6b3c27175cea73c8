"""Arguments of data: which are paths, which are tables and which are columns, by one rule for all functions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import fastmetrics as fm
from fastmetrics.tables.opening import is_paths

IDS = ["a", "b", "c", "d", "e", "f"]
SCORES = pa.table({"id": IDS, "token_f1": [0.1, 0.4, 0.5, 0.6, 0.7, 0.8]})
OTHER = pa.table({"id": IDS, "token_f1": [0.2, 0.4, 0.6, 0.5, 0.7, 0.9]})
LABELS = pa.table({"id": IDS, "label": [0.0, 0.0, 1.0, 0.0, 1.0, 1.0]})
SEGMENTS = pa.table({"id": IDS, "language": ["de", "de", "de", "en", "en", "en"]})
QRELS = {"q1": {"d1": 1}, "q2": {"d2": 1}}


def _halves(folder: Path, table: pa.Table) -> list[Path]:
    """The rows of a table in two files."""
    paths = [folder / f"{table.column_names[1]}-{part}.parquet" for part in (1, 2)]
    for number, path in enumerate(paths):
        pq.write_table(table.slice(3 * number, 3), path)
    return paths


def test_the_rule(tmp_path: Path) -> None:
    assert all(is_paths(paths, or_column=True) for paths in ("a.csv", tmp_path, [tmp_path], (tmp_path, tmp_path)))
    assert is_paths(["a.csv", tmp_path])
    assert not is_paths(["yes", "no"], or_column=True)
    assert not any(is_paths(data, or_column=both) for data in ([], [1], SCORES, {"id": IDS}) for both in (False, True))


def test_several_files_are_one_table(tmp_path: Path) -> None:
    def compared(segments: Any) -> str:
        return str(fm.compare([SCORES, OTHER], by="language", segments=segments))

    segments = _halves(tmp_path, SEGMENTS)
    assert compared(segments) == compared([str(path) for path in segments]) == compared(SEGMENTS)
    labels = _halves(tmp_path, LABELS)
    assert fm.results.estimate(SCORES, labels=labels) == fm.results.estimate(SCORES, labels=LABELS)
    assert str(fm.validate(SCORES, labels)) == str(fm.validate(SCORES, LABELS))
    scores = _halves(tmp_path, SCORES)
    assert fm.results.estimate(list(map(str, scores)), labels=LABELS) == fm.results.estimate(SCORES, labels=LABELS)
