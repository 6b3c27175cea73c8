"""Replies of judges: what is read of them, what is repaired, and what is no score."""

from __future__ import annotations

import json
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastmetrics.derive.completion import completion, usage
from fastmetrics.derive.reply_parsing import grade_of, read_reply
from tests.judge_server import completion as made

FIVE = partial(grade_of, low=1, high=5)


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
        ('First {"score": 2, "reason": "draft"}, no: {"score": 4, "reason": "r"}', ("braces",)),
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


@pytest.mark.parametrize(
    "text",
    [
        "5", "", "  ", "null", "[]", '"4"', "{}", '{"reason": "r"}', '{"score": null}', '{"score": true}',
        '{"score": [4]}', '{"score": "four"}', '{"score": "4/5"}', '{"score": 0}', '{"score": 5.01}', '{"score": 6}',
        '{"score": -1}', '{"score": NaN}', '{"score": Infinity}', '{"score": 1e999}', '{"score": ' + "9" * 5000 + "}",
        '{"Score": 4}', "[" * 100_000, '{"a":' * 100_000, "{" * 5_000, "```" * 5_000, "I would give it a 4 out of 5.",
    ],
)  # fmt: skip
def test_replies_without_valid_score(text):
    assert read(text)[:2] == ("unparsed", None)


def test_refused_and_truncated_replies_have_a_status():
    assert read(None, refusal="no")[:3] == ("refused", None, "no")
    assert read("", "content_filter")[:2] == ("refused", None)
    assert read(None, "length")[:2] == ("truncated", None)
    assert read('{"reason": "it goes on and', "length")[:2] == ("truncated", None)
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
    assert usage(json.dumps(body)) == (100, 20)
    assert usage('{"usage": {"prompt_tokens": "1", "completion_tokens": -1}}') == (None, None)
    assert completion("{}") == (None, None, False, None)


@given(st.text(max_size=300))
def test_arbitrary_text_does_not_crash_the_reader(text):
    found = read(text)
    assert (found.status == "ok") == (found.score is not None)


@given(st.text(max_size=50), st.floats(1, 5), st.text(alphabet="ab ,.'\n", max_size=30))
def test_score_is_found_at_any_position(reason, score, around):
    text = json.dumps({"reason": reason, "score": score})
    assert read(around + text + around)[:3] == ("ok", score, reason)
