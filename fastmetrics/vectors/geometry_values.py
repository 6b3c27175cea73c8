"""Second moments of many vectors, and statistics of all pairs computed from them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.display import Grid, Shown, lines_of, plain
from fastmetrics.base.errors import InputError, UnknownNameError
from fastmetrics.base.notes import Note, said
from fastmetrics.base.options import ExactWork, Neighbours, Seed, Whole, argument
from fastmetrics.base.shared_parameters import Help
from fastmetrics.base.threads import cores, ordered
from fastmetrics.vectors.pair_scan import BLOCK, Floats, Join, Space, Survey, join, nearest_of, survey
from fastmetrics.vectors.vector_arrays import METRICS, Ids, Metric, Vectors, VectorsLike, one_blas_thread

_SHARE = 0.95
_PAIRS = 200_000
_DOUBLE_WORK = 2e10  # up to this many multiplications, second moments are computed in float64


class Moments:
    """Second moments of the points of a space, and statistics of all pairs computed from them.

    With v the centred rows, q = ‖v‖², C = Σ v vᵀ and h a row's summand in its pairs' half squared distances t:
    t_ij = h_i + h_j − v_i·v_j and Σv = 0, so the mean and variance of t over all pairs follow from C, Σq, Σh², Σhq.
    """

    def __init__(self, space: Space, threads: int) -> None:
        self.count = len(space)
        self.squares = np.empty(self.count)
        dim = space.vectors.dim
        scatter = np.zeros((dim, dim))
        double = self.count * dim**2 <= _DOUBLE_WORK

        def part(start: int) -> npt.NDArray[Any]:
            rows = space.rows[start : start + BLOCK]
            rounded, self.squares[start : start + BLOCK] = space.centred(rows)
            points = space.fine(space.block(rows), space.scales(space.norms[rows])) if double else rounded
            return np.asarray(points.T @ points)

        for products in ordered(part, range(0, self.count, BLOCK), threads):
            scatter += products
        self.scatter = scatter / space.factor**2
        self.halves = space.halves(self.squares, space.scales(space.norms[space.rows]))

    def dimensionality(self) -> int:
        """Smallest number of eigenvalues with 95 % of the variance; 0 if all rows are equal."""
        values = np.clip(np.linalg.eigvalsh(self.scatter)[::-1], 0.0, None)
        cumulative = np.cumsum(values)
        if cumulative[-1] <= 0:
            return 0
        return int(np.searchsorted(cumulative, _SHARE * cumulative[-1]) + 1)

    def of_halves(self) -> tuple[float, float]:
        """Exact mean and variance of the half squared distances of all pairs."""
        pairs = 0.5 * self.count * (self.count - 1)
        q, middle = self.squares, float(self.halves.mean())
        off = self.halves - middle
        shift = float(q.sum()) / (2 * pairs)
        total = (self.count - 2) * (off @ off) + 2 * (off @ q) + 0.5 * (np.sum(self.scatter**2) - q @ q)
        return 2 * middle + shift, max(float(total) / pairs - shift**2, 0.0)


# Geometry of a set of embeddings: spread, dimensionality, neighbour and pair distances (the RAG benchmark, Tier 0).


@dataclass(frozen=True)
class GeometryEstimate:
    """How a value is estimated, the size of the sample, and the standard error if it is known."""

    method: str
    sample: int
    standard_error: float | None = None


@dataclass(frozen=True)
class Geometry(Shown):
    """The twelve values of an embedding space, the number of excluded rows, and the accuracy of each value.

    A value that is not named in ``estimates`` is exact. Undefined values are NaN: neighbour and pair distances of a
    single row.
    """

    metric: str
    k: int
    total_samples: int
    avg_nn_distance: float
    std_nn_distance: float
    density_score: float
    avg_spread: float
    max_spread: float
    spread_std: float
    effective_dimensionality: int
    avg_pairwise_distance: float
    std_pairwise_distance: float
    min_pairwise_distance: float
    max_pairwise_distance: float
    n_duplicates: int
    n_nonfinite: int
    n_zero_norm: int
    estimates: dict[str, GeometryEstimate] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Every value under its name; ``estimates`` as a dictionary of dictionaries without unknown parts."""
        known = {name: {k: v for k, v in vars(one).items() if v is not None} for name, one in self.estimates.items()}
        return {**plain(self), "estimates": known}

    @property
    def figures(self) -> dict[str, float]:
        """The values by name."""
        selected = [field.name for field in fields(self) if field.name not in ("metric", "k", "estimates")]
        return {name: float(getattr(self, name)) for name in selected}

    def grids(self) -> list[Grid]:
        """The values."""
        values = [(name, value) for name, value in self.to_dict().items() if name != "estimates"]
        return [
            lines_of(
                values,
                "figure=0",
                ("value", lambda one: f"{one[1]:.9g}" if isinstance(one[1], float) else str(one[1])),
            )
        ]

    def remarks(self) -> list[str]:
        """The zero vectors, and the accuracy of the values that are estimated."""
        zeros = self.n_zero_norm if self.metric == "cosine" else 0
        estimated = [
            Note("estimated" if one.standard_error is None else "estimated_within", name=name, **vars(one))
            for name, one in self.estimates.items()
        ]
        return said(zeros and Note("zero_rows", n=zeros), estimated)


