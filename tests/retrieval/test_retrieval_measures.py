"""How measures are named, and what becomes of names and options nobody knows."""

from __future__ import annotations

import pytest

import fastmetrics as fm
from fastmetrics.base.errors import OptionError, UnknownNameError
from fastmetrics.retrieval.measures import measure

NAMES = [
    ("ndcg@10", "nDCG@10", "ndcg_cut_10", "ndcg_cut.10", "NDCG@10", " ndcg(k=10)"),
    ("mrr", "MRR", "RR", "recip_rank", "reciprocal_rank"),
    ("RR@10", "mrr@10", "RR(cutoff=10)"),
    ("P@5", "P_5", "P.5", "precision@5"),
    ("R@100", "recall@100", "recall_100"),
    ("AP", "map", "MAP", "average_precision"),
    ("AP@7", "map_cut_7", "map@7"),
    ("Success@5", "success_5", "hit_rate@5"),
    ("Rprec", "r-precision", "R_precision"),
    ("RBP(p=0.8)", "rbp.80", "rbp(p=.8)"),
    ("ndcg(dcg='exp-log2')@5", "ndcg(gain='exponential')@5"),
    ("P@5-l2", "P(rel=2)@5", "precision(relevance_level=2)@5"),
    ("IPrec@0.1", "iprec_at_recall_0.10"),
    ("SetP", "set_P", "P"),
]


@pytest.mark.parametrize("names", NAMES)
def test_spellings_of_one_measure(names):
    one, *others = (measure(name) for name in names)
    for other in others:
        assert (other.family, other.options) == (one.family, one.options)


def test_column_has_the_requested_name():
    names = ["nDCG@10", "ndcg_cut_10", "RBP(p=0.8)"]
    assert fm.rank({"q": {"a": 1}}, {"q": {"a": 1}}, names).per_query.column_names == ["query_id", *names]


@pytest.mark.parametrize(
    ("name", "error", "says"),
    [
        ("ncdg@10", UnknownNameError, "did you mean 'ndcg'"),
        ("P@0", OptionError, "whole number from 1 to"),
        ("P@2.5", OptionError, "whole number from 1 to"),
        ("bpref@5", OptionError, "takes no cut-off"),
        ("AP(depth=3)", UnknownNameError, "option of ap"),
        ("AP(3)", OptionError, "expected option=value"),
        ("AP(rel=0)", OptionError, "option 'rel' expects a number above 0"),
        ("RBP(p=1.5)", OptionError, "option 'p' expects a number from 0 to 1"),
        ("ndcg(gain='cubic')", OptionError, "linear"),
        ("AP(rel='x')", OptionError, "option 'rel' expects a number"),
        ("", OptionError, "expected name, name@k or"),
    ],
)
def test_unknown_measures_raise(name, error, says):
    with pytest.raises(error, match=says):
        fm.rank({"q": {"a": 1}}, {"q": {"a": 1}}, [name])


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"missing": "drop"}, "missing='drop': expected 'zero' or 'skip'"),
        ({"no_relevant": "nan"}, "no_relevant"),
        ({"duplicates": "last"}, "duplicates"),
        ({"relevance_level": 0}, "relevance_level"),
        ({"depth": 0}, "depth"),
        ({"measures": ["mrr", "mrr"]}, "requested twice"),
        ({"measures": []}, "at least one"),
    ],
)
def test_options_are_checked(options, says):
    with pytest.raises(OptionError, match=says):
        fm.rank({"q": {"a": 1}}, {"q": {"a": 1}}, **options)
