"""Algebra by math-verify: its own verdict on 300 made pairs, and what is not parsed or takes too long."""

import random

import numpy as np
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import MissingExtraError
from fastmetrics.metrics.suites import suite


def made_pairs(seed, n):
    """Pairs of expressions, equal and not, of kinds that come up as final answers."""
    chance, pairs = random.Random(seed), []
    for place in range(n):
        a, b, c = chance.randint(2, 9), chance.randint(2, 9), chance.randint(2, 9)
        d = a if chance.random() < 0.5 else a + 1  # half of the pairs differ in it
        one, other = [
            (rf"\frac{{{a}}}{{{b}}}", rf"\frac{{{d * c}}}{{{b * c}}}"),
            (rf"-\frac{{{a}}}{{{b}}}", rf"\frac{{-{d}}}{{{b}}}"),
            (rf"-\frac{{{a}}}{{{b}}}", rf"\frac{{{d}}}{{{b}}}"),
            (rf"{a}\sqrt{{{b}}}", rf"\sqrt{{{d * d * b}}}"),
            (rf"\sqrt{{{a * a}}}", f"{d}"),
            (f"x^2+{a}", f"{d}+x^2"),
            (f"x^2-{a * a}", f"(x-{d})(x+{d})"),
            (f"({a}, {b})", f"({d}, {b})"),
            (f"({a}, {b})", f"({b}, {d})"),
            (f"{a}^{{{c}}}", f"{d**c}"),
            (f"{a}x + {b}", f"{b} + {d}x"),
            (rf"{a} \times 10^{{{c}}}", f"{d * 10**c}"),
            (f"{a / 4}", rf"\frac{{{d}}}{{4}}"),
            (f"{a}", f"{d}"),
            (f"{a}+{b}", f"{d + b}"),
        ][place % 15]
        pairs.append((f"${one}$", f"${other}$"))
    return pairs


@pytest.mark.full
def test_300_pairs_have_the_verdict_of_math_verify_and_numbers_never_contradict_it():
    from math_verify import parse, verify

    answers, references = map(list, zip(*made_pairs(0, 300), strict=True))
    read = lambda text: parse(text, parsing_timeout=None)  # noqa: E731
    own = [verify(read(two), read(one), timeout_seconds=None) for one, two in zip(answers, references, strict=True)]
    assert 0.25 * len(own) < sum(own) < 0.75 * len(own)
    assert fm.math_match(answers, references).tolist() == [float(one) for one in own]
    numbers = fm.number_match(answers, references)
    rows = zip(answers, references, own, numbers, strict=True)
    assert [row for row in rows if row[3] == 1 and not row[2]] == []
    assert np.isnan(numbers).sum() > len(own) / 3


ROWS = [
    ("So it is $x^2-1$.", "$(x-1)(x+1)$", 1.0),
    (r"\sqrt{8}", r"2\sqrt{2}", 1.0),
    ("5", ["6", "5.0"], 1.0),
    ("5", ["6", "7"], 0.0),
    ("I don't know", "5", np.nan),
    ("5", "none", np.nan),
    ("the same", "the same", 1.0),
    (None, "5", None),
]
ENDLESS = [("$10^{10^{10}}$", "$7^{7^{7^{7}}}$", np.nan)]


@pytest.mark.parametrize(("rows", "seconds", "unread"), [(ROWS, 60, 2), (ENDLESS, 1, 1)], ids=["read", "endless"])
def test_what_is_equal_unparsed_or_endless(rows, seconds, unread):
    answers, references, expected = map(list, zip(*rows, strict=True))
    references = [one if isinstance(one, list) else [one] for one in references]
    table = fm.score({"answer": answers, "reference": references}, f"math_match(seconds={seconds})")
    np.testing.assert_equal(table[0].to_pylist(), expected)
    assert fm.summarize(table)[table.column_names[0]].n_unread == unread


def test_no_suite_has_it_and_the_extra_is_named(monkeypatch):
    assert "math_match" not in [metric.name for metric in suite("all")]
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"\[math\]"):
        fm.math_match(["1"], ["2"])
