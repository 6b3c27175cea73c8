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

FOUND = [
    ("answer", "The answer is 42.", "42"),
    ("answer", "Answer: (B) Paris\nBecause it is.", "(B) Paris"),
    ("answer", "**Answer:** Paris is big. It is", "Paris is big"),
    ("answer", "Therefore, the correct answer is: **C**.", "C"),
    ("answer", "the answer to the question is 3.5 meters. So", "3.5 meters"),
    ("answer", "The answer is 3. No: the final answer is 4", "4"),
    ("answer", "Final Answer:\n42", "42"),
    ("answer", "The correct option is D", "D"),
    ("answer", "Ответ: 42.", "42"),
    ("answer", "Rain falls.", None),
    ("answer", "Die Antwort lautet 42. Denn", "42"),
    ("answer", "**Antwort:** Bonn", "Bonn"),
    ("answer", "Doğru cevap: İzmir.", "İzmir"),
    ("answer", "İİ Cevabı: Ankara", "Ankara"),
    ("answer", "所以答案是北京。因为", "北京"),
    ("answer", "答案：B", "B"),
    ("answer", "الإجابة الصحيحة هي القاهرة.", "القاهرة"),
    ("answer", "La respuesta es Madrid.", "Madrid"),
    ("answer", "La réponse est : Paris", "Paris"),
    ("answer", "Answer: to be sure, the result is 5", "5"),
    ("answer", "I am the answerer.", None),
    ("answer", "<think>5</think><answer>\n 42 \n</answer>", "42"),
    ("answer", "<answer>The answer is 7</answer>", "7"),
    ("answer", "### Final Answer\n\n42", "42"),
    ("answer", '{"answer": "C"}', "C"),
    ("answer", "This is the answer\nto all.", None),
    ("answer", "The answer is: 18 dollars.", "18 dollars"),
    ("answer", "The correct answer is: B. Paris", "B"),
    ("choice", "The correct answer is: B. Paris", "B"),
    ("choice", "**Answer: c**", "C"),
    ("choice", "A or B", None),
    ("boxed", r"so $\boxed{\frac{1}{2}}$ and $\boxed{\text{Paris}}$.", "Paris"),
    ("boxed", r"$\boxed{\frac{1}{2}}$", r"\frac{1}{2}"),
    ("boxed", "\\boxed 5$", "5"),
    ("boxed", "\\boxed{a{b", None),
    ("boxed", "5", None),
    ("hashes", "6 · 7\n#### 1,000\nmore", "1,000"),
    ("hashes", "#### 1 #### 2", "2"),
    ("hashes", "1", None),
    ("last_number", "it costs $1,234.50 and -5 %", "-5 %"),
    ("last_number", "Музей открылся в 1998 году, ×2", "2"),
    ("last_number", "−7", "−7"),
    ("last_number", "x2", None),
    ("last_number", "1 or -\\frac{2}{3}.", "-\\frac{2}{3}"),
    ("last_number", "so (3/4).", "3/4"),
    ("last_number", "3+4=7", "7"),
    ("last_number", "it is 1.5e6 or so", "1.5e6"),
    ("last_number", "at 15:00, then", "15:00"),
    ("last_number", "hence x^2+1", "x^2+1"),
    ("last_number", "fast 2,5 Milliarden Euro", "2,5 Milliarden"),
    ("last_number", "около 5 млн рублей", "5 млн"),
    ("last_number", "3 万人", "3 万"),
    ("last_number", "5 dozen eggs", "5 dozen"),
    ("last_number", "5 apples", "5"),
    ("last_number", "am 5. Januar 2020 in Bonn", "5. Januar 2020"),
    ("last_number", "on January 5, 2020.", "January 5, 2020"),
    ("last_number", "we sold 2020", "2020"),
    ("first_line", "\n a \n b", "a"),
    ("last_line", "a\nb\n", "b"),
    ("last_line", " \n", None),
    ("code", "```python\nx = 1\n```\nand\n```\ny\n```", "y"),
    ("code", "x", None),
    (
        "strip_markdown",
        "# Title\n- **bold** and [a link](http://a.b) `code`\n> *so*",
        "Title\nbold and a link code\nso",
    ),
    ("strip_markdown", "2 * 3 * 4 and snake_case_name", "2 * 3 * 4 and snake_case_name"),
    ("strip_thoughts", "<think>7?</think>\n8", "8"),
    ("strip_thoughts+last_number", "<think>7?</think> eight", None),
    ("strip_markdown+regex:(b.*)", "**b+c** d", "b+c d"),
    ("whole", " a ", " a "),
    ("json:answer", 'Per [1], {this}: ```json\n{"answer": "Rome"}\n```', "Rome"),
    ("json:a[1].b", '{"a": [1, {"b": 2.5}]}', "2.5"),
    ("json:a", '{"a": {"b": [true, null]}}', '{"b": [true, null]}'),
    ("json:a", '{"a": null}', None),
    ("json:a", '{"a": ', None),
    ("regex:A: (\\w+)", "A: x, A: y", "y"),
    ("regex:A: (\\w+)", "B", None),
    ("regex:это (\\w+)", "это Москва", "Москва"),
    ("regex:(a)|b", "a b", "a"),
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
