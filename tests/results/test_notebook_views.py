"""What a notebook shows of results: their tables and notes, escaped, and nothing that is fetched."""

from __future__ import annotations

import json
import sys
from html.parser import HTMLParser

import numpy as np

import fastmetrics as fm
from fastmetrics.core import html_parts
from fastmetrics.core.display import Grid, Shown
from tests.reporting.test_report import HOSTILE, made


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


def results():
    random = np.random.default_rng(0)
    log = {
        "question": [f"question {at % 5}" for at in range(20)],
        "question_embedding": random.normal(size=(20, 3)).tolist(),
        "answer": [f"see [d{at % 4}]" for at in range(20)],
        "retrieved_ids": [[f"d{at % 7}"] for at in range(20)],
        "session_id": [at // 2 for at in range(20)],
    }
    judged = {"id": [1, 2, 3], "judge_x": [1.0, 4.0, None], "judge_x_status": ["ok", "ok", "timeout"]}
    scored = {"id": list(range(9)), "f1": random.random(9)}
    labels = {"id": list(range(9)), "correct": [at % 2 for at in range(9)]}
    return [
        fm.summarize({HOSTILE[0]: [0.5, 1.0], "f1": [0.5, 1.0]}),
        fm.compare({"old": made(30), "new": made(30, 1)}),
        fm.gate(made(30), "token_f1.mean >= 0.9"),
        fm.judge_report(judged),
        fm.validate(scored, labels),
        fm.topic_coverage(log, topics=2),
        fm.domain_analysis(log),
        fm.chunk_utilization(log, chunks=[f"d{at}" for at in range(9)] + [HOSTILE[1]]),
        fm.cache_hit_rate(log),
        fm.context_preservation(log),
        fm.geometry(np.eye(4)),
        fm.rank({"q1": {"d1": 1.0}}, {"q1": {"d1": 1}}),
        fm.summarize_by(made(30).append_column("s", [["<b>", "c"] * 15]), by="s"),
        fm.histograms(made(30)),
        fm.correlations(made(30)),
    ]


def test_notebook_shows_tables_and_notes():
    for found in results():
        assert isinstance(found, Shown)
        assert json.loads(found.to_json()).keys() == found.to_dict().keys()
        page = Reader(found._repr_html_())
        cells = [cell for grid in found.grids() for cell in [*grid.header, *(one for row in grid.rows for one in row)]]
        assert page.cells == [*cells, *found.remarks()]
        tags = {"div", "style", "table", "thead", "tbody", "tr", "th", "td", "bdi", "ul", "li"}
        assert {tag for tag, _ in page.tags} <= tags
        assert {name for _, attributes in page.tags for name in attributes} <= {"class", "scope"}


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
    html_parts._own.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert found._repr_html_() is None
    assert "0.5000" in str(found)
    monkeypatch.undo()
    html_parts._own.cache_clear()
    assert "0.5000" in found._repr_html_()


def test_pages_use_the_notebook_table_template(tmp_path):
    judged = {"id": [1, 2], "judge_x": [1.0, 4.0], "judge_x_status": ["ok", "ok"]}
    fm.report(made(3), tmp_path / "r.html", judged=judged)
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    body = fm.judge_report(judged)._repr_html_().partition("<thead>")[2].partition("</table>")[0]
    assert body in page
