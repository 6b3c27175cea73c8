"""``docs/metrics.md``: its tables are those of the script, and its metrics exist."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from fastmetrics.metrics.metric import REGISTRY
from fastmetrics.metrics.suites import SUITES, suite
from scripts.studies import choosing as choosing_tables
from scripts.studies.choosing import MARKERS, PAGE, QUESTIONS, RESULTS, Question, table_of

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


def test_first_metrics_exist_and_the_default_suite_has_none_that_the_page_advises_against() -> None:
    advised = TEXT.partition("## Measured")[0]
    known = {*REGISTRY, *SUITES, "core", "answer", "reference", "references", "choices", "contexts", "rouge"}
    known |= {
        *("label", "expected_label", "tool_calls", "expected_tool_calls", "session_id", "success", "extract"),
        *("normalize", "model", "math"),
    }
    known |= {"retrieved_ids", "relevant_ids", "response_", "ndcg", "retrieval_recall"}
    named = set(re.findall(r"`([a-z]\w*)(?:@\w+)?\*?`", advised))
    assert named <= known, named - known
    assert not {metric.name for metric in suite("core")} & {"jaccard", "politeness"}


def test_agreement_is_that_of_validate(tmp_path: Path) -> None:
    answers = ["Paris", "in Paris", "Rome", "Oslo"] * 5
    table = {
        "id": range(20),
        "group": [row // 2 for row in range(20)],
        "answer": answers,
        "reference": ["Paris"] * 20,
        "right": [answer in ("Paris", "in Paris") for answer in answers],
        "judge": [answer == "Paris" for answer in answers],
    }
    pq.write_table(pa.table(table), tmp_path / "made.parquet")
    question = Question({"made": "right"}, ("exact_match", "token_recall", "jaccard"), 1, ("judge",))
    values = choosing_tables.agreement(tmp_path, question)
    assert {name: figure[0] for name, figure in values["made"].items()} == {
        "exact_match": 0.75,
        "token_recall": 1.0,
        "judge": 0.75,
    }
    lines = choosing_tables.table_of(values).splitlines()
    assert [line.split(" | ")[0] for line in lines] == ["| metric", "| ---", *(f"| `{name}`" for name in (
        "token_recall", "exact_match", "judge"))]  # fmt: skip
