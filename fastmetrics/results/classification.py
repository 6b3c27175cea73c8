"""Predicted labels against expected ones: accuracy, F1, κ, MCC and the confusion matrix, also by segment."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.arrays import Flags, Ints, arrow_texts, is_number, is_text
from fastmetrics.base.column_names import COLUMNS, distinct
from fastmetrics.base.columns import as_array
from fastmetrics.base.display import Grid, Shown, lines_of, number, row_count
from fastmetrics.base.drawing import Cells, Matrices, Picture, Plotted
from fastmetrics.base.errors import Argument, ColumnError, InputError, UnknownColumnError, UnknownNameError, some
from fastmetrics.base.notes import Figure, Note, interval_notes, said
from fastmetrics.base.options import Real, argument
from fastmetrics.base.shared_parameters import Help
from fastmetrics.base.text_structure import as_texts
from fastmetrics.results.row_groups import Segment, cluster_numbers, segments_of, worst_first
from fastmetrics.results.score_table import ScoreTable
from fastmetrics.stats.confusion import FIGURES, SHOWN, ClassFigures, Confusion, class_agreement, class_figures, short
from fastmetrics.stats.estimates import Estimate
from fastmetrics.tables.good_rows import whole_table
from fastmetrics.tables.opening import open_table
from fastmetrics.text.extraction import each, extractor, first_found

# The result: figures of all rows and of segments, with the matrix.


_MANY = 20
_FEW_NAMED = 4
NOTHING = "(none)"
"""The class of a prediction without a label: an empty text, or one in which none was found."""


@dataclass(frozen=True)
class LabelFigures:
    """The figures of a part of the rows: of a segment, or of all (None)."""

    segment: str | None
    n: int
    """Rows with a predicted and an expected label; the figures are over these."""
    n_no_prediction: int
    """Rows that expect a label but have no prediction (null)."""
    n_no_label: int
    """Rows without an expected label (null)."""
    accuracy: Estimate
    balanced_accuracy: Estimate
    """The mean recall of the expected classes."""
    macro_f1: Estimate
    """The mean F1 of the classes that are expected or predicted."""
    micro_f1: Estimate
    """F1 of all decisions together: equal to the accuracy, as every row has one label."""
    weighted_f1: Estimate
    """The mean F1 of the classes, weighted by the rows that expect them."""
    kappa: Estimate
    mcc: Estimate
    classes: Sequence[ClassFigures]
    confusion: Confusion


@dataclass(frozen=True)
class Classification(LabelFigures, Shown, Plotted):
    """The figures of all rows, and of each segment; prints as tables with the confusion matrix."""

    segments: Sequence[LabelFigures]
    predicted: str
    expected: str
    confidence: float
    notes: Sequence[str]

    def records(self) -> Sequence[Mapping[str, Any]]:
        """A row for each figure of each part: segment, figure, value, low, high, interval, interval_note, n."""
        found = [(part, name, getattr(part, name)) for part in self._parts() for name in FIGURES]
        return [
            {"segment": part.segment, "figure": name, "value": one.value, "low": one.low, "high": one.high}
            | {"interval": one.interval, "interval_note": one.note, "n": part.n}
            for part, name, one in found
        ]

    def picture(self) -> Picture:
        """The confusion matrix, coloured by the share of the rows that expect a label."""
        if not self.n:
            raise InputError("no row has a predicted and an expected label to draw")
        names, counts = self.confusion.folded()
        texts = [[number(count) if count else "" for count in line] for line in counts.tolist()]
        shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        return Matrices(
            panels={f"accuracy {number(self.accuracy.value)}, {row_count(self.n)}": Cells(names, names, texts, shares)},
            colors=("Blues", 0, 1),
            dark=0.5,
            axis_names=("predicted", "expected"),
            cell_inches=(0.5, 0.5),
        )

    def _parts(self) -> list[LabelFigures]:
        return [self, *self.segments]

    def grids(self) -> Sequence[Grid]:
        """The figures, the classes, the matrix, of many classes the most frequent errors, and the segments."""
        figures = [(label, getattr(self, name)) for name, label in FIGURES.items()]
        head = ("all rows=0", "value=1.value", "interval=1")
        grids = [lines_of(figures, *head), *([self._class_grid(), self.confusion.grid()] if self.n else [])]
        if len(self.confusion.labels) > SHOWN:
            grids.append(self.confusion.errors())
        if self.segments:
            accuracy = ("accuracy=accuracy.value", "interval=accuracy")
            macro = ("macro F1=macro_f1.value", "interval=macro_f1")
            others = ("kappa=kappa.value", "MCC=mcc.value")
            ordered = worst_first(self.segments, "accuracy.value", "higher")
            grids.append(lines_of(ordered, "segment", "n", *accuracy, *macro, *others))
        return grids

    def _class_grid(self) -> Grid:
        """The most frequent classes."""
        classes = self.classes
        if len(classes) > _MANY:
            classes = sorted(classes, key=lambda one: -one.n)[:_MANY]
        counts = (("label", lambda one: short(one.label)), "expected=n", "predicted=n_predicted")
        shares = ("precision=precision.value", "recall=recall.value", "F1=f1.value", "interval=f1")
        return lines_of(classes, *counts, *shares)

    def remarks(self) -> Sequence[str]:
        """What was compared, rows left out, kinds of intervals, and labels that only one side has."""
        return said(
            Note("labels_against", predicted=self.predicted, expected=self.expected, n=self.n),
            self.n_no_prediction and Note("no_prediction", n=self.n_no_prediction),
            self.n_no_label and Note("left_out", n=self.n_no_label, why="an expected label"),
            len(self.classes) > _MANY and Note("most_frequent", most=_MANY, n=len(self.classes)),
            self.notes,
            interval_notes(self.record(), self.confidence),
        )

    def record(self) -> Sequence[Figure]:
        """The figures of all rows, of the most frequent labels and of the segments."""
        shown: list[tuple[str, Estimate, LabelFigures]]
        shown = [(label, getattr(self, name), self) for name, label in FIGURES.items()]
        shown += [("F1 of labels", one.f1, self) for one in self.classes[:_MANY]]
        names = ("accuracy", "macro_f1")
        shown += [
            (f"{FIGURES[name]} of segments", getattr(part, name), part) for part in self.segments for name in names
        ]
        return [Figure.of(name, one, n=part.n, segment=part.segment) for name, one, part in shown]


# The columns, and their labels as texts.


PREDICTED = ("predicted_label", "predicted", "prediction", "y_pred", "pred")
EXPECTED = ("expected_label", "true_label", "gold_label", "y_true")
_LABEL = "label"


def label_columns(names: Sequence[str], predicted: str | None = None, expected: str | None = None) -> tuple[str, str]:
    """The columns of predicted and of expected labels.

    >>> label_columns(["label", "expected_label"]), label_columns(["answer", "label"])
    (('label', 'expected_label'), ('answer', 'label'))

    Raises ``ColumnError`` where there are none, and for a named column that is missing.
    """
    for name in (predicted, expected):
        if name is not None and name not in names:
            raise UnknownColumnError(names.unknown(name) if hasattr(names, "unknown") else f"no column {name!r}")
    answers, references = ((column, *COLUMNS[column].aliases) for column in ("answer", "reference"))
    found = expected or _first(names, EXPECTED)
    stated = predicted or _first(names, PREDICTED)
    if stated is None and (found is not None or _first(names, answers) is None):
        stated = _first([name for name in names if name != found], (_LABEL, *answers))
    stated = stated or _first(names, answers)
    others = [name for name in names if name != stated]
    found = found or _first(others, (_LABEL, *references))
    if stated is None or found is None:
        lacking = Argument("predicted" if stated is None else "expected")
        raise ColumnError("name the columns of labels with ", lacking, f"; there are {some(names, 12)}")
    return stated, found


def _first(names: Sequence[str], wanted: Sequence[str]) -> str | None:
    lower = {name.lower(): name for name in reversed(names)}
    return next((lower[name] for name in wanted if name in lower), None)


def _texts(column: Any, name: str) -> pa.Array:
    """The labels as texts, null for null and NaN.

    >>> _texts(pa.array([1.0, 0.5, float("nan")]), "label").to_pylist()
    ['1', '0.5', None]
    """
    array = as_array(column, name)
    if pa.types.is_floating(array.type):
        array = pc.if_else(pc.is_nan(array), None, array)
    texts = as_texts(array, name, "text")
    if not (is_text(texts.type) or pa.types.is_null(texts.type)):
        raise ColumnError(f"column {name!r}: expected one label in each row, got {array.type}")
    return texts.cast(pa.large_string())


_NUMBER, _WHOLE = re.compile(r"[+-]?\d+(\.\d+)?"), re.compile(r"\.0+$")


@dataclass(frozen=True)
class _Labels:
    """The class of each row, −1 for none, and the names of the classes in their order."""

    names: Sequence[str]
    expected: Ints
    predicted: Ints


def _labels(expected: pa.Array, predicted: pa.Array, change: Callable[[str], str], extract: Sequence[str]) -> _Labels:
    """The classes, after ``change`` of the labels of both sides and ``extract`` from predictions.

    If all are numbers, 1.0 is 1: pandas writes whole numbers so in a column that has an empty cell.
    """
    wanted, asked = _distinct(expected)
    stated, named = _distinct(predicted)
    wanted = [change(text) for text in wanted]
    if extract:
        ways = [each(_named(wanted)) if spec == "label" else extractor(spec) for spec in extract]
        stated = first_found(arrow_texts(stated), ways).to_pylist()
    stated = [change(text) for text in stated]
    if all(_NUMBER.fullmatch(text) for text in {*wanted, *stated} - {NOTHING}):
        wanted, stated = ([_WHOLE.sub("", text) for text in side] for side in (wanted, stated))
    names = _ordered({*wanted, *stated})
    place = {name: code for code, name in enumerate(names)}
    return _Labels(names, _codes(wanted, place)[asked], _codes(stated, place)[named])


def _distinct(column: pa.Array) -> tuple[list[str], Ints]:
    """The distinct texts, and the place of that of each row; −1, the last place, for null."""
    encoded = column.dictionary_encode()
    return encoded.dictionary.to_pylist(), encoded.indices.fill_null(-1).to_numpy().astype(np.int64)


def _codes(texts: Sequence[str], place: Mapping[str, int]) -> Ints:
    """The class of each text, and −1 behind them, which is that of null."""
    return np.array([*(place[text] for text in texts), -1], np.int64)


def _ordered(names: set[str]) -> list[str]:
    """Labels in order: numbers by size, texts by their characters.

    >>> _ordered({"10", "9"}), _ordered({"b", "a", "10"})
    (['9', '10'], ['10', 'a', 'b'])
    """
    try:
        return sorted(names, key=lambda name: (float(name), name))
    except ValueError:
        return sorted(names)


def _named(labels: Sequence[str]) -> Callable[[str], str | None]:
    """An extractor of the only one of the labels that stands in a text, in any case.

    >>> find = _named(["spam", "no spam", "ham"])
    >>> find("This is No spam."), find("Spam or ham?"), find("Hamlet")
    ('no spam', None, None)
    """
    spelled = {label.casefold(): label for label in reversed(labels) if label}
    longest = sorted(spelled, key=len, reverse=True)
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest))})(?!\w)") if longest else None

    def find(text: str) -> str | None:
        found = set() if pattern is None else set(pattern.findall(text.casefold()))
        return spelled[found.pop()] if len(found) == 1 else None

    return find


# From a table to the figures.


def classification(
    table: shared.Table,
    *,
    predicted: Annotated[
        str | None,
        Help("The column of predicted labels; by default predicted_label, prediction, label or answer."),
    ] = None,
    expected: Annotated[
        str | None, Help("The column of expected labels; by default expected_label, label or reference.")
    ] = None,
    extract: Annotated[
        Sequence[str] | str,
        Help(
            "Where the label stands in the predicted text, repeatable, the first that finds one: label (the only "
            "expected label that the text has), boxed, answer, first_line, last_line, regex:PATTERN, json:PATH and "
            "the others of score."
        ),
    ] = (),
    lowercase: Annotated[bool, Help("Ignore the case of labels.")] = False,
    by: shared.By = None,
    cluster: shared.Cluster = None,
    confidence: shared.Confidence = 0.95,
) -> Classification:
    """Predicted labels against expected ones, one of each in a row: accuracy, F1, κ, MCC and the confusion matrix.

    ``table`` is a table in memory, or files of rows in any format.  The figures are those of scikit-learn over the rows
    with both labels: macro F1 is the mean over all classes that either side has, balanced accuracy the mean recall of
    the expected ones (0/0 is 0); rows without one of the labels (null) are counted.  Labels are text, numbers or flags;
    white space around them does not count, and 1.0 is 1 if all labels are numbers.

    Each figure has an interval: exact for accuracy and figures of classes, Student's t on Fisher's scale for the
    others; with ``cluster``, both over clusters of rows.

    >>> import fastmetrics as fm
    >>> rows = {"label": ["yes", "no", "no", "yes"], "expected_label": ["yes", "no", "yes", "yes"]}
    >>> found = fm.classification(rows)
    >>> found.accuracy.value, round(found.macro_f1.value, 3), found.confusion.count("yes", "no")
    (0.75, 0.733, 1)

    Raises ``ColumnError`` for a column that is missing or has several labels in a row, ``UnknownNameError`` for an
    unknown extractor.
    """
    argument("confidence", confidence, Real(0.0, 1.0, above=True, below=True))
    specs = [extract] if isinstance(extract, str) else list(extract)
    columns = distinct(by)
    source = None if isinstance(table, ScoreTable) else open_table(table)
    names = table.columns if source is None else source.names
    stated, found = label_columns(names, predicted, expected)
    for name in (*columns, *([cluster] if cluster else [])):
        if name not in names:
            of = "cluster" if name == cluster else "by"
            raise UnknownColumnError(f"{of}: {UnknownNameError.of('column', name, names)}")
    used = list(dict.fromkeys([stated, found, *columns, *([cluster] if cluster else [])]))
    rows = table.read(used) if source is None else whole_table(source, dict.fromkeys(used, "any"))
    sides = _both_kinds(rows.column(found), rows.column(stated))
    texts = [_texts(side, name) for side, name in zip(sides, (found, stated), strict=True)]
    labels = _labels(texts[0], texts[1], _change(sides, lowercase), specs)
    groups = None if cluster is None else cluster_numbers(cluster, as_array(rows.column(cluster), cluster))
    whole = Segment(None, np.arange(rows.num_rows))
    segments = segments_of([(name, as_array(rows.column(name), name)) for name in columns]) if columns else []
    first, *others = (_figures(labels, part, groups, confidence) for part in [whole, *segments])
    own = {field.name: getattr(first, field.name) for field in fields(LabelFigures)}
    return Classification(
        **own,
        segments=others,
        predicted=stated,
        expected=found,
        confidence=confidence,
        notes=_notes(labels, first.confusion),
    )


def _both_kinds(expected: Any, predicted: Any) -> tuple[Any, Any]:
    """Both columns; flags beside numbers as 0 and 1."""
    sides = [as_array(expected), as_array(predicted)]
    if any(is_number(side.type) for side in sides):
        sides = [side.cast(pa.int8()) if pa.types.is_boolean(side.type) else side for side in sides]
    return sides[0], sides[1]


def _change(sides: Sequence[pa.Array], lowercase: bool) -> Callable[[str], str]:
    """What is done to each label: no white space around it; true and false as flags are written, beside flags."""
    flags = any(pa.types.is_boolean(side.type) for side in sides)

    def change(text: str) -> str:
        text = text.strip()
        if lowercase or (flags and text.casefold() in ("true", "false")):
            text = text.casefold()
        return text or NOTHING

    return change


def _figures(labels: _Labels, part: Segment, clusters: Ints | None, confidence: float) -> LabelFigures:
    expected, predicted = labels.expected[part.rows], labels.predicted[part.rows]
    both: Flags = (expected >= 0) & (predicted >= 0)
    groups = None if clusters is None else clusters[part.rows][both]
    classes, codes = np.unique(np.concatenate([expected[both], predicted[both]]), return_inverse=True)
    asked, named = codes[: both.sum()], codes[both.sum() :]
    confusion = Confusion.of(asked, named, [labels.names[code] for code in classes.tolist()])
    figures = class_figures(confusion, confidence, asked, named, groups)
    return LabelFigures(
        segment=part.name,
        n=int(both.sum()),
        n_no_prediction=int(((expected >= 0) & (predicted < 0)).sum()),
        n_no_label=int((expected < 0).sum()),
        **class_agreement(asked, named, groups, confidence, figures),
        classes=figures,
        confusion=confusion,
    )


def _notes(labels: _Labels, confusion: Confusion) -> list[str]:
    """Labels that only one side has, and whether their case makes them so."""
    unknown = confusion.predicted * (confusion.expected == 0)
    never = confusion.expected * (confusion.predicted == 0)
    asked = {label.casefold() for label, n in zip(confusion.labels, confusion.expected.tolist(), strict=True) if n}
    cased = [code for code in np.flatnonzero(unknown).tolist() if confusion.labels[code].casefold() in asked]
    return said(
        unknown.any() and Note("unexpected_labels", n=int(unknown.sum()), labels=_most(confusion.labels, unknown)),
        never.any() and Note("never_predicted", labels=_most(confusion.labels, never)),
        cased and Note("other_case", n=int(unknown[cased].sum()), how=str(Argument("lowercase", True))),
    )


def _most(labels: Sequence[str], counts: Ints) -> str:
    order = [code for code in np.argsort(-counts, kind="stable").tolist() if counts[code]]
    return some((f"{short(labels[code])} ({counts[code]:,})" for code in order), _FEW_NAMED)
