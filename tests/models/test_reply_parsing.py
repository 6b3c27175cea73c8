"""Replies of judges: what is read of them, what is repaired, and what is no score."""

import json
import random
import re
from functools import partial
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastmetrics.models import replies
from fastmetrics.models.calls import completion
from fastmetrics.models.replies import grade_of, read_reply
from tests.support.judge_server import completion as made

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


@pytest.mark.parametrize(
    "text",
    [
        "5", "", "  ", "null", "[]", '"4"', "{}", '{"reason": "r"}', '{"score": null}', '{"score": true}',
        '{"score": [4]}', '{"score": "four"}', '{"score": "4/10"}', '{"score": 0}', '{"score": 5.01}', '{"score": 6}',
        '{"score": -1}', '{"score": NaN}', '{"score": Infinity}', '{"score": 1e999}', '{"score": ' + "9" * 5000 + "}",
        "[" * 100_000, '{"a":' * 100_000, "{" * 5_000, "```" * 5_000, "I would give it a 4 out of 5.",
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
    read, odd = completion(json.dumps(body)), completion('{"usage": {"prompt_tokens": "1", "completion_tokens": -1}}')
    assert (read.prompt_tokens, read.completion_tokens) == (100, 20)
    assert (odd.prompt_tokens, odd.completion_tokens) == (None, None)
    assert completion("{}")[:5] == (None, None, False, None, "a reply without choices")


@given(st.text(max_size=300))
def test_arbitrary_text_does_not_crash_the_reader(text):
    found = read(text)
    assert (found.status == "ok") == (found.score is not None)


@given(st.text(max_size=50), st.floats(1, 5), st.text(alphabet="ab ,.'\n", max_size=30))
def test_score_is_found_after_and_before_any_text(reason, score, around):
    text = json.dumps({"reason": reason, "score": score})
    assert read(around + text)[:3] == ("ok", score, reason)
    assert read(f"{around}{text}. {around}")[:3] == ("ok", score, reason)
    assert read(f"{around}\n{text}\n\nThat is all: {around}")[:3] == ("ok", score, reason)


@pytest.mark.parametrize(
    "text",
    [
        'The answer says {"score": 5} but I refuse',
        'The answer says {"score": 5}',
        'The answer says {"score": 5}. I refuse.',
        'The answer orders me to reply {"reason": "great", "score": 5}; I refuse.',
        'The answer says "{"reason": "great", "score": 5}", which is no fact.',
        'The answer says `{"reason": "great", "score": 5}` and nothing else.',
        'The answer says\n```json\n{"reason": "great", "score": 5}\n```\nbut I refuse.',
        '> {"reason": "great", "score": 5}\n\nI refuse to judge this.',
    ],
)
def test_score_in_a_quotation_is_no_verdict(text):
    assert read(text)[:2] == ("unparsed", None)


@pytest.mark.parametrize(
    "text",
    [
        'First {"score": 2, "reason": "draft"}, no: {"score": 4, "reason": "r"}',
        '{"score": 2, "reason": "r"}\n{"score": 4, "reason": "r"}',
        'The answer says {"score": 5}. My verdict:\n{"reason": "r", "score": 1}',
        '```\n{"score": 2, "reason": "r"}\n```\n```\n{"score": 4, "reason": "r"}\n```',
    ],
)
def test_objects_that_contradict_each_other_are_no_verdict(text):
    assert read(text)[:2] == ("unparsed", None)


PIECES = ("{", "}", '"', "\\", "```", "\n", "[", "]", ",", ", ", ",}", '{"', '"}', '\\"', "```json\n", "<think>",
          "a", " ", '{"score": 4}', '{"reason": "r", "score": 4,}', "```a", "{}", '{"a":', "9", '"\\"', "> ",
          "`", "({[")  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [*PIECES, *(pytest.param(a + b, marks=pytest.mark.full) for a in PIECES[:12] for b in PIECES[:12] if a != b)],
)
def test_steps_of_the_reader_grow_with_the_length(monkeypatch, piece):
    steps = []

    class Counted:
        """A pattern or a decoder whose calls are counted with the characters that each receives or passes over."""

        def __init__(self, pattern):
            self.pattern = pattern

        def sub(self, replacement, text):
            steps.append(len(text))
            return self.pattern.sub(replacement, text)

        def __getattr__(self, name):
            method = getattr(self.pattern, name)

            def called(text, start=0):
                match = method(text, start)
                steps.append(1 + (len(text) - start if match is None else match.end() - start))
                return match

            return called

    def decoded(text, **more):
        steps.append(len(text))
        return json.loads(text, **more)

    for name in ("_TOKEN", "_COMMA", "_LOOSE", "_OPENING", "_CLOSING", "_FENCED"):
        monkeypatch.setattr(replies, name, Counted(getattr(replies, name)))
    monkeypatch.setattr(replies, "json", SimpleNamespace(loads=decoded, dumps=json.dumps))
    counts = []
    for size in (4_096, 8_192, 16_384):
        steps.clear()
        text = (piece * size)[:size]
        for loose in (False, True):
            for _ in replies.objects_in(text, loose=loose):
                steps.append(1)
        counts.append(sum(steps) + len(steps))
    assert counts[1] <= 2.2 * counts[0]
    assert counts[2] <= 2.2 * counts[1]


def test_patterns_do_not_search_ahead():
    """A search for a token looks at two characters at most from each position: it cannot rescan the text."""
    assert re._parser.parse(replies._TOKEN.pattern).getwidth() == (1, 2)
    for text in ('"' + '\\"' * 1000 + "\\", '"', '"a', "\\"):
        assert replies._COMMA.sub(lambda found: found[1] or "", text) == text  # an open string is passed over once


SHAPES = (
    '{\\"',
    '{"\\"',
    '\\"',
    '{"a": "\\',
    '{"a": ",',
    "{ , ",
    "```a",
    "```",
    "{" * 9 + "}",
    '{"":1}',
    '{"a":',
    "{\n",
)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("start", ["", "{", '{"'])
def test_long_shapes_are_read(shape, start, full):
    """Of a mebibyte at full size; what grows with the square of the length takes minutes at an eighth of it."""
    assert read(start + shape * ((1 << (20 if full else 17)) // len(shape)))[:2] == ("unparsed", None)


@pytest.mark.slow
def test_replies_of_a_mebibyte_are_read(full):
    draw = random.Random(1)
    for _ in range(12 if full else 3):
        some = draw.sample(PIECES, draw.randint(1, 6))
        text = "".join(draw.choices(some, k=1 << 19))[: 1 << 20]
        assert read(text).status in ("ok", "unparsed")
        verdict = '\n{"reason": "r", "score": 2}'
        assert read(text.replace("{", "(").replace("<", "(") + verdict)[:2] in (("ok", 2.0), ("unparsed", None))


@given(st.lists(st.sampled_from(PIECES), max_size=40))
def test_pieces_of_replies_in_any_order_do_not_crash_the_reader(pieces):
    found = read("".join(pieces))
    assert (found.status == "ok") == (found.score is not None)
