"""The Ray engine: a cluster, workers that compute parts, and the driver that writes them in order.

**Clusters.** The result of a split is a pure function of the split. Ray and Spark map this function and repeat failed
work. The driver numbers the parts and saves them in order, so a run can be resumed on any engine.
"""

from __future__ import annotations

import json
import logging
import os
import pickle
import socket
import time
import traceback
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

import numpy as np
import pyarrow as pa

from fastmetrics.base.errors import Argument, FastmetricsError, MissingExtraError, OptionError, WorkerError
from fastmetrics.base.limits import RETRY_LIMITS
from fastmetrics.base.options import Optional, Whole, argument
from fastmetrics.base.threads import cores, keep_to_one
from fastmetrics.engines.column_maker import Finished, Task, Watcher
from fastmetrics.engines.run import Worker, by_part, finish, pieces
from fastmetrics.tables.file_columns import Widened
from fastmetrics.tables.table_chunks import Position, Split, batch_of

# Connecting to a Ray cluster, or starting a local one that is stopped after use.


_KNOCK_SECONDS = 10.0
_SHARED_BYTES = 256 << 20
_SHARED_BYTES_A_WORKER = 128 << 20
# Usage reports are off unless the user enables them; Ray sends and logs them even when the process exits.
_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_DATA_USAGE_DISABLED": "1", "RAY_BACKEND_LOG_LEVEL": "fatal"}


def ray_data() -> Any:
    """The package ``ray`` with Ray Data; raises ``MissingExtraError`` if it is not installed."""
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise MissingExtraError.of("ray", "ray") from error
    return ray


class Cluster:
    """``workers`` processes of a cluster: by default one per core."""

    def __init__(self, workers: int | None, address: str | None) -> None:
        self._workers = argument("workers", workers, Optional(Whole(1, 100_000)))
        self._address = address
        self._started = False

    def start(self) -> int:
        """Connect, or start a local cluster if there is none; returns the number of workers."""
        ray = ray_data()
        if not ray.is_initialized():
            self._connect(ray, self._address or os.environ.get("RAY_ADDRESS"))
        elif self._address is not None and not self._started:
            raise OptionError(
                Argument("address", self._address), ": this process is already connected to another Ray cluster"
            )
        return self._workers or max(1, int(ray.cluster_resources().get("CPU", 1)))

    def _connect(self, ray: Any, address: str | None) -> None:
        if address is not None:
            _knock(address)
        how: dict[str, Any] = {"address": address, "logging_level": logging.ERROR, "log_to_driver": False}
        if address is None:
            workers = self._workers or cores()
            shared = _SHARED_BYTES + workers * _SHARED_BYTES_A_WORKER
            how |= {"address": "local", "num_cpus": workers, "object_store_memory": shared, "include_dashboard": False}
        try:
            for name, value in _QUIET.items():
                os.environ.setdefault(name, value)
            ray.init(**how)
        except (ConnectionError, ValueError, RuntimeError) as error:
            if address is None:
                raise WorkerError(f"no Ray cluster could be started on this machine: {error}") from error
            raise OptionError(Argument("address", address), f": no Ray cluster answers: {error}") from error
        self._started = True

    def close(self) -> None:
        """Stop what was started here; other clusters keep running."""
        if self._started:
            ray_data().shutdown()
            self._started = False


def _knock(address: str) -> None:
    """Raise ``OptionError`` if nothing listens at ``host:port``; Ray itself would wait many minutes."""
    scheme, _, position = address.rpartition("://")
    if scheme not in ("", "ray") or position in ("auto", "local"):
        return
    host, _, port = position.partition("/")[0].rpartition(":")
    if not (host and port.isdigit()):
        raise OptionError(Argument("address", address), ": expected host:port, or auto")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _KNOCK_SECONDS).close()
    except (OSError, OverflowError, UnicodeError) as error:
        raise OptionError(Argument("address", address), f": no Ray cluster answers: {error}") from error


@contextmanager
def quietly() -> Iterator[None]:
    """Ray Data with console output limited to errors."""
    handlers = [
        handler for handler in logging.getLogger("ray.data").handlers if not isinstance(handler, logging.FileHandler)
    ]
    before = [handler.level for handler in handlers]
    for handler in handlers:
        handler.setLevel(logging.ERROR)
    try:
        yield
    finally:
        for handler, level in zip(handlers, before, strict=True):
            handler.setLevel(level)


