"""The rows of a report: what judges said, citations with their support, rows with the most unsupported anchors."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

import fastmetrics as fm
from fastmetrics.reporting.page_rows import POOL, _unsupported
from fastmetrics.reporting.row_texts import ScoredClaims, citation_marks
from fastmetrics.reporting.rows import JudgedRows
from tests.reporting.test_report import HOSTILE, made, read

CONTEXTS = ["The tower opened in 1889.", "It is 330 metres tall."]


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("It opened in 1889 [1]. It is 330 metres tall [2].", [("[1]", "cited_supported"), ("[2]", "cited_supported")]),
        ("It opened in 1889 [2]. So [1].", [("[2]", "cited_unsupported"), ("[1]", "cited")]),
        ("It opened in 1890 [1][2][3][0].", [
            ("[1]", "cited_unsupported"), ("[2]", "cited_unsupported"), ("[3]", "cited_nothing"),
            ("[0]", "cited_nothing"),
        ]),
        ("👩‍👩‍👧 — “ß”! It opened in 1889 [1].", [("[1]", "cited_supported")]),
        ("No mark [a] here [].", []),
        ("In 1889 [1, 3]. It is 330 metres tall 【2】.", [
            ("[1, 3]", "cited_supported"), ("[1, 3]", "cited_nothing"), ("【2】", "cited_supported"),
        ]),
        ("It opened in 1889.¹ So.² 5 km²", [("¹", "cited_supported"), ("²", "cited")]),
        ("It opened in 1890 [^1]. It is tall [Doc 2].\n\nSources:\n[1] One\n[2] Two", [
            ("[^1]", "cited_unsupported"), ("[Doc 2]", "cited_supported"),
        ]),
        ("[99999999999999999999999999]", [("[99999999999999999999999999]", "cited_nothing")]),
    ],
)  # fmt: skip
def test_citation_marks_are_located_and_checked(answer, told):
    [none, found, last] = citation_marks(["", answer, "So [1]"], [[], CONTEXTS, CONTEXTS], ScoredClaims(30))
    assert [(answer[one.start : one.stop], one.state) for one in found] == told
    assert none == []
    assert [one.state for one in last] == ["cited"]


def test_rows_contain_citation_marks(tmp_path):
    texts = pa.table(
        {"id": ["q0", "q1"], "answer": [f"In 1889 [1]. {HOSTILE[0]} [7]", "No"], "contexts": [CONTEXTS] * 2}
    )
    fm.report(made(2), tmp_path / "r.html", texts=texts)
    rows = {row["id"]: row["t"] for row in read(tmp_path / "r.html")[2]["rows"]}
    answer = rows["q0"]["answer"]
    assert [(answer[one[0] : one[1]], *one[2:]) for one in rows["q0"]["cites"]] == [
        ("[1]", 1, "cited_supported"), ("[7]", 7, "cited_nothing"),
    ]  # fmt: skip
    assert "cites" not in rows["q1"]


def judged(rows):
    status = ["ok" if at % 3 else "timeout" for at in range(rows)]
    return pa.table(
        {
            "id": [f"q{at}" for at in range(rows)][::-1],
            "judge_a": pa.array([float(at) if at % 3 else None for at in range(rows)]),
            "judge_a_status": status,
            "judge_a_reason": [f"{HOSTILE[0]} {at}" if at % 3 else None for at in range(rows)],
            "judge_b": [float("nan")] * rows,
            "judge_b_status": ["ok"] * rows,
        }
    )


def test_judge_score_status_and_reason_are_matched_by_id(tmp_path):
    fm.report(made(30), tmp_path / "r.html", judged=judged(29))
    rows = {row["id"]: row for row in read(tmp_path / "r.html")[2]["rows"]}
    assert "j" not in rows["q29"]
    for at in range(29):
        found = rows[f"q{28 - at}"]["j"]
        first = [float(at), "ok", f"{HOSTILE[0]} {at}"] if at % 3 else [None, "timeout", None]
        assert found == [["judge_a", *first], ["judge_b", None, "ok", None]]


@pytest.mark.parametrize("lacking", [["id"], ["judge_a_status", "judge_b_status"]])
def test_judgements_without_matching_row_are_omitted(tmp_path, lacking):
    table = judged(5).drop_columns(lacking)
    assert JudgedRows(table).of(pa.array(["q1"]), [0]) == [[]]
    assert JudgedRows(judged(5)).of(None, [0, 1]) == [[], []]
    assert JudgedRows(judged(5)).of(pa.array([3, 4]), [0, 1]) == [[], []]


def test_rows_of_most_unsupported_anchors_are_ordered_by_these_alone():
    """Row 4 has three, rows 2 and 9 have one, row 7 has many anchors that are all supported."""
    unsupported = {2: 1, 4: 3, 7: 0, 9: 1}
    supported = {2: 5, 4: 0, 7: 9, 9: 0}
    texts = {
        row: {"anchors": [[0, 1, 0, "number"]] * count + [[2, 3, 1, "date"]] * supported[row]}
        for row, count in unsupported.items()
    }
    [stratum] = _unsupported([7, 2, 9, 4], {**texts})
    assert (stratum.places.tolist(), stratum.n) == ([4, 2, 9], 4)
    assert _unsupported([7], texts) == []


def test_rows_with_most_unsupported_anchors_equal_a_count(tmp_path):
    random = np.random.default_rng(0)
    n, wrong = 4_000, np.minimum(random.geometric(0.3, 4_000) - 1, 9)
    answers = [" ".join(f"In {1900 + place} it rained." for place in range(many)) + " In 1889." for many in wrong]
    texts = pa.table({"id": [f"q{at}" for at in range(n)], "answer": answers, "contexts": [["In 1889."]] * n})
    scored = fm.score(texts, "hallucination")
    scores = pa.table({"id": texts["id"], "hallucination": scored["hallucination"], "token_f1": random.random(n)})
    fm.report(scores, tmp_path / "r.html", texts=texts)
    data = read(tmp_path / "r.html")[2]
    first = next(one for one in data["strata"] if one["kind"] == "unsupported_anchors")
    assert (first["n"], first["metrics"]) == (POOL, [])
    shown = [data["rows"][at] for at in first["rows"]]
    pool = np.lexsort((np.arange(n), -np.asarray(scores["hallucination"])))[:POOL]
    anchors = fm.scoring.anchors(texts["answer"], texts["contexts"])["anchors"].to_pylist()
    counts = {int(row): sum(not one["supported"] for one in anchors[row]) for row in pool}
    assert [counts[row["at"]] for row in shown] == sorted(counts.values(), reverse=True)[: len(shown)]
    assert [sum(not one[2] for one in row["t"]["anchors"]) for row in shown] == [counts[row["at"]] for row in shown]
    assert len(shown) == 25
    fm.report(scores, tmp_path / "bare.html")
    assert "unsupported_anchors" not in {one["kind"] for one in read(tmp_path / "bare.html")[2]["strata"]}


WIDGET = pa.table(
    {
        "id": ["q0"],
        "question": ["When was the Widget released and what did it cost?"],
        "answer": ["Acme released the Widget phone in 2023 for $900 [1]."],
        "contexts": [["Acme announced the Widget phone on 5 January 2024. It costs $1,000."]],
    }
)


@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize(
    ("spec", "options"),
    [
        ("token_f1", {}),
        ("token_f1,verdict(window=2,name='hallucination_of_somebody')", {"window": 2}),
        ("hallucination", {}),
        ("verdict", {}),
        ("hallucination_risk(window=3, name='risk')", {"window": 3}),
        ("verdict(window=30),hallucination(window=1)", {"window": 1}),
    ],
)
def test_anchors_are_marked_as_they_were_scored(tmp_path, spec, options, every):
    """Of several scores with claims, ``hallucination`` comes first: it counts what is marked."""
    scores = fm.score(WIDGET.append_column("reference", pa.array(["It was 2024."])), spec)
    out = tmp_path / ("pages" if every else "r.html")
    fm.report(scores, out, texts=WIDGET, rows="all" if every else "sample")
    if every:
        written = next((out / "rows").glob("texts-*.js")).read_text()
        [row] = json.loads(written.partition(",")[2].removesuffix(");\n"))["rows"]
    else:
        [row] = read(out)[2]["rows"]
    [anchors] = fm.scoring.anchors(WIDGET["answer"], WIDGET["contexts"], **options)["anchors"].to_pylist()
    expected = [[one["start"], one["stop"], int(one["supported"]), one["kind"]] for one in anchors]
    assert [anchor[:4] for anchor in row["t"]["anchors"]] == expected
