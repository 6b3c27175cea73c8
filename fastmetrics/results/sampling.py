"""Rows for a dear score: drawn with known probabilities, and put back beside all rows, with a prediction for each.

**The design.** Rows are strata: five quantiles of one number within each segment, the first principal component of the
cheap columns, or with a pilot the dear score that they predict.  A row has a random number, a hash of its id and the
seed, and the rows with the smallest numbers of a stratum are drawn, so that neither the order of rows nor the engine
shows, and that a larger sample contains a smaller one.  Without a pilot, strata get rows in proportion to their sizes;
with one by Neyman's allocation, of which a third is in proportion, since a pilot may be wrong.  A ridge regression of
the dear score on the cheap columns, fitted without the tenth of the rows that it predicts, is the prediction.
:mod:`fastmetrics.stats.sampled_means` estimates from both.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.arrays import Floats, Ints, Uint64s, floats_of_arrow, is_text, plain_array
from fastmetrics.base.column_names import COLUMNS, distinct, is_axis
from fastmetrics.base.columns import as_array, as_given
from fastmetrics.base.errors import Argument, ColumnError, InputError, OptionError, UnknownNameError
from fastmetrics.base.options import Seed, Whole, argument, check_names
from fastmetrics.base.score_metadata import RowCounts
from fastmetrics.base.shared_parameters import Help
from fastmetrics.base.text_structure import as_flags
from fastmetrics.results.opening_scores import open_scores, read_table
from fastmetrics.results.row_groups import segments_of
from fastmetrics.results.score_columns import INCLUSION, PREDICTED, SAMPLE, check_drawn, column_named
from fastmetrics.results.score_table import ScoreTable, labels_of
from fastmetrics.results.worst_rows import TEXTS, TextSource
from fastmetrics.stats.fingerprints import fingerprint_of_hashes, fingerprint_text, mixed, text_hashes
from fastmetrics.tables.opening import is_paths

_STRATA, _FEW_ROWS, _LEAST = 5, 50, 2
"""Strata of a segment, the rows below which it is one, and the fewest rows to draw of a stratum."""
_IN_PROPORTION, _PRIOR, _PENALTY, _FOLDS, _MOST_SEGMENTS = 0.3, 5, 2.0, 10, 25


def sample(
    scores: shared.Scores,
    *,
    budget: Annotated[int, Help("Rows to draw; of a second sample, rows to add.")],
    for_: Annotated[
        str | None,
        Help("The dear column that is to be made for the drawn rows: judge_faithfulness. Default: judged's."),
    ] = None,
    using: Annotated[
        Sequence[str] | str,
        Help("Cheap columns that tell something about it: token_f1,overlap_faithfulness. Default: judged's."),
    ] = (),
    by: shared.By = None,
    pilot: Annotated[Any, Help("Rows that have the dear column, which tell where it varies most.")] = None,
    judged: Annotated[Any, Help("An earlier sample of these rows with its scores, to which rows are added.")] = None,
    texts: Annotated[Any, Help("The file that was scored, for its texts.")] = None,
    on: shared.On = None,
    seed: shared.Seed = 0,
) -> Any:
    """Rows for a score that is too dear for all of them, each drawn with a known probability.

    ``scores`` is a score file or table with ids and the cheap columns ``using``.  The rows are drawn from strata: of
    the segments ``by`` columns, and in them of quantiles of the cheap columns, or of what they predict by a ``pilot``,
    a file or table of rows with both (or of ids among the scores).  The pilot also tells how many rows each stratum
    needs.  The same ``seed`` draws the same rows in any order.

    The sample, a frame where one of pandas or Polars came in, else an Arrow table, has all columns of the rows, those
    of ``texts`` that they lack, the probability of each row, and what it is a sample of.  Let a judge, a model or
    people make the dear column (numbers, or yes and no), then put it back with :func:`with_sample`.  With ``judged``,
    an earlier sample with its scores, the new sample contains its rows too, and has the options that it was drawn with.

    >>> rows = {"id": range(200), "token_f1": [n % 7 / 6 for n in range(200)]}
    >>> drawn = sample(rows, budget=20, for_="judge_x", using="token_f1")
    >>> drawn.num_rows, drawn.column_names
    (20, ['id', 'token_f1', 'judge_x_inclusion', 'judge_x_sample'])

    Raises ``OptionError`` for a budget above the number of rows or below two rows for each stratum,
    ``UnknownNameError`` for an unknown column, ``ColumnError`` without ids, ``InputError`` for duplicate ids, a pilot
    of one value and another sample than of these rows.

    Source: Neyman 1934; Zrnic and Candès 2024.
    """
    argument("budget", budget, Whole(1, 100_000_000))
    argument("seed", seed, Seed)
    check_names(for_=for_, on=on)
    if judged is not None:
        judged = open_scores(judged, table="judged")
        known_for, facts = _design_of(judged)
        for_, using, by = for_ or known_for, using or facts["using"], facts["by"] if by is None else by
        seed = seed or facts["seed"]
    if for_ is None:
        ways = ": name the dear column that is to be made, and cheap ones with "
        raise OptionError(Argument("for_"), ways, Argument("using"))
    rows = Rows.of(scores, distinct(using, "using"), distinct(by, "by"), seed, on, for_)
    known = None if judged is None else _Drawn.of(judged, rows, for_)
    cut = rows.strata(None if pilot is None else rows.pilot(pilot, for_))
    sizes, spreads = np.bincount(cut.codes), cut.spreads
    least = np.minimum(sizes, _LEAST)
    if known is not None:
        least = np.bincount(cut.codes[known.rows], minlength=len(sizes))
        if not np.array_equal(np.sort(known.rows), np.flatnonzero(cut.ranks < least[cut.codes])):
            raise InputError(
                f"{known.name} is a sample of other strata: draw the second with the pilot of the first, ",
                Argument("pilot"),
            )
        budget, spreads = budget + len(known.rows), cut.of_labels(known.features, known.values, known.rows)
    if not least.sum() <= budget <= len(rows.order):
        few = f"{least.sum():,} rows or more, for {len(sizes):,} strata"
        expected = few if budget < least.sum() else f"no more than the {len(rows.order):,} rows"
        raise OptionError(Argument("budget", budget), f": expected {expected}")
    drawn = np.flatnonzero(cut.ranks < (counts := allocated(sizes, spreads, budget, least))[cut.codes])
    shares, own = (counts / sizes)[cut.codes[drawn]], pa.array(rows.order[drawn])
    names = [name for name in rows.run.columns if name not in beside(for_)]
    table = pa.table({name: _plain(rows.run.read([name]).column(0)).take(own) for name in names})
    if texts is not None:
        lacking = [name for name in TEXTS if not {name, *COLUMNS[name].aliases} & {*names}]
        added = TextSource(texts, on=on).beside(rows.run).added(pa.table({"id": table[rows.key]}), lacking)
        for name in added.column_names[1:]:
            table = table.append_column(name, added[name])
    table = table.append_column(for_ + INCLUSION, pa.array(shares))
    table = table.append_column(for_ + SAMPLE, pa.array([rows.said] * len(drawn), pa.string()))
    if known is not None and not is_axis(for_):  # a judge replies from its store
        places = np.full(len(rows.order), np.nan)
        places[known.rows] = known.values
        table = table.append_column(for_, pa.array(places[drawn], from_pandas=True))
    by_id = [_plain(table[name]) for name in (rows.key, *rows.run.settings_columns)]
    by_place = pa.table(by_id, [str(place) for place in range(len(by_id))])
    table = table.take(pc.sort_indices(by_place, [(name, "ascending") for name in by_place.column_names]))
    return as_given(table, scores, rows.run.index)


def with_sample(
    scores: shared.Scores,
    judged: Annotated[Any, Help("The drawn rows with their dear column, or with drawn their ids and this column.")],
    *,
    drawn: Annotated[Any, Help("The sample itself, if what was judged has ids and scores only.")] = None,
    on: shared.On = None,
) -> Any:
    """All rows with the dear column of a sample: null where a row was not drawn, with its probability and a prediction.

    ``scores`` are the rows of which :func:`sample` drew ``judged``, a file or table that has got its dear column since:
    numbers, booleans, or yes and no.  A sheet of ids and scores alone is joined with the rows of ``drawn``.  From the
    result (a frame where one of pandas or Polars came in), ``summarize``, ``compare``, ``gate`` and ``report`` estimate
    the mean over all rows by themselves.  The columns ``…_inclusion`` and ``…_predicted`` belong to the dear column:
    the probability of each drawn row, null for others, and what the cheap columns predict for every row.

    >>> rows = {"id": range(200), "token_f1": [n % 7 / 6 for n in range(200)]}
    >>> drawn = sample(rows, budget=20, for_="judge_x", using="token_f1")
    >>> whole = with_sample(rows, drawn.append_column("judge_x", drawn["token_f1"]))
    >>> whole.num_rows, whole["judge_x"].null_count, whole.column_names[2:]
    (200, 180, ['judge_x', 'judge_x_inclusion', 'judge_x_predicted'])

    Raises ``ColumnError`` if the dear column is missing, ``InputError`` for a sample of another table, a probability of
    0 or above 1, and rows of the sample that are missing.
    """
    check_names(on=on)
    if drawn is not None:
        judged = _with_sheet(open_scores(drawn, table="drawn"), judged, on)
    run = open_scores(judged, table="judged")
    for_, facts = _design_of(run)
    rows = Rows.of(scores, facts["using"], facts["by"], facts["seed"], on, for_)
    known = _Drawn.of(run, rows, for_)
    values, shares = (np.full(len(rows.order), np.nan) for _ in range(2))
    values[rows.order[known.rows]], shares[rows.order[known.rows]] = known.values, known.shares
    predicted = np.empty(len(rows.order))
    predicted[rows.order] = rows.predicted(known.rows, known.values, 1 / known.shares)
    names = [name for name in rows.run.columns if name not in beside(for_)]
    table = rows.run.read(names)
    is_flag = pa.types.is_boolean(_numbers(run, for_).type)
    for name, column in ((for_, values), (for_ + INCLUSION, shares), (for_ + PREDICTED, predicted)):
        numbers = pa.array(column, from_pandas=True)
        table = table.append_column(name, numbers.cast(pa.bool_()) if is_flag and name == for_ else numbers)
    metadata = rows.run.metadata
    if for_ in run.declared:
        metadata = replace(metadata, declared={**(metadata.declared or {}), for_: run.declared[for_].to_json()})
    if metadata.metrics is not None:
        counts = RowCounts(len(values), int(np.isnan(values).sum()), 0, 0)
        metadata = replace(metadata, metrics={**metadata.metrics, for_: counts})
    return as_given(
        table.replace_schema_metadata({**(table.schema.metadata or {}), **metadata.for_schema()}),
        scores,
        rows.run.index,
    )


def _with_sheet(drawn: ScoreTable, sheet: Any, on: str | None) -> pa.Table:
    """The rows of a sample with the scores of a sheet, which has their ids and one other column, or the dear one.

    Raises ``ColumnError`` for a sheet without such columns, ``InputError`` for ids twice, or of rows that were not
    drawn.
    """
    for_, _ = _design_of(drawn)
    if is_paths(sheet):
        sheet = read_table(sheet, {"id", on or "id", *((drawn.id_column,) if drawn.id_column else ())})
    run = open_scores(sheet, table="judged")
    keys = [name for name in drawn.settings_columns if name in run.columns]
    key = on or drawn.id_column
    own = key if key in run.columns else run.id_column
    if key is None or own is None or (key not in run.columns and on is not None):
        raise ColumnError(f"{run.name} has no ids of the sample; name them with ", Argument("on"))
    others = [name for name in run.columns if name not in (own, *keys, *run.index)]
    if for_ not in others and len(others) != 1:
        raise ColumnError(f"{run.name} has no column {for_!r}; its columns are {', '.join(run.columns)}")
    ids, labels = (labels_of([of.texts(name), *map(of.column, keys)]) for of, name in ((drawn, key), (run, own)))
    for of, some in ((drawn, ids), (run, labels)):
        if pc.count_distinct(some).as_py() < len(some):
            raise InputError(f"{of.name}: several rows have one id; expected each once")
    lost = pc.index_in(labels, value_set=ids).is_null()
    if pc.any(lost).as_py():
        raise InputError(f"{run.name}: the row with the id {run.texts(own).filter(lost)[0].as_py()!r} was not drawn")
    column = run.column(for_ if for_ in others else others[0]).take(pc.index_in(ids, value_set=labels))
    table = drawn.read([name for name in drawn.columns if name != for_])
    return table.append_column(for_, column)


def _numbers(run: ScoreTable, name: str) -> pa.Array:
    """The column of a dear score, in which people may have written yes and no."""
    column = run.column(name)
    return as_flags(as_array(column, name), name) if is_text(column.type) else column


def _design_of(run: ScoreTable) -> tuple[str, dict[str, Any]]:
    """The dear column of a sample, and the options by which its rows were drawn.

    Raises ``ColumnError`` for a table that is no sample, ``InputError`` for one that does not tell these.
    """
    stem = [name.removesuffix(SAMPLE) for name in run.columns if name.endswith(SAMPLE)]
    if len(stem) != 1:
        none = f"it has no column …{SAMPLE} of fastmetrics sample (fm.sample)"
        raise ColumnError(f"{run.name} is no sample: {none}; a sheet of ids and scores needs it in ", Argument("drawn"))
    [for_] = stem
    try:
        facts = json.loads(run.column(for_ + SAMPLE)[0].as_py())
        return for_, {name: facts[name] for name in ("using", "by", "seed")}
    except (IndexError, KeyError, TypeError, ValueError) as error:  # no row, or none of fastmetrics sample
        what = f"{for_ + SAMPLE} does not tell what its rows are a sample of"
        raise InputError(
            f"{run.name}: {what}; expected rows of fastmetrics sample (fm.sample), at least one"
        ) from error


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column in a layout that Arrow takes rows of and sorts."""
    return pa.chunked_array([plain_array(chunk) for chunk in column.chunks])


