"""ROUGE, BLEU, chrF and TF-IDF on one core against the packages, in one process and in turns.

::

    taskset -c 0 python -m bench.generation

writes ``bench/results/generation.json``.  It needs the packages ``bleuscore`` and ``rouge-score-rs``.  The peers in
Python score a slice of the rows; that the slice's scores are equal to ours is checked beforehand.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import statistics
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics import BLEU, CHRF
from sklearn.feature_extraction.text import TfidfVectorizer

import fastmetrics as fm
from bench import data
from bench.compare import Side, contest
from bench.machine import machine

RESULT = Path(__file__).parent / "results" / "generation.json"
TARGETS: dict[str, dict[str, float]] = {
    "rouge1+2+L": {"rouge-score-rs": 2.5, "rouge-score": 200},
    "rouge1+2+L, stemmer": {"rouge-score-rs": 4, "rouge-score": 250},
    "rouge1+2+L+Lsum": {"rouge-score-rs": 4, "rouge-score": 200},
    "bleu": {"sacrebleu": 40, "bleuscore": 12},
    "corpus_bleu": {"sacrebleu": 40},
    "chrf": {"sacrebleu": 40},
    "tfidf_cosine": {"scikit-learn": 20},
}

Strings = list[str]
Peer = Callable[[Strings, Strings], Any]


def rouge_peers(types: list[str], stemmer: bool) -> dict[str, tuple[int, Peer]]:
    """Both packages; each with the share of the rows it is given."""
    from rouge_score_rs.rouge_scorer import RougeScorer as RustScorer  # no extra installs it

    slow, fast = RougeScorer(types, use_stemmer=stemmer), RustScorer(types, use_stemmer=stemmer)
    return {
        "rouge-score-rs": (4, lambda answers, references: fast.score_batch(references, answers)),
        "rouge-score-rs, a call a pair": (4, lambda answers, references: list(map(fast.score, references, answers))),
        "rouge-score": (100, lambda answers, references: list(map(slow.score, references, answers))),
    }


def by_sentence(scorer: Any, answers: Strings, references: Strings) -> list[float]:
    """sacreBLEU's score of each pair."""
    return [
        scorer.sentence_score(answer, [reference]).score for answer, reference in zip(answers, references, strict=True)
    ]


def by_pair(answers: Strings, references: Strings) -> list[float]:
    """scikit-learn fitted on each pair."""
    scores = []
    for pair in zip(answers, references, strict=True):
        vectors = TfidfVectorizer().fit_transform(pair)
        scores.append((vectors[0] @ vectors[1].T).toarray()[0, 0])
    return scores


def contests(answers: Any, references: Any) -> dict[str, tuple[Callable[[], Any], dict[str, tuple[int, Peer]]]]:
    """Ours and its peers, by name."""
    import bleuscore  # no extra installs it

    basic, all_types = ["rouge1", "rouge2", "rougeL"], ["rouge1", "rouge2", "rougeL", "rougeLsum"]
    chrf = CHRF()
    # a new scorer each time, as they remember the texts they have cut
    sentences = {
        "sacrebleu": (100, lambda a, r: by_sentence(BLEU(effective_order=True), a, r)),
        "bleuscore": (20, lambda a, r: [bleuscore.compute([[y]], [x])["bleu"] for x, y in zip(a, r, strict=True)]),
    }
    spelled = {"sacrebleu": (400, lambda a, r: by_sentence(chrf, a, r))}
    both = (answers, references)
    return {
        "rouge1+2+L": (lambda: fm.rouge(*both, types=basic, threads=1), rouge_peers(basic, False)),
        "rouge1+2+L, stemmer": (
            lambda: fm.rouge(*both, types=basic, stemmer=True, threads=1),
            rouge_peers(basic, True),
        ),
        "rouge1+2+L+Lsum": (lambda: fm.rouge(*both, types=all_types, threads=1), rouge_peers(all_types, False)),
        "bleu": (lambda: fm.bleu(*both, threads=1), sentences),
        "corpus_bleu": (
            lambda: fm.corpus_bleu(*both, threads=1).score,
            {"sacrebleu": (100, lambda a, r: BLEU().corpus_score(a, [r]).score)},
        ),
        "chrf": (lambda: fm.chrf(*both, threads=1), spelled),
        "tfidf_cosine": (lambda: fm.tfidf_cosine(*both, threads=1), {"scikit-learn": (50, by_pair)}),
    }


