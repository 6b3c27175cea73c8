"""Servers that misbehave, one fault at a time and by the attack of scripts/attack_calls."""

import json
import subprocess
import sys
import time
import urllib.parse
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import OptionError, ServiceError
from fastmetrics.models import call_sender, clients
from fastmetrics.models.call_sender import LONG_WAIT
from fastmetrics.models.clients import LONGEST_WAIT, retry_after
from tests.support import rogue_server as rogue
from tests.support.goldens import refused
from tests.support.judge_server import client_file, completion, judge_server, with_client
from tests.support.program import ENVIRONMENT, ROOT, jsonl, program
from tests.support.rogue_server import LONG_WAITS, rogue_server

SECRET = "sk-Zy9876543210/abc"
ROWS = {"id": [0, 1, 2], "question": ["q0", "q1", "q2"], "answer": ["a0", "a1", "a2"]}


@pytest.fixture(autouse=True)
def _environment(monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def second(prompt):
    """Whether a prompt is that of the second row."""
    return "q1" in prompt


def judged(folder, server, **more):
    """The rows of a judge whose calls are tried once, as dicts."""
    settings = {"store": folder / "s.sqlite", "timeout": 20.0, "tries": 1, "base_url": server.url, **more}
    return fm.judge(ROWS, "safety", model="m", **with_client(**settings)).to_pylist()


FAULTS = {
    "length abc": ("http", "the connection failed: bad Content-Length"),
    "length negative": ("http", "the connection failed: bad Content-Length"),
    "length of 30 digits": ("http", "the connection failed: bad Content-Length"),
    "chunk size xyz": ("http", "the connection failed: illegal chunk header"),
    "chunk cut": ("http", "the connection failed: peer closed connection without sending complete message body"),
    "closed at once": ("http", "the connection failed: Server disconnected"),
    "half-closed": ("http", "the connection failed: Server disconnected"),
    "reset": ("http", "the connection failed: ReadError"),
    "no HTTP": ("http", "the connection failed: "),
    "gzip cut": ("http", "the reply is not a JSON object"),
    "gzip in name only": ("http", "the connection failed: Error -3 while decompressing data"),
    "encoding br": ("http", "the connection failed: the reply has the content encoding 'br'"),
    "NUL in the body": ("http", "the reply is not a JSON object"),
    "deep list": ("http", "the reply is not a JSON object: [[["),
    "number of 5,000 digits": ("http", "the reply is not a JSON object"),
    "tool calls": ("unparsed", "a reply that calls tools instead of answering ('search')"),
    "tool calls odd": ("unparsed", "a reply that calls tools instead of answering"),
    "no choices": ("http", "a reply without choices"),
    "empty choices": ("http", "a reply with an empty list of choices"),
    "content empty": ("http", "an empty reply"),
    "half a pair": ("ok", "\ufffd"),
    "half a pair in the reason": ("ok", "\ufffd"),
    "half a pair in a refusal": ("refused", "\ufffd no"),
    "half a pair in an error": ("http", "500: \ufffd no"),
    "escapes in an error": ("http", "500: red"),
    "gzip": ("ok", "because of"),
    "redirect 307 to another host": ("http", "307: the server redirects to http://other-host.example:8080"),
    "redirect to itself": ("http", "more than 5 redirects"),
    "key": ("ok", "your key is [key]"),
    "key in an error that is no JSON": ("http", "500: <p>[key]"),
    "key in a redirect": ("http", "redirects to an address that contains the key"),
}


@pytest.mark.parametrize("mode", FAULTS)
def test_odd_replies_have_status_and_reason_and_the_next_run_asks_again(tmp_path, mode):
    status, reason = FAULTS[mode]
    with rogue_server(mode, second) as server:
        first = judged(tmp_path, server)
        assert [row["judge_safety_status"] for row in first] == ["ok", status, "ok"]
        assert reason in first[1]["judge_safety_reason"]
        assert "\x1b" not in first[1]["judge_safety_reason"]
        server.mode = "good"
        again = judged(tmp_path, server)
        assert [row["judge_safety_status"] for row in again] == ["ok", "ok" if status == "http" else status, "ok"]
        # a refusal of the kind that concerns all calls is checked, maybe with a call that worked
        assert max(server.paid.values()) <= 1 + ("redirect" in mode and "itself" not in mode)
    stored = b"".join(one.read_bytes() for one in tmp_path.glob("s.sqlite*"))
    assert SECRET.lower() not in f"{stored.decode('latin-1')} {first}".lower()


def test_half_a_surrogate_pair_of_a_function_is_replaced():
    bot = fm.models.FunctionBot(
        lambda question: {"answer": "\ud800", "contexts": ["\udfff"]}, returns=["contexts"], name="b"
    )
    made = fm.answer({"question": ["why?"]}, bot).to_pylist()[0]
    assert (made["answer"], made["contexts"]) == ("\ufffd", ["\ufffd"])

    def lost(question):
        raise KeyError("\ud800")

    assert "KeyError" in fm.answer({"question": ["why?"]}, lost)["answer_reason"][0].as_py()


MEMORY = """
import resource, sys
import fastmetrics as fm
from tests.support.rogue_server import MODES
import httpx
from tests.models.test_server_faults import ROWS
fm.judge(ROWS, "safety", model="m", base_url=sys.argv[2], store=sys.argv[1] + "/warm", client={"tries": 1})
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
made = fm.judge(ROWS, "safety", model="m", base_url=sys.argv[2], store=sys.argv[1] + "/s", client={"tries": 1})
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, made["judge_safety_reason"].to_pylist()[1])
"""


@pytest.mark.full
@pytest.mark.parametrize("mode", ["200 MB in chunks", "200 MB error", "gzip bomb"])
def test_long_replies_are_read_up_to_the_limit_only(tmp_path, mode):
    with rogue_server(mode, second) as server:
        run = [sys.executable, "-c", MEMORY, str(tmp_path), server.url]
        done = subprocess.run(run, env=ENVIRONMENT, capture_output=True, text=True, check=True, timeout=300)
    kilobytes, reason = done.stdout.split(" ", 1)
    assert int(kilobytes) < 40_000
    assert reason.strip() == "the reply is above the limit max_reply_bytes of 1,048,576"


def test_limit_of_a_reply_is_a_setting_of_clients(tmp_path):
    path = jsonl(tmp_path / "rows.jsonl", {"id": 1, "question": "q", "answer": "a"})
    (tmp_path / "t.txt").write_text("{question}")
    size = len(json.dumps(completion("x" * 5000)).encode())
    with judge_server(reply=lambda body: "x" * 5000) as server:
        common = ["--model", "m", "--base-url", server.url, "--overwrite"]
        for limit, status in ((size, "ok"), (size - 1, "http")):
            out, store = tmp_path / "o.parquet", ["--store", tmp_path / f"{limit}.sqlite"]
            limited = [*common, *store, "--client", client_file(tmp_path, max_reply_bytes=limit)]
            bot = ["--bot", "given-contexts", "--template", tmp_path / "t.txt", "--keep", "id"]
            assert program("answer", path, "-o", out, *bot, *limited).code == (0 if status == "ok" else 9)
            assert pq.read_table(out)["answer_status"].to_pylist() == [status]
            count = server.count
            judging = ["--rubrics", "safety", "--structured"]
            done = program("judge", "run", path, "-o", out, *judging, *limited)
            assert done.code == (11 if status == "ok" else 9), done.err  # no JSON at all
            assert server.count - count == (2 if status == "ok" else 1), "a reply that is too long is asked for once"
        reason = pq.read_table(out)["judge_safety_reason"].to_pylist()[0]
        assert reason == f"the reply is above the limit max_reply_bytes of {size - 1:,}"


def test_requested_waits_are_read_in_their_units_and_capped():
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)
    assert retry_after({"retry-after-ms": "250"}) == 0.25
    assert retry_after({"retry-after": "250"}) == 250.0
    assert retry_after({"retry-after-ms": "1500", "retry-after": "9"}) == 1.5
    assert 90 <= retry_after({"retry-after": later}) <= 100
    assert retry_after({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0.0
    for header in LONG_WAITS.values():
        name, _, value = header.partition(": ")
        assert retry_after({name.lower(): value}) == LONGEST_WAIT == 300.0
    for value in ("", "soon", "nan", "Blursday, 99 Foo"):
        assert retry_after({"retry-after": value}) is None


@pytest.mark.parametrize(("long", "said"), [(0.3, "the server asks to wait 0 s; waiting\n"), (0.31, "")])
def test_milliseconds_of_a_refusal_are_no_seconds(tmp_path, monkeypatch, long, said):
    monkeypatch.setattr(call_sender, "LONG_WAIT", long)
    path, calls = jsonl(tmp_path / "rows.jsonl", {"question": "q", "answer": "a"}), []

    def draw(body, seen):
        calls.append(time.monotonic())
        return "429-ms" if seen == 0 else None

    with judge_server(draw=draw) as server:
        asked = ["--model", "m", "--base-url", server.url, "--rubrics", "safety", "--store", tmp_path / "s.sqlite"]
        done = program("judge", "run", path, "-o", tmp_path / "o.jsonl", *asked)
    assert (done.code, done.err) == (0, said)
    assert 0.3 <= calls[1] - calls[0] < 200, "as seconds, it would be five minutes"


@pytest.mark.full
@pytest.mark.parametrize("mode", LONG_WAITS)
def test_long_waits_are_announced_and_end(tmp_path, monkeypatch, mode):
    monkeypatch.setattr(clients, "LONGEST_WAIT", LONG_WAIT)
    path = jsonl(tmp_path / "rows.jsonl", {"id": 1, "question": "q1", "answer": "a"})

    with rogue_server(mode) as server:
        server.concerns = lambda prompt: server.count == 1
        common = ["--model", "m", "--base-url", server.url, "--rubrics", "safety", "--store", tmp_path / "s.sqlite"]
        done = program("judge", "run", path, "-o", tmp_path / "o.jsonl", *common)
        assert (done.code, server.count) == (0, 2), done.err
    assert done.err == "the server asks to wait 5 s; waiting\n"


ADDRESSES = [
    "http://me:pass-word@host/v1",
    "http://me@host/v1",
    "htp://me:pass-word@host/v1",
    "http:/me:pass-word@host/v1",
    "me:pass-word@host/v1",
    "http://me:pass@word@host:x/v1?key=pass-word",
    "https://host:99999/v1?key=pass-word",
    "https://host/v1?key=pass-word#part",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_addresses_with_a_user_are_refused_and_shown_without(tmp_path, monkeypatch, address):
    path = jsonl(tmp_path / "rows.jsonl", {"id": 1, "question": "q", "answer": "a"})
    command = ["judge", "run", path, "-o", tmp_path / "o.csv", "--model", "m", "--rubrics", "safety"]
    done = program(*command, "--base-url", address)
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    for ended in (done, program(*command)):
        assert (ended.code, ended.err.count("\n")) == (2, 1), ended.err
        assert "expected an address such as https://host/v1" in ended.err
        assert "pass" not in ended.err.replace("password", "")
        assert "me" not in ended.err.partition(": expected")[0].replace("--base-url", "").removeprefix("error")
    refused(OptionError, "address", fm.models.JudgeSettings, "safety", "m", base_url=address)


def test_query_of_an_address_goes_with_each_request_and_is_not_shown(tmp_path):
    path = jsonl(tmp_path / "rows.jsonl", {"id": 1, "question": "q", "answer": "a"})
    secret = "hidden+0123456789é"
    query = f"?api-version=2&key={urllib.parse.quote(secret)}"
    command = ["judge", "run", path, "-o", tmp_path / "o.csv", "--model", "m", "--rubrics", "safety"]
    command += ["--client", client_file(tmp_path, tries=1)]
    common = [*command, "--store", tmp_path / "s.sqlite", "--overwrite"]
    with rogue_server("good") as server:
        done = program(*common, "--base-url", server.url + query)
        assert (done.code, server.paths) == (0, [f"/v1/chat/completions{query}"]), done.err
        done = program(*common, "--base-url", server.url)  # the query is not part of the key of a stored call
        assert (done.code, len(server.paths)) == (0, 1), done.err
    with rogue_server("key in an error") as server, pytest.MonkeyPatch.context() as patch:
        patch.setitem(rogue.REPLIES, "key in an error", lambda body, key: rogue.refusal(f"no: {secret} {query}", 404))
        done = program(*command, "--store", tmp_path / "t.sqlite", "--overwrite", "--base-url", server.url + query)
    assert (done.code, "404: no: [key] ?api-version=2&key=[key]" in done.err, secret in done.err) == (7, True, False), (
        done.err
    )
    assert all(b"hidden" not in file.read_bytes() for file in tmp_path.iterdir())


@pytest.mark.parametrize("key", ["sk-first-half\nsecond-half", "sk-schlüssel-0123456789", "sk-012345678901\x7f"])
def test_keys_that_no_request_can_carry_are_an_error(tmp_path, monkeypatch, key):
    path = jsonl(tmp_path / "rows.jsonl", {"id": 1, "question": "q", "answer": "a"})
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with judge_server() as server:
        common = ["--model", "m", "--rubrics", "safety", "--base-url", server.url, "--store", tmp_path / "s.sqlite"]
        done = program("judge", "run", path, "-o", tmp_path / "o.csv", *common)
        assert (done.code, server.count, done.err.count("\n")) == (2, 0, 1), done.err
    assert "the API key in OPENAI_API_KEY contains" in done.err
    assert not any(part in done.err for part in ("half", "schl", "0123"))


def test_redirects_lead_no_prompt_and_no_key_to_another_host(tmp_path, monkeypatch):
    with judge_server() as other, rogue_server("to the other") as server:

        def reply(body, key):
            return rogue.response(b"", f"Location: {other.url}/chat/completions", status=307)

        monkeypatch.setitem(rogue.REPLIES, "to the other", reply)
        refused = r"refuses all calls: 307: the server redirects to http://127\.0\.0\.1"
        with pytest.raises(ServiceError, match=refused):
            judged(tmp_path, server)
        assert other.count == 0


def test_redirects_within_a_server_are_followed(tmp_path, monkeypatch):
    with rogue_server("once") as server:

        def reply(body, key):
            moved = rogue.response(b"", "Location: /v2/chat/completions", status=308)
            return moved if server.paths[-1].startswith("/v1") else rogue.response(rogue.good(body))

        monkeypatch.setitem(rogue.REPLIES, "once", reply)
        assert [row["judge_safety_status"] for row in judged(tmp_path, server, concurrency=1)] == ["ok"] * 3
        assert set(server.paths) == {"/v1/chat/completions", "/v2/chat/completions"}


def test_resume_of_a_finished_output_asks_failed_calls_again(tmp_path):
    path = jsonl(tmp_path / "rows.jsonl", *({"id": n, "question": f"q{n}", "answer": "a"} for n in range(3)))
    with rogue_server("status 500", second) as server:
        common = ["--model", "m", "--base-url", server.url, "--store", tmp_path / "s.sqlite"]
        common += ["--client", client_file(tmp_path, tries=1)]
        (tmp_path / "t.txt").write_text("{question}")
        for command in (
            ["judge", "run", path, "-o", tmp_path / "o.jsonl", "--rubrics", "safety", *common],
            ["answer", path, "-o", tmp_path / "a.parquet", "--keep", "id", "--bot", "given-contexts", "--template",
             tmp_path / "t.txt", *common],
        ):  # fmt: skip
            output = command[command.index("-o") + 1]
            server.mode = "status 500"
            assert program(*command).code == 9
            done = program(*command, "--resume", "--model", "other")
            assert (done.code, "cannot resume" in done.err) == (4, True)
            assert program(*command, "--resume").code == 9
            server.mode = "good"
            done = program(*command, "--resume")
            assert (done.code, "1 requests, 1 replies, 2 from the store" in done.out) == (0, True), done.out
            before = output.read_bytes()
            assert program(*command, "--resume").code == 0
            assert output.read_bytes() == before


def test_refused_connection_is_no_missing_file(tmp_path):
    done = program("summarize", "http://127.0.0.1:1/rows.csv")
    assert (done.code, "the server is not reachable" in done.err, "no such file" in done.err) == (3, True, False)
    path = jsonl(tmp_path / "rows.jsonl", {"id": 1, "question": "q", "answer": "a"})
    common = ["--model", "m", "--rubrics", "safety", "--base-url", "http://127.0.0.1:1/v1"]
    common += ["--client", client_file(tmp_path, tries=1)]
    done = program("judge", "run", path, "-o", tmp_path / "o.csv", *common, "--store", tmp_path / "s.sqlite")
    assert (done.code, "All connection attempts failed" in done.err) == (7, True)


SCRIPT = ROOT / "scripts" / "attack_calls"


@pytest.mark.full
def test_drawn_modes_are_survived(full):
    modes = 5 if full else 1
    run = [sys.executable, SCRIPT, "--modes", str(modes), "--seed", "2"]
    done = subprocess.run(run, env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=600)
    said = f"seed 2: {modes} modes tried, {modes} survived ({2 * modes} runs, "
    assert (done.returncode, done.stdout.startswith(said)) == (0, True), done
