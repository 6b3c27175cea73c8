"""Corpus metrics resampled from the counts of rows, in plain Python: the draws of the package, word by word."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Counts = Sequence[Sequence[int]]
_GOLDEN, _MASK = 0x9E3779B97F4A7C15, 2**64 - 1


def _mix(state: int) -> int:
    z = state & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


def _stream(seed: int, resample: int) -> int:
    return _mix(_mix(seed + _GOLDEN) ^ (resample * 0xD1342543DE82EF95 & _MASK))


def drawn_rows(n: int, seed: int, resample: int) -> list[int]:
    """The rows of one sample with replacement, of at most 1,024 rows."""
    state = _stream(_mix(_stream(seed, resample)), 0)
    if n < 1024:
        return [(_mix(state + (i + 1) * _GOLDEN) >> 32) * n >> 32 for i in range(n)]
    draws = [_mix(state + (i + 1) * _GOLDEN) for i in range(-(-n // 6))]
    return [z >> 10 * place & 1023 for z in draws for place in range(6)][:n]


def swapped(n: int, seed: int, resample: int) -> list[bool]:
    """Whether the sign of each row is +."""
    state = _stream(seed, resample)
    words = [_mix(state + (word + 1) * _GOLDEN) for word in range(-(-n // 64))]
    return [not words[row // 64] >> row % 64 & 1 for row in range(n)]


def added(counts: Counts, rows: Sequence[int]) -> list[int]:
    """The sums of the counts of these rows."""
    return [sum(counts[row][column] for row in rows) for column in range(len(counts[0]))]


def bootstrapped(
    first: Counts, second: Counts, value: Callable[[list[int]], float], resamples: int, seed: int
) -> list[float]:
    """The differences of the values of samples with replacement."""
    samples = [drawn_rows(len(first), seed, resample) for resample in range(resamples)]
    return [value(added(second, rows)) - value(added(first, rows)) for rows in samples]


def swap_p(first: Counts, second: Counts, value: Callable[[list[int]], float], resamples: int, seed: int) -> float:
    """p of approximate randomisation of rows that have more than ``resamples`` patterns."""
    everything = range(len(first))
    delta = abs(value(added(second, everything)) - value(added(first, everything)))
    reached = 0
    for resample in range(resamples):
        keeps = swapped(len(first), seed, resample)
        mixed = [a if keep else b for keep, a, b in zip(keeps, first, second, strict=True)]
        other = [b if keep else a for keep, a, b in zip(keeps, first, second, strict=True)]
        reached += abs(value(added(other, everything)) - value(added(mixed, everything))) >= delta
    return (1 + reached) / (1 + resamples)
