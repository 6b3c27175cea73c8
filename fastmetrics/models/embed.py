"""Embedding the texts of a table: ``fm.embed``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import pyarrow as pa

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.column_names import kept_columns, listed, resolve
from fastmetrics.base.errors import Argument, ColumnError, UnknownColumnError, quoted
from fastmetrics.base.progress import Progress
from fastmetrics.base.public_names import __version__
from fastmetrics.base.score_metadata import ScoreMetadata
from fastmetrics.base.shared_parameters import Help
from fastmetrics.engines.column_maker import ColumnMaker, RunOptions, RunResult, check_without_output
from fastmetrics.engines.run import make_columns, open_output
from fastmetrics.models.judged_columns import summed
from fastmetrics.tables.input_files import Files, file_settings
from fastmetrics.tables.opening import open_table
from fastmetrics.vectors.embedder import SUFFIX, Embedder, count, embedded, embedder_of, kind_of

_TEXTS = ("question", "answer", "reference")


@dataclass(frozen=True)
class EmbeddingMaker(ColumnMaker):
    """The kept columns of a table, and the embeddings of its ``texts`` (output column: yours); null for null."""

    embedder: Embedder
    texts: Mapping[str, str]
    keep: Sequence[str]

    @property
    def columns(self) -> dict[str, str]:
        """The input columns and their kinds."""
        return {
            **dict.fromkeys(self.keep, "any"),
            **{column: kind_of(target.removesuffix(SUFFIX)) for target, column in self.texts.items()},
        }

    @property
    def signature(self) -> dict[str, Any]:
        """All settings that affect the embeddings."""
        settings = {"embedder": self.embedder.signature, "columns": dict(self.texts)}
        return ScoreMetadata(version=__version__, embeddings=settings, keep=self.keep).to_json()

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The kept columns, then the embeddings."""
        arrays = {name: batch.column(name) for name in self.keep}
        for target, name in self.texts.items():
            arrays[target] = embedded(batch.column(name), self.embedder)
        return pa.record_batch(arrays)

    def observe(self, part: pa.RecordBatch | pa.Table) -> dict[str, int]:
        """The number of embeddings in a part, by column."""
        return {target: count(part.column(target)) for target in self.texts}

    def conclude(self, observed: Sequence[Mapping[str, int]], rejected: int) -> dict[str, Any]:
        """The metadata about all parts."""
        return ScoreMetadata(embedded=summed(observed), n_rejected=rejected).to_json()

    def concluded(self, run: RunResult, output: str) -> RunResult:
        """The result with the number of embedded texts by column."""
        return replace(run, counts=run.metadata["embedded"])


def embed(
    table: shared.Table,
    embedder: shared.Embedder,
    of: Annotated[
        Sequence[str] | str, Help("Columns of text. Default: those of question, answer and reference that exist.")
    ] = (),
    *,
    output: shared.Output = None,
    keep: shared.KeepAll = None,
    columns: shared.Columns = None,
    files: Files = None,
    resume: shared.Resume = False,
    overwrite: shared.Overwrite = False,
    progress: Annotated[
        Callable[[Progress], None] | None, Help("A function that is called with the progress while texts are embedded.")
    ] = None,
) -> Any:
    """Embed text columns of a table, in memory or in files, for the metrics that read embeddings.

    ``table`` is as in ``score``.  ``of`` names text columns, by default those of question, answer and reference that
    exist, under their usual names or as mapped by ``columns={canonical: yours}``.  Each gets a column
    ``<name>_embedding`` of float32 vectors, null where the text is null; a column of lists, such as several references,
    gets a list of vectors per row.  All columns are copied, or the id and those in ``keep``.  The ``embedder`` is a
    name, a function or an ``Embedder``; one with a ``cache`` embeds no text twice.

    >>> import numpy as np, pyarrow as pa, fastmetrics as fm
    >>> lengths = fm.Embedder(lambda texts: np.array([[float(len(text))] for text in texts]))
    >>> made = fm.embed({"answer": ["a", None], "reference": [["b", "bc"], []]}, lengths)
    >>> made["answer_embedding"].to_pylist(), made["reference_embedding"].to_pylist()
    ([[1.0], None], [[[1.0], [2.0]], []])

    With ``output``, the rows are written to a file; the options of outputs are those of ``score``.  The result has
    the path and in ``counts`` the number of embedded texts by column.

    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "rows.jsonl").write_text('{"id": 1, "answer": "yes"}')
    >>> fm.embed(folder / "rows.jsonl", lengths, output=folder / "embedded.parquet").counts
    {'answer_embedding': 1}

    Raises ``ColumnError`` for a column that is missing, contains no text, or already has embeddings, or for lists of
    questions or answers, and the errors of reading and writing files.
    """
    files = file_settings(files)
    options = RunOptions(files, resume, overwrite, progress)
    if output is None:
        check_without_output(options)
    source = open_table(table, files)
    target = None if output is None else open_output(output, source, options)
    copied = None if keep is None else kept_columns(keep, source.names)
    maker = _maker(source.names, embedder_of(embedder), listed(of), columns, copied)
    return make_columns(maker, source, target, options, 1)


def _maker(
    names: Sequence[str],
    embedder: Embedder,
    of: Sequence[str],
    columns: Mapping[str, str] | None,
    keep: Sequence[str] | None,
) -> EmbeddingMaker:
    """The maker for a table with columns of these names."""
    resolved = resolve(names, columns, needed={"id", *_TEXTS})
    chosen = {name: resolved.get(name, name) for name in of or [name for name in _TEXTS if name in resolved]}
    if not chosen:
        raise ColumnError(
            "no column question, answer or reference; list the columns of text in ",
            Argument("of"),
            f"; the table has: {quoted(names)}",
        )
    copied = (
        [name for name in names if name not in {f"{name}{SUFFIX}" for name in chosen}]
        if keep is None
        else list(dict.fromkeys([*([resolved["id"]] if "id" in resolved else []), *keep]))
    )
    for name in (*chosen.values(), *copied):
        if name not in names:
            raise UnknownColumnError.of("column", name, names)
    texts = {f"{name}{SUFFIX}": column for name, column in chosen.items()}
    taken_names = [name for name in texts if name in copied]
    if taken_names:
        raise ColumnError(
            f"the column {taken_names[0]!r} already exists; rename it, or remove it from ", Argument("keep")
        )
    return EmbeddingMaker(embedder, texts, copied)
