"""A model client is one function: judges and bots call it through the store, the limits and the budget of any model."""

import asyncio
import json
import threading
import time
from pathlib import Path

import pytest

import fastmetrics as fm
from fastmetrics.base.errors import ModelCallError, PluginError, ServiceError
from fastmetrics.base.limits import SIZES
from fastmetrics.metrics.plugins import load_plugin
from fastmetrics.models.calls import CallMaker, Message, completion
from fastmetrics.models.clients import MODEL_CLIENTS
from tests.support.goldens import refused
from tests.support.judge_server import client_file, with_client
from tests.support.program import jsonl, program

TABLE = {"id": [1, 2, 3], "question": ["a", "b", "c"], "answer": ["x", "y", "z"]}
GRADE = '{"reason": "so", "score": 4}'
PLUGIN = """
import fastmetrics as fm

@fm.models.model_client("grader")
def grade(request):
    assert request.address == "grader://here" and request.model == "m"
    return fm.models.ModelReply('{"reason": "so", "score": 4}', prompt_tokens=7, completion_tokens=3)
"""


def judged(tmp_path, **options):
    asked = {"model": "m", "base_url": "mine:", "store": tmp_path / "calls.sqlite", **options}
    return fm.judge(TABLE, "safety", **with_client(**asked))


def test_client_judges_through_the_store(tmp_path):
    requests = []

    @fm.models.model_client("mine")
    def mine(request):
        requests.append(request)
        return fm.models.ModelReply(GRADE, prompt_tokens=10, completion_tokens=5, reasoning="hm")

    for _ in range(2):  # the second run finds every reply in the store
        made = judged(tmp_path, parameters={"temperature": 0.5}, keep_replies=True)
        assert made["judge_safety"].to_pylist() == [4.0] * 3
        assert made["judge_safety_prompt_tokens"].to_pylist() == [10] * 3
        assert made["judge_safety_completion_tokens"].to_pylist() == [5] * 3
        assert made["judge_safety_trace"].to_pylist() == ["hm"] * 3
    assert len(requests) == 3
    assert (requests[0].model, requests[0].parameters, requests[0].address) == ("m", {"temperature": 0.5}, "mine:")
    assert [message.role for message in requests[0].messages] == ["system", "user"]
    assert requests[0].schema["required"] == ["reason", "score"]
    assert judged(tmp_path, endpoint="elsewhere", max_calls=0)["judge_safety_status"].to_pylist() == ["budget"] * 3


def test_text_alone_and_coroutines_are_replies(tmp_path):
    @fm.models.model_client("mine")
    async def mine(request):
        await asyncio.sleep(0)
        return GRADE

    assert judged(tmp_path)["judge_safety"].to_pylist() == [4.0] * 3
    assert judged(tmp_path)["judge_safety_prompt_tokens"].to_pylist() == [None] * 3


def test_client_answers_the_questions_of_bots(tmp_path):
    endings = {"a": None, "b": "length", "c": "content_filter"}

    @fm.models.model_client("mine")
    def mine(request):
        question = request.messages[-1].content.strip()
        return fm.models.ModelReply(question.upper(), finish_reason=endings[question])

    bot = fm.models.GivenContextsBot("m", base_url="mine:", template="{question}", store=tmp_path / "calls.sqlite")
    made = fm.answer({"question": TABLE["question"]}, bot)
    assert made["answer"].to_pylist() == ["A", "B", None]
    assert made["answer_status"].to_pylist() == ["ok", "truncated", "refused"]


def test_failed_calls_are_repeated_unless_final(tmp_path):
    tries = []

    @fm.models.model_client("mine")
    def mine(request):
        text = request.messages[-1].content
        tries.append(text)
        if "x" in text and tries.count(text) < 3:
            raise ModelCallError("busy", retry_after=0, limited=True)
        if ">\ny\n<" in text or "\ny" in text:
            raise ModelCallError("the prompt is refused", final=True)
        if "z" in text and tries.count(text) < 2:
            raise ConnectionError("lost")
        return GRADE

    made = judged(tmp_path, concurrency=1)
    statuses = dict(zip(TABLE["answer"], made["judge_safety_status"].to_pylist(), strict=True))
    reasons = dict(zip(TABLE["answer"], made["judge_safety_reason"].to_pylist(), strict=True))
    assert statuses == {"x": "ok", "y": "http", "z": "ok"}
    assert "the prompt is refused" in reasons["y"]


def test_a_wait_that_a_client_names_takes_the_place_of_the_pause(tmp_path):
    seen = []

    @fm.models.model_client("mine")
    def mine(request):
        seen.append(request.messages[-1].content)
        if seen.count(seen[-1]) == 1:
            raise ModelCallError("busy", retry_after=0)
        return GRADE

    began = time.monotonic()
    assert judged(tmp_path, pause=20.0)["judge_safety"].to_pylist() == [4.0] * 3
    assert time.monotonic() - began < 15


