"""Dividing groups of rows: every group is on one side, and the sides have about the same share of each class."""

from __future__ import annotations

import numpy as np

from fastmetrics.base.arrays import Floats, Ints

_CLASSES = 4
"""Labels that are no classes are balanced by quarters of their order."""


def folds_of(labels: Floats, groups: Ints, n_folds: int, seed: int) -> Ints:
    """The number of each row's fold."""
    rng = np.random.default_rng([seed, n_folds, len(labels)])
    strata = _strata(labels)
    numbers, first, inverse, sizes = np.unique(groups, return_index=True, return_inverse=True, return_counts=True)
    order = rng.permutation(len(numbers))
    if len(numbers) == len(groups):
        return _singles(strata[first], order, n_folds)[inverse]
    counts = np.zeros((len(numbers), int(strata.max()) + 1))
    np.add.at(counts, (inverse, strata), 1)
    counts /= counts.sum(axis=0)  # in shares of each class
    loads = np.zeros((n_folds, counts.shape[1]))
    folds = np.empty(len(numbers), np.int64)
    for group in order[np.argsort(-sizes[order], kind="stable")]:
        change = ((loads + counts[group]) ** 2).sum(axis=1) - (loads**2).sum(axis=1)
        folds[group] = np.argmin(change + 1e-12 * loads.sum(axis=1))
        loads[folds[group]] += counts[group]
    return folds[inverse]


def _strata(labels: Floats) -> Ints:
    """The class of each label, or the quarter of its rank."""
    distinct, codes = np.unique(labels, return_inverse=True)
    if len(distinct) <= _CLASSES:
        return codes.astype(np.int64)
    return np.argsort(np.argsort(labels, kind="stable"), kind="stable") * _CLASSES // len(labels)


def _singles(strata: Ints, order: Ints, n_folds: int) -> Ints:
    """The folds of rows without groups: those of each class are dealt out in turn."""
    folds = np.empty(len(strata), np.int64)
    dealt = order[np.argsort(strata[order], kind="stable")]
    folds[dealt] = np.arange(len(strata)) % n_folds
    return folds


def part_of_groups(labels: Floats, groups: Ints, share: float, seed: int) -> Ints:
    """The rows of a share of the groups, in order."""
    pieces = max(round(1 / share), 2)
    return np.flatnonzero(folds_of(labels, groups, pieces, seed) == 0)