def seconds(function: Callable[[], Any]) -> float:
    """The processor time of one call: on one core that is the wall time of a machine with nothing else to do."""
    start = time.process_time()
    function()
    return time.process_time() - start


def check(answers: Strings, references: Strings) -> None:
    """Ours and the packages' numbers on a few rows."""
    rouge = fm.rouge(answers, references, types=["rougeLsum"], stemmer=True)["rougeLsum_f1"]
    scorer = RougeScorer(["rougeLsum"], use_stemmer=True)
    assert rouge.tolist() == [
        scorer.score(r, a)["rougeLsum"].fmeasure for a, r in zip(answers, references, strict=True)
    ]
    for ours, (_, peers) in contests(answers, references).items():
        if ours in ("bleu", "chrf", "tfidf_cosine"):
            _, peer = next(iter(peers.values()))
            np.testing.assert_allclose(getattr(fm, ours)(answers, references), peer(answers, references), 1e-12)


def long_pair(texts: tuple[Strings, Strings], repeats: int) -> dict[str, Any]:
    """One pair of 10,000 words a side, in milliseconds."""
    answers, references = ([" ".join(" ".join(column).split()[:10_000])] for column in texts)
    types = ["rouge1", "rouge2", "rougeL", "rougeLsum"]
    times = [seconds(lambda: fm.rouge(answers, references, types=types, threads=1)) for _ in range(repeats + 1)][1:]
    return {"words": 10_000, "milliseconds": round(1000 * statistics.median(times), 2), "target": 60}


def in_turns(
    name: str,
    ours: Callable[[], Any],
    peers: dict[str, tuple[int, Peer]],
    texts: tuple[Strings, Strings],
    repeats: int,
    targets: Mapping[str, float],
) -> list[dict[str, Any]]:
    """Ours against each peer, after one call of ours that is not counted."""
    ours()
    rows = len(texts[0])
    our_side = Side("fastmetrics", rows)
    theirs = {peer: Side(peer, max(rows // share, 1)) for peer, (share, _) in peers.items()}
    for _ in range(repeats):
        our_side.seconds.append(seconds(ours))
        for peer, (_, function) in peers.items():
            few = [column[: theirs[peer].rows] for column in texts]
            theirs[peer].seconds.append(seconds(partial(function, *few)))
    contests = []
    for peer, side in theirs.items():
        result = contest(f"{name} against {peer}", our_side, side)
        fastest = (rows / min(our_side.seconds)) / (side.rows / min(side.seconds))
        contests.append({**result, "ratio_of_fastest": round(fastest, 2), "target": targets.get(peer)})
        print(
            f"{result['name']:45} {result['ours']['rows_per_second']:10,} rows/s  {result['ratio']}, "
            f"of fastest {fastest:.2f}"
        )
    return contests


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rows", type=int, default=20_480)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    table = data.table(options.rows).combine_chunks()
    answers, references = table["answer"], table["reference"]
    texts = answers.to_pylist(), references.to_pylist()
    check(texts[0][:100], texts[1][:100])
    results: list[dict[str, Any]] = []
    for name, (ours, peers) in contests(answers, references).items():
        results += in_turns(name, ours, peers, texts, options.repeats, TARGETS[name])
    pair = long_pair(texts, options.repeats)
    print(f"one pair of 10,000 words a side: {pair['milliseconds']} ms")
    report = {
        "name": "generation",
        "clock": "processor seconds of one thread on one core",
        "cores": len(os.sched_getaffinity(0)),
        "machine": machine(),
        "results": results,
        "long pair": pair,
    }
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
