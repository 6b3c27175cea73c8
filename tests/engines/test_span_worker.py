"""What a worker of a cluster does with splits, and what its driver makes of it, without a cluster."""

from __future__ import annotations

import json
import pickle
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from fastmetrics.base.errors import FileFormatError, InputError, OptionError, WorkerError
from fastmetrics.base.limits import ReadSizes
from fastmetrics.engines import ray as engine
from fastmetrics.engines.column_maker import Finished, Task
from fastmetrics.engines.run import Scored, Worker, by_part, finish, pieces
from fastmetrics.tables import FileSource, Limits, Position, Split, open_source
from fastmetrics.tables.file_columns import Widened
from fastmetrics.tables.table_chunks import batch_of
from tests.support.toy_scores import KINDS, FunctionMaker, choosy

LIMITS = Limits(batch_rows=7, part_rows=20)


def observe(part: pa.RecordBatch) -> list[int]:
    """Something to remember of each part."""
    return [part.num_rows, part["ratio"].null_count, int(pc.sum(pc.is_nan(part["ratio"])).as_py() or 0)]


@pytest.fixture
def source(tmp_path: Path) -> FileSource:
    """Three files of 50 lines, each a split, some of them bad."""
    for number in range(3):
        lines = [json.dumps({"id": f"q{n}", "answer": "bad" if n == 23 else "ab" * (n % 4)}) for n in range(50)]
        lines[10] = lines[49] = "broken"
        (tmp_path / f"{number}.jsonl").write_text("\n".join(lines))
    return open_source(tmp_path, sizes=ReadSizes(split_bytes=1))


def task(source: FileSource, score=choosy, *, skip: bool = True) -> Task:
    selection = source.select(KINDS)
    schema = choosy(batch_of(selection.schema)).schema
    return Task(source, selection, FunctionMaker(score, KINDS, observed=observe), schema, LIMITS, skip=skip)


class Attempts:
    """The count of the starts, without a process; each split was begun so often before."""

    def __init__(self, before: int = 0) -> None:
        self._starts = engine.Starts()
        self._before = before
        self.begin = SimpleNamespace(remote=lambda split: self._before + self._starts.begin(split))


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """No Ray: answers are there at once, and this process keeps its processors."""
    kept: list[str] = []
    monkeypatch.setattr(engine, "ray_data", lambda: SimpleNamespace(get=lambda answer: answer))
    monkeypatch.setattr(engine, "keep_to_one", lambda: kept.append("kept"))
    return kept


def flat(split: Split) -> list[int]:
    return [*split.start, *(split.stop or ())]


def sent(task: Task, splits: list[Split], starts: Any = None, tries: int = 5) -> Iterator[tuple[bytes, dict, bytes]]:
    """What a worker sends for splits: bytes, what it says of them, and the error that ended it."""
    worker = engine.SplitWorker(pickle.dumps(task), starts or Attempts(), tries)
    for table in worker(pa.table({"split": [flat(split) for split in splits]})):
        assert table.num_rows == 1
        row = table.to_pylist()[0]
        yield row["data"], json.loads(row["about"]), row["error"]


def parts(task: Task, split: Split) -> Iterator[list[Scored]]:
    """The scored batches of each part of a split, in this process."""
    return by_part(map(Worker(task), pieces(task, [split], 1, lambda stage, seconds: None)))


def test_worker_parts_equal_local_parts(source: FileSource, alone: list[str]) -> None:
    splits = source.splits()
    assert len(splits) == 3
    work = task(source)
    found = list(sent(work, splits))
    assert alone == ["kept"], "a worker keeps to one processor"
    expected = [finish(work, scored) for split in splits for scored in parts(work, split)]
    assert [error for _, _, error in found] == [None] * 9
    for (data, about, _), part in zip(found, expected, strict=True):
        made = engine._received(pa.py_buffer(data), about)
        assert data == b"".join(part.data)
        assert [made.rows, made.rejects, made.stop, made.observed, made.offset] == [
            *(part.rows, part.rejects, part.stop, part.observed, part.offset)
        ]
        assert isinstance(made.stop, Position)
        assert about["seen"] == part.rows + part.rejects.count("\n")
    assert sum(about["seen"] for _, about, _ in found) == 150