def beside(for_: str) -> tuple[str, ...]:
    """A dear column and those that belong to it."""
    return for_, for_ + INCLUSION, for_ + PREDICTED, for_ + SAMPLE


# The rows in the order of their random numbers, so that sums do not depend on the order of the table.


@dataclass(frozen=True)
class _Strata:
    """The stratum of each row, its place in the stratum, and the standard deviation of the dear score in each."""

    codes: Ints
    number: Floats
    """By whose quantiles the rows are divided."""
    spreads: Floats

    @cached_property
    def ranks(self) -> Ints:
        """The number of rows of the stratum before each row."""
        order = np.argsort(self.codes, kind="stable")
        starts = np.searchsorted(self.codes[order], np.arange(len(self.spreads)))
        ranks = np.empty(len(order), np.int64)
        ranks[order] = np.arange(len(order)) - starts[self.codes[order]]
        return ranks

    def of_labels(self, features: Floats, values: Floats, rows: Ints | None, number: Floats | None = None) -> Floats:
        """The standard deviation in each stratum of what the features do not tell about these values.

        It is that of the labels in the same fifth of all rows, and few of them are drawn towards that of all labels.
        """
        has = ~np.isnan(values)
        number = (self.number[rows] if number is None else number)[has]
        rest = values[has] - cross_fitted(features[has], values[has], np.ones(int(has.sum())))[0]
        edges = np.unique(np.quantile(self.number, np.arange(1, _STRATA) / _STRATA))
        fifths, every = (np.searchsorted(edges, some, side="right") for some in (number, self.number))
        counts, sums = (np.bincount(fifths, weights, len(edges) + 1) for weights in (None, rest**2))
        variances = (sums + _PRIOR * float(np.mean(rest**2))) / (counts + _PRIOR)
        return np.sqrt(np.bincount(self.codes, variances[every]) / np.bincount(self.codes))


