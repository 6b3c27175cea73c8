"""What is extracted of an answer, and thoughts that are left out."""

from __future__ import annotations

import time

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fastmetrics.base.arrays import text_of_arrow
from fastmetrics.text import thoughts
from fastmetrics.text.extraction import EXTRACTORS, extracted
from fastmetrics.text.text_keys import signs_of
from fastmetrics.text.thoughts import hold_thoughts, split_thoughts, without_thoughts
from tests.reference import extraction as reference
from tests.support import strategies
from tests.support.goldens import tables

TABLES = tables("extraction")

FOUND = [
    *TABLES["found"],
    ("regex:\\[((\\d|\\d\\d),? ?)+[\\])]", "[" + "1" * 5000, None),
    ("regex:((a|aa)+)$", "a" * 50_000 + "b", None),
]


@pytest.mark.parametrize(("spec", "text", "answer"), FOUND)
def test_an_answer_is_found_where_it_stands(spec, text, answer):
    assert found_in(text, spec) == answer


def found_in(text, spec):
    """What an extractor finds in one text."""
    found: str = extracted(pa.array([text]), [spec])[0].as_py()
    return found or None


PIECES = st.sampled_from(
    [
        *("answer", "Answer", "ANSWER", " is ", "The answer is ", ":", "=", "\n", "\n\n", " ", "\t", "**", "*"),
        *("__", "_"),
        *("~~", "`", "```", "```python\n", "\n```", "- ", "> ", "# ", "#### ", "[", "](", "(", ")", "x.y", "]"),
        *("{", "}"),
        *("\\boxed{", "\\boxed ", "\\fbox", "\\text{", "$", "42", "1,234", "1,2345", "12 345", "-5", "−7", "+3.5"),
        ".5",
        *("5%", "5 %", "$ 5", "€7", "x2", "٣", "１２", "é", "ſ", "İ", "ı", "\u2028", "\x85", "\xa0", "\u3000"),
        *("\x1c", "\r\n"),
        *("ответ", "ОТВЕТ:", "итог =", "答案是", "答", "：", "。", "LÖSUNG:", "réponse est", "الإجابة", "هي", "cevap"),
        "yanıt",
        *("for the question", "would be", ". So", "; ", "A", "b", "ans", "wer", "“", '"', "'", "<answer>"),
        *("</answer>", "the"),
    ]
)
KERNELS = sorted(EXTRACTORS.keys() - {"strip_thoughts", "choice"})


@given(st.lists(st.none() | st.lists(PIECES, max_size=12).map("".join) | strategies.texts, max_size=6))
@example(
    ["ans**wer**: 5", "*answer* is\n- 5", "a_*answer*_: 5", "[ans](x)wer: 5", "optİon: 5", "- answer: 5\nno answer"]
)
@example(
    ["```\n\n```", "$\n5", "5\n%", "1,234,5", "\\boxed{\\text{ B }}", "\\boxed \\text{B}", "####", "## Answer\n\n42"]
)
def test_any_texts_in_all_ways(texts):
    for name in KERNELS:
        found = extracted(pa.array(texts, pa.string()), [name]).to_pylist()
        assert found == [reference.extracted(text, [name]) for text in texts]
    ways = ["hashes", "boxed", "answer"]
    expected = [reference.extracted(text, ways) for text in texts]
    assert extracted(pa.array(texts, pa.string()), ways).to_pylist() == expected


def test_the_first_extractor_that_finds_one_counts_and_none_is_an_empty_text():
    texts = ["#### 1", "The answer is 2.", "neither", "", None]
    for type_ in (pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())):
        column = pa.array(["x", *texts]).cast(type_)[1:]
        assert extracted(column, ["hashes", "answer"]).to_pylist() == ["1", "2", "", "", None]
    assert extracted(pa.array(texts), ["hashes", "whole"]).to_pylist() == ["1", "The answer is 2.", "neither", "", None]
    assert extracted(pa.array([1]), ["hashes"]).to_pylist() == [1]


@pytest.mark.parametrize("levels", [*range(900, 1000, 7), 100_000])
def test_json_of_many_levels_is_found_or_not(levels):
    text = '{"a": ' * levels + "1" + "}" * levels
    assert found_in(text, "json:" + "a." * levels) in ("1", None)
    found = found_in(text, "json:a")
    assert found is None or found.count("{") < levels


