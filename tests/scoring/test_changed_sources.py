"""A run is not resumed after its code changed: a custom metric's file, what it imports, the package itself."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import fastmetrics as fm
from fastmetrics.base import public_names
from fastmetrics.base.errors import OutputError
from fastmetrics.engines import run as engine_run
from fastmetrics.metrics.plan import ScoreRequest, plan
from fastmetrics.metrics.stored_metadata import source_digests
from fastmetrics.scoring.score import ScoreMaker
from fastmetrics.tables import Limits, open_source
from fastmetrics.tables.sources import TableSource
from tests.support.toy_scores import run

PLUGIN = """
import math

import fastmetrics as fm
import mine_helper
from mine_package import inner

FACTOR = 0.5

@fm.metric(bounds=(0, 1), better="higher")
def changing(answer: str) -> float:
    from mine_late import LATE
    return FACTOR * mine_helper.WEIGHT * inner.WEIGHT * LATE

@fm.metrics.tokenizer("changing_words")
def cut(texts):
    return [text.split() for text in texts]
"""

FILES = {
    "mine.py": PLUGIN,
    "mine_helper.py": "WEIGHT = 1.0\n",
    "mine_late.py": "LATE = 1.0\n",
    "mine_package/__init__.py": "",
    "mine_package/inner.py": "from .deepest import WEIGHT\n",
    "mine_package/deepest.py": "WEIGHT = 1.0\n",
    "beside.py": "UNUSED = 1.0\n",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name, text in FILES.items():
        (tmp_path / "own" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "own" / name).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path / "own"))
    yield tmp_path / "own"
    for name in [name for name in sys.modules if name.startswith("mine_")]:
        del sys.modules[name]


def start(folder: Path, progress: Callable[[Any], None] | None = None) -> Any:
    fm.metrics.load_plugin(folder / "mine.py")
    source = written(folder.parent)
    planned = plan(source.names, ScoreRequest(["changing"]))
    output, limits = folder.parent / "scores.parquet", Limits(batch_rows=50, part_rows=100)
    return run(source, ScoreMaker(planned), output, threads=1, limits=limits, resume=True, progress=progress)


def written(folder: Path) -> TableSource:
    if not (folder / "rows.csv").exists():
        (folder / "rows.csv").write_text("answer,reference\n" + "a,a\n" * 400)
    return open_source(folder / "rows.csv")


def interrupted(folder: Path) -> None:
    def stop(progress: Any) -> None:
        if progress.rows >= 300:
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        start(folder, stop)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("mine.py", "FACTOR = 0.5", "FACTOR = 0.25"),
        ("mine_helper.py", "1.0", "0.5"),
        ("mine_late.py", "1.0", "0.5"),
        ("mine_package/__init__.py", "", "import math\n"),
        ("mine_package/deepest.py", "1.0", "0.5"),
    ],
)
def test_a_changed_file_prevents_resuming(folder: Path, name: str, old: str, new: str) -> None:
    interrupted(folder)
    (folder / name).write_text(FILES[name].replace(old, new, 1))
    with pytest.raises(OutputError, match=rf"cannot resume .*: sources\.{re.escape(name)} was '\w+', is '\w+'; choose"):
        start(folder)
    (folder / name).write_text(FILES[name])
    (folder / "beside.py").write_text("UNUSED = 2.0\n")
    assert 0 < start(folder).resumed_rows < 400


def test_a_changed_package_prevents_resuming(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupted(folder)
    with monkeypatch.context() as changed:
        changed.setattr(engine_run, "source_digest", lambda: "of another commit")
        with pytest.raises(OutputError, match=r"sources\.fastmetrics was '\w+', is 'of another commit'"):
            start(folder)
    assert 0 < start(folder).resumed_rows < 400


def test_the_digest_of_the_package_follows_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "metrics").mkdir()
    (tmp_path / "words.txt").write_text("a\n")
    (tmp_path / "metrics" / "one.py").write_text("A = 1\n")
    monkeypatch.setattr(public_names, "PACKAGE", tmp_path)
    seen = {public_names.source_digest.__wrapped__()}
    for name, text in (("metrics/one.py", "A = 2\n"), ("words.txt", "b\n"), ("metrics/two.py", "")):
        (tmp_path / name).write_text(text)
        seen.add(public_names.source_digest.__wrapped__())
    assert len(seen) == 4
    (tmp_path / "metrics" / "notes.log").write_text("x")
    assert public_names.source_digest.__wrapped__() in seen


def test_files_of_tokenizers_and_of_packages_are_found(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "mine_pack").mkdir()
    for name, text in {
        "__init__.py": "",
        "metrics.py": "import fastmetrics as fm\nfrom mine_pack.tables import A\nimport numpy\n\n"
        "@fm.metric(bounds=(0, 1), better='higher')\ndef packaged(answer: str) -> float:\n    return A\n",
        "tables.py": "A = 1.0\n",
    }.items():
        (tmp_path / "mine_pack" / name).write_text(text)
    sys.path.insert(0, str(tmp_path))
    try:
        importlib.import_module("mine_pack.metrics")
    finally:
        sys.path.remove(str(tmp_path))
    fm.metrics.load_plugin(folder / "mine.py")
    source = written(tmp_path)
    found = [source_digests(plan(source.names, ScoreRequest([metric]))) for metric in ("token_f1", "packaged")]
    assert [set(files) for files in found] == [set(), {"__init__.py", "metrics.py", "tables.py"}]
    files = source_digests(plan(source.names, ScoreRequest(["token_f1(tokenizer='changing_words')"])))
    assert set(files) == set(FILES) - {"beside.py"}