@dataclass(frozen=True)
class Pilot:
    """Rows with the dear score: their features and scores."""

    features: Floats
    values: Floats


@dataclass(frozen=True)
class Rows:
    """All rows in the order of their random numbers."""

    run: ScoreTable
    key: str
    keys: Uint64s
    """A hash of the id and the settings of each row."""
    order: Ints
    using: Sequence[str]
    cheap: Floats
    segments: Ints
    said: str
    """The design as JSON: a fingerprint of the ids and cheap columns, and the options."""

    @classmethod
    def of(cls, scores: Any, using: Sequence[str], by: Sequence[str], seed: int, on: str | None, for_: str) -> Rows:
        """The rows of a table; raises the errors of :func:`sample`."""
        run = open_scores(scores, asked=using)
        names = [_named(name, [name for name in run.scores if name not in beside(for_)]) for name in using]
        if not names:
            raise OptionError(Argument("using"), ": name a cheap column")
        key = run.key(on)
        if key is None:
            raise ColumnError(
                f"{run.name} has no ids, by which rows are drawn and found again; name them with ", Argument("on")
            )
        ids, keys = _keys(run, key)
        if len(distinct_keys := np.unique(keys)) < len(keys):
            many = len(keys) - len(distinct_keys)
            raise InputError(f"{run.name}: {many:,} rows have the id of another; a sample needs one row of each")
        order = np.lexsort((keys, mixed(ids ^ mixed(np.full(len(ids), seed, np.uint64)))))
        cheap = np.stack([run.values(name)[order] for name in names], axis=1)
        segments = np.zeros(len(order), np.int64)
        for place, segment in enumerate(
            segments_of([(name, run.column(name, "for segments")) for name in by]) if by else []
        ):
            segments[segment.rows] = place
        bits = [np.where(np.isnan(column), 0.0, column + 0.0).view(np.uint64) for column in cheap.T]
        print_ = fingerprint_text(fingerprint_of_hashes([keys[order], *bits]))
        facts = {"table": print_, "using": names, "by": [*by], "seed": seed}
        return cls(run, key, keys[order], order, names, cheap, segments[order], json.dumps(facts))

    @cached_property
    def _scales(self) -> tuple[Floats, Floats]:
        """The means and standard deviations of the cheap columns."""
        has = ~np.isnan(self.cheap)
        counts = np.maximum(has.sum(axis=0), 1)
        means = np.where(has, self.cheap, 0.0).sum(axis=0) / counts
        spreads = np.sqrt(np.where(has, (self.cheap - means) ** 2, 0.0).sum(axis=0) / counts)
        return means, np.where(spreads > 0, spreads, np.inf)

    def _standard(self, cheap: Floats) -> Floats:
        return np.where(np.isnan(cheap), 0.0, (cheap - self._scales[0]) / self._scales[1])

    @cached_property
    def _axis(self) -> Floats:
        """The first principal component of the cheap columns."""
        standard = self._standard(self.cheap)
        axis = np.linalg.eigh(standard.T @ standard)[1][:, -1]
        return np.asarray(axis * (1.0 if axis[np.abs(axis).argmax()] > 0 else -1.0), np.float64)

    def _component(self, cheap: Floats) -> Floats:
        return products(self._standard(cheap), self._axis)

    def features(self, cheap: Floats, segments: Ints | None = None) -> Floats:
        """What predicts: the standardised cheap columns, the square of their first principal component, for scores that
        are highest in the middle, where columns are missing, and the segments if they are few.
        """
        square = self._component(cheap)[:, None] ** 2 / cheap.shape[1]
        columns = [self._standard(cheap), square, np.isnan(cheap[:, np.isnan(self.cheap).any(axis=0)])]
        if segments is not None and 0 < (last := int(self.segments.max(initial=0))) <= _MOST_SEGMENTS:
            columns.append(segments[:, None] == np.arange(last + 1))
        return np.concatenate(columns, axis=1).astype(np.float64)

    def pilot(self, pilot: Any, for_: str) -> Pilot:
        """The rows of a pilot, with its cheap columns, or those of the same ids here."""
        run = open_scores(pilot, table="pilot")
        named = for_ if for_ in run.columns else _named(for_, run.scores)
        values = floats_of_arrow(_numbers(run, named), named)
        if all(name in run.scores for name in self.using):
            cheap = np.stack([run.values(name) for name in self.using], axis=1)
        else:
            cheap = self.cheap[self.places(run, _keys(run, run.id_column or self.key)[1])]
        has = ~np.isnan(values)
        if len(np.unique(values[has])) < 2:
            raise InputError(
                f"{run.name}: {for_} has fewer than two values, which do not tell where it varies; leave it out: ",
                Argument("pilot"),
            )
        order = np.lexsort((values[has], *cheap[has].T))
        return Pilot(self.features(cheap[has][order]), values[has][order])

    def places(self, run: ScoreTable, keys: Uint64s) -> Ints:
        """Where these rows are here; raises ``InputError`` for one that is not."""
        order = np.argsort(self.keys)
        found = order[np.searchsorted(self.keys[order], keys).clip(max=len(order) - 1)]
        if (lost := self.keys[found] != keys).any():
            one = run.column(run.id_column or self.key)[int(lost.argmax())].as_py()
            raise InputError(
                f"{run.name}: {self.run.name} has no row with the id {one!r}; it is a sample of another table"
            )
        return found

    def strata(self, pilot: Pilot | None) -> _Strata:
        """The strata: fifths of each segment by what a pilot predicts, or by the first principal component."""
        if pilot is None:
            number = self._component(self.cheap)
        else:
            ones = np.ones(len(pilot.values))
            slopes, level = _ridge(pilot.features, pilot.values, ones)
            number = level + products(self.features(self.cheap), slopes)
            at_pilot = level + products(pilot.features, slopes)
        fifths = np.zeros(len(number), np.int64)
        for rows in np.split(np.argsort(self.segments, kind="stable"), np.cumsum(np.bincount(self.segments))[:-1]):
            if len(rows) >= _FEW_ROWS:
                edges = np.quantile(number[rows], np.arange(1, _STRATA) / _STRATA)
                fifths[rows] = np.searchsorted(np.unique(edges), number[rows], side="right")
        codes = np.unique(self.segments * _STRATA + fifths, return_inverse=True)[1]
        found = _Strata(codes, number, np.ones(int(codes.max(initial=-1)) + 1))
        if pilot is None:
            return found
        return replace(found, spreads=found.of_labels(pilot.features, pilot.values, None, at_pilot))

    def predicted(self, rows: Ints, values: Floats, weights: Floats) -> Floats:
        """What the cheap columns tell about the dear score of every row, of a row with a score without its own."""
        features = self.features(self.cheap, self.segments)
        has = ~np.isnan(values)
        own, slopes, level = cross_fitted(features[rows[has]], values[has], weights[has])
        every = level + products(features, slopes)
        every[rows[has]] = own
        return every


