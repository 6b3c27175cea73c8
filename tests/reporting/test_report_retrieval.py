"""The report's page on retrieval: curves over cut-offs, and places of rankings counted by plain Python."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import ColumnError
from fastmetrics.reporting.charts import Charts
from fastmetrics.reporting.sections.retrieval_section import PLACES, PlaceCounts
from tests.reporting.test_report import read


def drawn(rows, seed=0):
    random = np.random.default_rng(seed)
    made = []
    for at in range(rows):
        ranking = [f"d{one}" for one in random.integers(0, 12, random.integers(0, 9))]
        relevant = [f"d{one}" for one in random.permutation(12)[: random.integers(0, 4)]]
        grades = [float(one) for one in random.integers(0, 3, len(relevant))]
        made.append({"id": f"q{at}", "retrieved_ids": ranking, "relevant_ids": relevant, "relevance": grades})
    made[1]["retrieved_ids"], made[2]["relevant_ids"] = None, None
    return made


def by_hand(rows, graded):
    ranked, relevant, found, n = {}, {}, {}, 0
    for row in rows:
        grades = row["relevance"] if graded else [1] * len(row["relevant_ids"] or [])
        good = {one for one, grade in zip(row["relevant_ids"] or [], grades, strict=False) if grade >= 1}
        if row["retrieved_ids"] is None or not good:
            continue
        n += 1
        seen = set()
        for place, one in enumerate(row["retrieved_ids"], 1):
            ranked[place] = ranked.get(place, 0) + 1
            if one in good - seen:
                relevant[place] = relevant.get(place, 0) + 1
                if not seen & good:
                    found[place] = found.get(place, 0) + 1
            seen.add(one)
    return n, ranked, relevant, found


@pytest.mark.parametrize("graded", [False, True])
def test_rank_counts_equal_hand_counts_for_any_batches(graded):
    rows = drawn(300)
    table = pa.Table.from_pylist(rows)
    columns = {name: table[name] for name in ("retrieved_ids", "relevant_ids", *["relevance"] * graded)}
    counts = PlaceCounts()
    for start in range(0, 300, 70):
        counts.add({name: one.slice(start, 70) for name, one in columns.items()})
    n, ranked, relevant, found = by_hand(rows, graded)
    assert (counts.rows, counts.left_out) == (n, 300 - n)
    charts = Charts()
    page = counts.page(charts)
    assert page.last == max(ranked) == len(page.lines)
    chart = charts.drawn[page.chart]
    assert chart.lines["relevant_share"] == [relevant.get(at, 0) / ranked[at] for at in chart.x]
    reached = np.cumsum([found.get(at, 0) for at in chart.x]) / n
    assert chart.lines["found_by"] == reached.tolist()
    assert [line[1] for line in page.lines] == [str(ranked[at]) for at in chart.x]


def test_long_rankings_are_cut_and_invalid_columns_ignored():
    counts = PlaceCounts()
    counts.add({"retrieved_ids": pa.array([list(range(80))]), "relevant_ids": pa.array([["3", "70"]])})
    page = counts.page(charts := Charts())
    assert page.last == PLACES
    assert charts.drawn[0].lines["relevant_share"][3] == 1.0
    assert sum(charts.drawn[0].lines["relevant_share"]) == 1.0
    for odd in (pa.array(["a"]), pa.array([1])):
        counts = PlaceCounts()
        counts.add({"retrieved_ids": odd, "relevant_ids": pa.array([["a"]])})
        counts.add({"retrieved_ids": pa.array([["a"]])})
        assert counts.page(Charts()) is None
    with pytest.raises(ColumnError, match="column 'retrieved_ids', row 0: an id is null"):
        counts.add({"retrieved_ids": pa.array([[None, "a"]]), "relevant_ids": pa.array([["a"]])})


def test_retrieval_page_has_curves_and_ranks_or_is_omitted(tmp_path):
    rows = drawn(40)
    scores = fm.score(pa.Table.from_pylist(rows), "ndcg@1,ndcg@5,recall@3")
    table = pa.table({"id": [row["id"] for row in rows], **{name: scores[name] for name in scores.column_names}})
    names = [name for name in table.column_names if "@" in name]
    fm.report({"new <b>": table}, tmp_path / "r.html", texts=pa.Table.from_pylist(rows), baseline=table)
    page, reader, data = read(tmp_path / "r.html")
    assert 'data-page="retrieval"' in page
    curve, places = data["charts"]
    assert (curve["name"], curve["x"], [one["name"] for one in curve["lines"]]) == (
        "ndcg@k", [1, 5], ["run 1", "new <b>"],
    )  # fmt: skip
    summary = fm.summarize(table)
    assert curve["lines"][1]["y"] == [float(f"{summary[name].mean:.6g}") for name in ("ndcg@1", "ndcg@5")]
    assert len(names) == 3
    assert places["words"]
    assert {places["x_title"], places["name"], *(one["name"] for one in places["lines"])} <= set(data["labels"])
    assert "recall@k" not in page
    kept = pa.Table.from_pylist(rows).append_column("token_f1", pa.array(np.linspace(0, 1, 40)))
    fm.report({"kept": kept}, tmp_path / "kept.html")
    assert re.search(r'id="retrieval".*n \d+ · left out \d+', read(tmp_path / "kept.html")[0], re.S)
    fm.report({"plain": kept.select(["id", "token_f1"])}, tmp_path / "plain.html")
    assert 'data-page="retrieval"' not in read(tmp_path / "plain.html")[0]
    assert "b" not in reader.tags


def test_the_places_of_one_of_several_systems_name_it(tmp_path):
    rows = {"id": ["a", "b"], "retrieved_ids": [["d1"], ["d2"]], "relevant_ids": [["d1"], ["d1"]], "ndcg": [1.0, 0.0]}
    for runs, title in (({"old": rows, "new": rows}, ": <bdi>old</bdi>"), ({"old": rows}, "")):
        fm.report(runs, tmp_path / "r.html", overwrite=True)
        assert f"<h2>By place of the ranking{title}</h2>" in read(tmp_path / "r.html")[0]
