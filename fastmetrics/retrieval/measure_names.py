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