def _named(name: str, columns: Sequence[str]) -> str:
    """The score column that a name means; raises ``UnknownNameError`` for none of these."""
    found = column_named(name, columns)
    if found not in columns:
        raise UnknownNameError.of("column", name, columns)
    return found


def _keys(run: ScoreTable, key: str) -> tuple[Uint64s, Uint64s]:
    """A hash of each row's id, and one of its id and its settings, such as its system."""
    ids = text_hashes(run.texts(key))
    keys = mixed(ids)
    for name in run.settings_columns:
        keys = mixed(keys + text_hashes(run.column(name)))
    return ids, keys


@dataclass(frozen=True)
class _Drawn:
    """A sample with its scores: its rows among all rows, with their probabilities and scores, sorted."""

    name: str
    rows: Ints
    shares: Floats
    values: Floats
    features: Floats

    @classmethod
    def of(cls, judged: Any, of: Rows, for_: str) -> _Drawn:
        """The sample; raises ``InputError`` for one of another table, and for rows or probabilities that are wrong."""
        run = open_scores(judged, table="judged")
        for name in (for_, for_ + INCLUSION, for_ + SAMPLE):
            if name not in run.columns:
                raise ColumnError(f"{run.name} has no column {name!r}: expected a sample of these rows with its scores")
        if any(said != of.said for said in pc.unique(run.column(for_ + SAMPLE)).to_pylist()):
            raise InputError(f"{run.name} is a sample of another table than {of.run.name}, or with other options")
        places = of.places(run, _keys(run, of.key if of.key in run.columns else run.id_column or of.key)[1])
        shares = run.values(for_ + INCLUSION)
        check_drawn(run.name, for_, shares, np.where(np.isnan(shares), 0.0, np.nan))
        total = float((1 / shares).sum())
        if len(np.unique(places)) < len(places) or abs(total - len(of.order)) > 1e-6 * len(of.order):
            raise InputError(
                f"{run.name}: its rows stand for {total:,.0f} rows of {len(of.order):,}; expected each of its"
                " rows once, also those without a score"
            )
        values, order = floats_of_arrow(_numbers(run, for_), for_), np.argsort(places)
        places = places[order]
        return cls(run.name, places, shares[order], values[order], of.features(of.cheap[places]))


