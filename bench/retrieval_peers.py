"""What else evaluates the same run: pytrec_eval, ranx and ir_measures, each as its users write it.

As a program it is the whole job, from Parquet to a Parquet table per query::

    python -m bench.retrieval_peers pytrec_eval run.parquet qrels.parquet per_query.parquet
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

Nested = dict[str, dict[str, Any]]
Columns = dict[str, list[Any]]

PYTREC = {"ndcg_cut.10", "recip_rank", "recall.10", "P.10", "success.1,5,10"}
RANX = ["ndcg@10", "mrr", "recall@10", "precision@10", "hit_rate@1", "hit_rate@5", "hit_rate@10"]
IR_MEASURES = ["nDCG@10", "RR", "R@10", "P@10", "Success@1", "Success@5", "Success@10"]


def nested(path: str, value: str) -> Nested:
    """The dictionaries that pytrec_eval takes, made column by column."""
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    queries: Nested = {}
    columns = (table[name].to_pylist() for name in ("query_id", "doc_id", value))
    for query, doc, number in zip(*columns, strict=True):
        if query in queries:
            queries[query][doc] = number
        else:
            queries[query] = {doc: number}
    return queries


def pytrec_eval(run: str, qrels: str) -> Columns:
    """pytrec_eval-terrier."""
    from pytrec_eval import RelevanceEvaluator

    evaluator = RelevanceEvaluator(nested(qrels, "relevance"), PYTREC)
    results = evaluator.evaluate(nested(run, "score"))
    names = next(iter(results.values()))
    return {"query_id": list(results)} | {name: [row[name] for row in results.values()] for name in names}


def ranx(run: str, qrels: str) -> Columns:
    """ranx, whose compiled code is on disk by then."""
    import pandas as pd
    from ranx import Qrels, Run, evaluate

    names, kinds = {"q_id_col": "query_id", "doc_id_col": "doc_id"}, {"query_id": object, "doc_id": object}
    judged = Qrels.from_df(pd.read_parquet(qrels).astype(kinds), **names, score_col="relevance")
    ranked = Run.from_df(pd.read_parquet(run).astype(kinds), **names, score_col="score")
    evaluate(judged, ranked, RANX)
    queries = list(ranked.run.keys())
    return {"query_id": queries} | {name: [ranked.scores[name][query] for query in queries] for name in RANX}


def ir_measures(run: str, qrels: str) -> Columns:
    """ir_measures, with the frames it takes."""
    import pandas as pd
    from ir_measures import iter_calc, parse_measure

    values: dict[str, dict[str, float]] = {}
    for value in iter_calc([parse_measure(name) for name in IR_MEASURES], pd.read_parquet(qrels), pd.read_parquet(run)):
        values.setdefault(value.query_id, {})[str(value.measure)] = value.value
    return {"query_id": list(values)} | {name: [row[name] for row in values.values()] for name in IR_MEASURES}


PEERS: dict[str, Callable[[str, str], Columns]] = {
    "pytrec_eval": pytrec_eval,
    "ranx": ranx,
    "ir_measures": ir_measures,
}


def main() -> None:
    """The whole job of one peer."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    peer, run, qrels, out = sys.argv[1:]
    pq.write_table(pa.table(PEERS[peer](run, qrels)), out)


if __name__ == "__main__":
    main()
