"""FAQ look-up: the rows whose questions are most similar by words, ``fm.match``, and the bot that returns their
answers.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from types import MappingProxyType
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.arrays import Text, Tokens, text_of_arrow
from fastmetrics.base.column_names import resolve
from fastmetrics.base.columns import as_array, as_text
from fastmetrics.base.display import NearestRows
from fastmetrics.base.errors import Argument, ColumnError, InputError, quoted
from fastmetrics.base.options import Neighbours, argument
from fastmetrics.base.shared_parameters import Help
from fastmetrics.base.threads import cores, ordered
from fastmetrics.kernels import inverted_index as kernels
from fastmetrics.tables.good_rows import whole_table
from fastmetrics.tables.opening import is_paths, open_table
from fastmetrics.tables.outputs import check_without_target, table_target, write_whole
from fastmetrics.tables.sources import TableSource
from fastmetrics.text.conventions import convention
from fastmetrics.text.tokenize import Vocabulary

# Exact matching of questions to FAQ rows by word similarity (the QA framework).


_CHUNK = 8192
_RARE = 16  # words in more than one of 16 rows get a dense row
_LINES = 512  # maximum number of dense rows
_MOST_NEW_WORDS = 1 << 20  # number of new question words before the vocabulary is reset


@dataclass(frozen=True, eq=False)
class Match(NearestRows):
    """The rows most similar to each question, best first.

    ``index`` (n, k) int64 are row numbers, ``score`` (n, k) float64 their token-set cosines; -1 and NaN where the
    question is null or there are fewer than k rows.
    """

    index: npt.NDArray[np.int64]
    score: npt.NDArray[np.float64]
    _fields = ("question", "index", "score")


def match_faq(questions: Any, faq_questions: Any, k: int = 1, *, threads: int | None = None) -> Match:
    """The ``k`` rows of ``faq_questions`` that share the most words with each of ``questions``.

    The score is ``token_cosine``: with A and B the sets of words under the convention ``light``, |A ∩ B| / √(|A| ·
    |B|), 0 if either is empty.  The search is exact; ties go to the first row, so a question without common words
    returns the first rows with score 0.  Both columns are lists, NumPy, pandas, Polars or Arrow.

    >>> found = match_faq(["where is my card?", "hello"], ["Lost card", "Where is my new card"])
    >>> found.index.tolist(), found.score.round(3).tolist()
    ([[1], [0]], [[0.894], [0.0]])

    Raises ``InputError`` for an empty FAQ, ``ColumnError`` for columns that are not text, ``OptionError`` for a k below
    1.  Source: the QA framework, strict semantic match.
    """
    return Matcher(faq_questions).match(questions, k, threads=threads)


class Matcher:
    """A reusable, thread-safe inverted index over FAQ questions."""

    def __init__(self, faq_questions: Any) -> None:
        text = as_text(faq_questions, "faq_questions")
        if not len(text):
            raise InputError("faq_questions: expected at least one row")
        self._text = text
        self._vocabularies: SimpleQueue[Vocabulary] = SimpleQueue()
        vocabulary = Vocabulary(convention("light"))
        tokens = vocabulary.tokenize(text)
        self._vocabularies.put(vocabulary)
        self._n_words = len(vocabulary)
        self._index = _inverted(_distinct(tokens), self._n_words)

    def __len__(self) -> int:
        return len(self._text)

    def match(self, questions: Any, k: int = 1, *, threads: int | None = None) -> Match:
        """See :func:`match`."""
        k, workers = argument("k", k, Neighbours), cores(threads)
        text, which = _distinct_texts(questions, "questions")

        def part(start: int) -> Match:
            rows = np.arange(start, min(start + _CHUNK, len(text)))
            with self._vocabulary() as vocabulary:
                return self._nearest(vocabulary.tokenize(text.take(rows)), k)

        none = Match(np.full((1, k), -1), np.full((1, k), np.nan))  # the result for null, number -1
        parts = [*ordered(part, range(0, len(text), _CHUNK), workers), none]
        index, score = (np.concatenate([getattr(result, name) for result in parts]) for name in ("index", "score"))
        return Match(index[which], score[which])

    @contextmanager
    def _vocabulary(self) -> Iterator[Vocabulary]:
        """A vocabulary for one thread, in which the words of the FAQ have the numbers of the index."""
        if self._vocabularies.empty():
            vocabulary = Vocabulary(convention("light"))
            vocabulary.tokenize(self._text)
        else:
            vocabulary = self._vocabularies.get()
        try:
            yield vocabulary
        finally:
            if len(vocabulary) < self._n_words + _MOST_NEW_WORDS:
                self._vocabularies.put(vocabulary)

    def _nearest(self, tokens: Tokens, k: int) -> Match:
        width, rows = min(k, len(self)), len(tokens)
        score, index = np.full((rows, k), np.nan), np.full((rows, k), -1, np.int64)
        best = kernels.Best(np.zeros((rows, width)), np.tile(np.arange(len(self), len(self) + width), (rows, 1)))
        mark = np.full(max(tokens.n_words, self._n_words) + 1, -1, np.int64)
        kernels.match_rows(_distinct(tokens), self._index, best, mark, np.empty(len(self), self._index.lines.dtype))
        kernels.fill(best.rows, len(self))
        index[:, :width], score[:, :width] = best.rows, best.scores
        return Match(index, score)


def _inverted(sets: kernels.TokenSets, n_words: int) -> kernels.InvertedIndex:
    """The index of token sets over ``n_words`` words."""
    sizes = np.diff(sets.bounds)
    order = np.argsort(sizes, kind="stable")
    counts = np.bincount(sets.words, minlength=n_words)
    starts = np.concatenate([[0], np.cumsum(counts)])
    by_place = kernels.TokenSets(np.empty_like(sets.words), np.zeros_like(sets.bounds))
    places = np.empty(len(sets.words), np.int32)
    kernels.invert(sets, order, by_place.words, by_place.bounds, places, starts)
    frequent = np.argsort(-counts, kind="stable")[:_LINES]
    frequent = frequent[counts[frequent] > len(order) // _RARE]
    slots = np.full(n_words, -1, np.int32)
    slots[frequent] = np.arange(len(frequent))
    lines = np.zeros((len(frequent), len(order)), np.min_scalar_type(int(sizes.max(initial=0))))
    for line, word in zip(lines, frequent, strict=True):
        line[places[starts[word] : starts[word + 1]]] = 1
    groups = np.flatnonzero(np.diff(sizes[order], prepend=-1, append=-1))
    return kernels.InvertedIndex(order, by_place, places, starts, groups, slots, lines)


def _distinct_texts(values: Any, name: str) -> tuple[Text, npt.NDArray[np.int64]]:
    """The distinct texts, and the number of each row's text, -1 where it is null."""
    array = as_array(values, name)
    if not any(check(array.type) for check in (pa.types.is_string, pa.types.is_large_string)):
        text = text_of_arrow(array, name)
        return text, np.where(text.valid, np.arange(len(text)), -1)
    encoded = array.dictionary_encode()
    which = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return text_of_arrow(encoded.dictionary, name), which.astype(np.int64)


