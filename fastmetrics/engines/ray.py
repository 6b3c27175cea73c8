"""The Ray engine: workers compute the parts of spans, and the driver writes them in order to the output."""

from __future__ import annotations

import json
import pickle
import time
import traceback
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from typing import Any

import numpy as np
import pyarrow as pa

from fastmetrics.base.errors import FastmetricsError, OptionError, WorkerError
from fastmetrics.base.limits import RETRY_LIMITS
from fastmetrics.base.threads import keep_to_one
from fastmetrics.engines.job import Watcher
from fastmetrics.engines.ray_cluster import Cluster, quietly, ray_data
from fastmetrics.engines.scored_parts import Finished, Task, by_part, finish, pieces
from fastmetrics.tables.file_columns import Widened
from fastmetrics.tables.table_chunks import Place, Span, batch_of

_PARTS_BEHIND = 2
_BLOCK_BYTES = 1 << 20


class RayEngine:
    """The engine of a Ray cluster; a context manager that stops everything it started.

    ``workers`` processes, one per core, score spans; on the cluster at ``address`` or on a local cluster.
    """

    behind = _PARTS_BEHIND

    def __init__(self, workers: int | None = None, address: str | None = None) -> None:
        self._cluster = Cluster(workers, address)

    def __enter__(self) -> RayEngine:
        return self

    def __exit__(self, *exc: object) -> None:
        self._cluster.close()

    def parts(
        self, task: Task, spans: Sequence[Span], watcher: Watcher
    ) -> Generator[Callable[[], Finished], None, None]:
        """The parts in order, as the workers finish them; an error of a worker is raised after the parts before it."""
        if any(file.checksum is not None for file in task.source.files):
            raise OptionError("cluster workers cannot read standard input: give a file")
        began = time.time()
        workers = self._cluster.start()
        with closing(_blocks(task, spans, workers)) as blocks:
            for data, text, error in blocks:
                if error is not None:
                    raise pickle.loads(error)
                about = json.loads(text)
                if began:
                    watcher.spent("start", max(0.0, about["began"] - began))
                    began = 0.0
                for stage, seconds in about["seconds"].items():
                    watcher.spent(stage, seconds)
                part = _received(data, about)
                watcher.done(about["seen"], part.stop, part.offset)
                yield lambda part=part: part  # type: ignore[misc]


def _blocks(
    task: Task, spans: Sequence[Span], workers: int
) -> Generator[tuple[pa.Buffer, str, bytes | None], None, None]:
    """The results of the workers, span by span, as they arrive."""
    ray = ray_data()
    # Ray retries without limit, so an actor that survives crashes of the workers counts the starts of each span.
    starts = ray.remote(num_cpus=0, max_restarts=-1)(Starts).remote()
    items = [{"span": [*span.start, *(span.stop or ())]} for span in spans]
    dataset = ray.data.from_items(items, override_num_blocks=len(items))
    context = dataset.context
    context.execution_options.preserve_order = True
    context.target_max_block_size = _BLOCK_BYTES  # each finished part is a block of its own
    context.enable_progress_bars = False
    sent = dataset.map_batches(
        SpanWorker,
        fn_constructor_args=(ray.cloudpickle.dumps(task), starts, RETRY_LIMITS.span_starts),
        batch_size=1,
        batch_format="pyarrow",
        compute=ray.data.ActorPoolStrategy(size=min(workers, len(items))),
        num_cpus=1,
    )
    try:
        with quietly():
            for table in sent.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=1):
                for data, about, error in zip(*(table[name] for name in ("data", "about", "error")), strict=True):
                    yield data.as_buffer(), about.as_py(), error.as_py()
    except ray.exceptions.RayError as error:
        raise WorkerError(f"the workers failed: {str(error).strip().splitlines()[-1]}") from error
    finally:
        ray.kill(starts)


class Starts:
    """The number of attempts of each span."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[int, ...]] = Counter()

    def begin(self, span: Sequence[int]) -> int:
        """The number of this attempt, from 1."""
        self._counts[tuple(span)] += 1
        return self._counts[tuple(span)]


class SpanWorker:
    """A process that scores spans: it loads the kernels once and uses one core."""

    def __init__(self, task: bytes, starts: Any, tries: int) -> None:
        keep_to_one()
        self._starts = starts
        self._tries = tries
        self._task: Task = pickle.loads(task)
        self._task.score(batch_of(self._task.selection.schema))
        self._waited = 0.0

    def __call__(self, rows: pa.Table) -> Iterator[pa.Table]:
        """The finished parts of spans, one per table; an error ends them and is attached to the last."""
        began = time.time()
        try:
            for flat in rows["span"].to_pylist():
                for part, seen, seconds in self._parts(self._begun(flat)):
                    seconds["transfer"], self._waited = self._waited, 0.0
                    paused = time.perf_counter()
                    yield _sent(part, {"began": began, "seen": seen, "seconds": seconds})
                    self._waited += time.perf_counter() - paused
        except Exception as error:  # noqa: BLE001 - raised again by the process that asked
            yield _table(b"", "{}", _pickled(error))

    def _begun(self, flat: list[int]) -> Span:
        span = Span(Place(*flat[:2]), Place(*flat[2:]) if flat[2:] else None)
        if ray_data().get(self._starts.begin.remote(flat)) > self._tries:
            path, where = self._task.source.where(span.start)
            raise WorkerError(f"the worker died {self._tries} times on the rows of {path} from {where} on")
        return span

    def _parts(self, span: Span) -> Iterator[tuple[Finished, int, dict[str, float]]]:
        task, seconds = self._task, dict.fromkeys(("read", "score", "finish"), 0.0)

        def spent(stage: str, more: float) -> None:
            seconds[stage] += more

        for scored in by_part(map(task.worker(), pieces(task, [span], 1, spent))):
            began = time.perf_counter()
            part = finish(task, scored)
            spent("finish", time.perf_counter() - began)
            spent("score", sum(chunk.seconds for chunk in scored))
            yield part, sum(chunk.rows for chunk in scored), seconds
            seconds.update(dict.fromkeys(seconds, 0.0))


def _sent(part: Finished, about: dict[str, Any]) -> pa.Table:
    fields = {"rows": part.rows, "rejects": part.rejects, "stop": part.stop, "observed": part.observed}
    return _table(b"".join(part.data), json.dumps({**fields, "offset": part.offset, **about}), None)


def _table(data: bytes, about: str, error: bytes | None) -> pa.Table:
    """The data sent from worker to driver; the bytes are not copied again when converted to Arrow."""
    ends = pa.py_buffer(np.array([0, len(data)], np.int64))
    column = pa.LargeBinaryArray.from_buffers(pa.large_binary(), 1, [None, ends, pa.py_buffer(data)])
    return pa.table({"data": column, "about": [about], "error": pa.array([error], pa.binary())})


def _received(data: pa.Buffer, about: dict[str, Any]) -> Finished:
    stop = Place(*about["stop"])
    return Finished([data], about["rows"], about["rejects"], stop, about["observed"], None, about["offset"])


def _pickled(error: Exception) -> bytes:
    """The error as bytes; errors of the package are ready to show, others carry their traceback as a note."""
    if not isinstance(error, FastmetricsError | Widened):
        error.add_note("".join(traceback.format_exception(error)))
    try:
        data = pickle.dumps(error)
        pickle.loads(data)
    except Exception:  # noqa: BLE001 - whatever an error's own pickling raises
        data = pickle.dumps(RuntimeError("".join(traceback.format_exception(error))))
    return data
