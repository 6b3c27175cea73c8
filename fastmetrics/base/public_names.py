"""The version of the package, and the home of each public function and class, which is loaded at first use."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

# The home of each public function and class, which the package loads at first use.


HOMES = {
    "metric": "metrics.metric",
    "load_plugin": "metrics.plugins",
    "rouge": "scoring.metric_functions",
    "score": "scoring.score",
    "pairwise_scores": "scoring.pairwise_scores",
    "columns": "scoring.found_columns",
    "profile": "scoring.profile",
    "warm_up": "scoring.profile",
    "with_scores": "scoring.frames.with_scores",
    "FileSettings": "tables.opening",
    "ReadSettings": "tables.input_files",
    "RayCluster": "engines.column_maker",
    "anchors": "scoring.metric_functions",
    "verdicts": "scoring.metric_functions",
    "summarize": "results.summary",
    "summarize_by": "results.summarize_by",
    "side_by_side": "results.summary",
    "primary_table": "results.primary_table",
    "correlations": "results.distributions",
    "histograms": "results.distributions",
    "trend": "results.trend",
    "list_runs": "results.open_runs",
    "validate": "results.validate",
    "fit": "fitting.fit",
    "CutPromises": "stats.promises",
    "estimate": "results.estimate",
    "judge_report": "results.judge_report",
    "sample_rows": "results.sample_rows",
    "judge_consistency": "stats.judge_quality",
    "judge_error_rate": "stats.judge_quality",
    "judge_latency": "stats.judge_quality",
    "judge_decisions": "stats.judge_quality",
    "pairwise": "stats.judge_quality",
    "bradley_terry": "stats.judge_quality",
    "compare": "results.compare",
    "power": "results.power",
    "repeats": "results.repeats",
    "pass_at_k": "stats.pass_at_k",
    "pass_hat_k": "stats.pass_at_k",
    "gate": "results.gate",
    "worst_rows": "results.worst_rows",
    "assert_scores": "scoring.assert_scores",
    "agreement": "stats.agreement",
    "cohen_kappa": "stats.agreement",
    "krippendorff_alpha": "stats.agreement",
    "rank": "retrieval.rank",
    "compare_rankings": "results.compare_rankings",
    "geometry": "vectors.geometry",
    "nearest": "vectors.neighbors",
    "search": "vectors.search",
    "load_vectors": "vectors.pgvector",
    "project": "vectors.projection",
    "Index": "vectors.neighbors",
    "Embedder": "vectors.embedder",
    "answer": "models.answer",
    "embed": "models.embed",
    "FullContextBot": "models.bots",
    "FunctionBot": "models.bots",
    "GivenContextsBot": "models.bots",
    "report": "reporting.report",
    "evaluate_rag": "reporting.evaluate_rag",
    "ChunkSettings": "reporting.evaluate_rag",
    "plot": "reporting.plot",
    "judge": "models.judge",
    "tokenizer": "metrics.tokenizers",
    "model_client": "models.clients",
    "ModelRequest": "models.clients",
    "ModelReply": "models.calls",
    "stored_calls": "models.call_store",
    "ClientSettings": "models.clients",
    "JudgeSettings": "models.judge_batch",
    "match": "retrieval.faq",
    "match_faq": "retrieval.faq",
    "StrictMatchBot": "retrieval.faq",
    "grounding_evidence": "metrics.grounding",
    "risk_coverage": "stats.risk_coverage",
    "chunk_utilization": "logs.chunk_utilization",
    "domain_analysis": "logs.domain_analysis",
    "check_dataset": "logs.check_dataset",
    "topic_coverage": "logs.topic_coverage",
    "cache_hit_rate": "logs.cache_hit_rate",
    "context_preservation": "logs.context_preservation",
}
"""The module of each public function that is not a metric; metrics are found in the registry."""


# The version of the package, and a digest of its source, which also tells two clones of one version apart.


__version__ = "0.1.0"

PACKAGE = Path(__file__).resolve().parent.parent
"""The folder of the package."""


@functools.cache
def source_digest() -> str:
    """A digest of the names and contents of the package's Python files and word lists."""
    digest = hashlib.sha256()
    for path in sorted(path for kind in ("py", "txt", "toml") for path in PACKAGE.rglob(f"*.{kind}")):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(PACKAGE).as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:16]
