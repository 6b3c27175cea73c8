"""A run is not resumed after its code changed: the file of a custom metric, or the version of the package."""

import pytest

import fastmetrics as fm
from fastmetrics.base.errors import OutputError
from fastmetrics.engines import run as engine_run
from fastmetrics.plans.plan import ScoreRequest, plan
from fastmetrics.plans.stored_metadata import source_digests
from fastmetrics.scoring.score_runs import ScoreMaker
from fastmetrics.tables.opening import open_source
from fastmetrics.tables.readers import Limits
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

    with pytest.raises(RuntimeError, match="stop"):
        start(tmp_path, stop)
    return tmp_path


def test_a_changed_file_prevents_resuming(folder):
    """Of a run that was stopped, and of one that is complete."""
    for resumed, complete in ((200, False), (400, True)):
        (folder / "mine.py").write_text(PLUGIN.replace("0.5", "0.25"))
        with pytest.raises(OutputError, match=r"cannot resume .*: sources\.mine\.py was '\w+', is '\w+'; choose"):
            start(folder)
        (folder / "mine.py").write_text(PLUGIN)
        (folder / "beside.py").write_text("UNUSED = 2.0\n")
        done = start(folder)
        assert (done.resumed_rows, done.complete) == (resumed, complete)


@pytest.mark.parametrize("name", [r"sources\.fastmetrics", "pyarrow"])
def test_another_version_prevents_resuming(folder, monkeypatch, name):
    with monkeypatch.context() as changed:
        where = (engine_run, "__version__") if name != "pyarrow" else (engine_run.pa, "__version__")
        changed.setattr(*where, "99.0.0")
        with pytest.raises(OutputError, match=rf"{name} was '[\d.]+', is '99\.0\.0'"):
            start(folder)
    assert start(folder).resumed_rows == 200


@pytest.mark.parametrize(
    ("metric", "files"),
    [("token_f1", set()), ("changing", {"mine.py"}), ("token_f1(tokenizer='changing_words')", {"mine.py"})],
)
def test_files_of_metrics_and_of_tokenizers_are_found(folder, metric, files):
    assert set(source_digests(plan(["answer", "reference"], ScoreRequest([metric])))) == files