class _Pairs(NamedTuple):
    """Results from pairs: neighbours' distances (rows × k), the smallest and largest distance, estimates."""

    neighbours: Floats
    mean: float
    std: float
    least: float
    most: float
    estimates: dict[str, GeometryEstimate]


def geometry(
    vectors: Annotated[VectorsLike, Help("An array, table, column or file of vectors.")],
    *,
    metric: Annotated[Metric, Help("Distance: cosine or euclidean.")] = "cosine",
    k: Annotated[int, Help("Number of neighbours of each row.")] = 10,
    column: shared.Column = None,
    sample: Annotated[int, Help("Size of the sample of rows for neighbours, if there are more rows.")] = 4096,
    exact_work: Annotated[float, Help("Multiplications up to which all pairs of rows are compared.")] = 5e11,
    seed: shared.Seed = 0,
    threads: shared.Threads = None,
) -> Geometry:
    """Measure the embedding space of N vectors of D numbers.

    ``avg_nn_distance`` and ``std_nn_distance`` are over the N·k distances to the k nearest other rows;
    ``density_score`` = 1/(avg_nn_distance + 1e-12); ``avg_spread``, ``max_spread`` and ``spread_std`` use the Euclidean
    distances to the centroid for every metric; ``effective_dimensionality`` is the number of eigenvalues of the
    covariance that explain 95 % of the variance; ``avg|std|min|max_pairwise_distance`` are over the N(N−1)/2 pairs.
    Standard deviations divide by the count.

    Rows that are not finite are excluded and counted in ``n_nonfinite``.  A zero vector has cosine distance 1 to every
    row.  With fewer than k+1 rows, k is N−1.  Spread, dimensionality, and mean and deviation of the cosine distances
    are exact at any size, the others while N²·D/2 ≤ ``exact_work``; beyond, neighbours and extremes are those of
    ``sample`` random rows, Euclidean means and deviations those of 200,000 random pairs, and ``estimates`` lists these
    figures.

    ``vectors`` is a 2-D array of floats, a table or column of lists, or paths of tables or .npy arrays.

    >>> result = geometry([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]], k=1)
    >>> round(result.avg_pairwise_distance, 6), result.max_pairwise_distance, result.effective_dimensionality
    (1.333333, 2.0, 2)

    Raises ``InputError`` if no finite row remains, ``ColumnError`` for rows of different lengths, ``UnknownNameError``
    for a distance other than cosine and euclidean, ``OptionError`` for a number out of its range.

    Source: the RAG benchmark, Tier 0.
    """
    if metric not in METRICS:
        raise UnknownNameError.of("distance", metric, METRICS)
    k = argument("k", k, Neighbours)
    argument("sample", sample, Whole(1, 100_000_000))
    argument("seed", seed, Seed)
    argument("exact_work", exact_work, ExactWork)
    workers = cores(threads)
    vectors = Vectors.of(vectors, column)
    with one_blas_thread():
        overview = survey(vectors, workers)
        if not overview.finite.any() or not vectors.dim:
            raise InputError(f"geometry: expected at least one finite vector in {vectors.rows} rows")
        space = Space(vectors, overview, metric)
        moments = Moments(space, workers)
        plain = moments if _same_space(space) else Moments(Space(vectors, overview, "euclidean"), workers)
        neighbours = min(k, len(space) - 1)
        if neighbours == 0:
            pairs = _Pairs(np.empty((0, 0)), np.nan, np.nan, np.nan, np.nan, {})
        elif 0.5 * len(space) ** 2 * vectors.dim <= exact_work:
            pairs = _all_pairs(space, moments, neighbours, workers)
        else:
            pairs = _some_pairs(space, moments, neighbours, sample, np.random.default_rng(seed), workers)
    return _result(space, overview, plain, pairs, neighbours)


def _result(space: Space, overview: Survey, plain: Moments, pairs: _Pairs, neighbours: int) -> Geometry:
    """The twelve values; ``plain`` are the moments of the original rows."""
    n_zero_norm, n_duplicates = int((overview.norms == 0).sum()), _duplicates(space)
    least, estimates = pairs.least, dict(pairs.estimates)
    if n_duplicates > (max(n_zero_norm - 1, 0) if space.metric == "cosine" else 0):
        least = 0.0
        estimates.pop("min_pairwise_distance", None)
    spread = np.sqrt(plain.squares)
    near = pairs.neighbours
    avg_nn = float(near.mean()) if near.size else np.nan
    return Geometry(
        metric=space.metric,
        k=neighbours,
        total_samples=len(space),
        avg_nn_distance=avg_nn,
        std_nn_distance=float(near.std()) if near.size else np.nan,
        density_score=1.0 / (avg_nn + 1e-12),
        avg_spread=float(spread.mean()),
        max_spread=float(spread.max()),
        spread_std=float(spread.std()),
        effective_dimensionality=plain.dimensionality() if n_duplicates < len(space) - 1 else 0,
        avg_pairwise_distance=pairs.mean,
        std_pairwise_distance=pairs.std,
        min_pairwise_distance=least,
        max_pairwise_distance=pairs.most,
        n_duplicates=n_duplicates,
        n_nonfinite=len(overview.norms) - len(space),
        n_zero_norm=n_zero_norm,
        estimates=estimates,
    )