def test_fatal_failure_ends_the_run(tmp_path):
    @fm.models.model_client("mine")
    def mine(request):
        raise ModelCallError("no such model", fatal=True)

    refused(ServiceError, "model", judged, tmp_path)


def test_limits_of_time_size_calls_and_concurrency_hold(tmp_path):
    at_once, most, lock = 0, 0, threading.Lock()

    @fm.models.model_client("mine")
    def mine(request):
        nonlocal at_once, most
        with lock:
            at_once += 1
            most = max(most, at_once)
        time.sleep(0.05)
        with lock:
            at_once -= 1
        return GRADE

    assert judged(tmp_path, concurrency=2, repeats=3)["judge_safety"].to_pylist() == [4.0] * 3
    assert most == 2
    few = judged(tmp_path, max_calls=1, endpoint="second")["judge_safety_status"].to_pylist()
    assert sorted(few) == ["budget", "budget", "ok"]
    small = judged(tmp_path, max_reply_bytes=20, endpoint="third", max_unparsed=0)
    assert small["judge_safety_status"].to_pylist() == ["http"] * 3
    assert "max_reply_bytes of 20" in small["judge_safety_reason"].to_pylist()[0]


def test_all_columns_are_kept_on_request(tmp_path):
    fm.models.model_client("mine")(lambda request: GRADE)
    assert judged(tmp_path, keep="all").select(list(TABLE)).to_pydict() == TABLE
    assert judged(tmp_path, keep="question").column_names[:2] == ["id", "question"]
    bot = fm.models.FunctionBot(lambda question: question)
    assert fm.answer({name: TABLE[name] for name in ("id", "question")}, bot, keep="all").column_names[:2] == [
        "id",
        "question",
    ]


def test_client_of_a_plugin_file_works_on_the_command_line(tmp_path):
    (tmp_path / "plugin.py").write_text(PLUGIN)
    rows = jsonl(tmp_path / "rows.jsonl", {"id": 1, "question": "a", "answer": "x"})
    options = ["--plugin", tmp_path / "plugin.py", "--base-url", "grader://here", "--model", "m"]
    options += ["--store", tmp_path / "calls.sqlite", "--client", client_file(tmp_path, prices="prices.json")]
    (tmp_path / "prices.json").write_text('{"m": {"input": 1e6, "output": 1e6}}')
    done = program("judge", "run", rows, "-o", tmp_path / "j.jsonl", "--rubrics", "safety", *options)
    assert (done.code, "cost 10" in done.out) == (0, True), done.err
    assert json.loads((tmp_path / "j.jsonl").read_text())["judge_safety"] == 4
    options += ["--bot", "given-contexts", "--template", tmp_path / "template.txt", "--keep", "id"]
    (tmp_path / "template.txt").write_text("{question}")
    answers = program("answer", rows, "-o", tmp_path / "a.jsonl", *options)
    assert answers.code == 0, answers.err
    assert json.loads((tmp_path / "a.jsonl").read_text())["answer"] == GRADE


def test_changed_plugin_replaces_its_client_and_failed_one_leaves_none(tmp_path):
    path = Path(tmp_path, "plugin.py")
    path.write_text(PLUGIN)
    assert load_plugin(path) == ["grader"]
    path.write_text(PLUGIN.replace('"grader"', '"marker"'))
    assert load_plugin(path) == ["marker"]
    assert "grader" not in MODEL_CLIENTS
    path.write_text(PLUGIN.replace('"grader"', '"broken"') + "raise ValueError\n")
    refused(PluginError, "ValueError", load_plugin, path)
    assert ("broken" in MODEL_CLIENTS, "marker" in MODEL_CLIENTS) == (False, True)
    (tmp_path / "second.py").write_text(PLUGIN.replace('"grader"', '"marker"'))
    refused(PluginError, "client", load_plugin, tmp_path / "second.py")


def test_body_of_a_reply_is_what_the_parser_reads():
    body = fm.models.ModelReply("yes", 3, 1, "length", "no", "hm").body()
    assert completion(body) == ("yes", "no", True, "hm", None, 3, 1, None, None)


def test_keys_of_servers_stay_as_before(tmp_path):
    settings = fm.models.JudgeSettings("safety", "m", base_url="http://localhost:1/v1", store=tmp_path / "calls.sqlite")
    made = CallMaker(settings.configured_model, {"type": "object"}, [Message("system", "s")]).call(
        [Message("user", "u")]
    )
    assert made.key.hex() == "bf727467b0a7e9caee10261f4f9ebeb07c3772c19d7713d44c5d04a0829d031b"


