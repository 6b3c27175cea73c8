"""What every result is: a table in a notebook, escaped, and a table of Arrow, pandas and Polars."""

from __future__ import annotations

import inspect
import json
import sys
import typing
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import fastmetrics as fm
from fastmetrics.base import display
from fastmetrics.base.display import Grid, Shown, Tabular
from fastmetrics.base.errors import FastmetricsError
from fastmetrics.base.notes import Figure
from fastmetrics.reporting.evaluate_rag import RagEvaluation
from fastmetrics.reporting.report import Report
from fastmetrics.stats.prediction_powered import powered_mean
from fastmetrics.vectors.pgvector import LoadedVectors
from fastmetrics.vectors.search_files import SearchRankings
from tests.reporting.test_report import HOSTILE, made
from tests.support.public_functions import public


class Reader(HTMLParser):
    """The tags of a page, and the text of its cells and list items."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.cells: list[str] = []
        self.inside = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag in ("th", "td", "li"):
            self.cells.append("")
            self.inside = True

    def handle_endtag(self, tag: str) -> None:
        self.inside = self.inside and tag not in ("th", "td", "li")

    def handle_data(self, text: str) -> None:
        if self.inside:
            self.cells[-1] += text


def test_control_characters_are_replaced_and_cells_escaped():
    class Odd(Shown):
        def grids(self):
            return [Grid((HOSTILE[0], "a\u202eb"), [(HOSTILE[1], HOSTILE[5])])]

        def remarks(self):
            return [HOSTILE[2], HOSTILE[3]]

        def to_dict(self):
            return {}

    page = Odd()._repr_html_()
    told = [HOSTILE[0], "a␦b", HOSTILE[1], "a␀b␛[31m", HOSTILE[2], HOSTILE[3]]
    assert Reader(page).cells == told
    assert "<script" not in page
    assert "<img" not in page


def test_results_print_without_jinja(monkeypatch):
    found = fm.summarize({"f1": [0.5]})
    display._own.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert found._repr_html_() is None
    assert "0.5000" in str(found)
    monkeypatch.undo()
    display._own.cache_clear()
    assert "0.5000" in found._repr_html_()


def test_pages_use_the_notebook_table_template(tmp_path):
    judged = {"id": [1, 2], "judge_x": [1.0, 4.0], "judge_x_status": ["ok", "ok"]}
    fm.report(made(3), tmp_path / "r.html", judged=judged)
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    body = fm.judge_report(judged)._repr_html_().partition("<thead>")[2].partition("</table>")[0]
    assert body in page


BAD = HOSTILE[1]
SCORES = [0.0, 1.0, 0.5] * 10


def scored(n):
    return {"id": [f"{BAD}{at}" for at in range(n)], BAD: np.array(SCORES[:n], float)}


def log(n):
    return {
        "question": [f"{BAD} {at}" for at in range(n)],
        "question_embedding": np.eye(3)[np.arange(n) % 3].tolist(),
        "answer": [f"see [{BAD}]"] * n,
        "retrieved_ids": [[BAD]] * n,
        "session_id": [1] * n,
    }


def rankings(n):
    names = [f"{BAD}{at}" for at in range(n)]
    rows = {
        "id": names,
        "retrieved_ids": pa.array([[BAD]] * n, pa.list_(pa.string())),
        "retrieved_scores": pa.array([[0.5]] * n, pa.list_(pa.float64())),
    }
    return SearchRankings(pa.table(rows), "exact", "cosine", 1.0, n, embedder=BAD)


RESULTS = {
    "Agreement": lambda n: fm.stats.agreement({BAD: SCORES[:n], "b": SCORES[:n]}),
    "CacheHits": lambda n: fm.logs.cache_hit_rate(log(n)),
    "ChunkUse": lambda n: fm.logs.chunk_utilization(log(n), chunks=[BAD] * min(n, 1)),
    "Classification": lambda n: fm.classification(
        {"label": pa.array([BAD] * n, pa.string()), "expected_label": pa.array(["b"] * n, pa.string())}
    ),
    "Comparison": lambda n: fm.compare({"old": scored(n), BAD: scored(n)}),
    "Consistency": lambda n: fm.stats.judge_consistency([[1.0, 2.0]] * n),
    "Correlations": lambda n: fm.results.correlations({**scored(n), "b": np.arange(n, dtype=float)}),
    "Domain": lambda n: fm.logs.domain_analysis(log(n)),
    "Gate": lambda n: fm.gate({"f1": np.array(SCORES[:n], float)}, "f1.mean >= 0.5"),
    "Duplicates": lambda n: fm.vectors.duplicates({"id": [BAD] * n, "text": [BAD] * n, "vector": [[1.0, 0.5]] * n}),
    "Geometry": lambda n: fm.vectors.geometry(np.eye(max(n, 1))[:n]),
    "Histograms": lambda n: fm.results.histograms(scored(n)),
    "IntervalSummary": lambda n: fm.results.summarize_by(
        {"f1": np.array(SCORES[:n], float), "s": pa.array([BAD] * n, pa.string())}, by="s"
    ),
    "JudgeDecisions": lambda n: fm.stats.judge_decisions(
        ([1, 0, 1] * 10)[:n], ([1, 1, 0] * 10)[:n], latency_ms=[5.0] * n
    ),
    "JudgeReport": lambda n: fm.judge_report(
        {"id": list(range(n)), "judge_x": np.ones(n), "judge_x_status": pa.array([BAD] * n, pa.string())}
    ),
    "Latency": lambda n: fm.stats.judge_latency([5.0] * n),
    "LoadedVectors": lambda n: LoadedVectors(BAD, n, 3, "hnsw"),
    "Match": lambda n: fm.retrieval.match_faq([BAD] * n, ["img src", "b"], 2),
    "Neighbors": lambda n: fm.vectors.nearest(np.eye(3), np.eye(3)[np.zeros(n, int)], k=2),
    "Pairwise": lambda n: fm.stats.pairwise([BAD] * n, [BAD] * n, a=BAD, b="b"),
    "RagEvaluation": lambda n: RagEvaluation(
        Path(BAD), fm.summarize(scored(n)), {BAD: n}, {}, None, None, {}, [BAD] * n
    ),
    "Report": lambda n: Report(BAD, n, n, 9),
    "RiskCoverage": lambda n: fm.stats.risk_coverage(np.array(SCORES[:n], float), np.array(SCORES[:n], float)),
    "SearchRankings": rankings,
    "Sessions": lambda n: fm.logs.context_preservation(log(n)),
    "SessionReport": lambda n: fm.logs.sessions({"session_id": [BAD] * n, "success": [True] * n}),
    "SideBySide": lambda n: fm.results.side_by_side({BAD: scored(n), "b": scored(n)}),
    "Summary": lambda n: fm.summarize(scored(n)),
    "Topics": lambda n: fm.logs.topic_coverage(log(n), topics=1),
    "Validation": lambda n: fm.validate({"f1": np.array(SCORES[:n], float)}, {"correct": ([1, 0, 1] * 10)[:n]}),
    "WorstRows": lambda n: fm.worst_rows(
        {"id": [f"{BAD}{at}" for at in range(n)], "f1": SCORES[:n]}, "f1", better={"f1": "higher"}
    ),
}
"""A result of n rows for each class, with text that a page must escape wherever the class holds any."""
OWN_TESTS = {"DatasetChecks", "FitResult", "FoundColumns", "Points", "PowerReport", "PrimaryTable",
             "Profile", "RepeatReport", "StoredCalls", "Trend"}  # fmt: skip
"""Classes of which a call on a few rows is no result, or reads files: they inherit what is shown from the same base."""


def result_classes():
    """The classes of this package that public functions return."""
    functions = [value for value in public().values() if inspect.isfunction(value)]
    returned = {typing.get_type_hints(function).get("return") for function in functions}
    made = {one for one in returned if inspect.isclass(one) and one.__module__.startswith("fastmetrics.")}
    return {one for one in made if one.__name__ != "LocalModel"}  # a model is no result


def test_every_public_result_is_shown_in_a_notebook():
    classes = {one.__name__: one for one in result_classes()}
    assert set(classes) == set(RESULTS) | OWN_TESTS
    assert [name for name, one in classes.items() if not hasattr(one, "_repr_html_")] == []
    assert [name for name in OWN_TESTS if not issubclass(classes[name], Shown)] == []


@pytest.mark.parametrize("n", [0, 1, 3, 30])
@pytest.mark.parametrize("name", RESULTS)
def test_results_of_any_number_of_rows_are_escaped_tables(name, n):
    try:
        found = RESULTS[name](n)
    except FastmetricsError:  # no result of so few rows
        assert n < 2
        return
    assert type(found).__name__ == name
    view = found._repr_html_()
    page = Reader(view)
    if isinstance(found, Shown):
        assert json.loads(found.to_json()).keys() == found.to_dict().keys()
        cells = [cell for grid in found.grids() for cell in [*grid.header, *(one for row in grid.rows for one in row)]]
        assert page.cells == [*cells, *found.remarks()]
    tags = {"div", "style", "p", "strong", "table", "thead", "tbody", "tr", "th", "td", "bdi", "ul", "li"}
    assert "table" in {tag for tag, _ in page.tags} <= tags
    assert {name for _, attributes in page.tags for name in attributes} <= {"class", "scope"}
    assert BAD not in view
    assert view.count("<tr>") <= 200


def test_long_results_show_their_first_rows():
    assert "the first 20 of 300 rows" in fm.retrieval.match_faq(["a"] * 300, ["a"])._repr_html_()
    assert "the first 20 of 300 rows" in fm.vectors.nearest(np.eye(3), np.ones((300, 3)), k=1)._repr_html_()
    assert "the first 20 of 300 rows" in rankings(300)._repr_html_()


ROWS = {
    "id": list(range(8)),
    "token_f1": [0.1, 0.5, 0.9, 0.4, 0.2, 0.6, 0.7, 0.3],
    "language": ["en", "ru"] * 4,
    "n": [1, 1, 2, 2] * 2,  # a name that most of the tables have themselves
}
OTHER = {**ROWS, "token_f1": ROWS["token_f1"][::-1]}


def test_every_public_result_is_a_table():
    assert [one.__name__ for one in result_classes() if not issubclass(one, Tabular)] == []


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_the_same_table_everywhere(name: str):
    result = RESULTS[name](3)
    table = result.to_arrow()
    assert (table.num_rows, table.num_columns) == result.to_pandas().shape == result.to_polars().shape
    assert table.column_names == list(result.to_pandas().columns) == result.to_polars().columns
    assert table.num_rows


@pytest.mark.parametrize("name", RESULTS)
def test_the_record_of_a_result_has_rows_of_one_kind(name: str):
    for row in RESULTS[name](3).record():
        assert isinstance(row, Figure)
        assert not row.low > row.value, row
        assert not row.value > row.high, row
        assert (row.kind == "none") == (row.low != row.low and row.high != row.high), row


def test_the_record_of_a_comparison_is_its_differences():
    found = fm.compare({"a": ROWS, "b": OTHER}, metrics="token_f1", by="language")
    rows = [(row.figure, row.system, row.segment, row.value, row.low, row.kind, row.n) for row in found.record()]
    assert rows == [("token_f1", "b", one.segment, one.delta, one.low, one.interval, one.n_paired) for one in found]
    assert list(pd.DataFrame(found.record())) == list(Figure._fields)


SEGMENTED: dict[str, Any] = {
    "summarize_by": lambda: fm.results.summarize_by(ROWS, metrics="token_f1", by=["language", "n"]),
    "compare": lambda: fm.compare({"a": ROWS, "b": OTHER}, metrics="token_f1", by=["language", "n"]),
    "classification": lambda: fm.classification(
        {**ROWS, "label": list("aabbaabb"), "expected_label": list("abababab")}, by=["language", "n"]
    ),
    "gate": lambda: fm.gate(ROWS, ["token_f1 >= 0.1", "token_f1 >= 0.1 where language=*, n=* with n >= 2"]),
    "judge_report": lambda: fm.judge_report(
        {**ROWS, "judge_x": ROWS["token_f1"], "judge_x_status": ["ok"] * 8}, by=["language", "n"]
    ),
}


@pytest.mark.parametrize("name", SEGMENTED)
def test_segments_are_a_column_each(name: str):
    rows = SEGMENTED[name]().to_arrow().to_pylist()
    assert {row["segment"] for row in rows} == {None} | {
        f"language={language}, n={n}" for language in ("en", "ru") for n in (1, 2)
    }
    number = "n" if name == "compare" else "by_n"
    for row in rows:
        if row["segment"] is None:
            assert (row["language"], row[number]) == (None, None)
        else:
            assert row["segment"] == f"language={row['language']}, n={row[number]}"


def test_figures_with_an_interval_are_three_columns():
    result = powered_mean([1, 0, 1, 1], [1, 0, None, None])
    [row], found = result.to_arrow().to_pylist(), result.powered
    assert (row["powered"], row["powered_low"], row["powered_high"]) == (found.value, found.low, found.high)
