"""A fitted score as a metric: it computes the scores that it reads from the same batch, each once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import pyarrow as pa

from fastmetrics.base.arrays import Flags, Floats
from fastmetrics.base.errors import Argument, OptionError
from fastmetrics.base.score_metadata import InputDrift, InputShares
from fastmetrics.metrics import suites as families
from fastmetrics.metrics.batch import Batch, Need, Options, ScoresIn, Unread
from fastmetrics.metrics.fitted_file import FittedModel, RowScores, digest_of, model_of
from fastmetrics.metrics.metric import Metric
from fastmetrics.metrics.verdict import FAIL, PASS, WARN, in_words


@dataclass(frozen=True)
class Part:
    """A metric with its options, or a column of the table if ``metric`` is None."""

    name: str
    metric: Metric | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def scores(self, batch: Batch, options: Options) -> RowScores:
        """The scores of the rows, whose texts are read by the ``options`` unless the metric has its own."""
        if self.metric is None:
            return ScoresIn().of(batch, self.name, {})
        return batch.scores(self.metric, self._own(options))

    def unread(self, batch: Batch, options: Options) -> Iterator[Unread]:
        """The rows that the metric could not read, and so has no score for."""
        found = [] if self.metric is None else batch.unread(self.metric, self._own(options))
        return (some for some in found if not some.scored)

    def _own(self, options: Options) -> Options:
        """The options of the metric, with those of how texts are read."""
        assert self.metric is not None
        return {**{name: options[name] for name in self.metric.text_options if name in options}, **self.options}

    def needs(self) -> Iterator[tuple[str, Need]]:
        """The columns that it reads, and their representations."""
        yield from [(self.name, ScoresIn())] if self.metric is None else self.metric.needs.items()


@dataclass(frozen=True)
class FittedMetric(Metric):
    """A metric whose score is computed from the scores of other metrics by a fitted model."""

    model: FittedModel | None = None
    parts: tuple[Part, ...] = ()
    text: str = ""
    """The text of the model's file."""
    path: str = ""
    """The model's file, for messages."""

    def __reduce__(self) -> tuple[Callable[..., Metric], tuple[Any, ...]]:
        """Other processes have the same parts, with their plugins and embedders."""
        return _unpickled, (self.text, self.path, self.parts)

    @property
    def code(self) -> str:
        """A digest of the file."""
        return digest_of(self.text)

    @property
    def raw_columns(self) -> tuple[str, ...]:
        """The columns of the table that it reads by their own names."""
        return tuple(part.name for part in self.parts if part.metric is None)

    def own_embedding(self, embedding: Options) -> Options:
        """The embedder and cache of a run, with the embedder that the score was fitted with.

        Raises ``OptionError`` if the run asks for another one.
        """
        assert self.model is not None
        own, other = self.model.labels.get("embedder"), embedding["embedder"]
        if own is None:
            return embedding
        if other not in (None, own):
            raise OptionError(
                f"{self.path}: fitted with the embedder {own!r}, which it uses here too; got ",
                Argument("embedder", other),
                ": score it in a run of its own, without it",
            )
        return {**embedding, "embedder": own}

    def all_needs(self) -> list[tuple[str, Need]]:
        """The columns and representations of all parts."""
        return [need for part in self.parts for need in part.needs()]

    def fits(self, columns: Any) -> bool:
        """Whether all parts can be computed from these columns."""
        return all(part.metric.fits(columns) if part.metric else part.name in columns for part in self.parts)

    def read(self, batch: Batch, options: Options) -> list[RowScores]:
        """The scores of the parts."""
        return [part.scores(batch, options) for part in self.parts]

    def input_counts(self, batch: Batch, options: Options) -> list[int]:
        """The numbers of rows in each part of the distributions of the features, one feature after the other."""
        assert self.model is not None
        pairs = zip(self.model.features, self.read(batch, options), strict=True)
        return [int(count) for feature, scores in pairs for count in feature.spread.counts(scores)]

    def drift(self, counts: Sequence[int]) -> InputDrift:
        """The summed counts of rows beside the shares of the labelled rows."""
        assert self.model is not None
        inputs, start = [], 0
        for feature in self.model.features:
            shares = feature.spread.shares.tolist()
            inputs.append(InputShares(feature.name, shares, list(counts[start : start + len(shares)])))
            start += len(shares)
        return InputDrift(self.model.n_labelled, inputs)

    def compute(self, batch: Batch, options: Options) -> tuple[Floats, Flags]:
        """The score of each row, and whether it has one."""
        assert self.model is not None
        return self.model.score(self.read(batch, options))

    def unread(self, batch: Batch, options: Options) -> Iterator[Unread]:
        """The rows that any part could not read."""
        return (some for part in self.parts for some in part.unread(batch, options))


