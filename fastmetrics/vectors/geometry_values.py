"""Second moments of many vectors, and statistics of all pairs computed from them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.display import Grid, Shown
from fastmetrics.base.errors import InputError, UnknownNameError
from fastmetrics.base.options import ExactWork, Neighbours, Seed, Whole, argument
from fastmetrics.base.shared_parameters import Help
from fastmetrics.base.threads import cores, ordered
from fastmetrics.vectors.pair_scan import (
    BLOCK,
    Cloud,
    Floats,
    Join,
    Survey,
    digests,
    farthest,
    join,
    scan,
    survey,
    zero_note,
)
from fastmetrics.vectors.vector_arrays import METRICS, Metric, Vectors, VectorsLike, one_blas_thread

_SHARE = 0.95
_DOUBLE_WORK = 2e10  # up to this many multiplications, second moments are computed in float64


class Moments:
    """Second moments of a cloud's centred rows, and statistics of all pairs computed from them.

    With v the centred rows, q = ‖v‖², C = Σ v vᵀ and h a row's summand in its pairs' half squared distances t:
    t_ij = h_i + h_j − v_i·v_j and Σv = 0, so the mean and variance of t over all pairs follow from C, Σq, Σh², Σhq.
    """

    def __init__(self, cloud: Cloud, threads: int) -> None:
        count = len(cloud)
        self.count = count
        self.cloud = cloud
        self.squares = np.empty(count)
        scatter = np.zeros((cloud.vectors.dim, cloud.vectors.dim))

        double = count * cloud.vectors.dim**2 <= _DOUBLE_WORK

        def part(start: int) -> npt.NDArray[Any]:
            stop = min(start + BLOCK, count)
            rows, self.squares[start:stop] = cloud.centred(start, stop)
            fine = cloud.centred_in_float64(start, stop) if double else rows
            return fine.T @ fine

        for products in ordered(part, range(0, count, BLOCK), threads):
            scatter += products
        self.scatter = scatter / cloud.factor**2
        self.halves = cloud.halves(self.squares, slice(None))

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

    def diameter_bound(self) -> float:
        """Upper bound of the diameter: the sum of the two largest distances to the centre."""
        radii = np.sort(np.sqrt(self.squares))[-2:]
        if self.cloud.metric == "euclidean":
            return float(radii.sum())
        return float(min(2.0, max(0.5 * radii.sum() ** 2, 1.0 if self.cloud.zero.any() else 0.0)))


# Geometry of a set of embeddings: spread, dimensionality, neighbour and pair distances (the RAG benchmark, Tier 0).


@dataclass(frozen=True)
class GeometryEstimate:
    """The accuracy of an estimated value: sample size, standard error, and bounds if known."""

    method: str
    sample: int | None = None
    standard_error: float | None = None
    low: float | None = None
    high: float | None = None


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
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        plain["estimates"] = {
            name: {key: value for key, value in asdict(estimate).items() if value is not None}
            for name, estimate in self.estimates.items()
        }
        return plain

    @property
    def figures(self) -> dict[str, float]:
        """The values by name."""
        selected = [field.name for field in fields(self) if field.name not in ("metric", "k", "estimates")]
        return {name: float(getattr(self, name)) for name in selected}

    def grids(self) -> list[Grid]:
        """The values."""
        values = {name: value for name, value in self.to_dict().items() if name != "estimates"}
        shown = {name: f"{value:.9g}" if isinstance(value, float) else str(value) for name, value in values.items()}
        return [Grid(("figure", "value"), list(shown.items()))]

    def remarks(self) -> list[str]:
        """The zero vectors, and the accuracy of the values that are estimated."""
        zeros = self.n_zero_norm if self.metric == "cosine" else 0
        estimated = [f"{name}: {_shown(estimate)}" for name, estimate in self.estimates.items()]
        return [*zero_note(zeros, "rows", "distance 1 to every row stands for it"), *estimated]


def _shown(estimate: GeometryEstimate) -> str:
    parts = [estimate.method]
    if estimate.sample is not None:
        parts.append(f"sample of {estimate.sample:,}")
    if estimate.standard_error is not None:
        parts.append(f"standard error {estimate.standard_error:.2g}")
    if estimate.low is not None and estimate.high is not None:
        parts.append(f"between {estimate.low:.9g} and {estimate.high:.9g}")
    return "; ".join(parts)


@dataclass(frozen=True)
class _Pairs:
    """Results from pairs: neighbours' distances (rows × k), the smallest and largest distance, estimates."""

    neighbours: Floats
    mean: float
    std: float
    least: float
    most: float
    estimates: dict[str, GeometryEstimate]


