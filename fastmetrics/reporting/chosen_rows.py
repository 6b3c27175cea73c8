"""The rows of a page, most telling first, as its script reads them, and the strata that they are of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.core.arrays import Floats
from fastmetrics.core.input_columns import resolve
from fastmetrics.errors import ColumnError
from fastmetrics.reporting.asked import Asked
from fastmetrics.reporting.plain_text import embedded, visible
from fastmetrics.reporting.row_texts import Seen, cut, row_texts
from fastmetrics.reporting.sampled_rows import Stratum, candidates, strata
from fastmetrics.results.correlations import Correlations
from fastmetrics.results.declared_metrics import declared_better
from fastmetrics.results.score_runs import ScoreRun

BUDGET = 3_600_000
"""The bytes of the rows in a page."""


def chosen_rows(
    main: ScoreRun,
    base: ScoreRun | None,
    names: Sequence[str],
    paired: Correlations | None,
    asked: Asked,
    seen: Seen | None = None,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The rows of the page, most telling first, and its strata with the places of their rows.

    ``seen`` is called with the columns of all rows that texts are read of.
    """
    needs_ids = asked.texts is not None or base is not None
    if needs_ids and main.id_column is None:
        raise ColumnError(f"{main.name} has no id column, by which its rows and their texts could meet")
    ids = main.ids(str(main.id_column)) if needs_ids else None
    labels = ids if ids is not None or main.id_column is None else main.column(main.id_column, "")
    partner = None
    if base is not None and ids is not None:
        partner = pc.index_in(ids, value_set=base.ids(str(base.id_column))).fill_null(-1).to_numpy().astype(np.int64)

    pa.default_memory_pool().release_unused()

    def before(name: str) -> Floats | None:
        if base is None or partner is None or name not in base.scores:
            return None
        return np.append(base.values(name), np.nan)[partner]

    pairs = [(one.a, one.b) for one in paired or () if one.agreement < 1]
    found = strata(names, main.values, before, declared_better(names), pairs)
    chosen = candidates(found, main.read(names).num_rows if names else 0)
    after_chosen = [main.values(name)[chosen] for name in names]
    before_chosen = [None if (one := before(name)) is None else one[chosen] for name in names]
    texts = row_texts(main, ids, chosen, asked.texts, seen)
    earlier = _baseline_answers(base, partner, ids, chosen, asked.baseline_texts)
    made: list[dict[str, Any]] = []
    weight = 0
    for place, (at, told, other) in enumerate(zip(chosen, texts, earlier, strict=True)):
        row = {"at": at, "id": str(at) if labels is None else cut(labels[at].as_py())[:300], "t": told}
        row["s"] = [short(float(values[place])) for values in after_chosen]
        if base is not None:
            row["b"] = [None if values is None else short(float(values[place])) for values in before_chosen]
            row["other"] = other
        weight += len(embedded(row).encode())
        if weight > BUDGET:
            break
        made.append(row)
    held = {row["at"]: at for at, row in enumerate(made)}
    return made, [told for one in found if (told := _told(one, held))["rows"]]


def _told(one: Stratum, place: Mapping[int, int]) -> dict[str, Any]:
    held = [place[int(row)] for row in one.places if int(row) in place]
    return {"kind": one.kind, "metrics": list(map(visible, one.metrics)), "n": one.n, "rows": held}


def _baseline_answers(
    base: ScoreRun | None, partner: Any, ids: pa.Array | None, chosen: Sequence[int], texts: Any
) -> list[str | None]:
    """The baseline's answers to the rows, where they are known."""
    if base is None or not chosen:
        return [None] * len(chosen)
    if texts is not None:
        told = row_texts(base, ids, chosen, texts)
        return [one.get("answer") for one in told]
    kept = resolve(base.columns, needed=()).get("answer")
    if kept is None or kept in base.scores:
        return [None] * len(chosen)
    rows = partner[np.asarray(chosen)]
    answers = base.column(kept, "").take(pa.array(rows, mask=rows < 0)).to_pylist()
    return [None if one is None else cut(one) for one in answers]


def short(value: float | None) -> float | None:
    """The value with six significant digits; None for none that is finite."""
    return None if value is None or not np.isfinite(value) else float(f"{value:.6g}")
