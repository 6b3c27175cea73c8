"""Several systems in a report: of one file with a column of systems, and with the texts of one file for each."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import ColumnError
from tests.reporting.test_report import HOSTILE, read
from tests.support.goldens import refused
from tests.support.program import jsonl, program

IDS = [f"q{at}" for at in range(8)]
SYSTEMS = ("one", "two", HOSTILE[1])


def run(place: int) -> pa.Table:
    scores = [None if at == place else at * (place + 1) / 30 for at in range(len(IDS))]
    return pa.table({"id": IDS[::-1] if place == 1 else IDS, "token_f1": scores})


def texts(place: int) -> pa.Table:
    ids = [*IDS[place:], "elsewhere"]
    answers = [f"{SYSTEMS[place]} says {id_} {HOSTILE[0]}" for id_ in ids]
    return pa.table({"id": ids, "answer": answers, "question": [f"{id_}?" for id_ in ids]})


def joined(table, *, column: str = "model") -> pa.Table:
    parts = [table(place).append_column(column, pa.array([name] * table(place).num_rows)) for place, name in
             enumerate(SYSTEMS)]  # fmt: skip
    return pa.concat_tables(parts)


def rows_of(page) -> dict[str, dict]:
    return {row["id"]: row for row in read(page)[2]["rows"]}


def rows_of_folder(folder) -> list[dict]:
    written = (folder / "rows" / "texts-0.js").read_text(encoding="utf-8")
    return json.loads(written.partition(",")[2].removesuffix(");\n"))["rows"]


def test_one_file_with_a_column_of_systems_equals_a_file_for_each(tmp_path):
    whole = joined(run)
    fm.report(whole, tmp_path / "one.html", system="model", title="t")
    fm.report({name: run(place) for place, name in enumerate(SYSTEMS)}, tmp_path / "each.html", title="t")
    assert (tmp_path / "one.html").read_text() == (tmp_path / "each.html").read_text()


def test_the_baseline_is_a_system_by_its_name_or_a_file(tmp_path):
    whole = joined(run)
    fm.report(whole, tmp_path / "r.html", system="model", baseline="two")
    assert (data := read(tmp_path / "r.html")[2])["systems"][data["shown"][1]] == "one"
    assert rows_of(tmp_path / "r.html")["q3"] == {"at": 3, "id": "q3", "t": {}, "s": [0.1], "b": [0.266667],
                                                  "other": None, "x": [[0.3]]}  # fmt: skip
    fm.report(whole, tmp_path / "r.html", system="model", baseline=run(2), overwrite=True)
    assert rows_of(tmp_path / "r.html")["q3"]["b"] == [0.3]


@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize("baseline", [None, "two"])
def test_a_file_of_texts_with_the_systems_gives_each_its_answers(tmp_path, every, baseline):
    out = tmp_path / ("pages" if every else "r.html")
    fm.report(joined(run), out, system="model", texts=joined(texts), baseline=baseline,
              rows="all" if every else "sample")  # fmt: skip
    rows = dict(zip(IDS, rows_of_folder(out), strict=True)) if every else rows_of(out)
    assert rows["q4"]["t"]["answer"] == f"one says q4 {HOSTILE[0]}"
    others = [[name, f"{name} says q4 {HOSTILE[0]}"] for name in SYSTEMS[1:] if name != baseline]
    assert rows["q4"]["o"] == others
    assert [name for name, _ in rows["q0"].get("o", [])] == []
    assert rows["q4"].get("other") == (f"two says q4 {HOSTILE[0]}" if baseline else None)


def test_as_many_files_of_texts_as_runs_give_each_its_answers(tmp_path):
    runs = {name: run(place) for place, name in enumerate(SYSTEMS)}
    fm.report(runs, tmp_path / "r.html", texts=[texts(0), texts(1), texts(2)])
    assert rows_of(tmp_path / "r.html")["q4"]["o"] == [[name, f"{name} says q4 {HOSTILE[0]}"] for name in SYSTEMS[1:]]
    fm.report(runs, tmp_path / "s.html", texts=[texts(0)])
    assert "o" not in rows_of(tmp_path / "s.html")["q4"]


def test_a_file_of_texts_without_the_systems_is_that_of_the_first(tmp_path):
    fm.report(joined(run), tmp_path / "r.html", system="model", texts=texts(0))
    row = rows_of(tmp_path / "r.html")["q4"]
    assert (row["t"]["answer"], "o" in row) == (f"one says q4 {HOSTILE[0]}", False)


def test_judgements_of_several_systems_are_those_of_the_first(tmp_path):
    judged = {"id": IDS * 2, "model": ["two"] * 8 + ["one"] * 8, "judge_x": [1.0] * 8 + [5.0] * 8}
    judged["judge_x_status"] = ["ok"] * 16
    fm.report(joined(run), tmp_path / "r.html", system="model", judged=judged)
    assert rows_of(tmp_path / "r.html")["q4"]["j"] == [["judge_x", 5.0, "ok", None]]


def test_judgements_of_each_system_and_of_the_baseline_are_compared(tmp_path):
    def judged(score):
        return {"id": IDS, "judge_x": [score] * 8, "judge_x_status": ["ok"] * 8}

    options = {"baseline": run(2), "judged": [judged(4.0), judged(2.0)]}
    fm.report({"new": run(0)}, tmp_path / "r.html", **options)
    data = read(tmp_path / "r.html")[2]
    place = [metric["name"] for metric in data["metrics"]].index("judge_x")
    rows = rows_of(tmp_path / "r.html")
    assert (rows["q4"]["s"][place], rows["q4"]["b"][place]) == (4.0, 2.0)
    for name, score in (("new", 4.0), ("old", 2.0)):
        pq.write_table(pa.table(judged(score)), tmp_path / f"{name}.parquet")
        pq.write_table(run(0), tmp_path / f"{name}_scores.parquet")
    words = ("report", tmp_path / "new_scores.parquet", "--baseline", tmp_path / "old_scores.parquet")
    words += ("--judged", tmp_path / "new.parquet", "--judged", tmp_path / "old.parquet", "-o", tmp_path / "c.html")
    assert program(*words).code == 0
    assert rows_of(tmp_path / "c.html")["q4"]["b"][place] == 2.0


def test_command_has_systems_and_resamples(tmp_path):
    pq.write_table(joined(run), tmp_path / "scores.parquet")
    pq.write_table(joined(texts), tmp_path / "texts.parquet")
    words = ("report", tmp_path / "scores.parquet", "-o", tmp_path / "r.html", "--texts", tmp_path / "texts.parquet")
    assert program(*words, "--system", "model", "--baseline", "one", "--resamples", "100").code == 0
    assert rows_of(tmp_path / "r.html")["q4"]["t"]["answer"].startswith("two says q4")
    assert "with 100 resamples" not in (tmp_path / "r.html").read_text()
    done = program(*words, "--overwrite", "--system", "model", "--resamples", "9")
    assert (done.code, "with 9 resamples and 3 comparisons the least" in (tmp_path / "r.html").read_text()) == (0, True)
    done = program(*words, tmp_path / "scores.parquet", "--overwrite", "--system", "model")
    assert (done.code, "--system needs exactly one file" in done.err) == (2, True)


def test_files_of_one_table_with_other_metrics_are_one_page(tmp_path):
    """Files that keep no answers are of the same ones if they were made from the same file."""
    for name in ("a", "b"):
        jsonl(
            tmp_path / f"{name}.jsonl", *({"id": at, "answer": f"{name}{at}", "reference": f"a{at}"} for at in range(9))
        )
    for name, metric in (("a", "token_f1"), ("a", "chrf"), ("b", "chrf")):
        fm.score(tmp_path / f"{name}.jsonl", metric, output=tmp_path / f"{name}_{metric}.parquet")
    paths = [str(tmp_path / f"{name}.parquet") for name in ("a_token_f1", "a_chrf", "b_chrf")]
    fm.report(paths[:2], tmp_path / "r.html")
    assert read(tmp_path / "r.html")[2]["systems"] == ["a_token_f1 + a_chrf"]
    refused(ColumnError, "", fm.report, [paths[0], paths[2]], tmp_path / "r.html", overwrite=True)


@pytest.mark.parametrize("shared", [[], ["answer"], ["latency_ms"], ["answer", "latency_ms"]])
def test_files_of_the_same_rows_with_other_metrics_are_one_page(tmp_path, shared):
    """Own scores beside a judge's, in another order: each row has both; where answers differ, they are two systems."""
    n = 9
    both = {"answer": [f"a{at}" for at in range(n)], "latency_ms": [float(at) for at in range(n)]}
    own = pa.table({"id": list(range(n)), "token_f1": [at / 10 for at in range(n)], **{k: both[k] for k in shared}})
    judged = pa.table({"id": list(range(n)), "judge_tone": [at % 5 + 1.0 for at in range(n)], **both}).take(
        [*range(n)][::-1]
    )
    if not shared:
        refused(ColumnError, "", fm.report, {"own": own, "judged": judged}, tmp_path / "r.html")
        return
    fm.report({"own": own, "judged": judged}, tmp_path / "r.html")
    _, _, data = read(tmp_path / "r.html")
    assert data["systems"] == ["own + judged"]
    names = [one["name"] for one in data["metrics"]]
    rows = {row["id"]: dict(zip(names, row["s"], strict=True)) for row in data["rows"]}
    expected = {str(at): {"token_f1": at / 10, "judge_tone": at % 5 + 1.0} for at in range(n)}
    assert {key: {name: row[name] for name in ("token_f1", "judge_tone")} for key, row in rows.items()} == expected
    other = judged.set_column(judged.column_names.index("answer"), "answer", pa.array(["x"] * n))
    if shared == ["answer"]:
        both = {"own": own, "judged": other}
        refused(ColumnError, "token_f1,judge_tone", fm.report, both, tmp_path / "r.html", overwrite=True)
