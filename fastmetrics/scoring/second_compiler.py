"""A second process that compiles kernels of a run, the last ones first, while the run compiles those that it needs.

Numba compiles on one core at a time.  A run that has to compile starts this process if a core is idle, and it scores a
made row by the metrics of the run in the opposite order; ``kernels.jit_turns`` keeps the two from compiling the same
kernel, and the run loads from the cache on disk what the other has compiled.  The second process does not wait for the
kernel that finds words, the largest one and the first that most runs compile: all its texts are one word meanwhile.  If
the process does not start, or fails, the run compiles everything itself.
"""

from __future__ import annotations

import base64
import gc
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from fastmetrics.core.arrays import Bytes, Ints
from fastmetrics.core.arrow.types import is_list, is_text
from fastmetrics.core.process.idle_cores import idle_cores
from fastmetrics.core.process.threads import cores
from fastmetrics.core.process.work_watch import COMPILING, WATCHERS, WorkDone
from fastmetrics.declaration.metric import REGISTRY
from fastmetrics.engines.job import RunOptions
from fastmetrics.engines.local import Threads
from fastmetrics.engines.run_job import open_output
from fastmetrics.kernels.jit_turns import HAS_TURNS, takes_turns
from fastmetrics.kernels.text import tokenize
from fastmetrics.kernels.text.tokenize import WordIds
from fastmetrics.kernels.text.vocabulary import Words
from fastmetrics.kernels.text.word_boundaries import Rules
from fastmetrics.plan.plan import Plan, Score, plan
from fastmetrics.plan.score_batch import Scorer
from fastmetrics.plan.score_request import ScoreRequest
from fastmetrics.scoring.score_output import plan_table, write_scores

Begin: TypeAlias = Callable[[Plan, pa.Schema], None]
"""Called with the plan of a run and the columns of its batches."""

_LOADS_MODELS = {"embedder", "claims", "fitted", "language"}
"""Options of metrics that may load models; the second process leaves these metrics out."""


_SECONDS = 0.15
"""How long the cores are watched while the run compiles."""

_IDLE = 0.5
"""The least number of idle cores for the process to start: with none, two processes compile no faster than one."""


