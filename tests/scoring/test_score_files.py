"""Runs on files: what may change between two runs, and what keeps one from going on."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics import score
from fastmetrics.base.errors import FileFormatError, OutputError
from fastmetrics.engines import run as engine_run
from fastmetrics.plans.plan import ScoreRequest, plan
from fastmetrics.plans.stored_metadata import source_digests
from fastmetrics.scoring.score_runs import ScoreMaker
from fastmetrics.tables.input_files import FileSettings
from fastmetrics.tables.opening import open_source
from fastmetrics.tables.readers import Limits
from tests.support.goldens import refused
from tests.support.toy_scores import run

PLUGIN = """
import fastmetrics as fm

FACTOR = 0.5

@fm.metric(bounds=(0, 1), better="higher")
def changing(answer: str) -> float:
    return FACTOR

@fm.metrics.tokenizer("changing_words")
def cut(texts):
    return [text.split() for text in texts]
"""


def start(folder, progress=None):
    fm.metrics.load_plugin(folder / "mine.py")
    source = open_source(folder / "rows.csv")
    planned = plan(source.names, ScoreRequest(["changing"]))
    output, limits = folder / "scores.parquet", Limits(batch_rows=50, part_rows=100)
    return run(source, ScoreMaker(planned), output, threads=1, limits=limits, resume=True, progress=progress)


@pytest.fixture
def folder(tmp_path):
    """A run that was stopped."""
    (tmp_path / "mine.py").write_text(PLUGIN)
    (tmp_path / "rows.csv").write_text("answer,reference\n" + "a,a\n" * 400)

    def stop(progress):
        if progress.rows >= 300:
            raise RuntimeError("stop")

    refused(RuntimeError, "stop", start, tmp_path, stop)
    return tmp_path


def test_a_changed_file_prevents_resuming(folder):
    """Of a run that was stopped, and of one that is complete."""
    for resumed, complete in ((200, False), (400, True)):
        (folder / "mine.py").write_text(PLUGIN.replace("0.5", "0.25"))
        refused(OutputError, "sources.mine.py", start, folder)
        (folder / "mine.py").write_text(PLUGIN)
        (folder / "beside.py").write_text("UNUSED = 2.0\n")
        done = start(folder)
        assert (done.resumed_rows, done.complete) == (resumed, complete)


@pytest.mark.parametrize("name", ["sources.fastmetrics", "pyarrow"])
def test_another_version_prevents_resuming(folder, monkeypatch, name):
    with monkeypatch.context() as changed:
        where = (engine_run, "__version__") if name != "pyarrow" else (engine_run.pa, "__version__")
        changed.setattr(*where, "99.0.0")
        refused(OutputError, f"{name} 99.0.0", start, folder)
    assert start(folder).resumed_rows == 200


@pytest.mark.parametrize(
    ("metric", "files"),
    [("token_f1", set()), ("changing", {"mine.py"}), ("token_f1(tokenizer='changing_words')", {"mine.py"})],
)
def test_files_of_metrics_and_of_tokenizers_are_found(folder, metric, files):
    assert set(source_digests(plan(["answer", "reference"], ScoreRequest([metric])))) == files


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

    asked = {"output": tmp_path / name, "metrics": ["token_f1", "exact_match"]}
    with pytest.raises(StopError):
        score(rows, progress=stopping, **asked)
    turned = {**asked, "metrics": ["exact_match", "token_f1"], "resume": True}
    refused(OutputError, "overwrite=True", score, rows, **turned)
    made = score(rows, resume=True, **asked)
    assert made.resumed_rows > 0


def test_batch_size_does_not_change_parts(tmp_path):
    rows = many(tmp_path / "in.parquet", 40_000)
    for name, files in (("o/", FileSettings()), ("p/", FileSettings(batch_rows=1000))):
        score(rows, output=f"{tmp_path}/{name}", metrics=["token_f1"], files=files)
    first, second = ({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("o", "p"))
    assert first == second


def test_rows_of_a_file_with_only_bad_rows_are_rejected(tmp_path):
    (tmp_path / "0.jsonl").write_text("{bad\nworse\n")
    asked = {"output": tmp_path / "o.csv", "metrics": ["token_f1"]}
    skip = FileSettings(on_error="skip")
    refused(FileFormatError, f"{tmp_path}/0.jsonl 1 JSON", score, tmp_path, files=skip, **asked)
    (tmp_path / "1.jsonl").write_text('{"id": 1, "answer": "a", "reference": "a"}\n')
    refused(FileFormatError, f"{tmp_path}/0.jsonl 1 JSON", score, tmp_path, **asked)
    made = score(tmp_path, files=skip, **asked)
    assert (made.rows, made.rejected) == (1, 2)


def test_rows_of_files_without_columns_are_kept(tmp_path):
    """Objects without keys are rows all the same; a file that holds neither columns nor rows is none."""
    pq.write_table(pa.table({}), tmp_path / "0.parquet")
    (tmp_path / "1.jsonl").write_text("{}\n{}\n")
    (tmp_path / "2.jsonl").write_text('{"id": 1, "answer": "a", "reference": "a"}\n')
    made = score(tmp_path, output=tmp_path / "o.csv", metrics=["token_f1"])
    assert (made.rows, made.summary["token_f1"].n_missing) == (3, 2)
