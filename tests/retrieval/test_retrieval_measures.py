"""How measures are named, and what becomes of names and options nobody knows."""

from __future__ import annotations

import pytest

import fastmetrics as fm
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
