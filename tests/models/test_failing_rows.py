"""Rows whose calls always fail end with a status, and only a server that does not answer ends a run."""

import json
import re

import pytest

import fastmetrics as fm
from fastmetrics.base.errors import InputError, ServiceError
from tests.support.goldens import refused
from tests.support.judge_server import client_file, judge_server, user_message, with_client
from tests.support.program import jsonl, program


@pytest.fixture(autouse=True)
def _environment(monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def number_in(body):
    """The number of the question in a request; -1 in a check of the server."""
    return int((re.findall(r"question (\d+)[?]", user_message(body)) or [-1])[0])


def failing(fault, rows):
    """A draw of faults: every request for one of these rows has the fault."""
    return lambda body, seen: fault if number_in(body) in rows else None


class Runs:
    """Runs of a judge and of a bot over the same questions, with a short time-out only where a server hangs."""

    def __init__(self, folder, server, kind, count, fault=None):
        self.server, self.kind, self.out = server, kind, folder / "o.jsonl"
        questions = ({"id": n, "question": f"question {n}?", "answer": f"answer {n}"} for n in range(count))
        self.path = jsonl(folder / "rows.jsonl", *questions)
        self.settings = {"base_url": server.url, "store": folder / "s.sqlite", "pause": 0.001}
        self.settings["timeout"] = 1.0 if fault == "hang" else 60.0

    def run(self, **more):
        """The status and reason of each row, and the number of requests."""
        before = self.server.count
        output = {name: more.pop(name) for name in ("resume", "overwrite") if name in more}
        settings = {**self.settings, "tries": 2, **more}
        if self.kind == "judge":
            made = fm.judge(
                self.path, fm.models.JudgeSettings("safety", "m", **with_client(**settings)), output=self.out, **output
            )
        else:
            bot = fm.models.GivenContextsBot("m", template="{question}", **with_client(**settings))
            made = fm.answer(self.path, bot, output=self.out, keep=["id"], **output)
        names = (
            ("judge_safety_status", "judge_safety_reason")
            if self.kind == "judge"
            else ("answer_status", "answer_reason")
        )
        rows = [json.loads(line) for line in self.out.read_text().splitlines()]
        assert [row["id"] for row in rows] == list(range(len(rows)))
        return [tuple(row.get(name) for name in names) for row in rows], self.server.count - before, made


def expected(count, rows, status, reason):
    """Which rows are expected to fail, and why."""
    return [(status, reason) if n in rows else "ok" for n in range(count)]


def short(rows):
    """Statuses and reasons of the failed rows."""
    return ["ok" if status == "ok" else (status, reason) for status, reason in rows]


FAULTS = [
    ("500", "http", "500: out of order"),
    ("400", "http", "400: maximum context length is 10 tokens"),
    ("hang", "timeout", "no reply within 1 seconds"),
    ("401", "http", "401: wrong key"),
]
MOST = [*(("judge", *one) for one in FAULTS[:3]), ("answer", *FAULTS[0])]
"""Each fault of a judge, and one of a bot, whose calls go the same way."""
WAITING = [pytest.param(*one, marks=[pytest.mark.full] * ("hang" in one)) for one in MOST]
BOTH = pytest.mark.parametrize("kind", ["judge", "answer"])


@pytest.mark.parametrize(("kind", "fault", "status", "reason"), [*WAITING, ("answer", *FAULTS[3])])
def test_one_row_that_always_fails_ends_no_later_run(tmp_path, kind, fault, status, reason):
    with judge_server(draw=failing(fault, {3})) as server:
        runs = Runs(tmp_path, server, kind, 6, fault)
        whole = expected(6, {3}, status, reason)
        rows, _, made = runs.run(concurrency=1)
        assert (short(rows), dict(made.failed)) == (whole, {status: 1})
        rows, requests, made = runs.run(overwrite=True)  # only this row is left to ask
        assert (short(rows), dict(made.failed)) == (whole, {status: 1})
        assert requests <= 2 + 1, "the attempts for this row, and a check of the server"
        server.draw = lambda body, seen: None
        rows, requests, made = runs.run(overwrite=True)
        assert (short(rows), requests, dict(made.failed)) == (["ok"] * 6, 1, {})


@pytest.mark.parametrize(
    ("kind", "fault", "status", "reason"),
    WAITING,
)
def test_failing_first_rows_of_a_first_run_do_not_end_it(tmp_path, kind, fault, status, reason):
    failed = 8
    with judge_server(draw=failing(fault, range(failed))) as server:
        runs, at_once = Runs(tmp_path, server, kind, 60, fault), 25 if fault == "hang" else 8
        rows, _, _ = runs.run(concurrency=at_once)
        assert short(rows) == expected(60, range(failed), status, reason)
        rows, requests, _ = runs.run(overwrite=True, concurrency=at_once)
        assert short(rows) == expected(60, range(failed), status, reason)
        assert failed <= requests <= 2 * failed + 4
        server.draw = lambda body, seen: None
        rows, requests, _ = runs.run(overwrite=True)
        assert (short(rows), requests) == (["ok"] * 60, failed)


@BOTH
def test_a_run_of_refused_rows_is_whole_after_a_reply(tmp_path, kind):
    with judge_server(draw=failing("400", range(1, 100))) as server:
        rows, requests, made = Runs(tmp_path, server, kind, 100).run(concurrency=4)
        assert dict(made.failed) == {"http": 99}
        assert all("context length" in reason for _, reason in rows[1:])
        assert requests == 100


@pytest.mark.parametrize(
    ("kind", "fault"), [("judge", "500"), ("answer", "close"), pytest.param("judge", "hang", marks=pytest.mark.full)]
)
def test_server_that_is_down_from_the_start_ends_the_run(tmp_path, kind, fault):
    with judge_server(draw=lambda body, seen: fault) as server:
        runs = Runs(tmp_path, server, kind, 300, fault)
        for more in ({}, {"resume": True}):
            refused(ServiceError, "requests", runs.run, **more)
            assert not runs.out.exists()
        assert server.count <= 120
        server.draw = lambda body, seen: None
        rows, requests, _ = runs.run(resume=True)
        assert (short(rows), requests) == (["ok"] * 300, 300)


@pytest.mark.parametrize(("kind", "fault"), [("judge", "500"), ("answer", "close")])
def test_server_that_fails_in_mid_run_ends_it_and_the_next_run_pays_for_the_rest(tmp_path, kind, fault):
    with judge_server() as server:
        server.draw = lambda body, seen: fault if server.count > 100 else None
        runs = Runs(tmp_path, server, kind, 300)
        refused(ServiceError, "20", runs.run, concurrency=8)
        with pytest.raises(ServiceError):
            runs.run(concurrency=8, resume=True)
        server.draw = lambda body, seen: None
        rows, requests, made = runs.run(resume=True)
        assert (short(rows), requests + made.spending.from_store) == (["ok"] * 300, 300)
        assert made.spending.from_store > 100 - 8, "at most the calls under way are lost"


def test_failing_rows_have_an_exit_code_of_their_own(tmp_path):
    with judge_server(draw=failing("500", {1, 2})) as server:
        runs = Runs(tmp_path, server, "judge", 5)
        common = ["--model", "m", "--base-url", server.url, "--store", tmp_path / "s.sqlite"]
        common += ["--client", client_file(tmp_path, tries=1)]
        (tmp_path / "t.txt").write_text("{question}")
        for command in (
            ["judge", "run", runs.path, "-o", tmp_path / "a.jsonl", "--rubrics", "safety", *common],
            ["answer", runs.path, "-o", tmp_path / "b.jsonl", "--keep", "id", "--bot", "given-contexts", "--template",
             tmp_path / "t.txt", *common],
        ):  # fmt: skip
            for more in ([], ["--overwrite"], ["--overwrite", "--quiet"]):
                done = program(*command, *more)
                assert (done.code, command[command.index("-o") + 1].exists()) == (9, True), done.err
                assert "2 rows without a reply, since their calls failed (2 http)" in done.err
                assert "--resume" in done.err
                assert ("2 http" in done.out) == (more[1:] == [])


def broken(numbers, seen):
    """A bot that raises an exception for these questions."""

    def bot(question):
        seen.append(question)
        if int(question) in numbers:
            raise KeyError(question)
        return question

    return bot


@pytest.mark.parametrize("store", [True, False])
def test_rows_for_which_a_function_raises_do_not_end_a_run(tmp_path, store):
    seen = []
    for numbers in (range(30), range(35, 60), range(0, 60, 2), [59]):
        name = f"{numbers}.sqlite"
        bot = fm.models.FunctionBot(broken(numbers, seen), name="b", store=tmp_path / name if store else None)
        table = {"question": [str(n) for n in range(60)]}
        expected = ["error" if n in numbers else "ok" for n in range(60)]
        for _ in range(2):
            seen.clear()
            assert fm.answer(table, bot)["answer_status"].to_pylist() == expected
            assert {int(question) for question in seen} >= set(numbers)
            assert len(seen) <= 62
        assert not store or len(seen) <= len(numbers) + 2


def test_embedder_that_fails_keeps_its_vectors_for_the_next_run(tmp_path):
    path = jsonl(tmp_path / "rows.jsonl", *({"id": n, "answer": f"answer {n}"} for n in range(40)))
    state = {"down": True, "texts": []}

    def encode(texts):
        state["texts"] += [text for text in texts if text != "a"]
        if state["down"] and "answer 39" in texts:
            raise ConnectionError("no route")
        return [[float(len(text)), 1.0] for text in texts]

    def embedder():
        one = fm.Embedder(encode, cache=tmp_path / "cache", revision="1")
        object.__setattr__(one.model, "batch", 4)
        return one

    refused(InputError, "40", lambda: fm.embed(path, embedder(), output=tmp_path / "e.parquet"))
    assert not (tmp_path / "e.parquet").exists()
    first = set(state["texts"]) - {"answer 39"}
    state.update(down=False, texts=[])
    fm.embed(path, embedder(), output=tmp_path / "e.parquet", resume=True)
    assert len(set(state["texts"]) & first) <= 3, "at most the other texts of the failed batch"


def test_a_function_is_called_once_for_each_row_even_if_it_raises():
    """What raises may have been paid for; calls of a server are tried again, functions are not."""
    calls = []

    def answer(question):
        calls.append(question)
        raise ValueError(question)

    answered = fm.answer({"question": ["a", "b", "c"]}, answer)
    assert answered["answer_status"].to_pylist() == ["error"] * 3
    assert sorted(calls) == ["a", "b", "c"]


def test_the_first_exception_of_a_function_is_told_with_its_row(tmp_path):
    rows = jsonl(tmp_path / "rows.jsonl", *({"id": f"r{n}", "question": str(n)} for n in range(3)))
    (tmp_path / "own_bot.py").write_text("def bot(question):\n    return str(1 // (int(question) - 1))\n")
    done = program("answer", rows, "-o", tmp_path / "out.parquet", "--bot", f"{tmp_path / 'own_bot.py'}:bot")
    assert done.code == 9
    assert "the first call that failed: id r1: ZeroDivisionError" in " ".join(done.out.split())
    assert "If the function is at fault, correct it; run again with --overwrite" in " ".join(done.err.split())
    assert "store" not in done.err
