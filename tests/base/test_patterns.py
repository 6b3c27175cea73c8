"""Patterns of users: matched by RE2, in time that is linear in the text; what it cannot compile is refused."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.base.arrays import arrow_texts
from fastmetrics.base.errors import OptionError
from fastmetrics.base.patterns import UserPattern

PATTERNS = [
    *(
        r"\[\d+\]",
        r"\((\w+)(?:, (\w+))?\)",
        r"[^\s,]+",
        r"(?i)а",
        "a|ab",
        r"(?P<one>\S)\d",
        r"[\w.]+@",
        r"\D\d",
        r"[]a]",
    ),
    *(r"\D\d", r"[]a]", r"\u0430b", r"^\s*(\d)", r"a{2,3}?", r"[^\d]\Z"),
]
TEXTS = st.text("ab1٣,. @[]()\nаéA_\xa0", max_size=12)


@given(st.lists(TEXTS, max_size=4))
@pytest.mark.parametrize("pattern", PATTERNS)
def test_matches_are_those_of_python(pattern, texts):
    expected = [
        [(mark.start(), mark.end(), mark[0], tuple(group or "" for group in mark.groups())) for mark in marks]
        for marks in (re.finditer(pattern, text) for text in texts)
    ]
    found = UserPattern(pattern)
    assert found.matches(texts) == expected
    assert found.is_in(arrow_texts(texts)).tolist() == [bool(marks) for marks in expected]
    assert found.groups == re.compile(pattern).groups


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"(a|aa)+$", "a" * 200_000 + "b"),
        (r"(x+x+)+y", "x" * 200_000),
        (r"\[((\d|\d\d),? ?)+[\])]", "[" + "1" * 200_000),
        (r"(.*)*=", "b" * 200_000),
        (r"^(([a-z])+.)+[A-Z]([a-z])+$", "a" * 200_000),
    ],
)
def test_a_pattern_that_backtracks_without_end_in_python_takes_no_time(pattern, text):
    fm.idk_citations(["I don't know."], pattern=pattern)  # compiled
    began = time.process_time()
    assert fm.idk_citations([f"I don't know {text}"], pattern=pattern).tolist() == [0.0]
    assert UserPattern(pattern).matches([text]) == [[]]
    assert time.process_time() - began < 2


@pytest.mark.parametrize(
    "pattern",
    [
        *("(", r"(?R)", "(?P<a>x)(?P>a)", r"(a)\1", "(?=a)b", "(?!a)b", "(?<=a)b", "(?<!a)b", r"[\W\d]", "(?>a)"),
        *("a{1,99999999999999}", "(?x) a", "(a)" * 10, "x" * 1001),
    ],
)
def test_what_is_not_linear_is_refused(pattern):
    with pytest.raises(OptionError, match=r"pattern.*expects a regular expression of RE2"):
        fm.idk_citations(["a"], pattern=pattern)