def _distinct(tokens: Tokens) -> kernels.TokenSets:
    words = np.empty(int(tokens.counts.sum()), np.int32)
    bounds = np.zeros(len(tokens) + 1, np.int64)
    kernels.distinct(tokens.ids, tokens.starts, tokens.stops, tokens.n_words, words, bounds)
    return kernels.TokenSets(words[: bounds[-1]], bounds)


# A baseline bot that returns the answer of the most similar FAQ row (the QA framework).


@dataclass(frozen=True)
class FaqReply:
    """The answer of a bot, the similarity and number of its FAQ row, and the latency of the question.

    Where no row shares a word with the question, the similarity is 0, and there is no answer and no row (−1).
    """

    answer: str | None
    score: float
    index: int
    latency_ms: float


class StrictMatchBot:
    """A bot that returns the answer of the FAQ row with the highest ``token_cosine``; ties go to the first row.

    A question that shares no word with any row has no answer.

    ``faq`` is an Arrow table, a pandas or Polars frame, or a dict of columns, with a ``question`` and an ``answer``
    column (or an alias; ``columns={canonical: yours}`` maps other names).  The bot is thread-safe.

    >>> faq = {"question": ["Where is my card?", "How do I pay?"], "answer": ["In the mail.", "Online."]}
    >>> bot = StrictMatchBot(faq)
    >>> bot.answer("how can I pay").answer
    'Online.'

    Raises ``ColumnError`` if a column is missing, ``InputError`` for an empty FAQ.

    Source: the QA framework, strict semantic match.
    """

    name = "faq"
    reads = ("question",)
    returns = ()
    settings: Mapping[str, Any] = MappingProxyType({"bot": "strict match"})

    def __init__(self, faq: Any, *, columns: Mapping[str, str] | None = None) -> None:
        table = _columns_of(open_table(faq, name="faq"), "faq", columns or {}, ("question", "answer"), ())
        questions, answers = (table[name].combine_chunks() for name in ("question", "answer"))
        self._matcher = Matcher(questions)
        self._matcher.match([""], threads=1)  # compiles the kernels, whose time would count as the first latency
        self._answers = answers

    def use_of(self, column: str) -> str:
        """Where a column is named, for messages."""
        return f"the column {column!r} of the bot {self.name!r}"

    def answer(self, question: str | None) -> FaqReply:
        """The answer for one question, none (``index`` −1) for None; ``latency_ms`` is the time of this call."""
        began = time.perf_counter()
        match = self._matcher.match([question], threads=1)
        row = int(match.index[0, 0]) if match.score[0, 0] > 0 else -1
        reply = self._answers[row].as_py() if row >= 0 else None
        return FaqReply(reply, float(match.score[0, 0]), row, 1000 * (time.perf_counter() - began))

    def answer_all(self, questions: Any, *, threads: int | None = None) -> pa.Table:
        """The answers for a column of questions: columns answer, score, index.

        A null question has no answer, and neither has one that shares no word with any row: its score is 0.  All
        questions are matched together, so none has a latency of its own: :func:`fastmetrics.answer` answers them one by
        one and measures each.
        """
        match = self._matcher.match(questions, threads=threads)
        rows = pa.array(match.index[:, 0], mask=~(match.score[:, 0] > 0))
        answers = self._answers.take(rows)
        scores = pa.array(match.score[:, 0], mask=match.index[:, 0] < 0)
        return pa.table({"answer": answers, "score": scores, "index": rows})


