"""Repeated rows of a data set, found by 16-byte keys of ids, of questions with answers, and of labels."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from fastmetrics.base.arrays import Flags, Ints, Uint64s
from fastmetrics.metrics.batch import numbered
from fastmetrics.text.text_keys import text_keys
from fastmetrics.usage.dataset.row_faults import plain

_MIX = np.uint64(0x9E3779B97F4A7C15)


def id_keys(column: pa.Array) -> Uint64s:
    """Two keys per id; the keys of null ids are arbitrary."""
    if pa.types.is_integer(column.type):
        whole = np.asarray(column.fill_null(0)).astype(np.int64).view(np.uint64)
        return np.column_stack([whole, np.zeros_like(whole)])
    return text_keys(column.cast(pa.large_string()).fill_null(""))


def asked_keys(rows: pa.RecordBatch) -> Uint64s:
    """Two keys per row for question and answer, ignoring case and white space; a missing answer equals an empty one."""
    questions = text_keys(plain(rows.column("question")))
    if "answer" not in rows.schema.names:
        return questions
    answers = text_keys(plain(rows.column("answer")))
    return questions * _MIX + (answers ^ (answers >> np.uint64(29)))


def label_keys(column: pa.Array) -> Uint64s:
    """One key per label of any type; 0 for null."""
    nested = pa.types.is_nested(column.type) or pa.types.is_binary(column.type)
    if nested:
        column = pa.array(
            [None if value is None else written(value) for value in column.to_pylist()], pa.large_string()
        )
    keys = text_keys(column.cast(pa.large_string()).fill_null(""))[:, 0]
    return np.where(np.asarray(column.is_valid()), np.maximum(keys, 1), np.uint64(0))


def written(label: Any) -> str:
    """A label as text for messages."""
    return json.dumps(label, default=str, ensure_ascii=False)


class Groups:
    """The rows whose key occurs at least twice, by group, in row order within a group."""

    def __init__(self, keys: Uint64s, valid: Flags) -> None:
        rows = np.flatnonzero(valid)
        codes = numbered(keys[rows])
        again = (np.bincount(codes) > 1)[codes] if len(codes) else np.zeros(0, np.bool_)
        rows, codes = rows[again], codes[again]
        order = np.argsort(codes, kind="stable")
        self.rows: Ints = rows[order]
        new = np.append(np.ones(min(1, len(order)), np.bool_), np.diff(codes[order]) != 0)
        self._bounds: Ints = np.append(np.flatnonzero(new), len(order))

    def __iter__(self) -> Iterator[Ints]:
        """The rows of each group."""
        for start, stop in itertools.pairwise(self._bounds):
            yield self.rows[start:stop]

    def __len__(self) -> int:
        return len(self._bounds) - 1

    @property
    def later(self) -> int:
        """Number of rows that are not the first of their group."""
        return len(self.rows) - len(self)

    def differing(self, labels: Uint64s) -> Sequence[Ints]:
        """The groups with different labels."""
        if not len(self):
            return []
        row_labels, starts = labels[self.rows], self._bounds[:-1]
        highest = np.maximum.reduceat(row_labels, starts)
        lowest = np.minimum.reduceat(np.where(row_labels > 0, row_labels, np.uint64(np.iinfo(np.uint64).max)), starts)
        groups = np.flatnonzero((highest > 0) & (lowest != highest))
        return [self.rows[self._bounds[group] : self._bounds[group + 1]] for group in groups]