def test_parts_have_separate_timings(source: FileSource, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of reading, scoring and finishing, and those that the part before took to be fetched."""
    clock = iter(range(10**6))
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(clock)))
    seconds = [about["seconds"] for _, about, _ in sent(task(source), source.splits())]
    assert [set(one) for one in seconds] == [{"read", "score", "finish", "transfer"}] * 9
    assert [one["transfer"] for one in seconds] == [0.0] + [1.0] * 8
    assert [one["finish"] for one in seconds] == [1.0] * 9
    batches = [len(scored) for split in source.splits() for scored in parts(task(source), split)]
    assert [one["score"] for one in seconds] == batches, "one tick of the clock each"


@pytest.mark.parametrize("tries", [1, 2, 5])
def test_span_starts_are_limited(source: FileSource, tries: int) -> None:
    """The count is of each split: those of others are none of its business."""
    splits = source.splits()
    for before in range(tries):
        found = list(sent(task(source), splits, Attempts(before), tries))
        assert [error for _, _, error in found] == [None] * 9
    (data, about, error), *rest = sent(task(source), splits[1:], Attempts(tries), tries)
    assert (data, about, rest) == (b"", {}, [])
    with pytest.raises(WorkerError) as caught:
        raise pickle.loads(error)
    assert str(caught.value) == (f"the worker died {tries} times on the rows of {source.files[1].shown} from line 1 on")


def test_starts_are_counted_by_span() -> None:
    starts = engine.Starts()
    assert [starts.begin(split) for split in ([0, 0], [0, 0, 1, 0], [0, 0], [1, 0], [0, 0])] == [1, 1, 2, 1, 3]


class OwnError(Exception):
    """An error that cannot travel."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


@pytest.mark.parametrize(
    ("error", "type_", "said", "noted"),
    [
        (InputError("a bad row"), InputError, "a bad row", False),
        (Widened("id", pa.string()), Widened, "column 'id' needs string", False),
        (RuntimeError("a fault"), RuntimeError, "a fault", True),
        (OwnError(1, 2), RuntimeError, "OwnError: 1 and 2", False),
    ],
)
def test_every_error_can_be_sent_between_processes(error: Exception, type_: type, said: str, noted: bool) -> None:
    found = pickle.loads(engine._pickled(_raised(error)))
    assert type(found) is type_
    assert said in str(found)
    assert ["in _raised" in note for note in getattr(found, "__notes__", [])] == [True] * noted


def _raised(error: Exception) -> Exception:
    try:
        raise error
    except Exception as caught:  # noqa: BLE001 - whichever it is
        return caught


def choking(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A score with a fault at a row of the second part."""
    if "q30" in batch["id"].to_pylist():
        raise RuntimeError("a fault of the program")
    return choosy(batch)


def test_worker_sends_finished_parts_before_an_error(source: FileSource) -> None:
    *before, (data, about, error) = sent(task(source, choking), source.splits())
    assert [(about["rows"], error) for _, about, error in before] == [(20, None)]
    assert (data, about) == (b"", {})
    assert "in choking" in pickle.loads(error).__notes__[0]
    *before, (data, about, error) = sent(task(source, skip=False), source.splits())
    assert before == []
    assert type(pickle.loads(error)) is FileFormatError
    assert str(pickle.loads(error)).startswith(f"{source.files[0].shown}, line 11: malformed JSON")


class Seen:
    """What the driver tells of its work."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.rows: list[tuple[int, Position]] = []

    def spent(self, stage: str, seconds: float) -> None:
        self.seconds[stage] = self.seconds.get(stage, 0.0) + seconds

    def done(self, rows: int, stop: Position, offset: int) -> None:
        self.rows.append((rows, stop))


def driven(source: FileSource, monkeypatch: pytest.MonkeyPatch, rows: list[tuple[bytes, dict, bytes]], seen: Seen):
    """The parts of an engine whose workers send these rows."""
    closed = []

    def blocks(*arguments: object) -> Iterator[tuple[pa.Buffer, str, bytes | None]]:
        try:
            for data, about, error in rows:
                yield pa.py_buffer(data), json.dumps(about), error
        finally:
            closed.append(True)

    monkeypatch.setattr(engine, "_blocks", blocks)
    ours = engine.RayEngine(2)
    monkeypatch.setattr(ours._cluster, "start", lambda: 2)
    made: list[Finished] = []
    try:
        for make in ours.parts(task(source), source.splits(), seen):
            made.append(make())
    finally:
        assert closed == [True], "what was begun is ended, come what may"
    return made


def test_driver_reports_parts_and_raises_worker_errors(source: FileSource, monkeypatch) -> None:
    rows = list(sent(task(source), source.splits()))
    seen = Seen()
    made = driven(source, monkeypatch, rows, seen)
    assert [one.data[0].to_pybytes() for one in made] == [data for data, _, _ in rows]
    assert [stop for _, stop in seen.rows] == [one.stop for one in made]
    assert sum(count for count, _ in seen.rows) == 150
    assert set(seen.seconds) == {"start", "read", "score", "finish", "transfer"}
    assert seen.seconds["read"] == pytest.approx(sum(about["seconds"]["read"] for _, about, _ in rows))
    failed = [*rows[:4], (b"", {}, pickle.dumps(InputError("a bad row")))]
    again = Seen()
    with pytest.raises(InputError, match=r"^a bad row$"):
        driven(source, monkeypatch, failed, again)
    assert len(again.rows) == 4


def test_standard_input_raises_before_the_cluster_starts(source: FileSource) -> None:
    object.__setattr__(source.files[1], "checksum", 7)
    with pytest.raises(OptionError, match="cluster workers cannot read standard input"):
        next(engine.RayEngine(2).parts(task(source), source.splits(), Seen()))
