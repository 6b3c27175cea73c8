"""The grade of each document of a ranking."""

from __future__ import annotations

import numpy as np

from fastmetrics.core.arrays import Floats, Ints
from fastmetrics.kernels.jit import kernel
from fastmetrics.kernels.ranking.ids import Ids, clear, find, table_for


@kernel
def ranked_grades(docs: Ids, starts: Ints, judged: Ids, judged_starts: Ints, grades: Floats) -> tuple[Floats, int]:
    """The grade of each ranked document, NaN if it was not judged or already occurred at a better rank.

    If a row judges an id twice, the first grade counts; the second result is the number of repeated ids.
    """
    doc_grades = np.full(docs.keys.size, np.nan)
    seen = np.zeros(judged.keys.size, np.bool_)
    longest, repeated = 0, 0
    for row in range(judged_starts.size - 1):
        longest = max(longest, judged_starts[row + 1] - judged_starts[row])
    slots = table_for(longest)
    for row in range(starts.size - 1):
        first, last = judged_starts[row], judged_starts[row + 1]
        mask = clear(slots, last - first)
        for j in range(first, last):
            slot = find(slots, mask, judged, judged, j)
            if slots[slot] < 0:
                slots[slot] = j
            else:
                repeated += 1
        for i in range(starts[row], starts[row + 1]):
            j = slots[find(slots, mask, judged, docs, i)]
            if j >= 0 and not seen[j]:
                seen[j] = True
                doc_grades[i] = grades[j]
    return doc_grades, repeated
