"""Files of text to a file with their embeddings, made once and kept, as a judge's replies are."""

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
from fastmetrics.errors import ColumnError, OptionError, UnknownNameError
from fastmetrics.errors.messages import Argument, quoted
from fastmetrics.tables import open_source
from fastmetrics.vectors.embedder import Embedder

_TEXTS = ("question", "answer", "reference")


@dataclass(frozen=True)
class EmbedMaker:
    """Maps a batch to its kept columns and the embeddings of its ``texts`` (made column: yours); null of null."""

    embedder: Embedder
    texts: Mapping[str, str]
    keep: Sequence[str]

    @property
    def kinds(self) -> dict[str, str]:
        """The columns that are read, and their kinds."""
        return {**dict.fromkeys(self.keep, "any"), **dict.fromkeys(self.texts.values(), "text")}

    @property
    def signature(self) -> dict[str, Any]:
        """Everything that the embeddings depend on."""
        made = {"embedder": self.embedder.signature, "columns": dict(self.texts)}
        return {"fastmetrics": __version__, "embeddings": made, "keep": list(self.keep)}

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The kept columns, then the embeddings."""
        arrays = {name: batch.column(name) for name in self.keep}
        for made, name in self.texts.items():
            column = batch.column(name)
            vectors = pa.array(self.embedder.embed(column).ravel())
            arrays[made] = pa.FixedSizeListArray.from_arrays(vectors, self.embedder.dim, mask=column.is_null())
        return pa.record_batch(arrays)

    def observe(self, part: pa.RecordBatch) -> dict[str, int]:
        """How many embeddings a part holds, by column."""
        return {made: part.num_rows - part.column(made).null_count for made in self.texts}

    @staticmethod
    def conclude(parts: list[Any], rejected: int) -> dict[str, Any]:
        """What the metadata say of all parts."""
        return {"embedded": dict(_added(parts)), "n_rejected": rejected}


def _added(parts: Sequence[Mapping[str, int]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for part in parts:
        total.update(part)
    return total


@dataclass(frozen=True)
class EmbeddedFiles:
    """What ``embed_files`` made: where the file is, and how many texts each column of embeddings holds."""

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
    """Embed columns of text of files of any size into a file, which metrics of embeddings then read.

    ``of`` names columns of text, by default those of question, answer and reference that there are, under their usual
    names or as ``columns={canonical: yours}`` says; each gets a column ``<name>_embedding`` of float32 vectors, null
    where the text is null.  All columns are kept, or those in ``keep`` and the id.  The output appears whole or not at
    all; ``resume`` goes on with a run that was cut short, and an ``Embedder`` with a ``cache`` embeds no text twice.

    >>> import tempfile, pathlib, numpy as np, fastmetrics as fm
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "rows.jsonl").write_text('{"id": 1, "answer": "yes"}')
    >>> lengths = fm.Embedder(lambda texts: np.array([[float(len(text)), 1.0] for text in texts]))
    >>> fm.embed_files(folder / "rows.jsonl", folder / "embedded.parquet", lengths).embedded
    {'answer_embedding': 1}

    Raises ``ColumnError`` for a column that is missing, holds no text, or has its embeddings already, ``OptionError``
    for CSV, which has no lists, and what reading and writing files raises.
    """
    options = RunOptions(on_error, resume, overwrite, work, True, progress)
    source = open_source(inputs, format, max_row_bytes)
    target = open_output(output, source, options)
    if target.format in ("csv", "tsv"):
        raise OptionError(
            "embeddings are lists, which CSV and TSV have no place for; write Parquet, Arrow or JSON lines"
        )
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
            "no column of questions, answers or references; name columns of text in ",
            Argument("of"),
            f"; the table has: {quoted(names)}",
        )
    kept = list(names) if keep is None else list(dict.fromkeys([*([found["id"]] if "id" in found else []), *keep]))
    for name in (*asked.values(), *kept):
        if name not in names:
            raise ColumnError(str(UnknownNameError.of("column", name, names)))
    texts = {f"{name}_embedding": yours for name, yours in asked.items()}
    there = [made for made in texts if made in kept]
    if there:
        raise ColumnError(f"there is a column {there[0]!r} already; rename it, or leave it out of ", Argument("keep"))
    return EmbedMaker(embedder, texts, kept)
