"""sacreBLEU's paired tests beside the package's, which give the same numbers, from texts on and from counts on."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import fastmetrics as fm

SYSTEMS = ("baseline", "other")
_METRICS = {"BLEU": "corpus_bleu", "chrF2": "corpus_chrf"}


def made_texts(rows: int) -> tuple[list[str], list[list[str]]]:
    """References of 8 to 40 words, and the sentences of two systems that have 30 % and 29 % of the words wrong."""
    chance = random.Random(7)
    letters = "etaoinshrdlcumwfgypbvkjxqz"
    words = ["".join(chance.choices(letters, k=chance.randint(1, 9))) for _ in range(20_000)]
    references = [chance.choices(words, k=chance.randint(8, 40)) for _ in range(rows)]

    def translated(wrong: float) -> list[str]:
        return [
            " ".join(w if chance.random() > wrong else chance.choice(words) for w in words_of_text)
            for words_of_text in references
        ]

    return [" ".join(words_of_text) for words_of_text in references], [translated(0.3), translated(0.29)]


def paired(metric: str, test: str, rows: int, threads: int, repeats: int) -> dict[str, Any]:
    """One of sacreBLEU's tests of two systems with one metric: the package's and sacreBLEU's own, turn by turn."""
    references, systems = made_texts(rows)
    name = _METRICS[metric]

    def scored() -> dict[str, Any]:
        return {
            system: fm.score(
                {"id": range(rows), "answer": answers, "reference": references},
                name,
                keep_counts=True,
                threads=threads,
            )
            for system, answers in zip(SYSTEMS, systems, strict=True)
        }

    def ours(runs: dict[str, Any]) -> Any:
        return fm.sacrebleu_paired(runs, test=test, metrics=name, threads=threads)

    stored, counted, texts = scored(), _peer(metric, references, remembering=True), _peer(metric, references)
    seconds = _timed(
        [
            lambda: ours(scored()),
            lambda: _tested(texts, systems, test),
            lambda: ours(stored),
            lambda: _tested(counted, systems, test),
        ],
        repeats,
    )
    _check_same(ours(stored), _tested(counted, systems, test))
    whole, peer, alone, peer_alone = seconds
    return {
        "what": f"sacreBLEU --paired-{test}, {metric}",
        "rows": rows,
        "samples": {"bs": 1_000, "ar": 10_000}[test],
        "threads": threads,
        "seconds": round(whole, 4),
        "peer_seconds": round(peer, 3),
        "ratio": round(peer / whole, 1),
        "resampling_seconds": round(alone, 4),
        "peer_resampling_seconds": round(peer_alone, 3),
        "resampling_ratio": round(peer_alone / alone, 1),
    }


def _peer(metric: str, references: Sequence[str], *, remembering: bool = False) -> Any:
    """sacreBLEU's metric; ``remembering`` the counts of the sentences that it has seen, so that resampling is left."""
    from sacrebleu.metrics import BLEU, CHRF

    base: Any = {"BLEU": BLEU, "chrF2": CHRF}[metric]

    class Remembering(base):  # type: ignore[misc]
        """Counts each list of sentences once."""

        def __init__(self, **options: Any) -> None:
            self.seen: dict[int, Any] = {}
            super().__init__(**options)

        def _extract_corpus_statistics(self, hypotheses: Any, references: Any) -> Any:
            if id(hypotheses) not in self.seen:
                self.seen[id(hypotheses)] = super()._extract_corpus_statistics(hypotheses, references)
            return self.seen[id(hypotheses)]

    return (Remembering if remembering else base)(references=[list(references)])


def _tested(metric: Any, systems: Sequence[list[str]], test: str) -> dict[str, Any]:
    from sacrebleu.significance import PairedTest

    results: dict[str, Any] = PairedTest(list(zip(SYSTEMS, systems, strict=True)), {"metric": metric}, None, test)()[1]
    return results


def _check_same(ours: Any, theirs: dict[str, Any]) -> None:
    """Raise ``AssertionError`` unless every number is the same."""
    for own, other in zip(ours.results[0], theirs[ours.names[0]], strict=True):
        if (own.score, own.p, own.mean, own.ci) != (other.score, other.p_value, other.mean, other.ci):
            raise AssertionError(f"{own} is not {vars(other)}")


def _timed(works: Sequence[Callable[[], Any]], repeats: int) -> list[float]:
    """The median of each work, turn by turn; each runs once untimed before, as the others cool its caches."""
    turns = []
    for _ in range(repeats):
        turn = []
        for work in works:
            work()
            start = time.perf_counter()
            work()
            turn.append(time.perf_counter() - start)
        turns.append(turn)
    return [statistics.median(column) for column in zip(*turns, strict=True)]