@pytest.mark.parametrize("kind", ["judge", "model bot", "function bot"])
def test_a_batch_has_at_least_as_many_rows_as_calls_can_be_made_at_once(tmp_path, monkeypatch, kind):
    """Twelve calls of twelve rows are under way at once, although batches have two rows otherwise."""
    monkeypatch.setattr(SIZES, "call_rows", 2)
    all_came = threading.Barrier(12)

    @fm.models.model_client("mine")
    def mine(request):
        all_came.wait(120)
        return GRADE

    def answer(question):
        all_came.wait(120)
        return question

    options = {"base_url": "mine:", "store": tmp_path / "calls.sqlite", "concurrency": 12}
    table = {"id": range(12), "question": [f"q{n}" for n in range(12)], "answer": ["a"] * 12}
    if kind == "judge":
        statuses = fm.judge(table, "safety", model="m", max_unparsed=0, **options)["judge_safety_status"]
    else:
        bot = (
            fm.models.FullContextBot("text", "m", **options)
            if kind == "model bot"
            else fm.models.FunctionBot(answer, concurrency=12)
        )
        statuses = fm.answer(table, bot, keep=["id"])["answer_status"]
    assert statuses.to_pylist() == ["ok"] * 12


class SpeechlessError(Exception):
    """An exception whose text cannot be had."""

    def __str__(self):
        raise ZeroDivisionError


ENDINGS = (
    SystemExit(1),
    KeyboardInterrupt(),
    GeneratorExit(),
    asyncio.CancelledError(),
    StopIteration(),
    SpeechlessError(),
)


@pytest.mark.parametrize("ending", ENDINGS, ids=lambda ending: type(ending).__name__)
@pytest.mark.parametrize("awaited", [False, True])
def test_exception_that_ends_programs_or_loops_fails_one_call(tmp_path, ending, awaited):
    def fails(text):
        if text == "y" or "\ny" in text:
            raise ending
        return GRADE

    async def fails_later(text):
        await asyncio.sleep(0)
        return fails(text)

    function = fails_later if awaited else fails
    answered = fm.answer({"question": ["x", "y", "z"]}, fm.models.FunctionBot(function, name="b", timeout=20))
    assert answered["answer_status"].to_pylist() == ["ok", "error", "ok"]
    fm.models.model_client("mine")(lambda request: function(request.messages[-1].content))
    made = judged(tmp_path, tries=1, timeout=20)
    assert made["judge_safety_status"].to_pylist() == ["ok", "http", "ok"]
    assert type(ending).__name__ in made["judge_safety_reason"].to_pylist()[1]


def failing_at_z(error):
    """A client that raises the error for the third answer only: a run in which no call works would end."""

    @fm.models.model_client("mine")
    def mine(request):
        if "\nz" in request.messages[-1].content:
            raise error
        return GRADE


def raising(error):
    def answers(question):
        raise error

    return answers


def test_a_time_out_of_the_function_itself_is_no_expired_limit(tmp_path):
    error = TimeoutError("the database is locked")

    async def answers_later(question):
        raise error

    reason = "RuntimeError: the function raised TimeoutError: the database is locked"
    failing_at_z(error)
    made = judged(tmp_path, tries=1)
    assert made["judge_safety_status"].to_pylist() == ["ok", "ok", "http"]
    assert made["judge_safety_reason"][2].as_py() == reason
    for function in (raising(error), answers_later):
        made = fm.answer({"question": ["a"]}, fm.models.FunctionBot(function))
        assert (made["answer_status"][0].as_py(), made["answer_reason"][0].as_py()) == ("error", reason)


def test_keys_in_exceptions_of_functions_are_masked(tmp_path, monkeypatch):
    monkeypatch.setenv("MY_API_KEY", "sk-0123456789abc")
    error = ConnectionError("refused: Authorization: Bearer sk-0123456789abc")
    reason = "ConnectionError: refused: Authorization: Bearer [key]"
    failing_at_z(error)
    assert judged(tmp_path, tries=1)["judge_safety_reason"][2].as_py() == reason
    assert fm.answer({"question": ["a"]}, fm.models.FunctionBot(raising(error)))["answer_reason"][0].as_py() == reason


def test_replies_of_a_changed_client_are_not_reused(tmp_path):
    rows = jsonl(tmp_path / "rows.jsonl", {"id": 1, "question": "a", "answer": "x"})
    for score in (4, 4, 5):
        (tmp_path / "plugin.py").write_text(PLUGIN.replace('"score": 4', f'"score": {score}'))
        if score == 5:  # another process
            MODEL_CLIENTS.pop("grader")
        options = ["--plugin", tmp_path / "plugin.py", "--base-url", "grader://here", "--model", "m", "--overwrite"]
        options += ["--store", tmp_path / "calls.sqlite", "--rubrics", "safety"]
        assert program("judge", "run", rows, "-o", tmp_path / "j.jsonl", *options).code == 0
        assert json.loads((tmp_path / "j.jsonl").read_text())["judge_safety"] == score
    assert "2 calls in" in program("judge", "store", tmp_path / "calls.sqlite").out
