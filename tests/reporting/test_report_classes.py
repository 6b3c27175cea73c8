"""The report's page on a classifier: which columns it takes for labels, its figures and its matrix."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest

import fastmetrics as fm
from fastmetrics.base.errors import ColumnError
from fastmetrics.reporting.labels import figures
from fastmetrics.reporting.sections.section import merged_notes
from tests.reporting.test_report import read
from tests.support.goldens import refused

NAMES = ("card", "loan", "<b>other")
ROWS = 60


def rows(seed: int, **columns: Any) -> dict[str, Any]:
    drawn = random.Random(seed)
    expected = [NAMES[at % 3] for at in range(ROWS)]
    predicted = [drawn.choice(NAMES) if drawn.random() < 0.3 else label for label in expected]
    return {"id": list(range(ROWS)), "answer": predicted, "reference": expected, **columns}


def scored(table: dict[str, Any]) -> dict[str, Any]:
    both = zip(table["answer"], table["reference"], strict=True)
    return {"id": table["id"], "exact_match": [float(one == other) for one, other in both]}


def section(path: Any) -> str:
    page = path.read_text(encoding="utf-8")
    return page.partition('<section id="classes"')[2].partition("</section>")[0]


def cells(part: str) -> list[list[str]]:
    lines = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line) for line in re.findall(r"<tr>(.*?)</tr>", part, re.DOTALL)]
    return [[re.sub("<[^>]+>", "", cell) for cell in line] for line in lines]


@pytest.mark.parametrize("kept", [True, False])
def test_labels_of_few_values_have_a_page_with_the_matrix(tmp_path, kept):
    table = rows(1, part=["a", "b"] * (ROWS // 2))
    scores = scored(table) | {"part": table["part"]} | (table if kept else {})
    fm.report({"new": scores}, tmp_path / "r.html", by="part", texts=None if kept else table)
    part = section(tmp_path / "r.html")
    found = fm.classification(table)
    lines = cells(part)
    at = next(place for place, line in enumerate(lines) if line[0].startswith("expected"))
    matrix = found.confusion.matrix().tolist()
    labels = [name.replace("<", "&lt;") for name in found.confusion.labels]
    for line, label, counts in zip(lines[at + 1 : at + 4], labels, matrix, strict=True):
        assert line[0].replace("&gt;", ">") == label
        assert line[1:] == [*map(str, counts), str(sum(counts))]
    assert f"{found.macro_f1.value:.4f} [{found.macro_f1.low:.4f}, {found.macro_f1.high:.4f}]" in part
    assert "part=a" in part
    assert "part=b" in part
    assert read(tmp_path / "r.html")[2]["systems"] == ["new"]


def test_systems_stand_beside_each_other_in_russian_too(tmp_path):
    first, second = rows(1), rows(2)
    runs = {"old": scored(first), "new": scored(second)}
    fm.report(runs, tmp_path / "r.html", texts=[first, second], language="ru")
    part = section(tmp_path / "r.html")
    [head, accuracy, *_] = cells(part)
    assert head == ["показатель", "old", "new"]
    values = [fm.classification(table).accuracy.value for table in (first, second)]
    assert [accuracy[0], *(cell.split()[0] for cell in accuracy[1:])] == [
        "доля верных",
        *(figures(f"{v:.4f}", "ru") for v in values),
    ]
    assert part.count("<details") == 2


def test_texts_are_no_labels_unless_they_are_named(tmp_path):
    table = rows(1, truth=[NAMES[at % 3] for at in range(ROWS)], guess=[f"guess {at}" for at in range(ROWS)])
    fm.report({"new": scored(table)}, tmp_path / "r.html", texts={**table, "answer": table["guess"]})
    assert section(tmp_path / "r.html") == ""
    few = {name: values[:6] for name, values in table.items()}
    fm.report({"new": scored(few)}, tmp_path / "r.html", texts=few, overwrite=True)
    assert section(tmp_path / "r.html") == ""
    named = {"predicted": "guess", "expected": "truth", "overwrite": True}
    fm.report({"new": scored(table)}, tmp_path / "r.html", texts=table, **named)
    assert "guess against truth" in section(tmp_path / "r.html")
    refused(ColumnError, "guess", fm.report, {"new": scored(table)}, tmp_path / "r.html", **named)


def test_notes_of_systems_that_differ_in_figures_are_one():
    notes = {
        "old": ["token_f1: 5 of 1,817 rows (3.5 %) lack ndcg@10", "only old"],
        "new": ["token_f1: 12 of 1,817 rows (4 %) lack ndcg@10"],
        "third": ["token_f1: 5 of 1,817 rows (3.5 %) lack ndcg@10"],
    }
    assert merged_notes(notes) == [
        "old, third, new: token_f1: 5–12 of 1,817 rows (3.5–4 %) lack ndcg@10",
        "old: only old",
    ]
