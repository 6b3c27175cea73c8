"""Vectors: ours beside scikit-learn, NumPy and bm25s, in turns, on the same rows; into ``bench/results``.

::

    python -m bench.vectors moments exact          two of the contests
    python -m bench.vectors match --data FOLDER    questions and FAQ of real rows (the folder FASTMETRICS_DATA names)
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench.compare import RESULTS, calls
from bench.machine import machine

DIM = 384
Rows = np.ndarray[Any, Any]


def clustered(rows: int, dim: int = DIM, seed: int = 0) -> Rows:
    """Unit rows around a thousand centres."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((1000, dim), dtype=np.float32)
    vectors = np.empty((rows, dim), np.float32)
    for start in range(0, rows, 50_000):
        part = vectors[start : start + 50_000]
        part[:] = centres[rng.integers(0, 1000, len(part))] + 0.5 * rng.standard_normal(part.shape, dtype=np.float32)
        part /= np.linalg.norm(part, axis=1, keepdims=True)
    return vectors


def moments(rows: int, repeats: int) -> list[dict[str, Any]]:
    """Spread, dimensionality, exact cosine mean and deviation of all pairs, against one float32 ``X.T @ X``."""
    from fastmetrics.base.threads import cores
    from fastmetrics.vectors.geometry_values import Moments
    from fastmetrics.vectors.pair_scan import Space, survey
    from fastmetrics.vectors.vector_arrays import Vectors, one_blas_thread

    vectors_of_size = clustered(rows)

    def ours(unit: bool) -> object:
        with one_blas_thread():
            vectors, threads = Vectors.of(vectors_of_size), cores()
            seen = survey(vectors, threads)
            moments = Moments(Space(vectors, seen, "cosine"), threads)
            plain = moments if unit else Moments(Space(vectors, seen, "euclidean"), threads)
            spread = np.sqrt(plain.squares)
            return moments.of_halves(), plain.dimensionality(), spread.mean(), spread.max(), spread.std()

    name = "second moments, against X.T @ X"
    results = [calls(name, lambda: ours(True), lambda: vectors_of_size.T @ vectors_of_size, (rows, rows), repeats)]
    vectors_of_size *= np.random.default_rng(1).uniform(0.5, 2.0, (rows, 1)).astype(np.float32)
    name = "second moments of rows of any length, against one X.T @ X"
    return [
        *results,
        calls(name, lambda: ours(False), lambda: vectors_of_size.T @ vectors_of_size, (rows, rows), repeats),
    ]


def exact(rows: int, repeats: int) -> list[dict[str, Any]]:
    """All twelve values exactly, against scikit-learn's pair distances alone and neighbours alone."""
    from sklearn.metrics import pairwise_distances_chunked
    from sklearn.neighbors import NearestNeighbors

    import fastmetrics as fm

    corpus = clustered(rows)

    def chunked() -> object:
        return sum(chunk.sum() for chunk in pairwise_distances_chunked(corpus, metric="cosine"))

    def brute() -> object:
        return NearestNeighbors(n_neighbors=11, metric="cosine", algorithm="brute").fit(corpus).kneighbors(corpus)

    def ours() -> object:
        return fm.vectors.geometry(corpus)

    return [
        calls("geometry, against pairwise_distances_chunked", ours, chunked, (rows, rows), repeats),
        calls("geometry, against NearestNeighbors brute", ours, brute, (rows, rows), repeats),
    ]


def match(rows: int, repeats: int) -> list[dict[str, Any]]:
    """Questions against the rows of a FAQ: scikit-learn's sparse product, and bm25s compiled by Numba."""
    from pyarrow import parquet

    folder = Path(os.environ["FASTMETRICS_DATA"])

    def texts(name: str, column: str) -> list[str]:
        column_texts = parquet.read_table(folder / f"{name}.parquet", columns=[column])[column]
        return [text for text in column_texts.to_pylist() if text]

    faq, answers = texts("common/dstc9_faq_kb", "question"), texts("dev/dstc9_runs", "answer")
    sets = ("banking77", "clinc150", "evouna_qa", "halueval_general", "halueval_qa", "openqa_outputs", "xquad_en_ru")
    kinds = {
        "turns' questions as they come": texts("dev/dstc9_runs", "question"),
        "long answers as they come": answers,
        "people's questions, each once": sorted({text for name in sets for text in texts(f"dev/{name}", "question")}),
        "long answers, each once": sorted(set(answers)),
    }
    results = []
    for kind, known_questions in kinds.items():
        shuffled = np.random.default_rng(0).permutation(known_questions).tolist()
        repeated = shuffled if kind.endswith("once") else shuffled * (rows // len(known_questions) + 1)
        results += _match(kind, repeated[:rows], faq, repeats)
    return results


def _match(kind: str, user_questions: list[str], faq: list[str], repeats: int) -> list[dict[str, Any]]:
    import bm25s
    import pyarrow as pa
    from sklearn.feature_extraction.text import CountVectorizer

    import fastmetrics as fm

    questions, fewer = pa.array(user_questions), user_questions[: len(user_questions) // 4]

    def sparse() -> object:
        counter = CountVectorizer(binary=True, token_pattern=r"\S+")
        matrix = counter.fit_transform(faq).astype(np.float32)
        norms = np.sqrt(np.maximum(matrix.sum(axis=1), 1)).A1
        best = []
        for start in range(0, len(fewer), 1000):
            product = (counter.transform(fewer[start : start + 1000]).astype(np.float32) @ matrix.T).toarray()
            best.append((product / norms).argmax(axis=1))
        return best

    def bm25() -> object:
        index = bm25s.BM25(backend="numba")
        index.index(bm25s.tokenize(faq, stopwords=[], show_progress=False), show_progress=False)
        tokens = bm25s.tokenize(fewer, stopwords=[], show_progress=False)
        return index.retrieve(tokens, k=1, show_progress=False, n_threads=2)

    sizes = len(user_questions), len(fewer)
    distinct = {"distinct_questions": len(set(user_questions))}
    results = [
        calls(
            f"{kind}, against CountVectorizer and a sparse product",
            lambda: fm.retrieval.match_faq(questions, faq),
            sparse,
            sizes,
            repeats,
        ),
        calls(
            f"{kind}, against bm25s with Numba", lambda: fm.retrieval.match_faq(questions, faq), bm25, sizes, repeats
        ),
    ]
    return [result | distinct for result in results]


CONTESTS: dict[str, tuple[Callable[[int, int], list[dict[str, Any]]], int]] = {
    "moments": (moments, 1_000_000),
    "exact": (exact, 20_000),
    "match": (match, 100_000),
}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.vectors", description="Time vectors against the peers.")
    parser.add_argument("contests", nargs="*", metavar="CONTEST", help=f"any of {', '.join(CONTESTS)}; default: all")
    parser.add_argument("--rows", type=int, help="by default as many as each contest is about")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    for name in options.contests or CONTESTS:
        contest, rows = CONTESTS[name]
        began = time.perf_counter()
        results = contest(options.rows or rows, options.repeats)
        report = {"name": f"vectors-{name}", "machine": machine(), "results": results}
        (RESULTS / f"vectors-{name}.json").write_text(json.dumps(report, indent=2) + "\n")
        for result in results:
            print({key: value for key, value in result.items() if key not in ("ours", "peer")}, flush=True)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(f"{name}: {time.perf_counter() - began:.0f} s, peak {peak} MB", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
