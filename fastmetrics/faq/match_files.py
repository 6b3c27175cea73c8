"""Answering files of questions from a FAQ in files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pyarrow as pa

from fastmetrics.core.input_columns import resolve
from fastmetrics.core.threads import cores
from fastmetrics.errors import ColumnError
from fastmetrics.errors.messages import quoted
from fastmetrics.faq.bot import StrictMatchBot, answer_table
from fastmetrics.tables.source import Source, open_source
from fastmetrics.tables.whole_table import whole_table


def match_files(
    questions: str | Path,
    faq: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
    threads: int | None = None,
) -> pa.Table:
    """The answers for the questions in some files, in the form of :func:`answer_table`.

    ``questions`` and ``faq`` are files, folders, globs, addresses or ``-`` (standard input), in any format.

    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "faq.csv").write_text("question,answer\\nHow do I pay?,Online.\\n")
    >>> _ = (folder / "asked.jsonl").write_text('{"id": 1, "question": "how can I pay"}')
    >>> match_files(folder / "asked.jsonl", folder / "faq.csv")["answer"].to_pylist()
    ['Online.']

    Raises ``FileFormatError`` for a file that cannot be read or has a bad row, ``ColumnError`` for a column that is
    missing or of the wrong type.
    """
    workers = cores(threads)
    asked, told = open_source(questions), open_source(faq)
    given = {canonical: str(yours) for canonical, yours in (columns or {}).items()}
    resolve(dict.fromkeys([*asked.schema.names, *told.schema.names]), given, needed=())  # check ``given``
    tables = [
        _read(source, name, given, needed, optional)
        for source, name, needed, optional in (
            (asked, "questions", ("question",), ("id",)),
            (told, "faq", ("question", "answer"), ()),
        )
    ]
    return answer_table(*tables, threads=workers)


def read_faq(path: str | Path, columns: Mapping[str, str] | None = None) -> StrictMatchBot:
    """The strict match bot of a FAQ in files, which are read as in :func:`match_files`.

    Only the entries of ``columns={canonical: yours}`` that the FAQ has are used.  Raises the errors of ``match_files``.
    """
    return StrictMatchBot(_read(open_source(path), "faq", dict(columns or {}), ("question", "answer"), ()))


def _read(
    source: Source, name: str, given: Mapping[str, str], needed: Iterable[str], optional: Iterable[str]
) -> pa.Table:
    """The columns of a source by their canonical names, the question as text and the others unchanged."""
    names = source.schema.names
    here = {canonical: yours for canonical, yours in given.items() if yours in names}
    found = resolve(names, here, needed={*needed, *optional})
    for column in needed:
        if column not in found:
            raise ColumnError(f"{name}: needs the column {column!r}; it has: {quoted(names)}")
    chosen = {column: found[column] for column in (*optional, *needed) if column in found}
    kinds = {**dict.fromkeys(chosen.values(), "any"), chosen["question"]: "text"}
    table = whole_table(source, kinds)
    return pa.table({column: table[yours] for column, yours in chosen.items()})
