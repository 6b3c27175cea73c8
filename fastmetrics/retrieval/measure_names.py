"""Names of the retrieval measures in trec_eval, ir_measures, ranx and papers; the first name is the canonical one."""

from __future__ import annotations

NDCG = ("ndcg", "ndcg_cut")
RECIPROCAL_RANK = ("mrr", "rr", "recip_rank", "reciprocal_rank")
AVERAGE_PRECISION = ("ap", "map", "map_cut", "average_precision")
PRECISION = ("p", "precision", "retrieval_precision", "set_P", "precision_at_k")
RECALL = ("r", "recall", "retrieval_recall", "set_recall", "SetR", "recall_at_k")
F1 = ("f1", "retrieval_f1")
HIT_RATE = ("success", "hit_rate", "hit")
R_PRECISION = ("Rprec", "r_precision")

_SUBTOPICS = "it needs judgements by subtopic of a query, and rank reads one grade per document"
_USER_MODEL = "it is a user model of the package cwl-eval; ir_measures computes it with that package"
UNSUPPORTED = {
    **dict.fromkeys(("alpha_DCG", "α_DCG", "alpha_nDCG", "α_nDCG", "AP_IA", "MAP_IA", "ERR_IA"), _SUBTOPICS),
    **dict.fromkeys(("nERR_IA", "NRBP", "nNRBP", "P_IA", "StRecall"), _SUBTOPICS),
    **dict.fromkeys(("BPM", "INSQ", "INST", "NERR8", "NERR9", "NERR10", "NERR11", "SDCG"), _USER_MODEL),
}
"""Measures of ir_measures that are not supported, and the reason."""
