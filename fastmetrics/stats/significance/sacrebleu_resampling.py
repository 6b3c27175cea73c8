"""sacreBLEU's paired tests from the counts of sentences: identical results, random draws and order of operations.

sacreBLEU 2.6, ``sacrebleu/significance.py``: paired bootstrap resampling (Koehn 2004) and paired approximate
randomisation (Riezler and Maxwell 2005).  Every system and metric uses the same draws,
because the generator is seeded again for each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastmetrics.core.arrays import Ints, Uint64s
from fastmetrics.core.process.threads import Crew, ordered
from fastmetrics.kernels.stats.numpy_draws import bounded, float_sums, selected_sums, word_sums
from fastmetrics.stats.significance.packed_counts import Packed

_EXACT = 1 << 24
"""Below this, float32 represents all integers exactly."""
_CELLS = 1 << 19
"""Number of rows drawn at a time."""
_SAMPLES = 512
"""Number of trials drawn at a time, one bit per row: a multiple of 64, so that a block starts at a raw draw."""
_RAW = 1 << 18
"""Number of raw draws made at a time."""


@dataclass(frozen=True)
class SystemCounts:
    """One metric of one system: the counts of its rows, its value, and sacreBLEU's formula for other sums.

    ``scores`` takes rows of sums as NumPy's int64 or float32, and returns an array of the type that NumPy infers from
    sacreBLEU's list of scores.
    """

    counts: Ints
    value: float
    scores: Callable[[NDArray[Any]], NDArray[Any]]


@dataclass(frozen=True)
class PairedScore:
    """sacreBLEU's results for one system and one metric; None for values that its test does not compute."""

    score: float
    p: float | None = None
    mean: float | None = None
    ci: float | None = None