@dataclass(frozen=True)
class FittedVerdict(FittedMetric):
    """A verdict by the thresholds of a fitted score."""

    def __reduce__(self) -> tuple[Callable[..., Metric], tuple[Any, ...]]:
        return _unpickled_verdict, (self.text, self.path, self.parts)

    def compute(self, batch: Batch, options: Options) -> tuple[Floats, Flags]:
        """1 for PASS, 0.5 for WARN, 0 for FAIL."""
        assert self.model is not None
        scores, present = super().compute(batch, options)
        low, high = cuts(self.model)
        best, worst = (PASS, FAIL) if self.model.better == "higher" else (FAIL, PASS)
        verdicts = np.where(scores >= high, best, np.where(scores < low, worst, WARN))
        return np.where(present, verdicts, np.nan), present

    beside = ("word",)

    def texts(self, batch: Batch, options: Options, scores: Floats) -> Sequence[pa.Array]:
        """The verdicts as words."""
        return [in_words(scores)]


def cuts(model: FittedModel) -> tuple[float, float]:
    """The cuts of a verdict: rows below the first are negative, from the second on positive, between them unsure.

    The first is the cut of recall, the second that of precision or risk; one alone is both.
    """
    set_cuts = {name: entry.cut for name, entry in model.thresholds.items() if entry.cut is not None}
    high = [cut for name, cut in set_cuts.items() if name in ("precision", "risk")]
    low = [cut for name, cut in set_cuts.items() if name == "recall"]
    if not set_cuts:
        raise OptionError(
            f"verdict: the fitted score {model.name!r} has no threshold; fit it with a precision, recall or risk, and "
            "with labels that suffice for it"
        )
    top = max(high or low)
    return min(*low, top) if low else top, top


def _unpickled(text: str, path: str, parts: Sequence[Part]) -> FittedMetric:
    return fitted_metric(model_of(text, path), parts, text, path)


def _unpickled_verdict(text: str, path: str, parts: Sequence[Part]) -> FittedVerdict:
    return fitted_verdict(_unpickled(text, path, parts))


def fitted_metric(model: FittedModel, parts: Sequence[Part], text: str, path: str) -> FittedMetric:
    """The metric of a fitted model."""
    needs = {column: need for part in parts for column, need in part.needs()}
    required = {column for part in parts for column in (part.metric.required if part.metric else (part.name,))}

    def function() -> None:
        pass

    function.__doc__ = _description(model)
    return FittedMetric(
        name=model.name,
        function=function,
        bounds=model.bounds,
        better=model.better,
        source=f"fitted on {model.labels.get('column')!r}",
        needs=needs,
        optional=frozenset(set(needs) - required),
        usual=False,
        model=model,
        parts=tuple(parts),
        text=text,
        path=path,
    )


def fitted_verdict(fitted: FittedMetric) -> FittedVerdict:
    """The metric ``verdict`` by the thresholds of a fitted score."""
    assert fitted.model is not None
    cuts(fitted.model)
    verdict = families.find("verdict")
    own = {entry.name: getattr(verdict, entry.name) for entry in fields(verdict)}
    own |= {name: getattr(fitted, name) for name in ("needs", "optional", "rows", "model", "parts", "text", "path")}
    return FittedVerdict(**{**own, "caution": None})


def with_parts(metric: FittedMetric, change: Callable[[Part], Part]) -> FittedMetric:
    """The metric with changed parts."""
    parts = tuple(change(part) for part in metric.parts)
    return replace(metric, parts=parts, needs={column: need for part in parts for column, need in part.needs()})


def _description(model: FittedModel) -> str:
    """What the command ``metrics`` says about a fitted score."""
    about = model.labels
    rows = f"{about.get('rows', 0):,} rows"
    features = ", ".join(feature.name for feature in model.features)
    return f"A fitted score ({model.kind}) of {rows} labelled {about.get('column')!r}.\n\nIt reads {features}."
