"""The texts of the rows in a report: where they come from, their claims and citation marks, the columns kept beside."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from fastmetrics.base.arrays import is_list, is_number, text_of_strings
from fastmetrics.base.display import strict
from fastmetrics.base.errors import Argument, OptionError, visible
from fastmetrics.base.score_metadata import counts_column
from fastmetrics.base.text_structure import shown_values
from fastmetrics.metrics.cited_support import PATTERN
from fastmetrics.metrics.score_names import parse
from fastmetrics.reporting.report_options import ReportOptions
from fastmetrics.results.main_metric import known_metric
from fastmetrics.results.opening_scores import are_several
from fastmetrics.results.score_table import ScoreTable
from fastmetrics.results.worst_rows import TextSource
from fastmetrics.scoring.metric_functions import anchors
from fastmetrics.tables.opening import open_table
from fastmetrics.text.citation_marks import citations_in
from fastmetrics.text.segmentation import statements

# Where the texts of each system come from: one file for the first, one for each, or one whose column names them.


def text_sources(options: ReportOptions, names: Sequence[str]) -> Mapping[str, TextSource]:
    """The source of each run's texts, for the runs ``names`` that have one.

    Raises ``OptionError`` for several sources whose number is not that of the runs.
    """
    texts, system = options.texts, options.system
    if texts is None:
        return {}
    several = list(texts.values()) if isinstance(texts, Mapping) and are_several(texts) else texts
    if not are_several(texts) or len(several) == 1:
        answers = several[0] if are_several(texts) else texts
        if system is not None and system in open_table(answers, name="texts").names:
            return {name: TextSource(answers, (system, name)) for name in names}
        return {names[0]: TextSource(answers)}
    if len(several) != len(names):
        count = f" has {len(several)} sources for {len(names)} runs; give one for the first run, or one for each"
        raise OptionError(Argument("texts"), count)
    return {name: TextSource(answers) for name, answers in zip(names, several, strict=True)}


# How the anchors of a run's answers were found, so that a report marks what was scored.


_COUNTING = ("hallucination", "verdict", "hallucination_risk")
"""The metrics that count anchors; the first one that a run has decides how they are marked."""


_ANYWHERE = 1_000_000
"""A window of words that no displayed text exceeds."""


class Anchor(NamedTuple):
    """An anchor: its span in characters, 1 if the contexts support it, its kind, and where it may be nevertheless."""

    start: int
    stop: int
    supported: int
    kind: str
    apart: int = 0
    """1 if the contexts do not support it but have its words, not near each other."""


@dataclass(frozen=True)
class ScoredClaims:
    """The options of the score that counted anchors, or the defaults."""

    window: int

    @classmethod
    def of(cls, run: ScoreTable) -> ScoredClaims:
        """The options of the first score of a run that counts anchors."""
        names = [name for metric in _COUNTING for name in scores_of(run, metric)]
        return cls(parse(run.spec(names[0]) if names else _COUNTING[0]).options["window"])

    def anchors(self, answers: Sequence[str], contexts: Sequence[Sequence[str]]) -> Iterator[list[Anchor]]:
        """The anchors of each answer in its contexts."""
        for chunk in anchors(answers, contexts, window=self.window)["anchors"].chunks:
            inside = chunk.flatten()
            fields = (inside.field(name).to_pylist() for name in ("start", "stop", "supported", "kind"))
            spans = [
                Anchor(start, stop, int(supported), kind) for start, stop, supported, kind in zip(*fields, strict=True)
            ]
            edges = np.append(0, np.cumsum(chunk.value_lengths().fill_null(0))).tolist()
            for start, stop in itertools.pairwise(edges):
                yield spans[start:stop]

    def told_apart(
        self, anchors_by_row: Sequence[list[Anchor]], answers: Sequence[str], contexts: Sequence[Sequence[str]]
    ) -> list[list[Anchor]]:
        """The anchors, of which those that no context supports are marked if their words are there but apart."""
        rows = [row for row, some in enumerate(anchors_by_row) if not all(anchor.supported for anchor in some)]
        whole = [["\n".join(contexts[row])] for row in rows]
        far = replace(self, window=_ANYWHERE).anchors([answers[row] for row in rows], whole) if rows else []
        marked = list(anchors_by_row)
        for row, some in zip(rows, far, strict=True):
            present = {anchor[:2] for anchor in some if anchor.supported}
            marked[row] = [
                anchor._replace(apart=int(not anchor.supported and anchor[:2] in present)) for anchor in marked[row]
            ]
        return marked


def scores_of(run: ScoreTable, metric: str) -> list[str]:
    """The score columns of a metric, whatever their options and names."""
    return [name for name in run.scores if _metric(run.spec(name)) == metric]


def _metric(spec: str) -> str | None:
    """The name of the metric of a column; None for a column of another origin, for which no name is looked for."""
    metric = known_metric(spec)
    return None if metric is None else metric.name


# The citation marks of answers, and whether the cited contexts support their sentences.


SUPPORTED, UNSUPPORTED, PLAIN, NO_CONTEXT = "cited_supported", "cited_unsupported", "cited", "cited_nothing"
"""The cited context has all values and claims of the sentence; lacks some; nothing to check; no such context."""


class Mark(NamedTuple):
    """A mark: its span in characters, the number of the cited context (from 1), and its status."""

    start: int
    stop: int
    number: int
    state: str


class _Sentence(NamedTuple):
    """A sentence without its citations; ``cited`` has the span of each in the answer, and its number."""

    row: int
    text: str
    cited: list[tuple[int, int, int]]


def citation_marks(answers: Sequence[str], contexts: Sequence[Sequence[str]], scored: ScoredClaims) -> list[list[Mark]]:
    """The citations of each answer, in order, in all forms that the metrics of citations read.

    A sentence is what ``grounding_overlap`` takes for one.  A mark is supported where the context that it cites
    supports each number, date and claim of its sentence, as ``anchors`` finds them in that context alone.
    Claims are those that were ``scored``.

    >>> scored, answer = ScoredClaims(window=30), "It opened in 1889 [1]. It is 5 [1, 3]."
    >>> [found] = citation_marks([answer], [["The tower opened in 1889."]], scored)
    >>> [(mark.start, mark.number, mark.state) for mark in found]
    [(18, 1, 'cited_supported'), (31, 1, 'cited_unsupported'), (31, 3, 'cited_nothing')]
    """
    marks: list[list[Mark]] = [[] for _ in answers]
    checked: list[tuple[int, int, str, str]] = []
    for row, text, cited in _cited_sentences(answers, [len(own) for own in contexts]):
        for start, stop, number in cited:
            is_present = 1 <= number <= len(contexts[row])
            if is_present:
                checked.append((row, len(marks[row]), text, contexts[row][number - 1]))
            marks[row].append(Mark(start, stop, number, PLAIN if is_present else NO_CONTEXT))
    if checked:
        anchors = scored.anchors([sentence[2] for sentence in checked], [[sentence[3]] for sentence in checked])
        for (row, place, _, _), some in zip(checked, anchors, strict=True):
            if some:
                state = SUPPORTED if all(anchor.supported for anchor in some) else UNSUPPORTED
                marks[row][place] = marks[row][place]._replace(state=state)
    return marks


def _cited_sentences(answers: Sequence[str], counts: Sequence[int]) -> Iterator[_Sentence]:
    """The sentences of the answers that cite, each with the spans and numbers of its citations in the answer.

    Sentences are those of the answer with plain marks, ``[n]``, as the metrics read it.
    """
    rows, texts, origins = [], [], []
    for row, (answer, count) in enumerate(zip(answers, counts, strict=True)):
        answer, citations = citations_in(answer, {}, count)
        if citations:
            plain, places, end = "", {}, 0
            for start, stop, numbers in citations:
                plain += answer[end:start]
                for number in numbers:
                    places[len(plain)] = (start, stop, number)
                    plain += f"[{number}]"
                end = stop
            rows.append(row)
            texts.append(plain + answer[end:])
            origins.append(places)
    text = text_of_strings(texts)
    cut = statements(text)
    assert cut.groups is not None
    for at, row in enumerate(rows):
        begin = int(text.starts[at])
        for statement in range(int(cut.groups[at]), int(cut.groups[at + 1])):
            start, stop = int(cut.starts[statement]), int(cut.stops[statement])
            before, sentence = (bytes(text.data[a:b]).decode() for a, b in ((begin, start), (start, stop)))
            found = (origins[at].get(len(before) + mark.start()) for mark in re.finditer(PATTERN, sentence))
            yield _Sentence(row, re.sub(PATTERN, "", sentence), [place for place in found if place is not None])


# The columns that a run kept beside its scores and texts, shown in the detail of a row.


_MOST = 30
"""Maximum number of displayed columns: the first ones."""


@dataclass(frozen=True)
class KeptColumns:
    """The names of the kept columns, and their values in the rows."""

    run: ScoreTable
    names: Sequence[str]

    @classmethod
    def of(cls, run: ScoreTable, system: str | None) -> KeptColumns:
        """The columns of a run that are no vectors; ``system`` is the column that names its systems."""
        names = [name for name in candidates(run) if name != system and not _is_vector(run.type_of(name))]
        return cls(run, names[:_MOST])

    @cached_property
    def table(self) -> pa.Table:
        """The columns of all rows, read once."""
        return self.run.read(self.names)

    def to(self, rows: Sequence[int]) -> list[list[str | None]]:
        """For each of the rows the values as text, None for a missing one."""
        if not self.names:
            return [[] for _ in rows]
        columns = self.table.take(pa.array(rows, pa.int64())).columns
        return [list(map(_text, values)) for values in zip(*map(shown_values, columns), strict=True)]


def candidates(run: ScoreTable) -> list[str]:
    """The columns of a run that are no ids, scores, counts of corpus metrics, texts that are shown, or embeddings."""
    columns = run.text_columns
    shown = {*run.scores, *map(counts_column, run.counted), *(columns[name] for name in TEXTS if name in columns)}
    return [name for name in run.columns if name not in {*shown, *_VECTORS, run.id_column}]


_VECTORS = ("question_embedding", "answer_embedding", "reference_embedding", "embedding")


def _is_vector(type_: pa.DataType) -> bool:
    return pa.types.is_binary(type_) or (is_list(type_) and is_number(type_.value_type))


def _text(value: Any) -> str | None:
    return None if value is None else cut(value)


# The texts of the rows in a report, truncated if long, with the support of their anchors and citations.


TEXTS = ("question", "reference", "answer", "contexts", "retrieved_ids", "relevant_ids")

_CALLS = ("tool_calls", "expected_tool_calls", "messages", "trace", "traces", "spans")
"""What a system did for its answer, shown folded below a row."""

_LONG_TEXT = 4_000
"""Maximum characters of a displayed text."""
_MANY = 30
"""Maximum number of displayed contexts and ids of a row."""


def shown_names(run: ScoreTable) -> Sequence[str]:
    """The columns of a file of texts that rows show: its texts, and calls and traces that the run did not keep."""
    return [*TEXTS, *(name for name in _CALLS if name not in run.columns)]


def stored_texts(run: ScoreTable, names: Sequence[str]) -> pa.Table:
    """The texts of all rows that a run keeps, under their canonical names"""
    canonical = run.text_columns
    stored = {name: canonical[name] for name in names if name in canonical and canonical[name] not in run.scores}
    return run.read(list(stored.values())).rename_columns(list(stored))


def row_texts(
    run: ScoreTable, ids: pa.Array | None, places: Sequence[int], texts: TextSource | None
) -> list[dict[str, Any]]:
    """The texts of each row by name: from ``texts``, matched by id, else those stored in the run."""
    at = pa.array(places, pa.int64())
    if texts is None:
        table = stored_texts(run, TEXTS).take(at)
    else:
        assert ids is not None
        table = texts.added(pa.table({"id": ids.take(at)}), shown_names(run)).drop_columns("id")
    values = zip(*map(shown_values, table.columns), strict=True) if table.num_columns else [()] * len(places)
    rows = [dict(zip(table.column_names, row, strict=True)) for row in values]
    return shown_texts(rows, ScoredClaims.of(run))


def shown_texts(rows: Sequence[Mapping[str, Any]], scored: ScoredClaims) -> list[dict[str, Any]]:
    """The displayed texts of rows: truncated if long, with the anchors and citations of their answers."""
    return [_shown(*row) for row in zip(rows, *_marks(rows, scored), strict=True)]


def _shown(row: Mapping[str, Any], anchors: Sequence[Anchor], citations: Sequence[Mark]) -> dict[str, Any]:
    """The texts of a row, with lists for multi-valued columns, without missing texts."""
    texts: dict[str, Any] = {}
    for name, value in row.items():
        if value is None or name not in TEXTS:
            continue
        if name in ("question", "answer"):
            texts[name] = cut(value)
        else:
            several = value if isinstance(value, list) else [value]
            texts[name] = [cut(entry) for entry in several[:_MANY] if entry is not None]
            if len(several) > _MANY:
                texts[f"{name}_more"] = len(several) - _MANY
    calls = [[name, _text(row[name])] for name in _CALLS if row.get(name) is not None]
    if calls:
        texts["calls"] = calls
    if anchors:
        texts["anchors"] = [list(entry if entry.apart else entry[:4]) for entry in anchors if entry.stop <= _LONG_TEXT]
    if citations:
        texts["cites"] = [list(entry) for entry in citations]
    return texts


def cut(value: Any) -> str:
    """A value as displayable text, a list or an object as JSON; a long one is truncated, with the number of omitted
    characters.
    """
    text = json.dumps(strict(value), ensure_ascii=False, default=str) if isinstance(value, list | dict) else str(value)
    beginning = text[:_LONG_TEXT]
    beginning = beginning if beginning.isprintable() else visible(beginning)
    return beginning if len(text) <= _LONG_TEXT else f"{beginning} … [+{len(text) - _LONG_TEXT:,}]"


def _marks(rows: Sequence[Mapping[str, Any]], scored: ScoredClaims) -> tuple[list[list[Anchor]], list[list[Mark]]]:
    """The anchors and citations of each answer with known contexts."""
    anchors_by_row: list[list[Anchor]] = [[] for _ in rows]
    citations_by_row: list[list[Mark]] = [[] for _ in rows]
    having = [at for at, row in enumerate(rows) if isinstance(row.get("answer"), str) and row.get("contexts")]
    if having:
        contexts = [_passages(rows[at]["contexts"]) for at in having]
        answers = [rows[at]["answer"][:_LONG_TEXT] for at in having]
        anchors = scored.told_apart(list(scored.anchors(answers, contexts)), answers, contexts)
        marks = citation_marks(answers, contexts, scored)
        for at, some, several in zip(having, anchors, marks, strict=True):
            anchors_by_row[at], citations_by_row[at] = some, several
    return anchors_by_row, citations_by_row


def _passages(value: Any) -> list[str]:
    several = value if isinstance(value, list) else [value]
    return [str(passage)[: _LONG_TEXT * 4] for passage in several if passage is not None]
