"""Values of options beyond sense: any value of any option gives a score or an error that names what is allowed."""

import datetime
import decimal
import math
import re
import resource
import typing
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.base import options as allowed
from fastmetrics.base.errors import FastmetricsError, FileFormatError, OptionError, UnknownNameError
from fastmetrics.base.options import (
    Choice,
    Folder,
    LimitedText,
    LimitedTexts,
    NameOrObject,
    NotAllowedError,
    Optional,
    Real,
    Several,
    Whole,
)
from fastmetrics.metrics.bleu import OTHER_TOKENIZERS
from fastmetrics.metrics.metric import REGISTRY
from fastmetrics.metrics.score_names import parse
from fastmetrics.retrieval.measures import FAMILIES, Gains, measure
from fastmetrics.scoring.metric_functions import callable_of
from fastmetrics.text.phrases import compile_phrases
from tests.support.every_metric import CASES, columns
from tests.support.goldens import refused
from tests.support.program import program

OPTIONS = [(name, option) for name, metric in REGISTRY.items() for option in metric.defaults]
DIFFERENT = list({(option, str(REGISTRY[name].allowed[option])): (name, option) for name, option in OPTIONS}.values())
"""One metric for each option and what it allows."""
MEASURES = [(family.names[0], option) for family in FAMILIES for option in family.options]
MEGABYTES = 1 << 10
"""Of kilobytes, in which the peak of memory is told."""

STRANGE = [
    *(None, True, False, 0, 1, -1, 2, 3, 100, 2**31, 2**63, -(2**63), 10**22, 10**9, 10**400, -(10**400)),
    *(0.0, -0.0, 0.5, 1.0, 1e308, -1e308, 5e-324, math.nan, math.inf, -math.inf, 1 + 2j, decimal.Decimal(1)),
    *("", " ", "x", "x" * 10**6, "\0", "\n", "'", "(", "[a", "a{99999999999}", "\ud800", "日本", "corpus", b"x"),
    *([], [1], ["a"], [""], [[]], [None], (), ("a", "b"), ["a b"] * 20_000, [math.nan] * 5, [0.2] * 5, [1, 0, 0, 0, 0]),
    *({}, {"a": 1}, {1: 2}, {1: [2]}, {math.nan: 1}, set(), {1}, object, object(), range(3), iter(()), slice(1)),
    *(np.int64(3), np.float32(0.5), np.bool_(True), np.array([1, 2]), np.array(3), np.str_("x"), np.array([])),
    *(datetime.date(2024, 1, 5), datetime.timedelta(1), re.compile("x"), ..., NotImplemented, type("T", (), {})()),
]


def edges(one):
    """The least and the greatest number that is allowed, and those next to them."""
    one = one.inner if isinstance(one, Optional) else one
    if isinstance(one, Whole):
        return [one.low - 1, one.low, one.high, one.high + 1, float(one.low)]
    if isinstance(one, Real):
        return [f(x) for x in (one.low, one.high) for f in (float, lambda x: math.nextafter(x, -math.inf))]
    return list(one.values) if isinstance(one, Choice) else []


