"""Replies of servers and models: what is read of them, what is repaired, and what is no score."""

import json
import random
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastmetrics.models.calls import completion, refusal_in
from fastmetrics.models.replies import grade_of, read_reply
from tests.support.judge_server import completion as made
from tests.support.program import ROOT

FIVE = partial(grade_of, low=1, high=5)
TEXTS = {"$GOOD": '{"reason": "It is right.", "score": 4}', "$DRAFT": '{"reason": "A draft.", "score": 2}'}
COUNTS = {"prompt_tokens": 310, "completion_tokens": 41, "total_tokens": 351}
SERVERS = {
    "openai": ({"refusal": None, "annotations": []}, {"logprobs": None}, {"service_tier": "default"}),
    "vllm": ({"reasoning_content": None, "tool_calls": []}, {"logprobs": None, "stop_reason": None}, {}),
    "llama": ({}, {}, {"system_fingerprint": "b6900-1a2b", "timings": {"prompt_n": 310, "predicted_ms": 412.7}}),
    "ollama": ({}, {}, {"system_fingerprint": "fp_ollama"}),
    "anthropic": ({"refusal": None}, {"logprobs": None}, {"system_fingerprint": None}),
    "gemini": ({}, {}, {}),
    "openrouter": ({"refusal": None, "reasoning": None}, {"native_finish_reason": "stop"}, {"provider": "DeepInfra"}),
    "litellm": ({"tool_calls": None, "function_call": None}, {}, {"system_fingerprint": None}),
}
"""What a server writes in a message, its choice and the body, besides what all write."""


def body_of(server, content=None, finish="stop", more=None):
    """The body of a reply as this server writes it; a server without content is a whole body."""
    if isinstance(server, dict) or server not in SERVERS:
        return server if isinstance(server, str) else json.dumps(server)
    message, choice, body = SERVERS[server]
    of_choice = {name: value for name, value in (more or {}).items() if name in ("error", "native_finish_reason")}
    of_message = {name: value for name, value in (more or {}).items() if name not in of_choice}
    said = {} if server == "gemini" and content is None else {"content": content}
    message = {"role": "assistant", **said, **message, **of_message}
    choice = {"index": 0, "message": message, "finish_reason": finish, **choice, **of_choice}
    return json.dumps({"id": "chatcmpl-9f", "model": "m", "choices": [choice], "usage": COUNTS, **body})


def replies():
    """Replies with what a judge from 1 to 5 should read in each: its status with a score, or the kind of a failure.

    A line has these words, the server, the text, the reason of its end and further fields; or a whole body.  The forms
    are those of the servers' documentation, the texts those of models asked for one object with a reason and a score.
    """
    for line in (ROOT / "tests" / "data" / "replies.jsonl").read_text(encoding="utf-8").splitlines():
        for name, text in TEXTS.items():
            line = line.replace(name, json.dumps(text)[1:-1])
        expected, *reply = json.loads(line)
        yield body_of(*reply), expected


def found(body):
    """What is read of a body, in the words of the set."""
    failure = completion(body).failure
    if failure is not None:
        kinds = {"fatal": failure.fatal, "limited": failure.limited, "passing": failure.passing}
        return f"{failure.outcome} {next((kind for kind, holds in kinds.items() if holds), 'final')}"
    reading = read_reply(body, FIVE)
    return reading.status if reading.score is None else f"{reading.status} {reading.score:g}"


def test_every_reply_has_its_status_and_its_score():
    read = list(replies())
    assert [(body, expected, found(body)) for body, expected in read if found(body) != expected] == []
    assert len(read) >= 300


def test_refused_temperature_says_how_to_send_none():
    words = "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) is supported."
    error = refusal_in(json.dumps({"error": {"message": words, "code": "unsupported_value"}}), 400)
    assert error.reason == f"400: {words}; to send none, use --parameters temperature=null"
    assert error.failure().fatal, "every other call would be refused as well"
    assert refusal_in(json.dumps({"error": {"message": "too long"}}), 400).reason == "400: too long"
    assert refusal_in("temperature of the machine room", 500).reason == "500: temperature of the machine room"


def read(text, finish="stop", **more):
    """What is read of a reply with this text."""
    return read_reply(json.dumps(made(text, finish, **more)), FIVE)


@pytest.mark.parametrize(
    ("text", "repairs"),
    [
        ('{"reason": "r", "score": 4}', ()),
        ('  {"score": 4.0, "reason": "r", "more": [1]}\n', ()),
        ('```json\n{"score": 4, "reason": "r"}\n```', ("fences",)),
        ('Here it is:\n```\n{"score": 4, "reason": "r"}```\nDone.', ("fences",)),
        ('Well. {"score": 4, "reason": "r"} That is it.', ("braces",)),
        ('{"score": 4, "reason": "r",}', ("commas",)),
        ('```\n{"score": 4, "reason": "r",\n}\n```', ("fences", "commas")),
        ('It\'s "fine: {"score": 4, "reason": "r"}', ("braces",)),
        ('{"score": 4, "reason": "draft"}, again: {"score": 4, "reason": "r"}', ("braces",)),
        ('A bracket { first. {"score": 4, "reason": "r"}', ("braces",)),
        ('A "bracket {\n{"score": 4, "reason": "r"}', ("braces",)),
        ('My verdict:\n{"reason": "r", "score": 4}\nThank you.', ("braces",)),
        ('`{"reason": "r", "score": 4}`', ("braces",)),
        ('[{"reason": "r", "score": 4}]', ("braces",)),
        ('{"score": "4", "reason": "r"}', ("number in text",)),
        ('{"a": {"score": 1}} {"reason": "r", "score": 4}', ("braces",)),
    ],
)
def test_replies_give_score_reason_and_repairs(text, repairs):
    assert read(text)[:4] == ("ok", 4.0, "r", repairs)


