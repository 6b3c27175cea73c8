"""Made rows of a log: questions, short answers that cite, rankings over a knowledge base, sessions, times, ratings.

The texts are those of ``bench.data``; chunks are retrieved by Zipf's law, and an answer in ten abstains::

    python -m bench.log_rows log.parquet chunks.parquet --rows 1000000
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bench import data

CHUNKS, K, SESSIONS = 100_000, 10, 50_000
WORDS = 30
"""Words of an answer: half of the benchmarks' answers, as a support bot's are."""
ABSTAINS = 0.1
START = 1_700_000_000


def chunk_ids() -> pa.Array:
    """The ids of all chunks."""
    return pa.array([f"doc-{number:06d}" for number in range(CHUNKS)])


def batches(rows: int, seed: int = 0) -> Iterator[pa.RecordBatch]:
    """Record batches of a log."""
    ids = chunk_ids()
    for number, batch in enumerate(data.batches(rows, seed)):
        rng = np.random.default_rng([seed, number, 15])
        n = batch.num_rows
        places = (CHUNKS * rng.random(n * K) ** 3).astype(np.int64)
        offsets = pa.array(np.arange(n + 1, dtype=np.int32) * K)
        words = pc.list_slice(pc.split_pattern(batch["answer"], " "), 0, WORDS)
        answers = pc.binary_join(words, " ")
        cited = pc.binary_join_element_wise(answers, pa.array(np.char.mod(" [%d]", rng.integers(1, K + 1, n))), "")
        refuses = pa.array(rng.random(n) < ABSTAINS)
        yield pa.record_batch(
            {
                "id": batch["id"],
                "question": batch["question"],
                "answer": pc.if_else(refuses, "I don't know.", cited),
                "retrieved_ids": pa.ListArray.from_arrays(offsets, ids.take(pa.array(places))),
                "session_id": pa.array(rng.integers(0, SESSIONS, n)),
                "timestamp": pa.array(START + number * data.BATCH + np.arange(n), pa.timestamp("s", "UTC")),
                "rating": pa.array(rng.integers(1, 6, n)),
            }
        )


def write(log: str, chunks: str, rows: int, seed: int = 0) -> None:
    """Stream a log into one Parquet file, and its chunks into another."""
    parts = batches(rows, seed)
    head = next(parts)
    with pq.ParquetWriter(log, head.schema) as file:
        file.write_batch(head)
        for part in parts:
            file.write_batch(part)
    pq.write_table(pa.table({"chunk_id": chunk_ids()}), chunks)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.log_rows", description="Write a made log to Parquet files.")
    parser.add_argument("log")
    parser.add_argument("chunks")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.rows < 1:
        parser.error("--rows: expected at least 1")
    write(options.log, options.chunks, options.rows, options.seed)


if __name__ == "__main__":
    main()