# ``fm.match``: the answers of a FAQ to questions, from tables in memory or in files.


@dataclass(frozen=True)
class MatchedQuestions:
    """The result of ``match`` with an ``output``: the rows, those without an answer, and the cells of CSV that got a
    leading quote.
    """

    rows: int
    guarded: int
    unanswered: int = 0


def match(
    questions: Annotated[Any, Help("A table with the column ``question``, or paths of files.")],
    faq: Annotated[Any, Help("A table with the columns ``question`` and ``answer``, or paths of files.")],
    *,
    output: shared.Output = None,
    columns: shared.Columns = None,
    faq_columns: shared.FaqColumns = None,
    threads: shared.Threads = None,
    overwrite: shared.Overwrite = False,
) -> Any:
    """Answer every question from the row of a FAQ whose question shares the most words with it.

    ``questions`` and ``faq`` are tables in memory, or files by their paths, as in ``score``; the questions have a
    column ``question``, the FAQ ``question`` and ``answer``.  ``columns={canonical: yours}`` maps the column names of
    both tables, where they exist, and ``faq_columns`` those of the FAQ alone.  Returns a table by a
    :class:`StrictMatchBot`: id (if there is one), question, answer, score (the similarity) and index (the row of the
    FAQ).  A question that shares no word with any row has the score 0 and no answer.  ``match_faq`` gives the ``k``
    best rows for columns of questions.

    >>> import fastmetrics as fm
    >>> faq = {"question": ["Where is my card?", "How do I pay?"], "answer": ["By mail.", "Online."]}
    >>> fm.match({"id": [1], "question": ["how can I pay"]}, faq).select(["id", "answer"]).to_pylist()
    [{'id': 1, 'answer': 'Online.'}]

    With ``output``, the table is written to a file, Parquet, Arrow, JSON lines, CSV or TSV by its suffix, and the
    result has the number of ``rows``.  Text of CSV that a spreadsheet would run gets a leading quote.
    An existing file is replaced only with ``overwrite=True``.

    Raises ``FileFormatError`` for a file that cannot be read or has a bad row, ``ColumnError`` for a column that is
    missing or of the wrong type, ``InputError`` for an empty FAQ, ``OptionError`` for an option of outputs without one,
    ``OutputError`` if the output exists or cannot be written.
    """
    workers = cores(threads)
    if output is None:
        check_without_target(overwrite=overwrite)
    inputs = [table for table in (questions, faq) if is_paths(table)]
    place = None if output is None else table_target(output, inputs, overwrite=overwrite)
    known = open_table(questions, name="questions"), open_table(faq, name="faq")
    matched = _matched(*known, columns, faq_columns, workers)
    if place is None:
        return matched
    keys = set(matched.column_names)
    cells = write_whole(matched, place, {"bot": "strict match"}, keys)
    return MatchedQuestions(matched.num_rows, cells, matched["answer"].null_count)


