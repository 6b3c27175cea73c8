"""The time of each stage of a run: reading, tokenising, kernels, writing, and each metric."""

from __future__ import annotations

import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

import pyarrow as pa

from fastmetrics.core.display import Grid, Shown
from fastmetrics.declaration.batch import Batch
from fastmetrics.engines.local import run
from fastmetrics.plan.score_batch import score_batch
from fastmetrics.scoring.files import Paths, job, plan_files
from fastmetrics.tables import open_source
from fastmetrics.text.tokenize import Wordbook

T = TypeVar("T")


@dataclass(frozen=True)
class Profile(Shown):
    """Seconds by stage, by representation (text, folded, tokens by column and convention) and by metric."""

    rows: int
    nbytes: int
    stages: Mapping[str, float]
    representations: Mapping[str, float]
    metrics: Mapping[str, float]

    def to_dict(self) -> dict[str, object]:
        """All figures: rows, bytes of input columns, seconds."""
        return {
            "rows": self.rows,
            "bytes": self.nbytes,
            "stages": dict(self.stages),
            "representations": dict(self.representations),
            "metrics": dict(self.metrics),
        }

    def remarks(self) -> list[str]:
        """The conditions of the measurement."""
        return ["one thread; rows/s and MB/s are for each line alone; MB is the size of the input columns in memory"]

    def grids(self) -> list[Grid]:
        """Stages, representations and metrics, each with its share of the total."""
        total = sum(self.stages.values())
        return [
            Grid((title, "seconds", "share", "rows/s", "MB/s"), [self._line(n, s, total) for n, s in times.items()])
            for title, times in (
                ("stage", {**self.stages, "total": total}),
                ("tokenise", self.representations),
                ("kernels", self.metrics),
            )
        ]

    def _line(self, name: str, seconds: float, total: float) -> tuple[str, ...]:
        share = seconds / total if total else 0.0
        rows, mb = (f"{n / seconds:,.0f}" if seconds else "" for n in (self.rows, self.nbytes / 1e6))
        return name, f"{seconds:.3f}", f"{share:.1%}", rows, mb


@dataclass
class Watch:
    """Seconds by name, excluding the time of nested names."""

    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    _inside: list[float] = field(default_factory=list)

    @contextmanager
    def on(self, name: str) -> Iterator[None]:
        """Add the time of the block to ``name``."""
        began = time.perf_counter()
        self._inside.append(0.0)
        try:
            yield
        finally:
            spent = time.perf_counter() - began
            self.seconds[name] += spent - self._inside.pop()
            if self._inside:
                self._inside[-1] += spent


class WatchedBatch(Batch):
    """A batch that times the computation of each representation."""

    def __init__(
        self, columns: Mapping[str, pa.Array], shared: Collection[str], words: Wordbook | None, watch: Watch
    ) -> None:
        super().__init__(columns, shared, words)
        self._watch = watch

    def remember(self, key: Hashable, make: Callable[[], T], *beside: object) -> T:
        """Like a batch, but timed."""
        if self._memory.holds(key, beside):
            return super().remember(key, make, *beside)
        name = " ".join(part for part in key if isinstance(part, str)) if isinstance(key, tuple) else str(key)
        with self._watch.on(f"make {name}"):
            return super().remember(key, make, *beside)


def profile_files(
    inputs: Paths,
    *,
    metrics: Sequence[str] | str | None = None,
    columns: Mapping[str, str] | None = None,
    schema: str | None = None,
    suites: Sequence[str] | str = (),
    no_relevant: str | None = None,
    format: str | None = None,
) -> Profile:
    """Score files on one thread, discard the scores, and time every stage and metric.

    The arguments are those of ``score_files``.  Kernels are compiled or loaded on a few rows before the measurement.
    Times are in seconds.

    >>> import tempfile, pathlib
    >>> rows = pathlib.Path(tempfile.mkdtemp(), "rows.jsonl")
    >>> _ = rows.write_text('{"answer": "in Paris", "reference": "Paris"}')
    >>> found = profile_files(rows, metrics="token_f1")
    >>> found.rows, list(found.stages), list(found.metrics)
    (1, ['read', 'tokenise', 'kernels', 'write'], ['token_f1'])

    Raises what ``score_files`` raises.
    """
    source = open_source(inputs, format)
    planned = plan_files(source, metrics, columns, schema, (), suites, no_relevant=no_relevant)
    watch, sizes, words = Watch(), [0], Wordbook()

    def timed(batch: pa.RecordBatch) -> pa.RecordBatch:
        if batch.num_rows and not sizes[0]:
            score_batch(batch.slice(0, 16), planned)
            watch.seconds.clear()
        sizes[0] += batch.nbytes
        return score_batch(batch, planned, partial(WatchedBatch, watch=watch), words, watch.on)

    with tempfile.TemporaryDirectory() as folder:
        result = run(source, job(planned, timed), Path(folder) / "scores.parquet", threads=1)
    made = {name[5:]: spent for name, spent in watch.seconds.items() if name.startswith("make ")}
    kernels = {score.name: watch.seconds[score.name] for score in planned.scores}
    stages = {
        "read": result.seconds["read"],
        "tokenise": sum(made.values()),
        "kernels": sum(kernels.values()),
        "write": result.seconds["write"],
    }
    return Profile(result.rows, sizes[0], stages, made, kernels)