class _Samples(NamedTuple):
    rows: int
    pairs: int
    seed: int


def geometry(
    vectors: Annotated[VectorsLike, Help("An array, table, column or file of vectors.")],
    *,
    metric: Annotated[Metric, Help("Distance: cosine or euclidean.")] = "cosine",
    k: Annotated[int, Help("Number of neighbours of each row.")] = 10,
    column: shared.Column = None,
    sample: Annotated[int, Help("Size of the sample of rows for neighbours, if there are more rows.")] = 4096,
    pair_sample: Annotated[int, Help("Number of random pairs of rows.")] = 200_000,
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
    are exact at any size, the others while N²·D/2 ≤ ``exact_work``; beyond, neighbours are those of ``sample`` random
    rows, Euclidean means come from ``pair_sample`` random pairs, extremes are bounds, and ``estimates`` lists these
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
    for name, value in (("sample", sample), ("pair_sample", pair_sample)):
        argument(name, value, Whole(1, 100_000_000))
    argument("seed", seed, Seed)
    argument("exact_work", exact_work, ExactWork)
    workers = cores(threads)
    vectors = Vectors.of(vectors, column)
    with one_blas_thread():
        overview = survey(vectors, workers)
        if not overview.finite.any() or not vectors.dim:
            raise InputError(f"geometry: expected at least one finite vector in {vectors.rows} rows")
        cloud = Cloud(vectors, overview, metric)
        moments = Moments(cloud, workers)
        plain = moments if _same_space(cloud, overview) else Moments(Cloud(vectors, overview, "euclidean"), workers)
        neighbours = min(k, len(cloud) - 1)
        budget = 0.5 * len(cloud) ** 2 * vectors.dim <= exact_work
        n_duplicates = _duplicates(cloud, overview)
        if neighbours == 0:
            pairs = _Pairs(np.empty((0, 0)), np.nan, np.nan, np.nan, np.nan, {})
        elif budget:
            pairs = _all_pairs(cloud, moments, neighbours, workers)
        else:
            pairs = _some_pairs(cloud, moments, neighbours, _Samples(sample, pair_sample, seed), workers)
    return _result(cloud, overview, plain, pairs, neighbours, n_duplicates)


def _result(
    cloud: Cloud, overview: Survey, plain: Moments, pairs: _Pairs, neighbours: int, n_duplicates: int
) -> Geometry:
    """The twelve values; ``plain`` are the moments of the original rows."""
    n_zero_norm = int((overview.norms == 0).sum())
    least, estimates = pairs.least, pairs.estimates
    if n_duplicates > (max(n_zero_norm - 1, 0) if cloud.metric == "cosine" else 0):
        least = 0.0
        estimates = {name: estimate for name, estimate in estimates.items() if name != "min_pairwise_distance"}
    spread = np.sqrt(plain.squares)
    near = pairs.neighbours
    avg_nn = float(near.mean()) if near.size else np.nan
    return Geometry(
        metric=cloud.metric,
        k=neighbours,
        total_samples=len(cloud),
        avg_nn_distance=avg_nn,
        std_nn_distance=float(near.std()) if near.size else np.nan,
        density_score=1.0 / (avg_nn + 1e-12),
        avg_spread=float(spread.mean()),
        max_spread=float(spread.max()),
        spread_std=float(spread.std()),
        effective_dimensionality=plain.dimensionality() if n_duplicates < len(cloud) - 1 else 0,
        avg_pairwise_distance=pairs.mean,
        std_pairwise_distance=pairs.std,
        min_pairwise_distance=least,
        max_pairwise_distance=pairs.most,
        n_duplicates=n_duplicates,
        n_nonfinite=len(overview.norms) - len(cloud),
        n_zero_norm=n_zero_norm,
        estimates=estimates,
    )


def _same_space(cloud: Cloud, overview: Survey) -> bool:
    """Whether the cloud's rows equal the original rows within the rounding of float32."""
    if cloud.metric == "euclidean":
        return True
    off = float(np.abs(overview.norms[cloud.rows] - 1.0).max())
    return off <= 5e-7 and off * cloud.factor <= 5e-4  # ``factor`` is 1 / spread


def _duplicates(cloud: Cloud, overview: Survey) -> int:
    """Number of finite rows that equal an earlier row: only rows of the same norm are compared."""
    norms = overview.norms[cloud.rows]
    order = np.argsort(norms, kind="stable")
    equal = norms[order][1:] == norms[order][:-1]
    suspects = order[np.append(False, equal) | np.append(equal, False)]
    seen: set[bytes] = set()
    for start in range(0, len(suspects), BLOCK):
        seen.update(digests(cloud.vectors.take(cloud.rows[suspects[start : start + BLOCK]])))
    return len(suspects) - len(seen)


def _extremes(cloud: Cloud, joined: Join) -> tuple[float, float]:
    far = cloud.pair_halves(*(np.array([row]) for row in joined.farthest))
    return float(cloud.distance(joined.halves[:, 0]).min()), float(cloud.distance(far)[0])


def _all_pairs(cloud: Cloud, moments: Moments, k: int, threads: int) -> _Pairs:
    mean, variance = moments.of_halves()
    if cloud.metric == "cosine":
        joined = join(cloud, k, threads)
        std = np.sqrt(variance)
    else:
        middle = float(np.sqrt(2 * mean))
        joined = join(cloud, k, threads, centre_at=middle)
        pairs = 0.5 * len(cloud) * (len(cloud) - 1)
        off = joined.sums[0] / pairs
        mean, std = middle + off, np.sqrt(max(joined.sums[1] / pairs - off**2, 0.0))
    return _Pairs(cloud.distance(joined.halves), mean, float(std), *_extremes(cloud, joined), {})


def _some_pairs(cloud: Cloud, moments: Moments, k: int, samples: _Samples, threads: int) -> _Pairs:
    count = len(cloud)
    rng = np.random.default_rng(samples.seed)
    sample = np.sort(rng.choice(count, min(samples.rows, count), replace=False))
    joined = scan(cloud, sample, k, threads)
    outer = np.argsort(-moments.squares, kind="stable")[:16]
    pair = farthest(cloud, np.unique(np.append(outer, joined.farthest)), 3, threads)
    least, most = _extremes(cloud, Join(joined.ids, joined.halves, pair))
    near = cloud.distance(joined.halves)
    estimates = _neighbour_estimates(near, count)
    estimates["min_pairwise_distance"] = GeometryEstimate(
        "nearest of the sampled rows", len(sample), low=0.0, high=least
    )
    ceiling = moments.diameter_bound()
    estimates["max_pairwise_distance"] = GeometryEstimate("farthest-point sweeps", low=most, high=max(ceiling, most))
    mean, variance = moments.of_halves()
    std = float(np.sqrt(variance))
    if cloud.metric == "euclidean":
        square = 2 * mean
        mean, error = _mean_distance(cloud, (mean, variance), samples.pairs, rng)
        std = float(np.sqrt(max(square - mean**2, 0.0)))
        method = "random pairs, squared distances as control variates"
        estimates["avg_pairwise_distance"] = GeometryEstimate(method, samples.pairs, error)
        slope = mean / std if std > 0 else 0.0
        estimates["std_pairwise_distance"] = GeometryEstimate(
            "from the mean and the exact mean square", samples.pairs, None if error is None else slope * error
        )
    return _Pairs(near, mean, std, least, most, estimates)


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


def _mean_distance(
    cloud: Cloud, exact: tuple[float, float], pairs: int, rng: np.random.Generator
) -> tuple[float, float | None]:
    """Mean distance over all pairs and its standard error, from random pairs; no error if the fit is exact.

    Control variates are the half squared distance t and t², whose means over all pairs are known.
    """
    count = len(cloud)
    left = rng.integers(0, count, pairs)
    right = (left + rng.integers(1, count, pairs)) % count
    halves = cloud.pair_halves(left, right)
    mean, variance = exact
    scale = np.sqrt(variance) or 1.0
    off = (halves - mean) / scale
    controls = np.column_stack([np.ones(pairs), off, off**2 - variance / scale**2])
    distances = np.sqrt(2 * halves)
    inverse = np.linalg.pinv(controls)
    fit = inverse @ distances
    spare = np.maximum(1.0 - np.sum(controls * inverse.T, axis=1), 1e-9)  # HC3: rare near pairs have high leverage
    error = np.linalg.norm(inverse[0] * (distances - controls @ fit) / spare)
    return float(fit[0]), float(error) if pairs > controls.shape[1] else None
