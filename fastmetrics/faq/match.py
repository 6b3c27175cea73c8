"""``fm.match``: the answers of a FAQ to questions, from tables in memory or in files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from fastmetrics.base.errors import ColumnError, quoted
from fastmetrics.base.input_columns import resolve
from fastmetrics.base.threads import cores
from fastmetrics.faq.strict_match_bot import StrictMatchBot
from fastmetrics.tables.outputs import check_without_place, table_place, write_whole
from fastmetrics.tables.sources import TableSource, is_paths, open_table
from fastmetrics.tables.table_rows import whole_table


@dataclass(frozen=True)
class MatchedQuestions:
    """The result of ``match`` with an ``output``: the rows, and the cells of CSV that got a leading quote."""

    rows: int
    guarded: int


def match(
    questions: Any,
    faq: Any,
    *,
    output: str | Path | None = None,
    columns: Mapping[str, str] | None = None,
    threads: int | None = None,
    overwrite: bool = False,
    guard: bool = True,
) -> Any:
    """Answer every question from the row of a FAQ whose question shares the most words with it.

    ``questions`` and ``faq`` are tables in memory, or files by their paths, as in ``score``; the questions have a
    column ``question``, the FAQ ``question`` and ``answer``.  ``columns={canonical: yours}`` maps the column names of
    both tables, where they exist.  Returns a table: id (if there is one), question, answer, score and index (the row of
    the FAQ), by a :class:`StrictMatchBot`.  ``match_faq`` gives the ``k`` best rows for columns of questions.

    Parameters:

    - ``questions``: A table with the column ``question``, or paths of files.
    - ``faq``: A table with the columns ``question`` and ``answer``, or paths of files.
    - ``output``: The output: a file, with the format given by its suffix, a folder of parts, or an address.
    - ``columns``: Your column names: answer=text,... A name with a comma: '"answer=a,b"'.
    - ``threads``: Number of threads, from 1 to 1,024; by default one for each core available to this process, of
      profile one.
    - ``overwrite``: Replace the output if it exists.
    - ``guard``: Write a leading quote in CSV before text that a spreadsheet would run as a formula (=, +, -, @ …).

    >>> import fastmetrics as fm
    >>> faq = {"question": ["Where is my card?", "How do I pay?"], "answer": ["By mail.", "Online."]}
    >>> fm.match({"id": [1], "question": ["how can I pay"]}, faq).select(["id", "answer"]).to_pylist()
    [{'id': 1, 'answer': 'Online.'}]

    With ``output``, the table is written to a file, Parquet, Arrow, JSON lines, CSV or TSV by its suffix, and the
    result has the number of ``rows``.  Text of CSV that a spreadsheet would run gets a leading quote, unless
    ``guard=False``.  An existing file is replaced only with ``overwrite=True``.

    Raises ``FileFormatError`` for a file that cannot be read or has a bad row, ``ColumnError`` for a column that is
    missing or of the wrong type, ``InputError`` for an empty FAQ, ``OptionError`` for an option of outputs without one,
    ``OutputError`` if the output exists or cannot be written.
    """
    workers = cores(threads)
    if output is None:
        check_without_place(overwrite=overwrite, guard=guard)
    inputs = [table for table in (questions, faq) if is_paths(table)]
    place = None if output is None else table_place(output, inputs, overwrite=overwrite)
    matched = _matched(open_table(questions, name="questions"), open_table(faq, name="faq"), columns, workers)
    if place is None:
        return matched
    cells = write_whole(matched, place, {"bot": "strict match"}, set(matched.column_names), guard=guard)
    return MatchedQuestions(matched.num_rows, cells)


def _matched(questions: TableSource, faq: TableSource, columns: Mapping[str, str] | None, threads: int) -> pa.Table:
    """The table of answers."""
    mapping = {canonical: str(column) for canonical, column in (columns or {}).items()}
    resolve(dict.fromkeys([*questions.names, *faq.names]), mapping, needed=())  # raises for a column that neither has
    question_columns = _columns_of(questions, "questions", mapping, ("question",), ("id",))
    answers = _columns_of(faq, "faq", mapping, ("question", "answer"), ())
    answered = StrictMatchBot(answers).answer_all(question_columns["question"], threads=threads)
    return pa.table({name: table[name] for table in (question_columns, answered) for name in table.column_names})


def read_faq(path: str | Path, columns: Mapping[str, str] | None = None) -> StrictMatchBot:
    """The strict match bot of a FAQ in files, which are read as in :func:`match`.

    Only the entries of ``columns={canonical: yours}`` that the FAQ has are used.  Raises the errors of ``match``.
    """
    return StrictMatchBot(_columns_of(open_table(path), "faq", dict(columns or {}), ("question", "answer"), ()))


def _columns_of(
    source: TableSource, name: str, mapping: Mapping[str, str], needed: Iterable[str], optional: Iterable[str]
) -> pa.Table:
    """The columns of a source by their canonical names, the question as text and the others unchanged."""
    names = source.names
    own = {canonical: column for canonical, column in mapping.items() if column in names}
    resolved = resolve(names, own, needed={*needed, *optional})
    for column in needed:
        if column not in resolved:
            raise ColumnError(f"{name}: needs the column {column!r}; it has: {quoted(names)}")
    chosen = {column: resolved[column] for column in (*optional, *needed) if column in resolved}
    kinds = {**dict.fromkeys(chosen.values(), "any"), chosen["question"]: "text"}
    table = whole_table(source, kinds)
    return pa.table({name: table[column] for name, column in chosen.items()})
