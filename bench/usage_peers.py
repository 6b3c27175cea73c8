"""What a user would write in plain Python to know the use of chunks and the domain of a log, with care for its speed.

As a program it is the whole job on one Parquet file: ``python -m bench.usage_peers usage log.parquet chunks.parquet``.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections import Counter
from typing import Any

import pyarrow.parquet as pq

K = 10
CITED = re.compile(r"\[(\d+)\]")
WORD = re.compile(r"[\w-]{3,}")
UNKNOWN = re.compile(r"i (do not|don't|don’t) know|не знаю", re.IGNORECASE)
BATCH = 65_536


def usage(log: str, chunks: str) -> dict[str, Any]:
    """Chunks retrieved and cited, and by which share of them the knowledge base is used."""
    retrieved: Counter[str] = Counter()
    cited: Counter[str] = Counter()
    ranks: Counter[str] = Counter()
    for batch in pq.ParquetFile(log).iter_batches(BATCH, columns=["retrieved_ids", "answer"]):
        columns = (batch.column(name).to_pylist() for name in ("retrieved_ids", "answer"))
        for ids, answer in zip(*columns, strict=True):
            top = dict.fromkeys(ids[:K])
            retrieved.update(list(top))
            for rank, document in enumerate(top, 1):
                ranks[document] += rank
            numbers = {int(number) for number in CITED.findall(answer)}
            cited.update({ids[number - 1] for number in numbers if 1 <= number <= len(ids)})
    every = pq.read_table(chunks)["chunk_id"].to_pylist()
    used = sum(document in retrieved for document in every)
    return {"used_chunks": used, "utilization_rate": used / len(every), "never_cited": len(retrieved) - len(cited)}


def domain(log: str) -> dict[str, Any]:
    """Words of all and of answered questions, scripts, repeats, ratings, hours."""
    words: Counter[str] = Counter()
    good: Counter[str] = Counter()
    scripts: Counter[str] = Counter()
    ratings: Counter[int] = Counter()
    hours: Counter[int] = Counter()
    seen: set[int] = set()
    script: dict[str, str] = {}
    answered = questions = 0
    names = ("question", "answer", "rating", "timestamp")
    for batch in pq.ParquetFile(log).iter_batches(BATCH, columns=list(names)):
        for question, answer, rating, time in zip(*(batch.column(name).to_pylist() for name in names), strict=True):
            questions += 1
            lowered = question.lower()
            question_words = WORD.findall(lowered)
            words.update(question_words)
            seen.add(hash(lowered.strip()))
            if answer and answer.strip() and not UNKNOWN.search(answer):
                answered += 1
                good.update(question_words)
            letter = next((character for character in question if character.isalpha()), "")
            if letter and letter not in script:
                script[letter] = unicodedata.name(letter).split()[0]
            scripts[script.get(letter, "none")] += 1
            ratings[rating] += 1
            hours[time.hour] += 1
    return {"questions": questions, "answered": answered, "distinct": len(seen), "words": words.most_common(50)}


if __name__ == "__main__":
    print({"usage": usage, "domain": domain}[sys.argv[1]](*sys.argv[2:]))
