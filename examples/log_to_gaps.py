"""From a log of questions and answers to the gaps of the knowledge base: topics, what failed in each, chunks unused.

::

    python examples/log_to_gaps.py [LOG.jsonl]

Questions become vectors of their letters' trigrams here, so that nothing has to be installed; an embedder that knows
what words mean, such as ``embedder="wordllama"``, finds topics across wordings and languages.
"""

from __future__ import annotations

import json
import sys
import warnings
import zlib
from pathlib import Path

import numpy as np
import pyarrow as pa

import fastmetrics as fm

warnings.simplefilter("ignore", fm.ScoreWarning)  # some rows are in scripts without spaces, on purpose


def trigrams(texts: list[str]) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    """How often each text has each of 512 groups of three letters."""
    vectors = np.zeros((len(texts), 512), np.float32)
    for row, text in enumerate(texts):
        padded = f"  {text.lower()}  "
        for at in range(len(padded) - 2):
            vectors[row, zlib.crc32(padded[at : at + 3].encode()) % 512] += 1
    return vectors


def main(path: str) -> None:
    """Print what users ask, the widest gaps, and how much of the knowledge base the answers used."""
    domain = fm.logs.domain_analysis(path)
    print(f"{domain.questions} questions, {domain.distinct} distinct, {domain.answered} answered")
    print("scripts:", ", ".join(f"{name} {count}" for name, count in domain.scripts.items()))

    rows = pa.Table.from_pylist([json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()])
    log = rows.append_column("token_f1", fm.score(rows, metrics="token_f1")["token_f1"])
    found = fm.logs.topic_coverage(log, topics=12, embedder=trigrams, scores="token_f1", failure="token_f1")
    print("\nthe widest gaps: questions lost, of how many, with how many chunks")
    for number in found.gaps[:5]:
        topic = found.topics[number]
        print(f"  {topic.gap:5.1f} of {topic.questions:3}  {topic.chunks:3} chunks  {topic.samples[0]}")

    use = fm.logs.chunk_utilization(path, k=1)
    print(
        f"\n{use.used_chunks} chunks came first; {use.chunks_filling_share} of them fill {use.share:.0%} of the places"
    )


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else str(Path(__file__).with_name("answers.jsonl")))
