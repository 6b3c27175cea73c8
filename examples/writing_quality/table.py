"""The document's table of metrics and weights, with the mean of each run of the files that are named."""

import sys

import fastmetrics as fm

METRICS = {
    "Coherence": ("coherence", 0.25),
    "Completeness": ("writing_completeness", 0.25),
    "Length": ("length_score", 0.20),
    "Structure": ("structure_score", 0.15),
    "Vocabulary": ("vocabulary_score", 0.15),
    "Weighted Average": ("overall_quality", 1.0),
}

runs = fm.results.side_by_side(sys.argv[1:]).summaries
print(f"{'Metric':20}{'Weight':>8}" + "".join(f"{name:>16}" for name in runs))
for title, (metric, weight) in METRICS.items():
    print(f"{title:20}{weight:8.2f}" + "".join(f"{summary[metric].mean:16.2f}" for summary in runs.values()))
