"""The note on rows far from those that a score was fitted to: for any batches, threads, files and resumed runs."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.limits import SIZES
from fastmetrics.results.opening_scores import open_file
from tests.support.fitted_models import CUTS, features, written

N = 400
FAR = {"judge_x": [6.0] * N}  # above the upper edge, where 40 % of the labelled rows are
NEAR = {"judge_x": np.random.default_rng(0).choice([0.1, 0.4, 0.9], N, p=[0.3, 0.3, 0.4]).tolist()}


def with_answers(columns):
    return {"answer": ["Paris", "Rome"] * (len(columns["judge_x"]) // 2)} | columns


def drift_notes(notes):
    return [note for note in notes if "far from the labelled rows" in note]


@pytest.fixture
def path(tmp_path):
    return str(written(tmp_path, features=features(["judge_x"]), thresholds=CUTS))


def test_the_run_and_all_that_read_its_scores_have_the_note(path, tmp_path):
    scores = tmp_path / "scores.parquet"
    metrics = f"{path},verdict(fitted='{path}'),answer_words"
    (note,) = drift_notes(fm.score(with_answers(FAR), metrics, output=scores).summary.notes)
    assert note.startswith(f"mine, verdict(fitted='{path}'): these 400 rows are far")
    assert "for 1 of 1 metrics (population stability index: judge_x" in note
    assert drift_notes(fm.summarize(scores).notes) == [note]
    assert drift_notes(fm.summarize(fm.score(FAR, metrics.rpartition(",")[0])).notes) == [note]
    pq.write_table(pq.read_table(scores).slice(0, 10), tmp_path / "part.parquet")
    assert not drift_notes(fm.summarize(tmp_path / "part.parquet").notes)  # the counts are of all rows


def test_gate_and_compare_have_the_note_of_each_run(path, tmp_path):
    far, near, part = (tmp_path / f"{name}.parquet" for name in ("far", "near", "part"))
    for columns, output in ((FAR, far), (NEAR, near)):
        fm.score({"id": list(range(N)), **columns}, path, output=output)
    scores = {"far": fm.score({"id": list(range(N)), **FAR}, path), "near": near}
    start = "these 400 rows are far"
    (note,) = drift_notes(fm.gate(far, ["mine >= 0"], baseline=near).notes)
    assert note.startswith(f"far: mine: {start}")
    (note,) = drift_notes(fm.gate(near, ["mine.drop <= 1"], baseline=far).notes)
    assert note.startswith("far: mine: ")
    assert drift_notes(fm.gate(scores["far"], ["mine >= 0"]).notes)
    assert not drift_notes(fm.gate(near, ["mine >= 0"]).notes)
    (note,) = drift_notes(fm.compare(scores).notes)
    assert note.startswith(f"far: mine: {start}")
    pq.write_table(pq.read_table(far).slice(0, 10), part)
    assert not drift_notes(fm.gate(part, ["mine >= 0"]).notes)  # the counts are of all rows


@pytest.mark.parametrize("n", [0, 1, 2, 5, N])
def test_rows_like_the_labelled_ones_have_no_note(path, n):
    near = {name: values[:n] for name, values in NEAR.items()}
    near["judge_x"] = pa.array(near["judge_x"], pa.float64())
    assert not drift_notes(fm.summarize(fm.score(near, path)).notes)


def test_batches_threads_and_pooled_files_give_the_same_counts(path, tmp_path):
    stored = []
    for threads, batch_rows in ((1, 7), (3, 7), (2, 1000)):
        output = tmp_path / f"{threads}-{batch_rows}.parquet"
        files = fm.tables.FileSettings(batch_rows=batch_rows)
        pq.write_table(pa.table(with_answers(FAR)), tmp_path / "rows.parquet")
        fm.score(tmp_path / "rows.parquet", path, output=output, threads=threads, files=files)
        stored.append(output.read_bytes())
    assert len(set(stored)) == 1
    metadata = open_file(output).metadata
    assert list(metadata.drift["mine"].inputs[0].counts) == [0, 0, N, 0, 0]
    halves = [{name: values[at : at + N // 2] for name, values in FAR.items()} for at in (0, N // 2)]
    outputs = [tmp_path / "first.parquet", tmp_path / "second.parquet"]
    for half, output in zip(halves, outputs, strict=True):
        fm.score(half, path, output=output)
    whole = fm.summarize(tmp_path / "1-7.parquet")
    assert drift_notes(fm.summarize(outputs).notes) == drift_notes(whole.notes) != []


def test_a_resumed_run_counts_what_was_done_before(path, tmp_path, monkeypatch):
    pq.write_table(pa.table(FAR), tmp_path / "rows.parquet")
    options = {"metrics": path, "files": fm.tables.FileSettings(batch_rows=10), "threads": 1}
    fm.score(tmp_path / "rows.parquet", output=tmp_path / "whole.parquet", **options)
    monkeypatch.setattr(SIZES, "part_rows", 50)

    def stopping(progress):
        if progress.rows > 200:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fm.score(tmp_path / "rows.parquet", output=tmp_path / "out.parquet", progress=stopping, **options)
    scored = fm.score(tmp_path / "rows.parquet", output=tmp_path / "out.parquet", resume=True, **options)
    assert scored.resumed_rows > 0
    assert drift_notes(scored.summary.notes) == drift_notes(fm.summarize(tmp_path / "whole.parquet").notes) != []


@pytest.mark.parametrize(
    "entry",
    [
        {"labelled": 5, "inputs": [{"name": "x", "shares": [1.0], "counts": [1, 2]}]},
        {"labelled": "five", "inputs": []},
        {"inputs": []},
        [],
    ],
)
def test_damaged_counts_are_an_error(entry):
    table = pa.table({"mine": [0.5]}).replace_schema_metadata({"fastmetrics": json.dumps({"drift": {"mine": entry}})})
    with pytest.raises(fm.base.errors.FileFormatError, match="cannot be read"):
        fm.summarize(table)