class SecondCompiler:
    """The second process of a run; it starts when the first kernel of the run is compiled, if a core is idle then."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._watches = self._has_ended = False
        self._request: tuple[Plan, pa.Schema] | None = None

    def watch(self, work: WorkDone) -> None:
        """Start the process soon after a kernel is compiled; its imports go on while the run plans."""
        with self._lock:
            if work is COMPILING and not self._watches and not self._has_ended:
                self._watches = True
                threading.Thread(target=self._start_if_idle, daemon=True).start()

    def _start_if_idle(self) -> None:
        idle = idle_cores(_SECONDS)
        with self._lock:
            if not self._has_ended and takes_turns() and (idle is None or idle >= _IDLE):
                self._process = _start()
                self._send()

    def begin(self, planned: Plan, schema: pa.Schema) -> None:
        """Set the kernels to compile: those of a plan for batches with these columns."""
        with self._lock:
            if self._request is None:
                self._request = planned, schema
                self._send()

    def _send(self) -> None:
        if self._process is not None and self._process.stdin is not None and self._request is not None:
            with suppress(BrokenPipeError):  # the process could not start
                self._process.stdin.write(_message(*self._request))
                self._process.stdin.flush()

    def end(self) -> None:
        """End the process."""
        with self._lock:
            self._has_ended = True
            if self._process is not None:
                self._process.kill()
                self._process.communicate()
                self._process = None


@contextmanager
def second_compiler(threads: int | None) -> Iterator[Begin]:
    """Within this block, a second process compiles too, if the run and the machine have more than one core.

    The block calls the result once it has a plan.
    """
    second = SecondCompiler()
    try:
        if HAS_TURNS and min(cores(), cores(threads)) > 1:
            WATCHERS.append(second.watch)
        yield second.begin
    finally:
        if second.watch in WATCHERS:
            WATCHERS.remove(second.watch)
        second.end()


def _start() -> subprocess.Popen[bytes] | None:
    """The process, which waits for its request; None if there is no interpreter or no memory for it."""
    code = f"import sys; sys.path[:] = {sys.path}; from {__name__} import compile_requested; compile_requested()"
    if not sys.executable:
        return None
    try:
        return subprocess.Popen(
            [sys.executable, "-P", "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        return None


def _message(planned: Plan, schema: pa.Schema) -> bytes:
    """The request: one line."""
    content = {
        "metrics": [score.spec for score in reversed(planned.scores) if _is_plain(score)],
        "columns": planned.used,
        "lists": planned.lists,
        "schema": base64.b64encode(schema.remove_metadata().serialize()).decode(),
    }
    return json.dumps(content).encode() + b"\n"


def _is_plain(score: Score) -> bool:
    """Whether another process knows the metric, and can compute it without a model."""
    return REGISTRY.get(score.metric.name) is score.metric and not _LOADS_MODELS & set(score.options)


def compile_requested() -> None:
    """Compile what the parent process requests on standard input; end when it closes that or ends."""
    gc.disable()  # Numba makes many objects, and this process ends soon
    line = sys.stdin.buffer.readline()
    if not line:  # the run ended before it had a plan
        return
    threading.Thread(target=_end_with_parent, daemon=True).start()
    request: dict[str, Any] = json.loads(line)
    schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(request["schema"])))
    table = pa.table([made_column(type_) for type_ in schema.types], schema=schema)
    columns, lists, metrics = request["columns"], request["lists"], request["metrics"]
    planned = plan(schema.names, ScoreRequest(metrics, columns, lists=lists))
    with texts_of_one_word():
        _write(table, ScoreRequest(metrics[:1], columns, lists=lists))  # the run needs the writer's kernels last
        Scorer(planned)(table.to_batches()[0])
    Scorer(planned)(table.to_batches()[0])


@contextmanager
def texts_of_one_word() -> Iterator[None]:
    """Within this block, all texts are the same word, so that the kernel that finds words is not needed."""
    kernels: Any = tokenize
    compiled = kernels.tokenize
    kernels.tokenize = _one_word_each
    try:
        yield
    finally:
        kernels.tokenize = compiled


def _one_word_each(
    data: Bytes, starts: Ints, stops: Ints, rules: Rules, skip: Any, words: Words, work: Any, output: WordIds
) -> bool:
    """What the kernel ``tokenize`` does, if each text is the word 0."""
    words.heads[0], words.begins[0], words.lengths[0], words.sizes[0] = ord("a"), 0, 1, 1
    output.ids[: len(starts)] = 0
    output.bounds[:] = np.arange(len(starts) + 1)
    return True


def _write(table: pa.Table, request: ScoreRequest) -> None:
    options = RunOptions()
    with tempfile.TemporaryDirectory() as folder:
        source = options.files.open(table)
        target = open_output(Path(folder, "scores.parquet"), source, options)
        write_scores(nullcontext(Threads(1)), source, plan_table(source, request), target, options)


def _end_with_parent() -> None:
    os.read(sys.stdin.fileno(), 1)
    os._exit(0)


def made_column(type_: pa.DataType) -> pa.Array:
    """A column of one row, whose value is a text, a number, a list of them, or nothing.

    >>> [made_column(type_).to_pylist() for type_ in (pa.list_(pa.string()), pa.int64(), pa.date32())]
    [[['A word.']], [1], [None]]
    """
    if is_list(type_):
        return pa.array([made_column(type_.value_type).to_pylist()], type_)
    if is_text(type_):
        return pa.array(["A word."]).cast(type_)
    if pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_boolean(type_):
        return pa.array([1]).cast(type_)
    return pa.nulls(1, type_)
