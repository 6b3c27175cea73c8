"""The judge: scores, reasons and statuses of rows, from a server on loopback."""

import dataclasses
import json
import os
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import FileFormatError, MissingExtraError, OptionError, ServiceError
from fastmetrics.models.prompts import shipped
from tests.support.goldens import refused
from tests.support.judge_server import client_file, drawn, judge_server, with_client
from tests.support.program import alone, jsonl, program

OTHERS = ("show_answer", "supported_claims", "context_recall", "context_precision", "preference")
KEY = "sk-secret-0123456789abcdef"


@pytest.fixture(autouse=True)
def _environment(monkeypatch, tmp_path):
    """A key, and a cache of one's own."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def rows(count, **more):
    """Questions and answers that are all different."""
    numbers = range(count)
    made = {
        "id": [f"r{n}" for n in numbers],
        "question": [f"question {n}?" for n in numbers],
        "answer": [f"answer {n}" for n in numbers],
        "reference": [f"reference {n}" for n in numbers],
        "contexts": [[f"context {n}", "another"] for n in numbers],
    }
    return {**made, **more}


def lines(path, table):
    """The rows of a table as JSON lines."""
    return jsonl(path, *(dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)))


def expected(judge):
    """The scores that the server gave, by question number."""
    return {re.findall(r"question (\d+)[?]", text)[0]: 1 + drawn(text, 5) for text in judge.questions}


def test_every_row_gets_the_score_that_the_judge_gave(tmp_path):
    with judge_server(delay=0.005) as judge:
        made = fm.judge(rows(60), "correctness", model="m", base_url=judge.url, store=tmp_path / "s.sqlite")
        given = expected(judge)
        assert made["judge_correctness"].to_pylist() == [float(given[str(n)]) for n in range(60)]
        assert set(made["judge_correctness_status"].to_pylist()) == {"ok"}
        assert made["judge_correctness_reason"][0].as_py().startswith("because of")
        assert made["judge_correctness_prompt_tokens"].to_pylist() == [100] * 60
        assert (judge.count, 1 < judge.most_under_way <= 16) == (60, True)
        again = fm.judge(rows(60), "correctness", model="m", base_url=judge.url, store=tmp_path / "s.sqlite")
        assert (judge.count, again.equals(made, check_metadata=True)) == (60, True)


@pytest.mark.parametrize("name", [name for name in sorted(shipped()) if name.split(".")[0] not in OTHERS])
def test_every_shipped_rubric_reaches_the_judge_with_the_texts_it_needs(tmp_path, name):
    with judge_server(reply=lambda body: '{"reason": "so", "score": 1}') as judge:
        made = fm.judge(rows(1), name, model="m", base_url=judge.url, store=tmp_path / "s.sqlite")
    axis = f"judge_{name.rpartition('.')[0]}"
    assert made[axis].to_pylist() == [1.0]
    [body] = judge.bodies
    system, user = (message["content"] for message in body["messages"])
    assert ("Вы оцениваете" in system) == name.endswith(".ru")
    assert "question 0?" in user
    assert "answer 0" in user
    assert body["temperature"] == 0
    assert body["response_format"]["json_schema"]["schema"]["required"] == ["reason", "score"]


def test_equal_questions_are_asked_once_and_repeats_apart(tmp_path):
    table = {"id": range(40), "question": ["q"] * 40, "answer": ["a", "b"] * 20}
    with judge_server(delay=0.01) as judge:
        made = fm.judge(table, "safety", model="m", base_url=judge.url, repeats=3, store=tmp_path / "s.sqlite")
        assert judge.count == 6
    assert {len(scores) for scores in made["judge_safety_scores"].to_pylist()} == {3}
    assert made["judge_safety_statuses"][0].as_py() == ["ok"] * 3


def test_the_score_of_repeats_is_the_mean_of_those_that_there_are(tmp_path):
    scored = [f'{{"score": {score}, "reason": "x"}}' for score in (5, 2)]
    replies = iter([scored[0], "no idea", "none", scored[1], "still none"])
    with judge_server(reply=lambda body: next(replies)) as judge:
        made = fm.judge(
            rows(1), "safety", model="m", base_url=judge.url, repeats=3, concurrency=1, store=tmp_path / "s.sqlite"
        )
    assert made["judge_safety"].to_pylist() == [3.5]
    statuses, scores = (made[f"judge_safety_{name}"][0].as_py() for name in ("statuses", "scores"))
    assert sorted(statuses) == ["ok", "ok", "unparsed"]
    assert [score for score in scores if score is not None] in ([5.0, 2.0], [2.0, 5.0])


def test_null_answers_are_missing_and_empty_ones_are_judged(tmp_path):
    table = rows(3, answer=["", None, "x"], reference=[["a", None], [], []])
    with judge_server() as judge:
        made = fm.judge(table, ["correctness", "safety"], model="m", base_url=judge.url, store=tmp_path / "s.sqlite")
    assert made["judge_correctness_status"].to_pylist() == ["ok", "missing", "missing"]
    assert made["judge_correctness_reason"].to_pylist()[1:] == ["null: reference, answer", "null: reference"]
    assert made["judge_safety_status"].to_pylist() == ["ok", "missing", "ok"]
    summary = fm.summarize(made)
    counts = [(summary[axis].n, summary[axis].n_missing, summary[axis].n_error) for axis in summary]
    assert counts == [(1, 2, 0), (2, 1, 0)]


def test_faithfulness_needs_contexts_or_a_reference(tmp_path):
    options = {"model": "m", "store": tmp_path / "s.sqlite"}
    with judge_server() as judge:
        some = rows(3, contexts=[["c"], [], []], reference=["r", "r", None])
        made = fm.judge(some, "faithfulness", base_url=judge.url, **options)
        assert made["judge_faithfulness_status"].to_pylist() == ["ok", "ok", "missing"]


def test_a_prompt_of_more_than_max_chars_is_refused_and_says_so(tmp_path):
    table, options = rows(2, answer=["x" * 400_000, "short"]), {"model": "m", "store": tmp_path / "s.sqlite"}
    with judge_server() as judge:
        made = fm.judge(table, "safety", base_url=judge.url, **options)
        assert (judge.count, made["judge_safety_status"].to_pylist()) == (1, ["too_long", "ok"])
        reason = made["judge_safety_reason"][0].as_py()
        assert "above the limit max_chars of 400,000; no call was made" in reason
        size = int(reason.partition(" ")[0].replace(",", ""))
        for most, count, status in ((size - 1, 1, "too_long"), (size, 2, "ok"), (size + 1, 2, "ok")):
            made = fm.judge(table, "safety", base_url=judge.url, client={"max_chars": most}, **options)
            assert (judge.count, made["judge_safety_status"].to_pylist()) == (count, [status, "ok"])
        assert len(judge.bodies[-1]["messages"][-1]["content"]) == size


def test_changed_settings_are_other_questions(tmp_path):
    with judge_server() as judge:
        options = {"model": "m", "base_url": judge.url, "store": tmp_path / "s.sqlite"}
        fm.judge(rows(2), "safety", **options)
        for change in (
            {"model": "n"},
            {"language": "ru"},
            {"parameters": {"temperature": 1}},
            {"endpoint": "other"},
            {"structured": False},
        ):
            before = judge.count
            fm.judge(rows(2), "safety", **with_client(**{**options, **change}))
            assert judge.count == before + 2, change
        fm.judge(rows(1), "safety", **options, parameters={"temperature": None, "seed": 3})
        assert ("temperature" in judge.bodies[-1], judge.bodies[-1]["seed"]) == (False, 3)
        text = shipped()["safety.en"].read_text(encoding="utf-8")
        (tmp_path / "mine.toml").write_text(text.replace("could do harm", "might do harm"), encoding="utf-8")
        before = judge.count
        fm.judge(rows(2), str(tmp_path / "mine.toml"), **options)
        assert judge.count == before + 2


def test_a_file_is_judged_as_a_table_is_and_read_by_the_other_commands(tmp_path):
    path = lines(tmp_path / "rows.jsonl", rows(30))
    store, out = tmp_path / "s.sqlite", tmp_path / "judged.parquet"
    with judge_server() as judge:
        common = ["--model", "m", "--base-url", judge.url, "--store", store, "--rubrics", "correctness,safety"]
        done = program("judge", "run", path, "-o", out, *common)
        assert (done.code, done.err) == (0, "")
        assert "60 requests, 60 replies, 0 from the store, 6,000 + 1,200 tokens" in done.out
        axes = ["correctness", "safety"]
        held = fm.judge(rows(30), axes, model="m", base_url=judge.url, store=store)
        assert pq.read_table(out).equals(held.replace_schema_metadata())
        for suffix in ("jsonl", "csv", "arrow"):
            other = tmp_path / f"judged.{suffix}"
            assert program("judge", "run", path, "-o", other, *common).code == 0
            assert program("summarize", other).out.splitlines()[:3] == program("summarize", out).out.splitlines()[:3]
        assert judge.count == 60
    assert program("compare", out, tmp_path / "judged.csv").code == 0
    assert program("gate", out, "-r", "judge_correctness.mean >= 1").code == 0
    labels = tmp_path / "people.csv"
    labels.write_text("id,grade\n" + "".join(f"r{n},{n % 5}\n" for n in range(30)))
    checked = program("validate", out, labels)
    assert (checked.code, "judge_correctness" in checked.out) == (0, True), checked.err


def test_a_sample_is_the_same_rows_in_memory_and_in_files(tmp_path):
    table = pa.table({name: list(values) for name, values in rows(50).items()})
    pq.write_table(table, tmp_path / "rows.parquet")
    with judge_server() as judge:
        common = {"model": "m", "base_url": judge.url, "store": tmp_path / "s.sqlite"}
        held = fm.judge(table, "safety", sample=7, seed=3, **common)
        made = fm.judge(
            tmp_path / "rows.parquet",
            fm.models.JudgeSettings("safety", **common),
            output=tmp_path / "o.parquet",
            sample=7,
            seed=3,
        )
        assert (made.rows, judge.count, held.num_rows) == (7, 7, 7)
        assert pq.read_table(tmp_path / "o.parquet")["id"].equals(held["id"])
        assert fm.judge(table, "safety", sample=500, **common).num_rows == 50


def test_api_key_appears_only_in_requests(tmp_path, monkeypatch, full):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    path = jsonl(tmp_path / "rows.jsonl", {"id": 1, "question": "q", "answer": "a"})
    reply = json.dumps({"reason": f"your key is {KEY}", "score": 3})
    folder = tmp_path / "work"
    folder.mkdir()
    with judge_server(reply=lambda body: reply, faults=["500", "close"]) as judge:
        arguments = ["--model", "m", "--base-url", judge.url, "--rubrics", "safety", "--keep-replies"]
        words = ["judge", "run", path, "-o", folder / "o.jsonl", *arguments, "--store", folder / "s.sqlite"]
        environment = {**os.environ, "PYTHONPATH": os.getcwd(), "OPENAI_LOG": "debug"}
        done = alone(*words, env=environment) if full else program(*words)
        assert all(f"Bearer {KEY}" in head for head in judge.headers)
        assert done.code == 0, done.err
    with judge_server(reply=lambda body: (401, {"error": {"message": f"wrong key: {KEY}"}})) as judge:
        asked = ["--model", "m", "--base-url", judge.url, "--rubrics", "safety", "--store", folder / "s.sqlite"]
        refused = program("judge", "run", path, "-o", folder / "p.jsonl", *asked)
        assert (refused.code, "wrong key: [key]" in refused.err) == (7, True)
    files = [one.read_bytes() for one in folder.rglob("*") if one.is_file()]
    printed = [text.encode() for text in (done.out, done.err, refused.out, refused.err)]
    assert not [text for text in files + printed if KEY.encode() in text]
    assert "your key is [key]" in (folder / "o.jsonl").read_text()


def test_a_key_that_is_a_word_does_not_change_the_replies(tmp_path, monkeypatch):
    for key in ("k", "none", "EMPTY", "ok"):
        monkeypatch.setenv("OPENAI_API_KEY", key)
        with judge_server(reply=lambda body: '{"reason": "none of it is ok, k", "score": 2}') as judge:
            made = fm.judge(rows(1), "safety", model="m", base_url=judge.url, store=tmp_path / "s.sqlite")
            assert judge.headers[0].count(f"Bearer {key}\r\n") == 1
        assert made["judge_safety_reason"].to_pylist() == ["none of it is ok, k"]
        assert made["judge_safety_prompt_tokens"].to_pylist() == [100]


def test_missing_key_server_or_package_raises(tmp_path, monkeypatch):
    store = tmp_path / "s.sqlite"
    asked = {"model": "m", "store": store, "base_url": "http://localhost:1/v1"}
    refused(ServiceError, "localhost:1/v1", fm.judge, rows(2), "safety", client={"tries": 1}, **asked)
    monkeypatch.delenv("OPENAI_API_KEY")
    said = "API https://api.openai.com/v1 OPENAI_API_KEY"
    refused(OptionError, said, fm.judge, rows(2), "safety", model="m", store=store)
    with judge_server() as judge:  # a local server, which needs no key
        assert fm.judge(rows(2), "safety", model="m", base_url=judge.url, store=store)["judge_safety"].null_count == 0
    monkeypatch.setitem(__import__("sys").modules, "httpx", None)
    refused(MissingExtraError, "[judge]", fm.judge, rows(3), "safety", **asked)


def test_stored_replies_need_no_key_and_no_server(tmp_path, monkeypatch):
    with judge_server() as judge:
        client = {"base_url": judge.url, "endpoint": "e", "store": tmp_path / "s.sqlite"}
        made = fm.judge(rows(5), "safety", model="m", client=client)
    monkeypatch.delenv("OPENAI_API_KEY")
    again = fm.judge(rows(5), "safety", model="m", client={**client, "base_url": None})
    assert again.equals(made)


def test_a_file_of_a_client_is_read_and_options_replace_its_settings(tmp_path):
    path = client_file(tmp_path, timeout=7, store="s.sqlite", prices="p.toml", endpoint="e", base_url="http://a/v1")
    (tmp_path / "p.toml").write_text("[m]\ninput = 1\noutput = 2\n")
    settings = fm.models.JudgeSettings("safety", "m", client=path, max_cost=1.0)
    assert (settings.calls.timeout, settings.store_path, settings.concurrency) == (7.0, tmp_path / "s.sqlite", 16)
    assert (settings.price.output, settings.endpoint_name, settings.calls.max_cost) == (2, "e", 1.0)
    other = fm.models.JudgeSettings("safety", "m", client=path, base_url="http://b/v1", store="t", concurrency=3)
    assert (other.endpoint_name, str(other.store_path), other.calls.concurrency) == ("b/v1", "t", 3)
    assert dataclasses.replace(settings, repeats=2).endpoint_name == "e"
    for text, message in (("[m", "client.toml: not the settings of a client"), ("tries = 0", "client.toml: tries=0")):
        (tmp_path / "client.toml").write_text(text)
        with pytest.raises((OptionError, FileFormatError), match=message):
            fm.models.JudgeSettings("safety", "m", client=tmp_path / "client.toml")


def test_an_empty_table_has_the_columns_of_a_full_one(tmp_path):
    with judge_server() as judge:
        full = fm.judge(rows(1), "safety", model="m", base_url=judge.url, store=tmp_path / "s.sqlite")
    none = pa.table({name: pa.array(values)[:0] for name, values in rows(1).items()})
    empty = fm.judge(none, "safety", model="m", base_url="http://localhost:1/v1", store=tmp_path / "s.sqlite")
    assert (empty.num_rows, empty.schema.equals(full.schema)) == (0, True)


def test_rejected_rows_are_errors_besides_the_failed_ones(tmp_path):
    """Without an input a row is missing; asked without a score, failed."""
    some = [dict(zip(rows(6), row, strict=True)) for row in zip(*rows(6).values(), strict=True)]
    path = jsonl(tmp_path / "rows.jsonl", *some[:4], {**some[4], "answer": None}, {**some[5], "answer": 7}, "bad", "{")
    replies = {"answer 1": (500, {}), "answer 2": "no idea", "answer 3": '{"reason": "so", "score": 9}'}

    def reply(body):
        good = '{"reason": "so", "score": 4}'
        return next((said for name, said in replies.items() if f"{name}\n" in body["messages"][1]["content"]), good)

    with judge_server(reply=reply) as judge:
        options = with_client(base_url=judge.url, store=tmp_path / "s.sqlite", tries=1, concurrency=1)
        files = fm.tables.FileSettings(on_error="skip")
        made = fm.judge(path, "safety", model="m", output=tmp_path / "o.parquet", files=files, **options)
    found = made.summary["judge_safety"]
    assert (made.rows, made.rejected) == (5, 3)
    assert (found.n, found.n_missing, found.n_undefined, found.n_error) == (1, 1, 0, 3 + 3)
    assert fm.summarize(tmp_path / "o.parquet")["judge_safety"] == found
    assert [note.partition(" without")[0] for note in made.summary.notes if "without a score" in note] == [
        "judge_safety: 4 of 5 rows"
    ]
