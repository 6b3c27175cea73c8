"""Claims of a row that equal an earlier one, so that an answer that repeats itself is compared once.

``stems[k]`` is the number of the stem of word k, and ranges of k are those of the claims.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastmetrics.base.arrays import Ids, Ints, Uint32s
from fastmetrics.kernels.facts.claims import Claims
from fastmetrics.kernels.jit import kernel, leaf

LONG = 64
"""Words of a claim from which it is not recorded: a row has few such claims."""

MIX = np.uint64(0x9E3779B97F4A7C15)


class Checked(NamedTuple):
    """A hash table of the claims of a row that were compared: the row, the claim and its hash in each slot."""

    rows: Ids
    claims: Ids
    keys: Ints


@kernel
def make_checked(claims: Claims) -> Checked:
    """Allocate a table large enough for the claims of any row."""
    size = 2
    for row in range(len(claims.bounds) - 1):
        while size < 2 * (claims.bounds[row + 1] - claims.bounds[row]):
            size *= 2
    slots = np.full((2, size), -1, np.int32)
    return Checked(slots[0], slots[1], np.zeros(size, np.int64))


@leaf
def mixed(key: int, stems: Uint32s, low: int, high: int) -> int:
    """A hash of ``key`` and the stems ``low:high``."""
    value = np.uint64(key)
    for k in range(low, high):
        value = (value ^ np.uint64(stems[k])) * MIX
        value ^= value >> np.uint64(32)
    return np.int64((value ^ np.uint64(high - low)) * MIX)


@leaf
def are_equal(claims: Claims, stems: Uint32s, a: int, b: int) -> bool:
    """Whether two claims have the same stems in the same order, and are equally vague."""
    subject, target = claims.subjects[b] - claims.subjects[a], claims.objects[b] - claims.objects[a]
    same = claims.subject_ends[b] - claims.subject_ends[a] == subject
    same &= claims.object_ends[b] - claims.object_ends[a] == target and claims.vague[a] == claims.vague[b]
    if same:
        for k in range(claims.subjects[a], claims.subject_ends[a]):
            same &= stems[k] == stems[k + subject]
        for k in range(claims.objects[a], claims.object_ends[a]):
            same &= stems[k] == stems[k + target]
    return same


@leaf
def equal_before(claims: Claims, stems: Uint32s, row: int, c: int, checked: Checked) -> int:
    """A claim of the row that equals claim ``c`` and was compared before it, or ``c``, which is then recorded."""
    n_subject, n_target = claims.subject_ends[c] - claims.subjects[c], claims.object_ends[c] - claims.objects[c]
    if n_subject + n_target > LONG:
        return c
    key = mixed(0, stems, claims.subjects[c], claims.subject_ends[c])
    key = mixed(key, stems, claims.objects[c], claims.object_ends[c])
    slot = key & (len(checked.rows) - 1)
    while checked.rows[slot] == row:
        if checked.keys[slot] == key and are_equal(claims, stems, checked.claims[slot], c):
            return checked.claims[slot]
        slot = (slot + 1) & (len(checked.rows) - 1)
    checked.rows[slot], checked.claims[slot], checked.keys[slot] = row, c, key
    return c
