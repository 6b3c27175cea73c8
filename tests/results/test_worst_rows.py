"""The rows behind a figure: which they are, in which order, and with which texts."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import ColumnError, UnknownNameError
from tests.reporting.test_report import data_of
from tests.support.goldens import refused
from tests.support.program import program

N = 500
RNG = np.random.default_rng(2)
IDS = [f"q{n:03}" for n in range(N)]
VALUES = RNG.integers(0, 20, N) / 20
SCORES = pa.table(
    {
        "id": IDS,
        "token_f1": pa.array([None if n % 50 == 0 else v for n, v in enumerate(VALUES)]),
        "hallucination": VALUES,
    }
)
OTHER = pa.table({"id": IDS, "token_f1": RNG.integers(0, 20, N) / 20, "hallucination": VALUES})
ANSWERS = [
    {"id": one, "question": f"Why {one}?", "answer": f"As {one}.", "reference": [one, "x"], "contexts": ["a", "b"]}
    for one in IDS
]


def worst_rows(*arguments, **options):
    return fm.worst_rows(*arguments, **options).table


def expected(values, reverse=False):
    known = [(one, value) for one, value in zip(IDS, values, strict=True) if value is not None]
    return sorted(known, key=lambda pair: (-pair[1] if reverse else pair[1], pair[0]))


def shuffled(table):
    return table.take(np.random.default_rng(4).permutation(table.num_rows))


@pytest.mark.parametrize(
    ("metric", "best", "reverse"),
    [
        ("token_f1", False, False),
        ("token_f1", True, True),
        ("hallucination", False, True),
        ("hallucination", True, False),
    ],
)
def test_worst_rows_follow_metric_direction_and_break_ties_by_id(metric, best, reverse):
    found = worst_rows(shuffled(SCORES), metric, n=60, best=best)
    pairs = list(zip(found["id"].to_pylist(), found[metric].to_pylist(), strict=True))
    assert pairs == expected(SCORES[metric].to_pylist(), reverse)[:60]


def test_rows_with_the_largest_change_from_baseline():
    found = worst_rows(shuffled(OTHER), "token_f1", n=N, baseline=SCORES)
    before, after = SCORES["token_f1"].to_pylist(), OTHER["token_f1"].to_pylist()
    changes = [None if a is None else b - a for a, b in zip(before, after, strict=True)]
    assert list(zip(found["id"].to_pylist(), found["change"].to_pylist(), strict=True)) == expected(changes)
    assert found.column_names == ["id", "baseline", "score", "change"]


@pytest.mark.parametrize("kind", ["parquet", "jsonl", "csv", "table"])
def test_texts_are_matched_by_id_from_any_file(tmp_path, kind):
    rows = [ANSWERS[n] for n in np.random.default_rng(8).permutation(N)]
    answers = tmp_path / f"answers.{kind}"
    if kind == "jsonl":
        answers.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif kind == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), answers, row_group_size=33)
    elif kind == "csv":  # a CSV cell is a single text
        rows = [{**row, "reference": row["id"], "contexts": "a"} for row in rows]
        pa.csv.write_csv(pa.Table.from_pylist(rows), answers)
    found = worst_rows(SCORES, "token_f1", n=7, answers=rows if kind == "table" else answers).to_pylist()
    plain = worst_rows(SCORES, "token_f1", n=7).to_pylist()
    for row, other in zip(found, plain, strict=True):
        assert row == {**other, **next(one for one in rows if one["id"] == row["id"])}


def test_rows_missing_from_answers_have_no_texts():
    found = worst_rows(SCORES, "token_f1", n=N, answers=ANSWERS[:100])
    assert found["answer"].null_count == found.num_rows - 98


def test_numeric_ids_are_matched():
    scores = {"id": [3, 1, 2], "token_f1": [0.3, 0.1, 0.2]}
    found = worst_rows(scores, "token_f1", n=2, answers={"id": [1, 2, 3], "answer": ["a", "b", "c"]})
    assert found["answer"].to_pylist() == ["a", "b"]


def test_rows_without_a_score_are_not_the_worst():
    assert worst_rows({"id": ["a"], "token_f1": pa.array([None], pa.float64())}, "token_f1").num_rows == 0


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pq.write_table(SCORES, "scores.parquet")
    pq.write_table(OTHER, "other.parquet")
    odd = {"question": "Long " * 200, "answer": "\x1b[31mred\x00\u202e</script>", "reference": [], "contexts": None}
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps({**row, **odd}) + "\n" for row in ANSWERS))


def test_program_writes_worst_rows(files):
    arguments = (
        *["summarize", "other.parquet", "--worst", "token_f1", "--answers", "answers.jsonl", "--baseline"],
        "scores.parquet",
    )
    assert program(*arguments, "-o", "rows.parquet", "-n", "5").out == "5 rows: rows.parquet\n"
    written = pq.read_table("rows.parquet")
    assert written.column_names[:4] == ["id", "baseline", "score", "change"]
    assert written.drop(["contexts"]).equals(
        worst_rows(OTHER, "token_f1", n=5, baseline=SCORES, answers="answers.jsonl").drop(["contexts"])
    )


LANGUAGE = ["en" if n % 3 else "ru" for n in range(N)]


def test_worst_rows_of_one_segment():
    cut = SCORES.append_column("language", pa.array(LANGUAGE))
    found = worst_rows(cut, "token_f1", n=9, by="language", segment="language=ru")
    alone = worst_rows(cut.filter(pa.array([one == "ru" for one in LANGUAGE])), "token_f1", n=9)
    assert found.equals(alone)
    assert found.num_rows == 9
    changed = worst_rows(cut, "token_f1", n=500, baseline=OTHER, by=["language"], segment="language=en")
    assert {LANGUAGE[IDS.index(one)] for one in changed["id"].to_pylist()} == {"en"}
    assert changed.num_rows == sum(n % 50 != 0 and n % 3 != 0 for n in range(N))


def test_the_worst_rows_of_each_segment_with_own_columns():
    cut = SCORES.append_column("language", pa.array(LANGUAGE)).append_column("topic", pa.array(IDS[::-1]))
    found = worst_rows(cut, "token_f1", n=3, by="language", keep="topic,note", answers=NOTED)
    assert found.column_names[:5] == ["id", "segment", "language", "token_f1", "topic"]
    for language in ("en", "ru"):
        alone = worst_rows(cut, "token_f1", n=3, by="language", segment=f"language={language}")
        part = found.filter(pc.equal(found["segment"], f"language={language}"))
        assert part["id"].equals(alone["id"])
        assert set(part["language"].to_pylist()) == {language}
    for row in found.to_pylist():
        assert (row["topic"], row["note"]) == (IDS[::-1][IDS.index(row["id"])], f"note {row['id']}")
    changed = worst_rows(cut, "token_f1", n=2, by="language", keep="topic", baseline=OTHER)
    assert changed.num_rows == 4
    assert changed["topic"].to_pylist() == [IDS[::-1][IDS.index(one)] for one in changed["id"].to_pylist()]


@pytest.mark.parametrize("kind", ["table", "files", "systems"])
def test_texts_beside_a_change_are_those_of_the_run_with_the_score(tmp_path, kind):
    old = {"id": ["a", "b"], "token_f1": [1.0, 0.5], "answer": ["old a", "old b"], "reference": ["ra", "rb"]}
    new = {"id": ["b", "a"], "token_f1": [0.0, 0.2], "answer": [None, "new a"], "contexts": [["new c"], []]}
    runs, options = [pa.table(old), pa.table(new)], {}
    if kind == "files":
        runs = [tmp_path / "old.parquet", tmp_path / "new.parquet"]
        for table, path in zip((old, new), runs, strict=True):
            pq.write_table(pa.table(table), path)
    scores, baseline = runs[1], runs[0]
    if kind == "systems":
        named = [run.append_column("system", pa.array([name] * 2)) for run, name in zip(runs, ("o", "n"), strict=True)]
        scores, baseline, options = pa.concat_tables(named, promote_options="default"), "o", {"system": "system"}
    found = worst_rows(scores, "token_f1", baseline=baseline, **options).drop_columns(["baseline", "score", "change"])
    references = [None, None] if kind == "systems" else ["ra", "rb"]  # one table: the run has the column, empty
    texts = {"reference": references, "answer": ["new a", None], "contexts": [[], ["new c"]]}
    assert found.to_pydict() == {"id": ["a", "b"], **texts, "baseline_answer": ["old a", "old b"]}
    if kind == "files":
        shown = program("summarize", str(scores), "--worst", "token_f1", "--baseline", str(baseline)).out
        lines = [line.split() for line in shown.splitlines() if "answer" in line]
        assert lines == [["answer", "new", "a"], ["baseline_answer", "old", "a"], ["baseline_answer", "old", "b"]]


NOTED = [{**row, "note": f"note {row['id']}"} for row in ANSWERS]


def test_tables_without_ids_meet_by_position():
    """The rows are those of tables with ids, with their numbers in place of ids."""
    answers = [{name: value for name, value in row.items() if name != "id"} for row in NOTED]
    scores, other = SCORES.drop(["id"]), OTHER.drop(["id"])
    for more in ({}, {"baseline": scores}):
        table, named = (other, OTHER) if more else (scores, SCORES)
        found = worst_rows(table, "token_f1", n=9, answers=answers, keep="note", **more)
        with_ids = worst_rows(
            named, "token_f1", n=9, answers=NOTED, keep="note", **({"baseline": SCORES} if more else {})
        )
        assert [IDS[row] for row in found["row"].to_pylist()] == with_ids["id"].to_pylist()
        assert found.drop_columns("row").equals(with_ids.drop_columns("id"))
    assert worst_rows(scores, "token_f1", n=9, answers=NOTED)["answer"].to_pylist() == (
        worst_rows(SCORES, "token_f1", n=9, answers=NOTED)["answer"].to_pylist()
    )


def test_program_writes_rows_of_two_systems_in_one_segment(files):
    three = [
        table.append_column("system", pa.array([name] * N)).append_column("language", pa.array(LANGUAGE))
        for name, table in (("old", SCORES), ("new", OTHER), ("newest", SCORES))
    ]
    pq.write_table(pa.concat_tables(three, promote_options="permissive"), "all.parquet")
    rows = ("summarize", "all.parquet", "--worst", "token_f1", "--system", "system", "-n", "7", "-o", "w.parquet")
    assert program(*rows).code == program(*rows, "--baseline", "old", "--other", "old").code == 2
    named = (*rows, "--baseline", "old", "--other", "new", "--by", "language", "--segment", "language=ru")
    assert program(*named, "--answers", "answers.jsonl").out == "7 rows: w.parquet\n"
    cut = [table.append_column("language", pa.array(LANGUAGE)) for table in (SCORES, OTHER)]
    expected = worst_rows(cut[1], "token_f1", n=7, baseline=cut[0], by="language", segment="language=ru")
    found = pq.read_table("w.parquet")
    assert found["id"].to_pylist() == expected["id"].to_pylist()
    assert all(text.startswith("Long") for text in found["question"].to_pylist())
    answers = [
        table.append_column("answer", pa.array([name] * N)) for name, table in zip(("old", "new"), three, strict=False)
    ]
    pq.write_table(pa.concat_tables(answers, promote_options="permissive"), "both.parquet")
    assert program(*named, "--answers", "both.parquet", "--overwrite").code == 0
    assert set(pq.read_table("w.parquet")["answer"].to_pylist()) == {"new"}


def test_worst_and_best_follow_a_stated_direction(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scores = pa.table({"id": ["a", "b", "c"], "my_score": [0.2, 0.9, 0.5], "answer_length": [3.0, 1.0, 2.0]})
    pq.write_table(scores, "scores.parquet")
    pq.write_table(scores.set_column(1, "my_score", pa.array([0.2, 0.8, 0.9])), "other.parquet")
    for metric in ("my_score", "answer_length"):
        assert program("summarize", "scores.parquet", "--worst", metric).code == 2
    assert worst_rows(scores, "my_score", better={"my_score": "lower"}, n=1)["id"].to_pylist() == ["b"]
    assert worst_rows(scores, "my_score", better={"my_score": "higher"}, n=1)["id"].to_pylist() == ["a"]
    done = program("summarize", "scores.parquet", "--worst", "my_score", "--better", "my_score=lower", "-n", "1")
    assert (done.code, done.out.splitlines()[0]) == (0, "b  my_score 0.9000")
    changes = (
        *["summarize", "other.parquet", "--worst", "my_score", "--baseline", "scores.parquet", "-n", "1", "-o"],
        "rows.jsonl",
    )
    assert program(*changes).code == 2
    assert program(*changes, "--better", "my_score=lower").code == 0
    assert json.loads((tmp_path / "rows.jsonl").read_text())["id"] == "c"


def test_other_questions_under_one_id_are_compared_on_request():
    old = {"id": [1, 2], "question": ["a?", "b?"], "token_f1": [0.5, 0.5]}
    new = {"id": [1, 2], "question": ["a?", "c?"], "token_f1": [0.1, 0.7]}
    rows = worst_rows(new, "token_f1", baseline=old, allow_differences=True)
    assert rows["change"].to_pylist() == pytest.approx([-0.4, 0.2])


UNNAMED = {
    **{"question": ["Who?", "Where?", "When?", "Why?"], "reference": ["Ann", "here", "now", "because"]},
    **{"answer": ["Ann", "there", "now or never", "no"], "nr": [7, 8, 9, 10], "language": ["en", "ru", "en", "ru"]},
    "team of authors": ["a", "b", None, "d"],
}


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "arrow", "parquet"])
def test_scores_without_ids_meet_answers_by_position_in_any_format(tmp_path, suffix):
    fm.score(UNNAMED, "token_f1", output=tmp_path / f"scores.{suffix}")
    found = worst_rows(tmp_path / f"scores.{suffix}", "token_f1", n=2, answers=UNNAMED).to_pylist()
    assert [(row["row"], row["answer"]) for row in found] == [(1, "there"), (3, "no")]


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_answers_are_matched_by_a_column_of_the_user(tmp_path, suffix):
    fm.score(UNNAMED, "token_f1", keep=["nr", "question"], output=tmp_path / f"scores.{suffix}")
    answers = pa.table(UNNAMED).take([3, 1, 0, 2])
    fm.score(answers, "answer_words", keep=[*UNNAMED], output=tmp_path / f"answers.{suffix}")
    for on in ("nr", "question"):
        files = (tmp_path / f"scores.{suffix}", tmp_path / f"answers.{suffix}")
        found = worst_rows(files[0], "token_f1", n=3, answers=files[1], on=on).to_pylist()
        expected = [*sorted((1, 3), key=lambda row: str(UNNAMED[on][row])), 2]
        assert [row["id"] for row in found] == [str(UNNAMED[on][row]) for row in expected]
        assert [row["question"] for row in found] == [UNNAMED["question"][row] for row in expected]
        assert [row["answer"] for row in found] == [UNNAMED["answer"][row] for row in expected]


def test_texts_that_the_scores_kept_stand_in_the_rows():
    scores = {"id": [1, 2], "token_f1": [0.9, 0.1], "answer": ["yes", "no"], "note": ["a", "b"]}
    assert worst_rows(scores, "token_f1", n=1).to_pylist() == [{"id": "2", "token_f1": 0.1, "answer": "no"}]


@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl"])
def test_a_run_remembers_the_columns_that_were_named(tmp_path, suffix):
    """Ids, ``007`` and not 7, are ``id`` in the scores, where readers find them; texts are found by their own names."""
    own = {"id": "nr", "question": "frage", "answer": "antwort", "reference": "soll"}
    rows = [f"{nr:03d},Q{nr}?,Paris is {nr},Paris {nr // 2}" for nr in range(5)]
    (tmp_path / "rows.csv").write_text("\n".join(["nr,frage,antwort,soll", *rows]))
    for name in ("a", "b"):
        fm.score(tmp_path / "rows.csv", "token_f1", columns=own, output=tmp_path / f"{name}.{suffix}")
        done = fm.score(
            tmp_path / "rows.csv", "token_f1", columns=own, output=tmp_path / f"{name}.{suffix}", resume=True
        )
    assert done.rows == 5
    runs = {name: tmp_path / f"{name}.{suffix}" for name in ("a", "b")}
    for on in (None, "nr", "id"):  # either name, in whichever of both
        [worst] = worst_rows(runs["a"], "token_f1", n=1, answers=tmp_path / "rows.csv", on=on).to_pylist()
        assert worst["answer"] == "Paris is 1"
    assert worst == {"id": "001", "token_f1": 0.4, "question": "Q1?", "reference": "Paris 0", "answer": "Paris is 1"}
    for on in (None, "nr", "id"):
        assert fm.compare(runs, on=on).joined_by == "id"
        assert fm.gate(runs["a"], "token_f1.drop <= 0.1", baseline=runs["b"], on=on).checks[0].n == 5
        drawn = fm.sample(runs["a"], budget=5, for_="x", using="token_f1", texts=tmp_path / "rows.csv", on=on)
        assert drawn["answer"].to_pylist() == [f"Paris is {nr}" for nr in range(5)]
    refused(ColumnError, "no", worst_rows, runs["a"], "token_f1", answers=tmp_path / "rows.csv", on="no")


def test_named_ids_in_memory_are_ids():
    table = {"nr": ["x", "y"], "id": [5, 5], "antwort": ["a b", "c"], "reference": ["a", "c"]}
    named = {"id": "nr", "answer": "antwort"}
    scores = fm.score(table, "token_f1", columns=named)
    assert scores["id"].to_pylist() == ["x", "y"]
    assert worst_rows(scores, "token_f1", n=1, answers=table)["answer"].to_pylist() == ["a b"]


@pytest.mark.parametrize("kind", ["jsonl", "parquet", "frame"])
def test_objects_among_the_texts_are_shown_as_json(tmp_path, kind):
    rows = [{"id": n, "answer": '{"a": 1}', "reference": {"a": n}, "contexts": ["x", "y"]} for n in range(2)]
    answers = pa.Table.from_pylist(rows)
    if kind == "jsonl":
        answers = tmp_path / "rows.jsonl"
        late = {"id": 2, "answer": {"b": [1]}, "reference": "none", "contexts": []}
        answers.write_text("".join(json.dumps(row) + "\n" for row in [*rows, late]))
    elif kind == "parquet":
        pq.write_table(answers, tmp_path / "rows.parquet")
        answers = tmp_path / "rows.parquet"
    scores = {"id": [0, 1, 2], "score": [0.1, 0.2, 0.3]}
    found = worst_rows(scores, "score", answers=answers, better={"score": "higher"}).select([2, 3, 4])
    assert found["reference"].to_pylist()[:2] == ['{"a": 0}', '{"a": 1}']
    assert found["contexts"].to_pylist()[0] == ["x", "y"]
    if kind == "jsonl":
        assert found.to_pylist()[2] == {"answer": '{"b": [1]}', "reference": "none", "contexts": []}


OWN = {"answer": "says", "reference": "truth", "question": "ask"}


def own_frame(labels=("x3", "x1", "x2", "x4"), name="ticket"):
    import pandas as pd

    texts = {
        "says": ["7", "in Paris", "Rome", None],
        "truth": ["8", "Paris", "Rome", "x"],
        "ask": ["a?", "b?", "c?", "d?"],
    }
    return pd.DataFrame({**texts, "price": [3.5, 1.25, 2.0, 9.0]}, index=pd.Index(labels, name=name))


@pytest.mark.parametrize(("name", "shown"), [("ticket", "ticket"), (None, "index")])
def test_a_frame_remembers_its_columns_and_names_its_rows_by_its_index(name, shown):
    frame = own_frame(name=name)
    expected = {"token_f1": [0.0, 2 / 3], "question": ["a?", "b?"], "reference": ["8", "Paris"]}
    expected = {shown: ["x3", "x1"], **expected, "answer": ["7", "in Paris"]}
    scored = fm.with_scores(frame, "token_f1", columns=OWN)
    assert fm.worst_rows(scored, "token_f1", n=2).table.to_pydict() == expected
    assert fm.worst_rows(scored[::-1], "token_f1", n=2).table.to_pydict() == expected
    scores = fm.score(frame, "token_f1", columns=OWN)
    assert fm.worst_rows(scores, "token_f1", n=2, answers=frame).table.to_pydict() == expected
    kept = fm.score(frame, "token_f1", columns=OWN, keep="all")
    assert fm.worst_rows(kept, "token_f1", n=2).table.to_pydict() == expected
    # of a frame in another order, or of more rows, the texts are those of the labels
    assert fm.worst_rows(scores.slice(0, 2), "token_f1", answers=frame[::-1]).table.to_pydict() == expected
    numbered = fm.with_scores(frame.reset_index(drop=True), "token_f1", columns=OWN)
    assert fm.worst_rows(numbered, "token_f1", n=1)["row"].to_pylist() == [0]


@pytest.mark.parametrize("kind", ["pandas", "arrow"])
@pytest.mark.parametrize("ids", [["x3", "x1", "x2", "x4"], [3, 1, 2, 4]])
def test_an_id_and_a_question_named_for_a_frame_are_those_of_every_reader(tmp_path, kind, ids):
    named = {**OWN, "id": "ticket"}
    frame = own_frame(labels=ids).drop(columns="price").reset_index()
    later = frame.assign(says=["8", "Paris", "Oslo", "x"])[::-1].reset_index(drop=True)
    tables = [one if kind == "pandas" else pa.Table.from_pandas(one) for one in (frame, later)]
    old, new = (fm.with_scores(table, "token_f1", columns=named) for table in tables)
    compared = fm.compare({"old": old, "new": new})
    assert (compared.joined_by, len(compared)) == ("ticket", 1)
    assert compared["token_f1"].delta == pytest.approx((1 + 1 / 3 - 1) / 3)  # x4 has no answer at first
    changed = worst_rows(new, "token_f1", baseline=old)
    assert changed["id"].to_pylist() == [str(ids[at]) for at in (2, 1, 0)]
    assert changed["answer"].to_pylist() == ["Oslo", "Paris", "8"]
    labels = pa.table({"ticket": [*ids[:2], ids[3]], "label": [0, 1, 1]})
    assert fm.validate(new, labels)["token_f1"].n == 3
    assert fm.gate(new, "token_f1.delta > 0.1", baseline=old).checks[0].value == pytest.approx(1 / 9)
    twice = fm.with_scores(
        pa.table({"ticket": ["a", "a", "b"], "says": ["x", "", ""], "truth": ["x"] * 3}),
        "token_f1",
        columns={"id": "ticket", "answer": "says", "reference": "truth"},
    )
    assert fm.summarize(twice)["token_f1"].mean == 0.25
    other = fm.with_scores(frame.assign(ask="Else?"), "token_f1", columns=named)
    with pytest.raises(fm.errors.InputError, match="different questions in 4 rows"):
        fm.compare({"old": old, "new": other})


def test_worst_rows_print_as_a_table_of_shortened_texts():
    rows = {"id": ["a"], "token_f1": [0.25], "answer": ["So\nlong " * 20], "contexts": [["one", "two"]]}
    found = fm.worst_rows(rows, "token_f1")
    head, line = str(found).splitlines()
    assert head.split() == ["id", "token_f1", "answer", "contexts"]
    assert line.split("  ")[0] == "a"
    assert line.endswith(" So …  one | two")
    assert (len(found), [row["id"] for row in found], found.to_pandas()["token_f1"].tolist()) == (1, ["a"], [0.25])
    assert found.to_dict()["rows"][0]["contexts"] == ["one", "two"]


def test_a_report_shows_texts_under_the_names_of_a_frame(tmp_path):
    scored = fm.with_scores(own_frame(), "token_f1", columns=OWN)
    fm.report(scored, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert all(text in page for text in ("in Paris", "b?", "x1"))


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("name", ["ticket", None])
def test_a_report_matches_the_texts_of_frames_by_their_index(tmp_path, name, given):
    old, new = own_frame(name=name), own_frame(name=name).assign(says=["8", "Paris", "Oslo", "y"])
    runs = {"old": fm.with_scores(old, "token_f1", columns=OWN)}
    runs["new"] = fm.with_scores(new.iloc[[2, 0, 3, 1]], "token_f1", columns=OWN)
    texts = {"texts": new.iloc[[1, 2, 0, 3]], "baseline_texts": old[::-1]} if given else {}
    fm.report(runs, tmp_path / "report.html", baseline="old", **texts)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    data = data_of(page)
    rows = {row["t"]["question"]: (row["t"].get("answer"), row.get("other")) for row in data["rows"]}
    if name is not None:
        assert {row["id"]: row["t"]["question"] for row in data["rows"]} == dict(
            zip(old.index, old["ask"], strict=True)
        )
    assert rows == {"a?": ("8", "7"), "b?": ("Paris", "in Paris"), "c?": ("Oslo", "Rome"), "d?": ("y", None)}


@pytest.mark.parametrize("labels", [[*"dbac"], [4, 2, 1, 3], [0, 1, 2, 3]])
def test_a_named_index_without_repeats_is_the_id_of_every_reader(labels):
    import pandas as pd

    index = pd.Index(labels, name="ticket")
    old = pd.DataFrame({"token_f1": [0.5, 0.25, 1.0, 0.0]}, index=index)
    new = pd.DataFrame({"token_f1": [0.75, 1.0]}, index=index[[2, 0]])
    compared = fm.compare({"old": old, "new": new})
    assert (compared.joined_by, compared["token_f1"].n_paired) == ("ticket", 2)
    assert compared["token_f1"].delta == pytest.approx((1 - 0.5 + 0.75 - 1) / 2)
    assert fm.gate(new, "token_f1.delta > 0", baseline=old, unpaired="ignore").checks[0].value == pytest.approx(0.125)
    changed = worst_rows(new, "token_f1", baseline=old, answers=pd.DataFrame({"answer": [*"wxyz"]}, index=index)[::-1])
    assert changed.select(["ticket", "change", "answer"]).to_pylist() == [
        {"ticket": str(labels[at]), "change": change, "answer": text}
        for at, change, text in [(2, -0.25, "y"), (0, 0.5, "w")]
    ]
    people = pd.Series([1, 0, 1], index=index[[0, 3, 2]])
    for on in (None, "ticket"):
        found = fm.validate(old, people, on=on)
        assert (found.joined_by, found["token_f1"].n, found["token_f1"].auc.value) == ("ticket", 3, 1.0)
    assert worst_rows(pa.Table.from_pandas(old), "token_f1", n=1)["ticket"].to_pylist() == [str(labels[3])]
    repeated = pd.DataFrame({"token_f1": [0.5, 0.25]}, index=pd.Index([labels[0]] * 2, name="ticket"))
    assert fm.compare({"a": repeated, "b": repeated}).joined_by == "position"


@pytest.mark.parametrize("kind", ["frame", "score", "arrow"])
@pytest.mark.parametrize("labels", [[*"dbac"], [4, 2, 1, 3], [0, 1, 2, 3]])
def test_a_named_index_without_repeats_in_a_system_is_the_id_within_each(tmp_path, labels, kind):
    import pandas as pd

    old = own_frame(labels).assign(bot="old")
    new = own_frame(labels).iloc[[2, 0, 1]].assign(bot="new", says=["Oslo", "8", "Paris"])
    both = pd.concat([old, new])
    scored = fm.with_scores(both, "token_f1", columns=OWN)
    scored = fm.score(both, "token_f1", columns=OWN, keep="all") if kind == "score" else scored
    scored = pa.Table.from_pandas(scored) if kind == "arrow" else scored
    for on in (None, "ticket"):
        found = fm.compare(scored, system="bot", on=on)
        assert (found.joined_by, found["token_f1"].n_paired) == ("ticket", 3)
        assert found["token_f1"].delta == pytest.approx((1 + 1 / 3 - 1) / 3)
    how = {"system": "bot", "baseline": "old"}
    for answers in (None, both):
        changed = worst_rows(scored, "token_f1", **how, columns=OWN, answers=answers)
        rows = [(str(labels[at]), text) for at, text in ((2, "Oslo"), (1, "Paris"), (0, "8"))]
        assert changed.select(["ticket", "answer"]).to_pylist() == [{"ticket": id, "answer": text} for id, text in rows]
    fm.report(scored, tmp_path / "report.html", texts=both.rename(columns={"says": "answer"}), **how)
    rows = data_of((tmp_path / "report.html").read_text(encoding="utf-8"))["rows"]
    assert {row["id"]: row["t"]["answer"] for row in rows} == {
        str(label): text for label, text in zip(labels, ["8", "Paris", "Oslo"], strict=False)
    }


def test_an_index_that_recurs_within_a_system_pairs_no_rows(tmp_path):
    import pandas as pd

    numbers = pd.Index([1, 1, 2, 1, 2, 2], name="ticket")
    both = pd.DataFrame({"token_f1": [0.5, 0.25, 1.0] * 2, "bot": [*"aaabbb"], "nr": [*"xyzzyx"]}, index=numbers)
    for call in (fm.compare, lambda table, system: fm.report(table, tmp_path / "report.html", system=system)):
        with pytest.raises(fm.errors.ColumnError, match="'ticket' of the frame has labels that recur within a"):
            call(both, system="bot")
    assert [fm.compare(both, system="bot", on=on)["token_f1"].n_paired for on in ("ticket", "nr")] == [2, 3]
    assert fm.compare(both, system="bot", pairing="position").joined_by == "position"
    assert fm.compare(both.reset_index(drop=True), system="bot").joined_by == "position"
    unnamed = both.set_index(pd.Index([*"pqrrqp"]))
    assert fm.compare(unnamed, system="bot")["token_f1"].delta == 0
    assert worst_rows(unnamed, "token_f1", system="bot", baseline="a", n=1)["index"].to_pylist() == ["r"]


def test_answers_without_texts_under_known_names_are_refused():
    import pandas as pd

    scores, frame = {"token_f1": [0.5, 0.25]}, pd.DataFrame({"frage": ["a?", "b?"]}, index=pd.Index([7, 8], name="nr"))
    own = pd.DataFrame(scores, index=frame.index)
    texts = [({}, {"frage": ["a?", "b?"]}), ({"id": [7, 8]}, {"id": [7, 8], "frage": ["a?", "b?"]})]
    for ids, answers in texts:
        with pytest.raises(fm.errors.ColumnError, match="none of question, reference, answer, contexts; they have "):
            worst_rows({**ids, **scores}, "token_f1", answers=answers)
    with pytest.raises(fm.errors.ColumnError, match="they have frage; name yours with columns="):
        worst_rows(own, "token_f1", answers=frame)
    named = worst_rows(own, "token_f1", answers=frame, columns={"question": "frage"})
    assert named.select(["nr", "question"]).to_pylist()[0] == {"nr": "8", "question": "b?"}
    kept = worst_rows(scores, "token_f1", answers={"frage": ["a?", "b?"]}, keep="frage")
    assert kept["frage"].to_pylist() == ["b?", "a?"]


@pytest.mark.parametrize("kind", ["pandas", "arrow", "polars", "dict"])
def test_paths_and_names_of_texts_are_known_or_named_again(kind):
    """pandas and Arrow remember them; every other kind is told again."""
    own = {"id": "meta.nr", "answer": "model.out[0].text", "reference": "gold"}
    said = [{"out": [{"text": text}]} for text in ("in Paris", "Rome", "7")]
    table = {"model": said, "gold": ["Paris", "Rome", "8"], "meta": [{"nr": one} for one in ("x", "y", "z")]}
    make = {"pandas": pd.DataFrame, "arrow": pa.table, "polars": pl.DataFrame, "dict": dict}[kind]
    scored = fm.with_scores(make(table), "token_f1", columns=own)
    named = None if kind in ("pandas", "arrow") else own
    assert fm.worst_rows(scored, "token_f1", n=2, columns=named).table.to_pydict() == {
        "id": ["z", "x"],
        "token_f1": [0.0, 2 / 3],
        "reference": ["8", "Paris"],
        "answer": ["7", "in Paris"],
    }
    with pytest.raises(UnknownNameError, match="unknown column 'antwort'"):
        fm.worst_rows(scored, "token_f1", columns={"antwort": "gold"})


@pytest.mark.parametrize("kind", [pd.DataFrame, list])
def test_kept_calls_are_shown_as_they_were_made(kind):
    calls = [[{"name": "weather", "arguments": {"city": "Oslo"}}], [{"name": "clock", "arguments": {}}]]
    rows = [{"made": made, "wanted": calls[0]} for made in calls]
    scored = fm.with_scores(kind(rows), "tool_call_f1", columns={"tool_calls": "made", "expected_tool_calls": "wanted"})
    found = fm.worst_rows(scored, "tool_call_f1", n=2, keep="made,wanted")
    assert [row["made"] for row in found] == [row["made"] for row in found.to_dict()["rows"]] == calls[::-1]
    assert found.to_pandas()["made"].tolist() == calls[::-1]
    assert "{'name': 'clock', 'arguments': {}}" in str(found)
