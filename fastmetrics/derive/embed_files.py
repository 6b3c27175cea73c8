"""Embedding files of text, with a cache of embeddings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from fastmetrics.core.input_columns import resolve
from fastmetrics.core.name_lists import listed
from fastmetrics.core.version import __version__
from fastmetrics.derive.judge_files import Paths
from fastmetrics.engines.job import Job, Progress, RunOptions, RunResult
from fastmetrics.engines.local import Threads
from fastmetrics.engines.run import open_output, run_on
from fastmetrics.errors import ColumnError, UnknownNameError
from fastmetrics.errors.messages import Argument, quoted
from fastmetrics.tables import open_source
from fastmetrics.vectors.embedded_columns import SUFFIX, count, embedded, kind_of
from fastmetrics.vectors.embedder import Embedder

_TEXTS = ("question", "answer", "reference")


@dataclass(frozen=True)
class EmbedMaker:
    """Maps a batch to its kept columns and the embeddings of its ``texts`` (output column: yours); null for null."""

    embedder: Embedder
    texts: Mapping[str, str]
    keep: Sequence[str]

    @property
    def kinds(self) -> dict[str, str]:
        """The input columns and their kinds."""
        return {
            **dict.fromkeys(self.keep, "any"),
            **{yours: kind_of(made.removesuffix(SUFFIX)) for made, yours in self.texts.items()},
        }

    @property
    def signature(self) -> dict[str, Any]:
        """All settings that affect the embeddings."""
        made = {"embedder": self.embedder.signature, "columns": dict(self.texts)}
        return {"fastmetrics": __version__, "embeddings": made, "keep": list(self.keep)}

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The kept columns, then the embeddings."""
        arrays = {name: batch.column(name) for name in self.keep}
        for made, name in self.texts.items():
            arrays[made] = embedded(batch.column(name), self.embedder)
        return pa.record_batch(arrays)

    def observe(self, part: pa.RecordBatch) -> dict[str, int]:
        """The number of embeddings in a part, by column."""
        return {made: count(part.column(made)) for made in self.texts}

    @staticmethod
    def conclude(parts: list[Any], rejected: int) -> dict[str, Any]:
        """The metadata about all parts."""
        return {"embedded": dict(_added(parts)), "n_rejected": rejected}


def _added(parts: Sequence[Mapping[str, int]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for part in parts:
        total.update(part)
    return total


@dataclass(frozen=True)
class EmbeddedFiles:
    """The result of ``embed_files``: the output path, and the number of embedded texts per column."""

    run: RunResult
    embedded: Mapping[str, int]


def embed_files(
    inputs: Paths,
    output: str | Path,
    embedder: Embedder,
    of: Sequence[str] | str = (),
    *,
    columns: Mapping[str, str] | None = None,
    keep: Sequence[str] | str | None = None,
    format: str | None = None,
    max_row_bytes: int | None = None,
    on_error: str = "fail",
    resume: bool = False,
    overwrite: bool = False,
    work: str | Path | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> EmbeddedFiles:
    """Embed text columns of files of any size into a file, for the metrics that read embeddings.

    ``of`` names text columns, by default those of question, answer and reference that exist, under their usual names or
    as mapped by ``columns={canonical: yours}``.  Each gets a column ``<name>_embedding`` of float32 vectors, null where
    the text is null; a column of lists, such as several references, gets a list of vectors per row.  All columns are
    copied, or the id and those in ``keep``.  The output is atomic; ``resume`` continues an interrupted run, and an
    ``Embedder`` with a ``cache`` embeds no text twice.

    >>> import tempfile, pathlib, numpy as np, fastmetrics as fm
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "rows.jsonl").write_text('{"id": 1, "answer": "yes"}')
    >>> lengths = fm.Embedder(lambda texts: np.array([[float(len(text)), 1.0] for text in texts]))
    >>> fm.embed_files(folder / "rows.jsonl", folder / "embedded.parquet", lengths).embedded
    {'answer_embedding': 1}

    Raises ``ColumnError`` for a column that is missing, contains no text, or already has embeddings, or for lists of
    questions or answers, and the errors of reading and writing files.
    """
    options = RunOptions(on_error, resume, overwrite, work, True, progress)
    source = open_source(inputs, format, max_row_bytes)
    target = open_output(output, source, options)
    maker = _maker(source.schema.names, embedder, listed(of), columns, None if keep is None else listed(keep))
    job = Job(maker, maker.kinds, maker.signature, maker.observe, maker.conclude)
    result = run_on(Threads(1), source, job, target, options)
    return EmbeddedFiles(result, dict(_added(result.observed)))


def _maker(
    names: Sequence[str],
    embedder: Embedder,
    of: Sequence[str],
    columns: Mapping[str, str] | None,
    keep: Sequence[str] | None,
) -> EmbedMaker:
    """The maker for a table with columns of these names."""
    found = resolve(names, columns, needed={"id", *_TEXTS})
    asked = {name: found.get(name, name) for name in of or [name for name in _TEXTS if name in found]}
    if not asked:
        raise ColumnError(
            "no column question, answer or reference; list the columns of text in ",
            Argument("of"),
            f"; the table has: {quoted(names)}",
        )
    kept = list(names) if keep is None else list(dict.fromkeys([*([found["id"]] if "id" in found else []), *keep]))
    for name in (*asked.values(), *kept):
        if name not in names:
            raise ColumnError(str(UnknownNameError.of("column", name, names)))
    texts = {f"{name}{SUFFIX}": yours for name, yours in asked.items()}
    there = [made for made in texts if made in kept]
    if there:
        raise ColumnError(f"the column {there[0]!r} already exists; rename it, or remove it from ", Argument("keep"))
    return EmbedMaker(embedder, texts, kept)