def allocated(sizes: Ints, spreads: Floats, budget: int, least: Ints) -> Ints:
    """How many rows of each stratum: in proportion to size times spread, within what there is and must be."""
    spreads = spreads if spreads.any() else np.ones(len(sizes))  # scores that are all equal prefer no stratum
    mean = float(sizes @ spreads) / float(sizes.sum())
    wanted = sizes * (_IN_PROPORTION * mean + (1 - _IN_PROPORTION) * spreads)
    low, high = 0.0, float(budget / wanted[wanted > 0].min()) + 1
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if np.clip(middle * wanted, least, sizes).sum() < budget else (low, middle)
    exact = np.clip(high * wanted, least, sizes)
    counts = np.floor(exact).astype(np.int64)
    order = np.lexsort((np.arange(len(sizes)), counts - exact, counts >= sizes))
    counts[order[: budget - int(counts.sum())]] += 1
    return counts


def products(features: Floats, slopes: Floats) -> Floats:
    """The sum over columns of each row, by the same additions in every row."""
    total = np.zeros(len(features))
    for column, slope in zip(features.T, slopes, strict=True):
        total += column * slope
    return total


def _ridge(features: Floats, values: Floats, weights: Floats) -> tuple[Floats, float]:
    """The slopes and the level of a ridge regression with weighted rows."""
    weights = weights / weights.sum()
    means, level = weights @ features, float(weights @ values)
    own = features - means
    squares = (own * weights[:, None]).T @ own * len(values)
    slopes = np.linalg.solve(
        squares + _PENALTY * np.eye(len(means)), (own * weights[:, None]).T @ (values - level) * len(values)
    )
    return np.asarray(slopes, np.float64), level - float(means @ slopes)


def cross_fitted(features: Floats, values: Floats, weights: Floats) -> tuple[Floats, Floats, float]:
    """What regressions without a tenth of the rows predict for it, and the mean slopes and level."""
    folds = np.arange(len(values)) % _FOLDS
    fits = []
    own = np.full(len(values), float(values.mean()) if len(values) else 0.0)
    for fold in range(min(_FOLDS, len(values)) if len(values) > 2 else 0):
        rest = folds != fold
        fits.append(_ridge(features[rest], values[rest], weights[rest]))
        own[~rest] = fits[-1][1] + features[~rest] @ fits[-1][0]
    if not fits:
        return own, np.zeros(features.shape[1]), float(own[0]) if len(own) else 0.0
    return (
        own,
        np.asarray(np.mean([slopes for slopes, _ in fits], axis=0), np.float64),
        float(np.mean([level for _, level in fits])),
    )