def peak():
    """The most memory this process ever had, in kilobytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def refusal(call, *kinds):
    """What the error said that a call raised, if it did."""
    try:
        call()
    except kinds as error:
        return str(error)
    return ""


def scored(name, options):
    """Score a few rows; what is not a score is an error raised on purpose."""
    metric = REGISTRY[name]
    if name not in CASES:  # grounding and table metrics have no case here
        return
    given_ = columns(name, 12)
    try:
        scores = callable_of(name)(**given_, **options)
    except FastmetricsError:
        return
    low, high = metric.bounds
    found = scores[~np.isnan(scores)]
    assert ((low <= found) & (found <= high * (1 + 1e-9))).all(), (options, found)


@pytest.mark.parametrize(("name", "option"), DIFFERENT)
def test_any_value_of_any_option_gives_a_score_or_an_error(name, option):
    metric, before = REGISTRY[name], peak()
    for value in [*STRANGE, *edges(metric.allowed[option])]:
        if callable(value) and isinstance(metric.allowed[option], Optional | NameOrObject):
            continue  # custom models and parsers have no fixed results
        if isinstance(value, str) and value in OTHER_TOKENIZERS:
            continue  # these need extra packages and models
        with suppress(OptionError, UnknownNameError, FileFormatError):
            said = refusal(lambda: metric.options({option: value}), OptionError, UnknownNameError, FileFormatError)  # noqa: B023
            expected = (
                option,  # the message names it, or what it holds
                *("cannot be read", "surrogate", "file name", "phrase", "both be 0", "unknown embedder"),
            )
            assert any(one in said for one in expected) or not said, value
            hash(tuple(metric.options({option: value}).values()))
            scored(name, {option: value})
    assert peak() - before < 400 * MEGABYTES


@pytest.mark.parametrize(("name", "option"), MEASURES)
def test_any_value_of_any_measures_option_gives_a_value_or_an_error(name, option):
    family = next(family for family in FAMILIES if family.names[0] == name)
    run, qrels = {"q": {"a": 2, "b": 1, "c": 0.5}, "r": {"a": 1}}, {"q": {"b": 1, "c": 3}, "r": {"a": 0}}
    specs = []
    for value in [*STRANGE, *edges(family.allowed[option])]:
        with suppress(NotAllowedError):
            family.allowed[option].take(value)
            specs.append(f"{name}({option}={(value.item() if isinstance(value, np.generic) else value)!r})")
    try:
        found = fm.rank(run, qrels, list(dict.fromkeys(specs)))
    except (OptionError, UnknownNameError) as error:
        assert "needs the option" in str(error)  # noqa: PT017 - of another option
        return
    for measured, mean in found.mean.items():
        assert math.isfinite(mean) or found.n_undefined[measured] == found.n_scored, measured


def test_defaults_are_allowed_and_unchanged():
    for name, option in OPTIONS:
        metric = REGISTRY[name]
        taken = metric.allowed[option].take(metric.defaults[option])
        assert taken == metric.defaults[option], (name, option)
        assert type(taken) is type(metric.defaults[option]), (name, option)
    for name, option in DIFFERENT:
        metric, listed = REGISTRY[name], program("metrics", name).out
        assert f"option: {option}=" in listed
        assert f": {metric.allowed[option]}; {metric.descriptions[option]}\n" in listed


SPECS = st.builds(
    lambda named, value: f"{named[0]}({named[1]}={value})",
    st.sampled_from(OPTIONS),
    st.one_of(st.text(max_size=30), st.sampled_from(STRANGE).map(repr), st.floats().map(repr), st.integers().map(repr)),
)


@given(st.one_of(SPECS, st.text(max_size=60), st.builds("{}@{}".format, st.sampled_from(sorted(REGISTRY)), st.text())))
@example("ndcg(" + "-" * 50_000 + "1)")
@example("ndcg(k=" + "[" * 30_000 + "]" * 30_000 + ")")
@example("ndcg(k=" + "9" * 5_000 + ")")
@example("ndcg(k='\0')")
@example("verdict(fitted='\0')")
def test_any_text_is_a_spec_or_an_error(text):
    for read in (parse, measure):
        assert len(refusal(lambda: read(text), OptionError, UnknownNameError, FileFormatError)) < 600  # noqa: B023


@pytest.mark.parametrize(
    ("one", "good", "bad"),
    [
        (Whole(1, 3), {1: 1, np.int64(3): 3}, [0, 4, 1.0, True, "1", None]),
        (Real(0, 1, above=True), {1: 1, 0.5: 0.5}, [0, 1.1, math.nan, "0.5", True]),
        (Real(0, 1, below=True), {0: 0, 0.5: 0.5}, [1, -1, None]),
        (Choice("a", 2), {"a": "a", np.int64(2): 2}, ["b", True, 2.0, []]),
        (LimitedText(2), {"": "", "ab": "ab"}, ["abc", 1, b"a"]),
        (LimitedTexts(3), {("a", "b"): ("a", "b"), (): ()}, ["a", [""], ["abcd"], [1], None]),
        (Several(2, Real(0, 1)), {(0, 1): (0, 1)}, [(0,), (0, 2), 5]),
        (Folder("a folder"), {".": "."}, ["no such", "", "\0", 3]),
        (NameOrObject("a model", (int,)), {"x": "x", 3: 3, len: len}, ["", None, [], {}]),
        (Optional(Whole(1, 1)), {None: None, 1: 1}, [0]),
    ],
    ids=lambda one: type(one).__name__ if hasattr(one, "take") else "",
)
def test_allowed_and_invalid_values(one, good, bad):
    for value, taken in good.items():
        assert one.take(value) == taken
    for value in bad:
        with pytest.raises(NotAllowedError):
            one.take(value)
        with pytest.raises(OptionError, match=r": expected " + re.escape(str(one))):
            allowed.argument("x", value, one)


def test_a_list_is_taken_as_a_tuple_and_gains_by_grade():
    assert REGISTRY["politeness"].options({"markers": ["a", "b"]})["markers"] == ("a", "b")
    gains = allowed.of_hint(Gains)
    assert gains.take({0: 1, 2: 3.0}) == {0: 1, 2: 3.0}
    assert gains.take(None) is None
    for value in ({"a": 1}, {1: math.inf}, [1], {k: k for k in range(2000)}):
        with pytest.raises(NotAllowedError):
            gains.take(value)


def test_annotation_without_allowed_values_raises():
    for hint in (int, str, typing.Any, int | None, tuple[str, ...]):
        refused(TypeError, "values", allowed.of_hint, hint)


def test_phrases_with_too_many_expansions_raise():
    several = tuple(f"w{k} x{k} y{k}" for k in range(5_000))
    for phrases in (("[a|b] " * 24 + "a " + "(a|b) " * 24,), several, ("[a] " * 5_000 + "b",)):
        before = peak()
        refused(OptionError, "variants", compile_phrases, phrases)
        assert peak() - before < 400 * MEGABYTES