@pytest.mark.parametrize("name", [*EXTRACTORS, "json:a", "regex:(x)"])
def test_hostile_texts_take_no_square_of_their_length(name):
    """What grows with the square of the length takes minutes at this size."""
    pieces = (
        *("**a ", "`a", "[a](", "\\boxed{", "{", '{"a": ', "[", "answer is ", "####", "```\n", "1,", "- ", "_", "a_"),
        "*",
    )
    for piece in pieces:
        began = time.process_time()
        extracted(pa.array([piece * (100_000 // len(piece))]), [name])
        assert time.process_time() - began < 20, piece


CLOSED = [
    *("<think>a</think>b", "<think>\na\n</think>\n\nb\n", "<Thinking>a</Thinking>b", "<THOUGHT>a</THOUGHT>\nb"),
    *("<reasoning>a</reasoning><answer>b</answer>", "<think>a</think>\n<answer>\nb", "<seed:think>a</seed:think>b"),
    *('<details type="reasoning" done="true">a</details>b', "[THINK]a[/THINK]b", "◁think▷a◁/think▷b"),
    "<|begin_of_thought|>a<|end_of_thought|><|begin_of_solution|>b<|end_of_solution|>",
    *("<|channel>thought\na<channel|>b", "<|START_THINKING|>a<|END_THINKING|><|START_RESPONSE|>b<|END_RESPONSE|>"),
    *("<|think|>a<|/think|>b", "<|think_start|>a<|think_end|>b", "a</think>b", "a\n</think>\n\nb"),
    "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b<|return|>",
    "a<|end|><|start|>assistant<|channel|>final<|message|>b",
    "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final <|constrain|>json<|message|>b",
    *("analysisa.assistantfinalb", "Thinking Process:\n\na\n</think>\n\nb"),
    "**Thinking process:** a\n\n**Final answer:** b",
    "Here's a thinking process that leads to the answer:\na\n### Final Output:\nb",
    *("Here is my thought process: a\n\nHere is my response: b", "Thinking...\na\n...done thinking.\n\nb"),
]

CUT = [
    *("<think>a", "  \n<Thinking>\na", "[THINK]a\n\nb", "<thought>a", "<reasoning>a {b}", "<think>a</think><think>c"),
    *("<think>a <think>c</think> d", "b\n<think>a", "<|channel|>analysis<|message|>a"),
    "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>commentary<|message|>c",
    *("analysisWe think a", "Thinking Process:\n1. a\n2. b", '<think>I end with "</think>" and a'),
]

WITHOUT = [
    *("", "b", "Use <think> to make it think.", "Write `<think>` before and `</think>` after it."),
    *('{"reason": "it has a </think> tag", "score": 2}', '{"reason": "it has <think> and </think>", "score": 2}'),
    *("analysis of b", "I was thinking...\nb", "The thinking process: b", "<details>b</detail>"),
]


@pytest.mark.parametrize("text", CLOSED)
def test_answers_follow_their_thoughts(text):
    thought, answer, is_cut = split_thoughts(text)
    assert ("a" in thought, "b" in thought, answer, is_cut) == (True, False, "b", False)


@pytest.mark.parametrize("text", CUT)
def test_thoughts_without_an_end_are_cut(text):
    thought, answer, is_cut = split_thoughts(text)
    assert (is_cut, "a" in thought, answer) == (True, True, "b" if text.startswith("b") else "")


@pytest.mark.parametrize("text", WITHOUT)
def test_texts_about_thoughts_are_unchanged(text):
    assert split_thoughts(text) == (None, text, False)


def test_several_and_nested_blocks_leave_the_text_between_them():
    assert split_thoughts("<think>a</think>One. <think>c</think>\n two") == ("a\nc", "One.\ntwo", False)
    assert split_thoughts("<think>a<thinking>c</thinking>d</think>two")[1:] == ("two", False)
    assert split_thoughts("One.\n<think>a\n</think>\nc\n</think>\ntwo")[1:] == ("two", False)
    assert split_thoughts("Sure: <think>a</think> two")[1:] == ("Sure:\ntwo", False)


def _told(column):
    """The rows in which a note finds thoughts, by the signs that were seen when the texts were checked."""
    return hold_thoughts(column, text_of_arrow(column, "answer", signs=signs_of)).tolist()


def test_columns_of_texts_lose_their_thoughts_and_tell_of_most_of_them():
    texts = [*CLOSED, *CUT, *WITHOUT, None]
    answers = [None if text is None else split_thoughts(text).answer for text in texts]
    for type_ in (pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())):
        assert without_thoughts(pa.array(texts).cast(type_)).to_pylist() == answers
    assert without_thoughts(pa.array([1])).to_pylist() == [1]
    told = _told(pa.array(texts))
    assert sum(row < len(CLOSED) + len(CUT) for row in told) >= len(CLOSED) + len(CUT) - 4
    plain = ["", "b", "analysis of b", "I was thinking...", "<p>[THINK]"]
    assert _told(pa.array([*plain, None])) == []


@pytest.mark.parametrize(
    "piece",
    ["<think>", "</think>", "\n ", "<think> </think>", '"<think>"', "<details ", "<|channel|>analysis", " ", "analysis",
     "assistantfinal", "\nFinal answer:", "`", "<|start|>assistant "],
)  # fmt: skip
def test_long_texts_are_split(piece):
    """What grows with the square of the length takes minutes at this size."""
    for start in ("", "Thinking process:"):
        split_thoughts(start + (piece * (1 << 17))[: 1 << 17])


def test_what_is_told_fast_is_what_the_patterns_find():
    """Marks at any place of sliced columns of each layout, beside empty, null and short texts."""
    rng = np.random.default_rng(3)
    parts = ["<think>", "<|channel|>", "[THINK]", "[think]", "◁think▷", "analysisWe", "Thinking Process: a", "x < y"]
    parts += [
        *("# Here's a thinking process:", "**Thought process** of it:", "reasoning process:", "thinking...\n", "The"),
    ]
    parts += ["", "t", "He", "\n \t[reasoning]", "Ответ", "</thinking>", "seed:think", None, "analysis", "aha"]
    for layout in (pa.string(), pa.large_string(), pa.string_view()):
        for _ in range(60):
            drawn = [parts[n] for n in rng.integers(0, len(parts), rng.integers(0, 12))]
            texts = [None if one is None else " ".join([one, "and"][: 1 + n % 2]) for n, one in enumerate(drawn)]
            column = pa.array(["<think>", *texts, "<think>"], layout).slice(1, len(texts))
            plain = column.cast(pa.string())
            found = [pc.match_substring_regex(plain, pattern).to_pylist() for pattern in thoughts._FAST]
            expected = [row for row, (a, b) in enumerate(zip(*found, strict=True)) if a or b]
            assert _told(column) == expected