def _matched(
    questions: TableSource,
    faq: TableSource,
    columns: Mapping[str, str] | None,
    faq_columns: Mapping[str, str] | None,
    threads: int,
) -> pa.Table:
    """The table of answers."""
    mapping = {canonical: str(column) for canonical, column in (columns or {}).items()}
    resolve(dict.fromkeys([*questions.names, *faq.names]), mapping, needed=())  # raises for a column that neither has
    question_columns = _columns_of(questions, "questions", _in(questions, mapping), ("question",), ("id",))
    bot = StrictMatchBot(faq, columns={**_in(faq, mapping), **(faq_columns or {})})
    answered = bot.answer_all(question_columns["question"], threads=threads)
    return pa.table({name: table[name] for table in (question_columns, answered) for name in table.column_names})


def read_faq(
    path: str | Path, columns: Mapping[str, str] | None = None, own: Mapping[str, str] | None = None
) -> StrictMatchBot:
    """The strict match bot of a FAQ in files, with its ``own`` names of columns; of the entries of
    ``columns={canonical: yours}``, which are those of the questions, only the ones that it has count.
    """
    source = open_table(path)
    return StrictMatchBot(source, columns={**_in(source, columns or {}), **(own or {})})


def _in(source: TableSource, columns: Mapping[str, str]) -> dict[str, str]:
    """The entries for columns of a table."""
    return {canonical: column for canonical, column in columns.items() if column in source.names}


def _columns_of(
    source: TableSource, name: str, mapping: Mapping[str, str], needed: Iterable[str], optional: Iterable[str]
) -> pa.Table:
    """The columns of a source by their canonical names, the question as text and the others unchanged."""
    names = source.names
    resolved = resolve(names, mapping, needed={*needed, *optional})
    for column in needed:
        if column not in resolved:
            way = Argument("faq_columns" if name == "faq" else "columns", {column: ...})
            raise ColumnError(f"{name}: needs the column {column!r}; it has: {quoted(names)}; set its name with ", way)
    chosen = {column: resolved[column] for column in (*optional, *needed) if column in resolved}
    kinds = {**dict.fromkeys(chosen.values(), "any"), chosen["question"]: "text"}
    table = whole_table(source, kinds)
    return pa.table({name: table[column] for name, column in chosen.items()})