def _same_space(space: Space) -> bool:
    """Whether the points are those of the original rows within the rounding of float32."""
    if space.metric == "euclidean":
        return True
    off = float(np.abs(space.norms[space.rows] - 1.0).max())
    return off <= 5e-7 and off * space.factor <= 5e-4  # ``factor`` is 1 / spread


def _duplicates(space: Space) -> int:
    """Number of finite rows that equal an earlier row: only rows of the same norm are compared."""
    norms = space.norms[space.rows]
    order = np.argsort(norms, kind="stable")
    equal = norms[order][1:] == norms[order][:-1]
    suspects = space.rows[order[np.append(False, equal) | np.append(equal, False)]]
    seen: set[bytes] = set()
    for start in range(0, len(suspects), BLOCK):
        rows = space.vectors.take(suspects[start : start + BLOCK]) + 0.0  # -0.0 equals 0.0
        seen.update(hashlib.blake2b(row.tobytes(), digest_size=16).digest() for row in rows)
    return len(suspects) - len(seen)


def _distances(space: Space, left: Ids, right: Ids) -> Floats:
    """The distance of each pair of rows."""
    blocks = (slice(start, start + BLOCK) for start in range(0, len(left), BLOCK))
    pairs = [space.rank(space.vectors.take(left[here]), right[here, None], 1)[1][:, 0] for here in blocks]
    return np.concatenate(pairs)


def _all_pairs(space: Space, moments: Moments, k: int, threads: int) -> _Pairs:
    half, variance = moments.of_halves()
    if space.metric == "cosine":
        joined = join(space, k, threads)
        mean, std = half, np.sqrt(variance)
    else:
        middle = float(np.sqrt(2 * half))
        joined = join(space, k, threads, centre_at=middle)
        pairs = 0.5 * len(space) * (len(space) - 1)
        off = joined.sums[0] / pairs
        mean, std = middle + off, np.sqrt(max(joined.sums[1] / pairs - off**2, 0.0))
    return _Pairs(joined.distances, mean, float(std), *_extremes(space, joined), {})


def _extremes(space: Space, joined: Join) -> tuple[float, float]:
    far = _distances(space, *(np.array([row]) for row in joined.farthest))
    return float(joined.distances[:, 0].min()), float(far[0])


def _some_pairs(space: Space, moments: Moments, k: int, sample: int, rng: np.random.Generator, threads: int) -> _Pairs:
    """Values of a sample of rows, each compared with every row, and of a sample of pairs."""
    count = len(space)
    rows = space.rows[np.sort(rng.choice(count, min(sample, count), replace=False))]
    joined = nearest_of(space, Vectors.of(space.vectors.take(rows)), rows, k, threads)
    estimates = _neighbour_estimates(joined.distances, count)
    for name, what in {"min": "nearest", "max": "farthest"}.items():
        estimates[f"{name}_pairwise_distance"] = GeometryEstimate(f"{what} of the sampled rows", len(rows))
    mean, variance = moments.of_halves()
    std = float(np.sqrt(variance))
    if space.metric == "euclidean":
        left = rng.integers(0, count, _PAIRS)
        right = (left + rng.integers(1, count, _PAIRS)) % count
        distances = _distances(space, space.rows[left], space.rows[right])
        mean, std = float(distances.mean()), float(distances.std())
        squares = (distances - mean) ** 2
        errors = np.array([std, squares.std() / (2 * std) if std > 0 else 0.0]) / np.sqrt(_PAIRS)
        for name, error in zip(("avg", "std"), errors.tolist(), strict=True):
            estimates[f"{name}_pairwise_distance"] = GeometryEstimate("random pairs", _PAIRS, error)
    return _Pairs(joined.distances, mean, std, *_extremes(space, joined), estimates)


def _neighbour_estimates(near: Floats, count: int) -> dict[str, GeometryEstimate]:
    """Standard errors of the neighbour values of a sample drawn without replacement; undefined for one row."""
    rows, method = len(near), "exact neighbours of random rows"
    if rows == 1:
        return {name: GeometryEstimate(method, 1) for name in ("avg_nn_distance", "std_nn_distance", "density_score")}
    mean, std = near.mean(), near.std()
    correction = np.sqrt((count - rows) / (count - 1) / rows)
    of_mean = float(near.mean(axis=1).std(ddof=1) * correction)
    influence = (((near - mean) ** 2).mean(axis=1) - std**2) / (2 * std if std > 0 else 1.0)
    of_std = float(influence.std(ddof=1) * correction)
    return {
        "avg_nn_distance": GeometryEstimate(method, rows, of_mean),
        "std_nn_distance": GeometryEstimate(method, rows, of_std),
        "density_score": GeometryEstimate(method, rows, of_mean / float(mean + 1e-12) ** 2),
    }
