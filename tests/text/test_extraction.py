"""Answers taken out of longer texts: each extractor on texts as models write them, and on hostile ones."""

from __future__ import annotations

import time

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fastmetrics.text.extraction import EXTRACTORS, extracted
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
