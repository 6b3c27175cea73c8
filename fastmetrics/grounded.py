"""Which sentences of an answer are supported by the passage they cite (S1)."""

from __future__ import annotations

import contextlib
import functools
import re
import tempfile
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from fastmetrics.arrays import Flags, Floats, Ints, Text
from fastmetrics.embed import Embedder
from fastmetrics.kernels.citations import find_citations
from fastmetrics.kernels.geometry import pair_products
from fastmetrics.text.segments import statements

PATTERN = r"\[([0-9]+)\]"
"""A citation of context n; the first group is n."""

SUPPORTED, NO_CITATION, SEVERAL, OUT_OF_RANGE, IDK, TOO_FAR = range(6)
REASONS = (
    "supported",
    "no citation",
    "several citations",
    "citation out of range",
    "says it does not know",
    "below tau_sim",
)
"""What became of a sentence, by number."""


@dataclass(frozen=True, eq=False)
class Sentences:
    """The sentences of a column of answers, and what they cite.

    Row r has the sentences ``text.groups[r]:text.groups[r + 1]``; ``found`` has per sentence the number of citations,
    and the number, first and past-last byte of the last.
    """

    text: Text
    found: Ints

    @property
    def rows(self) -> Ints:
        """The row of each sentence."""
        assert self.text.groups is not None
        return np.repeat(np.arange(len(self.text.groups) - 1), np.diff(self.text.groups))

    def bare(self, which: Ints) -> list[str]:
        """Sentences without their mark and the white space before it."""
        data, text, found = self.text.data, self.text, self.found
        spans = (text.starts[which], found[which, 2], found[which, 3], text.stops[which])
        pieces = []
        for start, mark, after, stop in zip(*(span.tolist() for span in spans), strict=True):
            head, tail = data[start:mark].tobytes().rstrip(), data[after:stop].tobytes()
            pieces.append((head + tail).decode("utf-8", "surrogatepass").strip())
        return pieces


@dataclass(frozen=True, eq=False)
class Support:
    """Per sentence: what became of it (an index of ``REASONS``), the cited string's place, the cosine or NaN."""

    sentences: Sentences
    outcome: Ints
    cited: Ints
    cosine: Floats

    def per_row(self) -> tuple[Ints, Ints]:
        """Supported sentences and all sentences of each row."""
        groups = self.sentences.text.groups
        assert groups is not None
        supported = np.concatenate([[0], np.cumsum(self.outcome == SUPPORTED)])
        return np.diff(supported[groups]), np.diff(groups)


def cut(answers: Text, pattern: str = PATTERN) -> Sentences:
    """The sentences of answers and their citations."""
    text = statements(answers)
    found = np.zeros((len(text), 4), np.int64)
    if pattern == PATTERN:
        find_citations(text.data, text.starts, text.stops, found)
        return Sentences(text, found)
    compiled = re.compile(pattern.encode())
    for row, (start, stop) in enumerate(zip(text.starts.tolist(), text.stops.tolist(), strict=True)):
        for mark in compiled.finditer(text.data[start:stop].tobytes()):
            number = (mark[1] if compiled.groups else mark[0]).decode("utf-8", "replace")
            cited = int(number) if number.isdecimal() else 0
            found[row] = found[row, 0] + 1, min(cited, 10**9), start + mark.start(), start + mark.end()
    return Sentences(text, found)


def support(sentences: Sentences, idk: Flags, contexts: Text, embedder: Embedder, tau_sim: float) -> Support:
    """Judge each sentence: one citation, in range, no "I don't know", and near enough to what it cites."""
    assert contexts.groups is not None
    rows, marks, number = sentences.rows, sentences.found[:, 0], sentences.found[:, 1]
    sizes = np.diff(contexts.groups)[rows]
    tests = [idk, marks == 0, marks > 1, (number < 1) | (number > sizes)]
    outcome = np.select(tests, [IDK, NO_CITATION, SEVERAL, OUT_OF_RANGE], TOO_FAR)
    cited = np.where((marks == 1) & ~tests[3], contexts.groups[:-1][rows] + number - 1, -1)
    cosine = np.full(len(outcome), np.nan)
    valid = np.flatnonzero(outcome == TOO_FAR)
    cosine[valid] = cosines(embedder, sentences.bare(valid), contexts, cited[valid])
    outcome[valid[cosine[valid] >= tau_sim]] = SUPPORTED
    return Support(sentences, outcome, cited, cosine)


def cosines(embedder: Embedder, texts: list[str], passages: Text, which: Ints) -> Floats:
    """Cosine of each text and the passage ``which`` says; NaN where a vector is zero."""
    if not texts:
        return np.empty(0)
    distinct, place = np.unique(which, return_inverse=True)
    one = embedder.embed(pa.array(texts, pa.large_string())).astype(np.float64)
    other = embedder.embed(pa.array(passages.take(distinct).strings(), pa.large_string())).astype(np.float64)
    own = np.arange(len(one))
    products = [np.empty(len(one)), np.empty(len(one)), np.empty(len(other))]
    pair_products(one, other, own, place.ravel().astype(np.int64), products[0])
    pair_products(one, one, own, own, products[1])
    pair_products(other, other, np.arange(len(other)), np.arange(len(other)), products[2])
    norms = np.sqrt(products[1]) * np.sqrt(products[2][place.ravel()])
    return np.divide(products[0], norms, out=np.full(len(one), np.nan), where=norms > 0)


def embedder_of(options: Mapping[str, Any]) -> Embedder:
    """The embedder that the options ``embedder`` (wordllama if None) and ``cache`` name; one per process."""
    asked = "wordllama" if options["embedder"] is None else options["embedder"]
    return asked if isinstance(asked, Embedder) else _shared(asked, str(options["cache"]))


@functools.lru_cache(maxsize=4)
def _shared(model: Any, cache: str) -> Embedder:
    """An embedder that keeps its vectors: in ``cache``, or else in a folder that goes with it."""
    if cache:
        return Embedder(model, cache=cache)
    with contextlib.ExitStack() as undo:
        folder = undo.enter_context(tempfile.TemporaryDirectory(prefix="fastmetrics-"))
        embedder = Embedder(model, cache=folder, revision="this process")
        weakref.finalize(embedder, undo.pop_all().close)
    return embedder
