"""The metric families of scores.parquet, a column for each system, and the rows where two families disagree."""

import pyarrow.parquet as pq

FAMILIES = {
    "Correctness": {"Exact match": "exact_match", "Keyword recall": "keyword_recall"},
    "Communication": {"Answer length": "answer_length", "Politeness": "politeness"},
    "Operations": {"Latency": "latency_ms"},
    "Semantic review": {
        "Relevance": "judge_relevance",
        "Faithfulness": "judge_faithfulness",
        "Safety": "judge_safety",
        "Robustness": "judge_robustness",
    },
}

rows = pq.read_table("scores.parquet").to_pylist()
systems = list(dict.fromkeys(row["system"] for row in rows))
print(f"{'':32}" + "".join(f"{name:>34}" for name in systems))
for family, metrics in FAMILIES.items():
    for title, metric in metrics.items():
        means = []
        for system in systems:
            scores = [row[metric] for row in rows if row["system"] == system]
            means.append(sum(scores) / len(scores))
        print(f"{family:17}{title:15}" + "".join(f"{mean:34.2f}" for mean in means))

print("\nLow on exact match, high on judge-based relevance:")
for row in rows:
    if row["exact_match"] == 0 and row["judge_relevance"] >= 4:
        print(f"{row['id']}  {row['system']}: {row['answer']}  ({row['judge_relevance_reason']})")
