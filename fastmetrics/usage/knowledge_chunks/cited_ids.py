"""Finding the ids that the answers of a log cite: by number, ``[2]``, or by name, ``[doc-7]``."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import Ints, Text, text_of_arrow
from fastmetrics.retrieval.rankings import offsets, spans
from fastmetrics.usage.knowledge_chunks.listed_ids import ListedIds, as_text

_OPEN, _CLOSE = ord("["), ord("]")
_LONGEST = 9  # maximum digits of a valid position in a list


def cited_ids(answers: pa.Array, listed: ListedIds) -> Ints:
    """The positions of the cited ids among all listed ids, ascending.

    Text in square brackets is an id of the row's list or, if the list has no such id, the number of an id, from 1.
    """
    text = text_of_arrow(answers, "answer")
    begins, ends, rows = _brackets(text)
    if not begins.size or not listed.codes.size:
        return np.zeros(0, np.int64)
    texts = pc.utf8_trim_whitespace(_strings(text, begins, ends))
    by_id = _by_id(texts, rows, listed)
    by_number = _by_number(texts, rows, listed)
    places = np.where(by_id >= 0, by_id, by_number)
    cited = np.zeros(listed.codes.size, np.bool_)
    cited[places[places >= 0]] = True
    return np.flatnonzero(cited)


def _brackets(text: Text) -> tuple[Ints, Ints, Ints]:
    """Texts between brackets, without nested brackets: start byte, end byte, and row."""
    order = np.flatnonzero(((text.data - np.uint8(_OPEN)) & np.uint8(~(_CLOSE - _OPEN) & 0xFF)) == 0)
    opens = text.data[order] == _OPEN
    pairs = np.flatnonzero(opens[:-1] & ~opens[1:])
    begins, ends = order[pairs] + 1, order[pairs + 1]
    rows = np.searchsorted(text.starts, begins, side="right") - 1
    # ignore matches outside the texts, and matches that extend over two texts
    inside = (rows >= 0) & (ends > begins)
    inside[inside] = (ends[inside] < text.stops[rows[inside]]) & text.valid[rows[inside]]
    return begins[inside], ends[inside], rows[inside]


def _strings(text: Text, begins: Ints, ends: Ints) -> pa.Array:
    sizes = ends - begins
    data = text.data[spans(begins, sizes)]
    buffers = [None, pa.py_buffer(offsets(sizes).copy()), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.large_string(), len(sizes), buffers)


def _by_id(texts: pa.Array, rows: Ints, listed: ListedIds) -> Ints:
    """The position of the first id of the row's list that equals the text, −1 without any."""
    encoded = texts.dictionary_encode()
    ids = np.asarray(pc.index_in(encoded.dictionary, as_text(listed.words)).fill_null(-1)).astype(np.int64)
    codes = ids[np.asarray(encoded.indices)]
    places, some = np.full(len(codes), -1), np.flatnonzero(codes >= 0)
    if not some.size:
        return places
    keys = listed.rows * len(listed.words) + listed.codes
    order = np.argsort(keys, kind="stable")
    targets = rows[some] * len(listed.words) + codes[some]
    at = np.minimum(np.searchsorted(keys[order], targets), len(order) - 1)
    places[some] = np.where(keys[order[at]] == targets, order[at], -1)
    return places


def _by_number(texts: pa.Array, rows: Ints, listed: ListedIds) -> Ints:
    """The position of the id with the given number in the row's list, −1 if it is not a number or out of range."""
    texts = pc.utf8_ltrim(texts, "0")
    digits = pc.match_substring_regex(texts, rf"^[0-9]{{1,{_LONGEST}}}$")
    numbers = np.asarray(pc.if_else(digits, texts, "0").cast(pa.int64()))
    starts = offsets(np.bincount(listed.rows, minlength=len(listed.valid)).astype(np.int64))
    inside = (numbers >= 1) & (numbers <= np.diff(starts)[rows])
    return np.where(inside, starts[:-1][rows] + numbers - 1, -1)
