"""Faults of single rows of a data set: leaks, copies, empty contexts, truncated answers, other scripts."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import Ints, text_of_arrow
from fastmetrics.base.arrow import is_list
from fastmetrics.base.columns import look_like_lists
from fastmetrics.usage.languages import scripts_of
from fastmetrics.usage.log import blank

LEAK = 4
"""Minimum words of a reference whose occurrence in the question counts as a leak."""
LONG = 20
"""Minimum words of an answer that is expected to end with punctuation."""
ENDS = tuple(".!?…。！？؟।)]}\"'»”’`|*>:;")
_TAIL = 60


def plain(texts: pa.Array) -> pa.Array:
    """Texts in lower case with single spaces between their words, "" for null: ``" ".join(text.lower().split())``.

    >>> plain(pa.array([" How  LONG", None, "ΣΑΣ "])).to_pylist()
    ['how long', '', 'σας']
    """
    texts = texts.cast(pa.large_string()).fill_null("")
    simple = pc.and_not(pc.string_is_ascii(texts), pc.match_substring_regex(texts, "[\x0b\x1c-\x1f]"))
    # not ascii_lower, which reads wrong bytes of a slice (bug in PyArrow 26)
    words = pc.ascii_split_whitespace(pc.ascii_trim_whitespace(pc.utf8_lower(texts)))
    joined = pc.binary_join(words, pa.scalar(" ", pa.large_string()))
    others = texts.filter(pc.invert(simple))
    if not len(others):
        return joined
    replaced = [" ".join(text.lower().split()) for text in others.to_pylist()]
    return pc.replace_with_mask(joined, pc.invert(simple), pa.array(replaced, pa.large_string()))


def flat(column: pa.Array) -> tuple[pa.Array, Ints]:
    """The texts of a column of texts or of lists of them, without nulls, and the row of each."""
    if is_list(column.type):
        sizes = np.asarray(pc.fill_null(pc.list_value_length(column), 0)).astype(np.int64)
        texts, owner = column.flatten(), np.repeat(np.arange(len(column)), sizes)
    else:
        texts, owner = column, np.arange(len(column))
    texts = texts.cast(pa.large_string())
    valid = np.asarray(texts.is_valid())
    return texts.drop_null(), owner[valid]


def _words(texts: pa.Array) -> Ints:
    """Number of words of plain texts; "" has one."""
    return np.asarray(pc.count_substring(texts, " ")).astype(np.int64) + 1


def leaks(rows: pa.RecordBatch) -> Ints:
    """The rows with a reference of several words that occurs in the question, ignoring case."""
    questions = plain(rows.column("question"))
    texts, owner = flat(rows.column("reference"))
    texts = plain(texts)
    room = np.asarray(pc.binary_length(questions))[owner]
    some = np.flatnonzero((_words(texts) >= LEAK) & (np.asarray(pc.binary_length(texts)) <= room))
    pairs = zip(texts.take(pa.array(some)).to_pylist(), questions.take(pa.array(owner[some])).to_pylist(), strict=True)
    return np.unique(owner[some][np.array([reference in question for reference, question in pairs], np.bool_)])


def copies(rows: pa.RecordBatch) -> Ints:
    """The rows whose answer of several words equals one of the contexts."""
    answers = plain(rows.column("answer"))
    long = np.flatnonzero(_words(answers) >= LEAK)
    texts, owner = flat(rows.column("contexts").take(pa.array(long)))
    same = pc.equal(plain(texts), answers.take(pa.array(long[owner])))
    return np.unique(long[owner[np.asarray(same)]])


def empty(rows: pa.RecordBatch) -> Ints:
    """The rows whose contexts contain only white space, or no context."""
    texts, owner = flat(rows.column("contexts"))
    filled = np.zeros(rows.num_rows, np.bool_)
    filled[owner[~blank(texts)]] = True
    return np.flatnonzero(~filled)


def cut_off(rows: pa.RecordBatch) -> Ints:
    """The rows with a long answer that ends without punctuation."""
    answers = pc.utf8_trim_whitespace(rows.column("answer").cast(pa.large_string()).fill_null(""))
    last = pc.utf8_slice_codeunits(answers, -1)
    open_ended = np.flatnonzero(~np.asarray(pc.is_in(last, pa.array(ENDS, pa.large_string()))))
    counts = pc.list_value_length(pc.utf8_split_whitespace(answers.take(pa.array(open_ended))))
    return open_ended[np.asarray(counts) >= LONG]


def other_script(rows: pa.RecordBatch) -> Ints:
    """The rows whose question and answer are mostly in different scripts."""
    question, answer = (scripts_of(rows.column(name).cast(pa.large_string())) for name in ("question", "answer"))
    return np.flatnonzero((question > 0) & (answer > 0) & (question != answer))


def listed_in(column: str) -> Callable[[pa.RecordBatch], Ints]:
    """The check for rows in which one text of a column is a list of texts, which scores read as one text."""

    def rows_of(rows: pa.RecordBatch) -> Ints:
        texts = rows.column(column)
        lists = look_like_lists(texts, text_of_arrow(texts, column, lists=True))
        return np.zeros(0, np.int64) if lists is None else np.flatnonzero(lists)

    return rows_of


CHECKS: Mapping[str, tuple[tuple[str, ...], str, Callable[[pa.RecordBatch], Ints]]] = {
    "reference in question": (("question", "reference"), "question", leaks),
    "answer is context": (("answer", "contexts"), "answer", copies),
    "empty contexts": (("contexts",), "", empty),
    "answer cut off": (("answer",), "answer", cut_off),
    "reference is a list": (("reference",), "reference", listed_in("reference")),
    "contexts are a list": (("contexts",), "contexts", listed_in("contexts")),
    "other script": (("question", "answer"), "question", other_script),
}
"""Each check: the columns it needs, the column shown in examples, and the function that finds the rows."""


def shown(check: str, text: str | None) -> str:
    """The text of an example: for a truncated answer, its end."""
    text = text or ""
    return f"… {text.rstrip()[-_TAIL:]}" if check == "answer cut off" else text