class Draws:
    """The draws of ``numpy.random.default_rng(seed)``, derived from the same raw bits.

    A context manager: another thread draws the next ``words`` raw words while the current ones are used.
    """

    def __init__(self, seed: int, words: int = _RAW) -> None:
        self._words = words
        self._bits = np.random.default_rng(seed).bit_generator
        self._raw: Uint64s = np.zeros(0, np.uint64)
        self._at = 0
        self._crew = Crew(1, "fastmetrics-draws")
        self._next: Future[Uint64s] | None = None

    def __enter__(self) -> Draws:
        return self

    def __exit__(self, *exc: object) -> None:
        self._crew.dismiss()

    def _refill(self) -> Uint64s:
        """Switch to the next raw bits, and start drawing the following ones."""
        words = (self._next or self._crew.submit(self._bits.random_raw, self._words)).result()
        self._next = self._crew.submit(self._bits.random_raw, self._words)
        return words

    def choices(self, n: int, size: int) -> NDArray[np.int32]:
        """The same draws as ``choice(n, size)``."""
        out = np.zeros(size, np.int32)
        done = size if n == 1 else 0  # NumPy draws no number if n is 1
        while done < size:
            if self._at >= 2 * len(self._raw):
                self._raw, self._at = self._refill(), 0
            count, self._at = bounded(self._raw, self._at, n, out[done:])
            done += count
        return out

    def flags(self, size: int) -> Uint64s:
        """The draws of ``integers(2, size=size, dtype=bool)`` of a new generator or after a multiple of 64; as bits."""
        words = self._bits.random_raw(-(-size // 64))
        if -(-size // 32) % 2:  # the unused half of the last raw draw is used next
            self._raw, self._at = words[-1:], 1
        return words


def paired_bootstrap(
    systems: Sequence[Sequence[SystemCounts]], samples: int, seed: int, threads: int
) -> list[list[PairedScore]]:
    """``--paired-bs``: for each system, the baseline first, the score of each metric."""
    with Draws(seed) as draws:
        drawn = _resampled(systems, draws, samples, threads)
    results = [
        [PairedScore(counted.value, None, *_interval(x)) for counted, x in zip(systems[0], drawn[0], strict=True)]
    ]
    for system, scores in zip(systems[1:], drawn[1:], strict=True):
        row = []
        for first, other, x, y in zip(systems[0], system, drawn[0], scores, strict=True):
            apart = np.abs(y - x)
            p = _p(apart - apart.mean(), abs(first.value - other.value))
            row.append(PairedScore(other.value, p, *_interval(y)))
        results.append(row)
    return results


def paired_randomisation(
    systems: Sequence[Sequence[SystemCounts]], samples: int, seed: int, threads: int, confidence: int = 0
) -> list[list[PairedScore]]:
    """``--paired-ar``: the same, with means and intervals of ``confidence`` resamples if it is not 0."""
    first, others = systems[0], systems[1:]
    pairs = [(base, other) for system in others for base, other in zip(first, system, strict=True)]
    with Draws(seed) as draws, Draws(seed) as anew:
        p = _swap_ps(pairs, draws, samples, threads)
        scores_by_system = [[PairedScore(counted.value) for counted in first]]
        scores_by_system += [[PairedScore(counted.value, p.pop(0)) for counted in system] for system in others]
        if not confidence:
            return scores_by_system
        drawn = [*_resampled([first], anew, confidence, threads), *_resampled(others, draws, confidence, threads)]
    return [
        [PairedScore(result.score, result.p, *_interval(scores)) for result, scores in zip(row, some, strict=True)]
        for row, some in zip(scores_by_system, drawn, strict=True)
    ]


def _swap_ps(
    pairs: Sequence[tuple[SystemCounts, SystemCounts]], draws: Draws, samples: int, threads: int
) -> list[float]:
    """The p value of each pair from randomly swapped rows; all pairs use the same swaps."""
    apart = np.concatenate([base.counts - other.counts for base, other in pairs], axis=1)
    packed = Packed.of(apart, np.abs(apart).sum(axis=0), signed=True)

    def select(words: Uint64s, n_samples: int) -> Ints:
        out = np.empty((len(packed.words), n_samples), np.int64)
        for values, sums in zip(packed.words, out, strict=True):
            selected_sums(values, words, sums)
        return out.T

    sizes = [min(_SAMPLES, samples - first) for first in range(0, samples, _SAMPLES)]
    flags = ((draws.flags(size * len(apart)), size) for size in sizes)
    sums = packed.unpacked(np.concatenate(list(ordered(lambda batch: select(*batch), flags, threads))))
    p_values = []
    for (base, other), some in zip(
        pairs, np.split(sums, np.cumsum([base.counts.shape[1] for base, _ in pairs])[:-1], axis=1), strict=True
    ):
        a, b = base.scores(other.counts.sum(axis=0) + some), base.scores(base.counts.sum(axis=0) - some)
        p_values.append(_p(np.abs(a - b), abs(base.value - other.value)))
    return p_values


def _resampled(
    systems: Sequence[Sequence[SystemCounts]], draws: Draws, samples: int, threads: int
) -> list[list[NDArray[Any]]]:
    """The scores of each system and metric over rows drawn with replacement, the same rows for all."""
    each = [counted for system in systems for counted in system]
    counts = np.concatenate([counted.counts for counted in each], axis=1)
    n = len(counts)
    block = max(1, _CELLS // n)
    rows = (draws.choices(n, n * min(block, samples - first)) for first in range(0, samples, block))
    sums = np.concatenate(list(ordered(_adder(counts), rows, threads)))
    split = np.split(sums, np.cumsum([counted.counts.shape[1] for counted in each])[:-1], axis=1)
    scores = iter([counted.scores(np.ascontiguousarray(some)) for counted, some in zip(each, split, strict=True)])
    return [[next(scores) for _ in system] for system in systems]


def _adder(counts: Ints) -> Callable[[NDArray[np.int32]], NDArray[np.float32]]:
    """The function that sums drawn rows in float32, in order; in integers if float32 would be exact."""
    n = len(counts)
    least, most = counts.min(axis=0), counts.max(axis=0)
    if most.max() * n < _EXACT:
        packed = Packed.of(counts - least, (most - least) * n)
        used = len(packed.words)
        words = np.zeros((-(-used // 4) * 4, n), np.int64)
        words[:used] = packed.words
        words = np.ascontiguousarray(words.reshape(-1, 4, n).transpose(0, 2, 1))

        def add_words(rows: NDArray[np.int32]) -> NDArray[np.float32]:
            out = np.empty((len(rows) // n, 4 * len(words)), np.int64)
            word_sums(words, rows, out)
            return (packed.unpacked(out[:, :used]) + least * n).astype(np.float32)

        return add_words
    table = counts.astype(np.float32)

    def add_floats(rows: NDArray[np.int32]) -> NDArray[np.float32]:
        out = np.empty((len(rows) // n, table.shape[1]), np.float32)
        float_sums(table, rows, out)
        return out

    return add_floats


def _interval(scores: NDArray[Any]) -> tuple[float, float]:
    """The mean of the scores, and half the width of their central 95 % interval."""
    scores = np.sort(scores)
    cut = len(scores) // 40
    return float(scores.mean()), float(0.5 * (scores[len(scores) - cut - 1] - scores[cut]))


def _p(resampled: NDArray[Any], difference: float) -> float:
    return (int(np.sum(resampled > difference)) + 1) / (len(resampled) + 1)