# The Ray engine: workers compute the parts of splits, and the driver writes them in order to the output.


_PARTS_BEHIND = 2
_BLOCK_BYTES = 1 << 20


class RayEngine:
    """The engine of a Ray cluster; a context manager that stops everything it started.

    ``workers`` processes, one per core, score splits; on the cluster at ``address`` or on a local cluster.
    """

    behind = _PARTS_BEHIND

    def __init__(self, workers: int | None = None, address: str | None = None) -> None:
        self._cluster = Cluster(workers, address)

    def __enter__(self) -> RayEngine:
        return self

    def __exit__(self, *exc: object) -> None:
        self._cluster.close()

    def parts(
        self, task: Task, splits: Sequence[Split], watcher: Watcher
    ) -> Generator[Callable[[], Finished], None, None]:
        """The parts in order, as the workers finish them; an error of a worker is raised after the parts before it."""
        if any(file.checksum is not None for file in task.source.files):
            raise OptionError("cluster workers cannot read standard input: give a file")
        began = time.time()
        workers = self._cluster.start()
        with closing(_blocks(task, splits, workers)) as blocks:
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
    task: Task, splits: Sequence[Split], workers: int
) -> Generator[tuple[pa.Buffer, str, bytes | None], None, None]:
    """The results of the workers, split by split, as they arrive."""
    ray = ray_data()
    # Ray retries without limit, so an actor that survives crashes of the workers counts the starts of each split.
    starts = ray.remote(num_cpus=0, max_restarts=-1)(Starts).remote()
    items = [{"split": [*split.start, *(split.stop or ())]} for split in splits]
    dataset = ray.data.from_items(items, override_num_blocks=len(items))
    context = dataset.context
    context.execution_options.preserve_order = True
    context.target_max_block_size = _BLOCK_BYTES  # each finished part is a block of its own
    context.enable_progress_bars = False
    sent = dataset.map_batches(
        SplitWorker,
        fn_constructor_args=(ray.cloudpickle.dumps(task), starts, RETRY_LIMITS.split_starts),
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
    """The number of attempts of each split."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[int, ...]] = Counter()

    def begin(self, split: Sequence[int]) -> int:
        """The number of this attempt, from 1."""
        self._counts[tuple(split)] += 1
        return self._counts[tuple(split)]


class SplitWorker:
    """A process that scores splits: it loads the kernels once and uses one core."""

    def __init__(self, task: bytes, starts: Any, tries: int) -> None:
        keep_to_one()
        self._starts = starts
        self._tries = tries
        self._task: Task = pickle.loads(task)
        self._task.maker(batch_of(self._task.selection.schema))
        self._waited = 0.0

    def __call__(self, rows: pa.Table) -> Iterator[pa.Table]:
        """The finished parts of splits, one per table; an error ends them and is attached to the last."""
        began = time.time()
        try:
            for flat in rows["split"].to_pylist():
                for part, seen, seconds in self._parts(self._begun(flat)):
                    seconds["transfer"], self._waited = self._waited, 0.0
                    paused = time.perf_counter()
                    yield _sent(part, {"began": began, "seen": seen, "seconds": seconds})
                    self._waited += time.perf_counter() - paused
        except Exception as error:  # noqa: BLE001 - raised again by the process that asked
            yield _table(b"", "{}", _pickled(error))

    def _begun(self, flat: list[int]) -> Split:
        split = Split(Position(*flat[:2]), Position(*flat[2:]) if flat[2:] else None)
        if ray_data().get(self._starts.begin.remote(flat)) > self._tries:
            path, where = self._task.source.where(split.start)
            raise WorkerError(f"the worker died {self._tries} times on the rows of {path} from {where} on")
        return split

    def _parts(self, split: Split) -> Iterator[tuple[Finished, int, dict[str, float]]]:
        task, seconds = self._task, dict.fromkeys(("read", "score", "finish"), 0.0)

        def spent(stage: str, more: float) -> None:
            seconds[stage] += more

        for scored in by_part(map(Worker(task), pieces(task, [split], 1, spent))):
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
    stop = Position(*about["stop"])
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
