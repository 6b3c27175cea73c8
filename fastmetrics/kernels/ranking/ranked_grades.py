"""The grade of each document of a ranking.

Row r has the documents ``docs[starts[r]:starts[r + 1]]`` and the judged ids ``judged[judged_starts[r]:…]``, with
their ``grades``.
"""

from __future__ import annotations

import numpy as np

from fastmetrics.base.arrays import Flags, Floats, Ints
from fastmetrics.kernels.jit import kernel, leaf
from fastmetrics.kernels.ranking.ids import Ids, find, first_slot, longest_row, room, table_for


@kernel
def ranked_grades(docs: Ids, starts: Ints, judged: Ids, judged_starts: Ints, grades: Floats) -> tuple[Floats, int]:
    """The grade of each ranked document, NaN if it was not judged or already occurred at a better rank.

    If a row judges an id twice, the first grade counts; the second result is the number of repeated ids.
    """
    doc_grades = np.full(docs.keys.size, np.nan)
    scratch = table_for(longest_row(judged_starts)), np.empty(longest_row(starts), np.int64)
    seen = np.zeros(judged.keys.size, np.bool_)
    repeated = look_up((docs, starts), (judged, judged_starts, grades), scratch, seen, doc_grades)
    return doc_grades, repeated


@leaf
def look_up(
    rankings: tuple[Ids, Ints],
    judgements: tuple[Ids, Ints, Floats],
    scratch: tuple[Ints, Ints],
    seen: Flags,
    doc_grades: Floats,
) -> int:
    """Write the grades of documents that were judged, and return how many ids a row judges again.

    ``rankings`` are ids and where each row starts, ``judgements`` the same and the grades.  ``scratch`` are the slots
    of a table for the longest row of judged ids, and places for the longest ranking.  ``seen`` marks the judged ids
    whose grade is in ``doc_grades``.
    """
    docs, starts = rankings
    judged, judged_starts, grades = judgements
    slots, possible = scratch
    repeated = 0
    for row in range(starts.size - 1):
        first, last = judged_starts[row], judged_starts[row + 1]
        mask = room(last - first) - 1
        for j in range(first, last):
            slot = find(slots, mask, first, judged, judged, j)
            if slots[slot] < first:
                slots[slot] = j
            else:
                repeated += 1
        n_possible = 0
        for i in range(starts[row], starts[row + 1]):  # without a branch: which documents pass is unpredictable
            possible[n_possible] = i
            n_possible += slots[first_slot(mask, docs.keys[i])] >= first
        for i in possible[:n_possible]:
            j = slots[find(slots, mask, first, judged, docs, i)]
            if j >= first and not seen[j]:
                seen[j] = True
                doc_grades[i] = grades[j]
    return repeated
