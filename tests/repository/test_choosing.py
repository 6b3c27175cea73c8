"""``docs/metrics.md``: its tables are those of the script, and its metrics exist."""

from __future__ import annotations

import json
import re

from fastmetrics.metrics.metric import REGISTRY
from scripts.studies import choosing as choosing_tables
from scripts.studies.choosing import MARKERS, PAGE, QUESTIONS, RESULTS, table_of

TEXT = PAGE.read_text(encoding="utf-8")


def test_every_question_has_a_table_of_its_metrics() -> None:
    for name, question in QUESTIONS.items():
        assert set(question.metrics) <= set(REGISTRY)
        table = re.search(re.escape(MARKERS.format(name=name)) + r"\n\n((?:\|[^\n]*\n)+)\n", TEXT)
        assert table is not None, name
        assert set(re.findall(r"^\| `(\w+)`", table[1], re.MULTILINE)) == {*question.metrics, *question.columns}
        assert table[1].startswith(f"| metric | {' | '.join(question.labels)} |\n")


def test_the_tables_are_those_of_the_stored_results() -> None:
    results = json.loads(RESULTS.read_text(encoding="utf-8"))["results"]
    assert set(results) == set(QUESTIONS)
    assert choosing_tables.page(TEXT, {name: table_of(by_data) for name, by_data in results.items()}) == TEXT
