"""Judged rows counted by status: in the metadata and in the summary, over several parts."""

import pyarrow as pa
import pytest

from fastmetrics.base.score_metadata import RowCounts
from fastmetrics.models.judge_batch import conclude, observe, summary_of

AXIS = "judge_safety"
SCORED = {"ok": 3.0, "identical": 0.5}
WITHOUT = {"missing": None, "too_long": None, "unparsed": None, "refused": None, "http": None}


def part(counts):
    """Rows of these statuses; rows without a score are null."""
    statuses = [status for status, count in counts.items() for _ in range(count)]
    scores = [{**SCORED, **WITHOUT}[status] for status in statuses]
    columns = {"": pa.array(scores, pa.float64()), "_status": statuses, "_repairs": pa.nulls(len(scores), pa.string())}
    return pa.table({AXIS + name: values for name, values in columns.items()})


PARTS = [
    {"ok": 4, "identical": 2, "missing": 1, "too_long": 2, "http": 1},
    {"ok": 1, "missing": 4, "unparsed": 1, "refused": 3},
    {},
    {"ok": 2},
]
FAILED = ("too_long", "unparsed", "refused", "http")


@pytest.mark.parametrize("parts", [PARTS, PARTS[:1], PARTS[1:2], PARTS[2:]])
def test_rows_are_missing_or_failed_by_their_status(parts):
    """Without an input: missing.  Asked without a score: failed."""
    totals = {status: sum(counts.get(status, 0) for counts in parts) for status in (*SCORED, *WITHOUT)}
    failed = sum(totals[status] for status in FAILED)
    observed = [observe([AXIS], part(counts)) for counts in parts]
    [counts] = conclude([AXIS], observed, 0).metrics.values()
    assert counts == RowCounts(sum(totals.values()), totals["missing"], 0, failed)
    summary = summary_of([AXIS], observed, 0, {}, {})
    figures = summary[AXIS]
    assert (figures.n_missing, figures.n_undefined, figures.n_error) == (totals["missing"], 0, failed)
    assert figures.n == totals["ok"] + totals["identical"]
    asked = sum(totals.values())
    lacking = failed + totals["missing"]
    notes = [note for note in summary.notes if "without a score" in note]
    assert [note.partition(" without")[0] for note in notes] == [f"{AXIS}: {lacking} of {asked} rows"] * bool(lacking)


def test_rejected_rows_are_errors_besides_the_failed_ones():
    observed = [observe([AXIS], part(counts)) for counts in PARTS]
    assert summary_of([AXIS], observed, 5, {}, {})[AXIS].n_error == 7 + 5
    assert conclude([AXIS], observed, 5).n_rejected == 5
