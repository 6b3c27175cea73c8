"""Rubrics that ask for no score: decisions, claims, and which of two answers, or tables of answers, is better."""

import json
import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.models.dry_run import estimate_judging
from tests.support.judge_server import judge_server, user_message, with_client
from tests.support.program import jsonl, program


@pytest.fixture(autouse=True)
def _environment(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")


def asked(folder, reply, rubric, **columns):
    """The judgements of a table by a judge that replies so, and the judge."""
    with judge_server(reply=reply) as judge:
        made = fm.judge(
            columns, rubric, model="m", **with_client(base_url=judge.url, endpoint="e", store=folder / "s.sqlite")
        )
    return made, judge


@pytest.mark.parametrize("language", ["en", "ru"])
def test_a_decision_is_one_or_zero(tmp_path, language):
    replies = {"good": {"show": True}, "bad": {"show": False}, "word": {"show": "Yes"}, "odd": {"show": "perhaps"}}

    def reply(body):
        found = next(value for name, value in replies.items() if f"the {name} answer" in user_message(body))
        return json.dumps({"reason": "so", **found})

    answers = [f"the {name} answer" for name in replies]
    made, judge = asked(tmp_path, reply, f"show_answer.{language}", question=["q"] * 4, answer=answers)
    assert made["judge_show_answer"].to_pylist() == [1.0, 0.0, 1.0, None]
    assert made["judge_show_answer_status"].to_pylist() == ["ok", "ok", "ok", "unparsed"]
    assert made["judge_show_answer_reason"][3].as_py().startswith('no "show" in: {"reason": "so", "show": "perhaps"}')
    schema = judge.bodies[0]["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["show"] == {"type": "boolean"}
    assert '"show": true' in judge.bodies[0]["messages"][0]["content"]


def claims(*marks):
    """A reply with a claim for each mark."""
    return json.dumps({"reason": "so", "claims": [{"claim": "c", "supported": mark} for mark in marks]})


def useful(*marks, start=1):
    """A reply with a context for each mark."""
    contexts = [{"context": number, "useful": mark} for number, mark in enumerate(marks, start)]
    return json.dumps({"reason": "so", "contexts": contexts})


def test_the_score_of_ranked_contexts_is_their_average_precision(tmp_path):
    """The context precision of Ragas: sum of precision at k times the mark of k, over the number of useful contexts."""
    replies = {
        "a0": useful(True, False, True),
        "a1": useful(False, True),
        "a2": useful(False, False),
        "a3": useful(True, None),
        "a4": useful(True, False, start=0),
        "a5": json.dumps({"contexts": [{"context": 2, "useful": False}, {"context": 1, "useful": True}]}),
        "a6": json.dumps({"contexts": [{"context": [1], "useful": True}]}),
    }
    rows = {"question": ["q"] * 7, "reference": list(replies), "contexts": [["c", "d"]] * 7}

    def reply(body):
        return next(text for name, text in replies.items() if name in user_message(body))

    made, _ = asked(tmp_path, reply, "context_precision", **rows)
    assert made["judge_context_precision"].to_pylist() == [(1 + 2 / 3) / 2, 0.5, 0.0, None, None, 1.0, None]
    made, judge = asked(tmp_path, lambda body: claims(True, False), "context_recall.ru", **rows)
    assert made["judge_context_recall"].to_pylist() == [0.5] * 7
    assert "Ожидаемый ответ:" in user_message(judge.bodies[0])


def test_the_score_of_claims_is_the_share_of_the_supported_ones(tmp_path):
    replies = {"a0": claims(True, False, False), "a1": claims(True), "a2": claims(), "a3": claims(True, None)}
    rows = {"id": range(4), "question": ["q"] * 4, "answer": list(replies), "contexts": [["c"]] * 4}

    def reply(body):
        return next(text for name, text in replies.items() if name in user_message(body))

    made, _ = asked(tmp_path, reply, "supported_claims", **rows)
    assert made["judge_supported_claims"].to_pylist() == [1 / 3, 1.0, None, None]
    assert made["judge_supported_claims_status"].to_pylist() == ["ok", "ok", "ok", "unparsed"]
    found = fm.summarize(made)["judge_supported_claims"]
    assert (found.n, found.n_missing, found.n_undefined, found.n_error) == (2, 0, 1, 1)
    assert math.isclose(found.mean, 2 / 3)
    path = jsonl(tmp_path / "r.jsonl", *({name: list(values)[n] for name, values in rows.items()} for n in range(4)))
    with judge_server(reply=reply) as judge:
        options = {"base_url": judge.url, "endpoint": "e", "store": tmp_path / "t.sqlite"}
        settings = fm.models.JudgeSettings("supported_claims", "m", **with_client(**options))
        summary = fm.judge(path, settings, output=tmp_path / "o.parquet").summary["judge_supported_claims"]
    assert fm.summarize(tmp_path / "o.parquet")["judge_supported_claims"] == summary == found
    assert pq.read_table(tmp_path / "o.parquet").equals(made.replace_schema_metadata())


def test_a_pair_is_asked_in_both_orders(tmp_path):
    def first_place(body):
        return '{"reason": "the first", "better": "first"}'

    def longer(body):
        first, second = (
            user_message(body).partition(f"<{name} id=")[2].partition("</")[0] for name in ("first", "second")
        )
        better = "tie" if len(first) == len(second) else "first" if len(first) > len(second) else "second"
        return json.dumps({"reason": "the longer", "better": better})

    rows = {
        "question": ["q"] * 3,
        "answer": ["long long", "short", "equal"],
        "other_answer": ["brief", "much more", "equal"],
    }
    made, judge = asked(tmp_path, longer, "preference", **rows)
    assert made["judge_preference"].to_pylist() == [1.0, 0.0, 0.5]
    assert made["judge_preference_scores"].to_pylist() == [[1.0, 1.0], [0.0, 0.0], [0.5, 0.5]]
    assert len(judge.bodies) == 4  # identical answers are not sent
    made, _ = asked(tmp_path / "other", first_place, "preference", **rows)
    assert made["judge_preference_scores"].to_pylist() == [[1.0, 0.0], [1.0, 0.0], [0.5, 0.5]]
    assert made["judge_preference"].to_pylist() == [0.5] * 3


def test_identical_answers_are_a_tie_without_a_call(tmp_path):
    rows = [
        {"id": 1, "question": "q", "answer": "same", "other_answer": "same"},
        {"id": 2, "question": "q", "answer": "a", "other_answer": "b"},
        {"id": 3, "question": "q", "answer": "a", "other_answer": "a "},
        {"id": 4, "question": "r", "answer": "", "other_answer": ""},
        {"id": 5, "question": None, "answer": "same", "other_answer": "same"},
    ]
    path = jsonl(tmp_path / "pairs.jsonl", *rows)
    with judge_server(reply=lambda body: '{"reason": "first", "better": "first"}') as judge:
        settings = fm.models.JudgeSettings(
            "preference", "m", repeats=2, base_url=judge.url, store=tmp_path / "s.sqlite"
        )  # a judge that prefers the first place, so it flips on every pair
        assert estimate_judging(path, settings).calls == 8
        made = fm.judge(path, settings, output=tmp_path / "o.parquet", times=True)
        assert (judge.count, made.spending.requests) == (8, 8)
    judged = pq.read_table(tmp_path / "o.parquet")
    assert judged["judge_preference"].to_pylist() == [0.5, 0.5, 0.5, 0.5, None]
    assert judged["judge_preference_status"].to_pylist() == ["identical", "ok", "ok", "identical", "missing"]
    assert judged["judge_preference_reason"][0].as_py() == "the two answers are identical: a tie; no call was made"
    assert judged["judge_preference_prompt_tokens"].to_pylist() == [None, 400, 400, None, None]
    assert judged["judge_preference_latencies_ms"][0].as_py() == [None] * 4
    summary = made.summary["judge_preference"]
    assert (summary.n, summary.n_missing, summary.n_error) == (4, 1, 0)
    assert "judge_preference: 2 of 5 pairs of answers are identical: ties without a call" in made.summary.notes
    assert fm.summarize(tmp_path / "o.parquet")["judge_preference"] == summary
    report = fm.judge_report(tmp_path / "o.parquet")
    (axis,) = report.axes
    assert (axis.orders.n, axis.orders.n_identical, axis.orders.flips.value) == (4, 2, 1.0)
    assert (axis.error_rate, axis.statuses["identical"]) == (0.0, 2)
    assert "2 pairs of identical answers: ties, left out of the flips" in str(report)


def test_a_pair_lacks_one_of_its_answers(tmp_path):
    rows = {"question": ["q", "q"], "answer": ["a", None], "other_answer": [None, "b"]}
    made, judge = asked(tmp_path, lambda body: "", "preference", **rows)
    assert made["judge_preference_status"].to_pylist() == ["missing", "missing"]
    assert made["judge_preference_reason"].to_pylist() == ["null: other_answer", "null: answer"]
    assert judge.count == 0


@pytest.mark.parametrize(
    ("language", "answer", "letters"),
    [
        ("en", "Париж", "not in Latin letters; --language ru"),
        ("en", "巴黎是法国的首都", "not in Latin letters; --language ru"),
        ("ru", "巴黎是法国的首都", "neither in Cyrillic nor in Latin letters; --language en"),
        ("ru", "Париж", None),
        ("en", "Paris", None),
    ],
)
def test_rows_in_another_script_than_the_rubric_are_noted(tmp_path, language, answer, letters):
    rows = [{"id": n, "question": "Paris?", "answer": answer if n < 6 else "Paris"} for n in range(60)]
    path = jsonl(tmp_path / "rows.jsonl", *rows)
    settings = fm.models.JudgeSettings(
        ["safety", "relevance"], "m", base_url="http://localhost:1/v1", language=language, max_calls=0,
        store=tmp_path / "s.sqlite",
    )  # fmt: skip
    made = fm.judge(path, settings, output=tmp_path / "o.parquet")
    for notes in (made.summary.notes, fm.summarize(tmp_path / "o.parquet").notes):
        told = [note for note in notes if note.startswith("rubrics in ")]
        assert len(told) == (letters is not None)
        assert all(f"6 of 60 rows (10 %) have texts mostly {letters}" in note for note in told)
    few = jsonl(tmp_path / "few.jsonl", *rows[5:])
    made = fm.judge(few, settings, output=tmp_path / "few.parquet")
    assert not [note for note in made.summary.notes if note.startswith("rubrics in ")]


OLD = [
    {"id": 1, "question": "q1", "answer": "a long answer"},
    {"id": 2, "question": "q2", "answer": "brief"},
    {"id": 3, "question": "q3", "answer": "equal"},
    {"id": 4, "question": "q4", "answer": "only here"},
]
NEW = [
    {"id": "3", "question": "q3", "output": "equal"},
    {"id": "2", "question": "q2", "output": "a longer answer"},
    {"id": "1", "question": "q1", "output": "short"},
    {"id": "5", "question": "q5", "output": "only there"},
]


def longer(body):
    """The verdict of a judge that prefers the longer answer."""
    first, second = (
        len(user_message(body).partition(f"<{name} id=")[2].partition("</")[0]) for name in ("first", "second")
    )
    return json.dumps({"reason": "the longer", "better": "first" if first > second else "second"})


@pytest.fixture
def files(tmp_path):
    return jsonl(tmp_path / "old.jsonl", *OLD), jsonl(tmp_path / "new.jsonl", *NEW)


SCORES, STATUSES = [1.0, 0.0, 0.5, None], ["ok", "ok", "identical", "missing"]


@pytest.mark.parametrize("form", ["paths", "tables", "named"])
def test_the_second_answers_are_joined_by_id(tmp_path, files, form):
    tables = list(files) if form == "paths" else [OLD, pa.Table.from_pylist(NEW)]
    tables = dict(zip(("old", "new"), tables, strict=True)) if form == "named" else tables
    with judge_server(reply=longer) as judge:
        settings = {"model": "m", "base_url": judge.url, "store": tmp_path / "s.sqlite"}
        made = fm.judge(tables, "preference", pairwise=True, keep="other_answer", **settings)
        assert judge.count == 4
    assert made["judge_preference"].to_pylist() == SCORES
    assert made["judge_preference_status"].to_pylist() == STATUSES
    assert made["other_answer"].to_pylist() == ["short", "a longer answer", "equal", None]
    (axis,) = fm.judge_report(made).axes
    first, second = ("table 1", "table 2") if form == "tables" else ("old", "new")
    assert (axis.systems, axis.orders.n, axis.orders.win_rate.value) == ((first, second), 3, 0.5)


def test_the_command_compares_two_files(tmp_path, files, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with judge_server(reply=longer) as judge:
        options = ("--rubrics", "preference", "--model", "m", "--base-url", judge.url, "--store", "s.sqlite")
        words = ("judge", "run", "--pairwise", "old.jsonl", "new.jsonl", *options)
        assert "4 rows: 4 calls to make" in program(*words, "--dry-run").out
        settings = fm.models.JudgeSettings("preference", "m", base_url=judge.url, store="s.sqlite")
        assert estimate_judging(["old.jsonl", "new.jsonl"], settings, pairwise=True).calls == 4
        refused = program(*words, "-o", "new.jsonl", "--overwrite")
        assert (refused.code, refused.err) == (4, "error: new.jsonl is an input; write to another name\n")
        assert program(*words, "-o", "judged.parquet").code == 0
        assert judge.count == 4
    judged = pq.read_table("judged.parquet")
    assert judged["judge_preference"].to_pylist() == SCORES
    shown = program("judge", "report", "judged.parquet").out
    assert "wins are those of old over new" in shown


def test_a_changed_second_table_is_another_run(tmp_path, files):
    with judge_server(reply=longer) as judge:
        settings = fm.models.JudgeSettings("preference", "m", base_url=judge.url, store=tmp_path / "s.sqlite")
        fm.judge(list(files), settings, pairwise=True, output=tmp_path / "o.parquet")
        jsonl(files[1], *[{**row, "output": row["output"] + "!"} for row in NEW])
        fm.judge(list(files), settings, pairwise=True, output=tmp_path / "o.parquet", overwrite=True)
        assert judge.count > 4
    assert pq.read_table(tmp_path / "o.parquet")["judge_preference_status"].to_pylist() == ["ok", "ok", "ok", "missing"]