def test_braces_and_commas_in_strings_are_unchanged():
    text = json.dumps({"reason": 'as "a, }" says: {,]} ```', "score": 3})
    assert read(text)[:4] == ("ok", 3.0, 'as "a, }" says: {,]} ```', ())
    assert read(f"see {text[:-1]},}}")[:4] == ("ok", 3.0, 'as "a, }" says: {,]} ```', ("braces", "commas"))


def test_refused_and_truncated_replies_have_a_status():
    assert read(None, refusal="no")[:3] == ("refused", None, "no")
    assert read("", "content_filter")[:2] == ("refused", None)
    assert read(None, "length")[:2] == ("truncated", None)
    assert read('{"reason": "r", "score": 2}', "length")[:2] == ("ok", 2.0)
    assert read_reply('{"error": {"code": "content_filter", "message": "m"}}', FIVE)[:3] == ("refused", None, "m")


def test_reasoning_is_separated_from_the_reply():
    text = '<think>perhaps {"score": 1, "reason": "draft"}</think>\n{"score": 4, "reason": "r"}'
    found = read(text)
    assert (found.score, found.repairs, found.trace) == (4.0, (), 'perhaps {"score": 1, "reason": "draft"}')
    body = made('{"score": 4, "reason": "r"}')
    body["choices"][0]["message"]["reasoning_content"] = "long thoughts"
    assert read_reply(json.dumps(body), FIVE).trace == "long thoughts"


@pytest.mark.parametrize(
    "body",
    ["", "{", "[]", "1", "{}", '{"choices": []}', '{"choices": [1]}', '{"choices": [{"message": "x"}]}',
     '{"choices": {"message": 1}}', '{"choices": [{"message": {"content": 7}}]}', "[" * 100_000],
)  # fmt: skip
def test_response_bodies_of_every_form_are_read(body):
    assert read_reply(body, FIVE)[:2] == ("unparsed", None)


def test_content_parts_and_usage_are_read():
    body = made(None)
    body["choices"][0]["message"]["content"] = [{"type": "text", "text": '{"score"'}, {"type": "text", "text": ": 3}"}]
    assert read_reply(json.dumps(body), FIVE)[:3] == ("ok", 3.0, None)
    read, odd = completion(json.dumps(body)), completion('{"usage": {"prompt_tokens": "1", "completion_tokens": -1}}')
    assert (read.prompt_tokens, read.completion_tokens) == (100, 20)
    assert (odd.prompt_tokens, odd.completion_tokens) == (None, None)
    assert completion("{}")[:5] == (None, None, False, None, "a reply without choices")


PIECES = ("{", "}", '"', "\\", "```", "\n", "[", "]", ",", ", ", ",}", '{"', '"}', '\\"', "```json\n", "<think>",
          "a", " ", '{"score": 4}', '{"reason": "r", "score": 4,}', "```a", "{}", '{"a":', "9", '"\\"', "> ",
          "`", "({[")  # fmt: skip
LONG = ('{\\"', '{"\\"', '{"a": "\\', '{"a": ",', "{ , ", "{" * 9 + "}", '{"":1}', "{\n")
"""Further pieces that a reader could go over again and again."""


@given(st.text(max_size=300) | st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_any_text_is_read(text):
    found = read(text)
    assert (found.status == "ok") == (found.score is not None)


@given(st.text(max_size=50), st.floats(1, 5), st.text(alphabet="ab ,.'\n", max_size=30))
def test_score_is_found_after_and_before_any_text(reason, score, around):
    text = json.dumps({"reason": reason, "score": score})
    assert read(around + text)[:3] == ("ok", score, reason)
    assert read(f"{around}{text}. {around}")[:3] == ("ok", score, reason)
    assert read(f"{around}\n{text}\n\nThat is all: {around}")[:3] == ("ok", score, reason)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("piece", [*LONG, *PIECES])
def test_long_texts_are_read_in_time(piece, full):
    """Of a mebibyte at full size; what grows with the square of the length takes minutes at a sixteenth of it."""
    for start in ("", "{", '{"'):
        text = start + piece * ((1 << (20 if full else 16)) // len(piece))
        assert read(text)[:2] in (("unparsed", None), ("ok", 4.0)), start


def test_replies_of_a_mebibyte_are_read(full):
    draw = random.Random(1)
    for _ in range(12 if full else 1):
        some = draw.sample(PIECES, draw.randint(1, 6))
        text = "".join(draw.choices(some, k=1 << 19))[: 1 << (20 if full else 18)]
        assert read(text).status in ("ok", "unparsed")
        verdict = '\n{"reason": "r", "score": 2}'
        assert read(text.replace("{", "(").replace("<", "(") + verdict)[:2] in (("ok", 2.0), ("unparsed", None))
