"""The document's scores of each answer of scores.parquet, its verdict with the reason, and the counts of verdicts."""

import pyarrow.parquet as pq

import fastmetrics as fm

HEADS = {
    "S_cosine": "tfidf_cosine",
    "S_jaccard": "jaccard",
    "S_rel": "answer_relevance",
    "S_comp": "keyword_completeness",
    "A_total": "anchor_count",
    "A_unsupported": "unsupported_count",
    "S_claims": "unsupported_share",
    "NgramOverlap": "ngram_overlap",
    "P_drift": "drift",
    "S_hall": "hallucination",
}

print("".join(f"{head:>15}" for head in ("", *HEADS)) + "  Verdict")
for row in pq.read_table("scores.parquet").to_pylist():
    scores = "".join(f"{row[metric]:15.2f}" for metric in HEADS.values())
    print(f"{row['id']:>15}{scores}  {row['verdict_word']}  {row['verdict_reason'] or ''}")

figures = fm.summarize("scores.parquet").figures
print("\n" + ", ".join(f"{verdict} {figures[verdict]:.0f}" for verdict in ("FAIL", "WARN", "PASS")))
