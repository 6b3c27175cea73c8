"""Planning from names: the requested metrics and suites, and the columns found."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from fastmetrics.base import specs
from fastmetrics.base.column_names import (
    COLUMNS,
    SECONDS,
    adds_up,
    check_rivals,
    copied_columns,
    found_columns,
    is_system,
    kept_columns,
    listed,
    milliseconds_in,
    named_columns,
    passed_over,
    preset_of,
    roles,
)
from fastmetrics.base.errors import Argument, ColumnError, OptionError, UnknownNameError, fold, quoted
from fastmetrics.base.options import NotAllowedError, Optional, argument, of_hint
from fastmetrics.base.paths import Names
from fastmetrics.base.presets import Preset
from fastmetrics.base.score_metadata import ScoreMetadata, counts_column
from fastmetrics.metrics import suites as families
from fastmetrics.metrics.cited_support import Embeds
from fastmetrics.metrics.fitted_metric import FittedMetric, Part, with_parts
from fastmetrics.metrics.judge_scores import JudgedMetric
from fastmetrics.metrics.metric import TEXT_OPTIONS, Metric
from fastmetrics.metrics.prices import Prices, PriceTable
from fastmetrics.metrics.ranking_inputs import NoRelevant
from fastmetrics.metrics.score_names import Score, parse
from fastmetrics.metrics.semantic import from_text
from fastmetrics.tables.input_files import local_path

# What a user requests of a table: metrics and suites, and the columns that they read.


@dataclass(frozen=True)
class ScoreRequest:
    """The metrics and suites to score, the columns that they read, and those to copy: options of ``fastmetrics.score``.

    ``metrics`` are specs, in a list or separated by commas.  ``suites`` are names of
    :data:`fastmetrics.metrics.suites.SUITES`, each of which selects its usual metrics whose columns exist, or of
    :data:`fastmetrics.metrics.suites.TIERS`.  Without both, the suite ``core`` is used.  ``embedder`` and ``cache``
    apply to every metric that embeds text and does not set its own; with an ``embedder``, missing embeddings are
    computed from texts.  ``no_relevant`` applies to every retrieval metric that does not set its own.  ``lists`` are
    columns whose texts are lists, as JSON, Python or NumPy writes them, or, as ``name=|``, joined by a separator.
    ``keep`` names columns to copy besides the ``id``, which is always copied; ``keep_counts`` stores each row's counts
    for corpus metrics.  ``strip_thoughts`` leaves out of each answer what a reasoning model thought.  ``extract`` and
    ``normalize`` are those of every metric of answers and of texts that does not set its own; ``keep_extracted`` copies
    what was extracted.  ``prices`` are those of the metric ``cost``, which is scored then.
    """

    metrics: Sequence[str] | str | None = None
    columns: Mapping[str, str] | None = None
    schema: str | None = None
    keep: Sequence[str] | str = ()
    suites: Sequence[str] | str = ()
    embedder: Any = None
    cache: str | os.PathLike[str] | None = None
    no_relevant: str | None = None
    lists: Sequence[str] | str = ()
    keep_counts: bool = False
    strip_thoughts: bool = False
    extract: Sequence[str] | str | None = None
    keep_extracted: bool = False
    normalize: Sequence[str] | str | None = None
    prices: Prices | None = None

    def common(self, columns: Mapping[str, str]) -> dict[str, Any]:
        """The options of all metrics that have them, checked; a default of every metric is no setting of the run."""
        common: dict[str, Any] = {}
        if self.no_relevant not in (None, "undefined"):
            common["no_relevant"] = argument("no_relevant", self.no_relevant, Optional(of_hint(NoRelevant)))
        if self.prices is not None:
            common["prices"] = argument("prices", self.prices, PriceTable())
        given = {name: getattr(self, name) for name in TEXT_OPTIONS}
        common |= {name: argument(name, value, TEXT_OPTIONS[name].allowed) for name, value in given.items() if value}
        if "extract" in common and "answer" not in columns:
            raise OptionError(Argument("extract", common["extract"]), " needs a column of answers")
        return common


# Metrics whose columns a table lacks: the errors, and the notes on those that a tier leaves out.


def check_columns(
    name: str, metric: Metric, names: Sequence[str], columns: Mapping[str, str], preset: Preset | None = None
) -> None:
    """Raise ``ColumnError`` for a missing column that a score needs, with the ways to provide it."""
    if isinstance(metric, FittedMetric):
        for part in metric.parts:
            if part.metric is not None:
                check_columns(f"{name} ({part.name})", part.metric, names, columns, preset)
            elif part.name not in columns:
                lacks = f"{name} reads the column {part.name!r} of scores; the table has: {quoted(names)}"
                raise ColumnError(f"{lacks}; add this column, or fit a score without it")
        return
    if isinstance(metric, JudgedMetric) and metric.name not in columns:
        judged = f"{name} is a column of scores that judge writes for a rubric; the table has: {quoted(names)}"
        raise ColumnError(f"{judged}; judge it with that rubric first")
    for column in metric.required:
        if column in columns:
            continue
        aliases = ", ".join(COLUMNS[column].aliases)
        also = f" (or {aliases})" if aliases else ""
        ways: list[object] = ["set its name with ", Argument("columns", {column: ...})]
        if from_text(metric, columns) is not metric:
            ways += [", or compute it from the text with ", Argument("embedder", "wordllama")]
        path = None if preset is None else preset.columns.get(column)
        read = f"; the preset {preset.name} reads it from {path}, which no row has" if preset and path else ""
        raise ColumnError(f"{name} needs the column {column!r}{also}; the table has: {quoted(names)}{read}; ", *ways)
    either = metric.rows.either
    if either is not None and not either.met_by(columns):
        way = Argument("columns", {either.sets[0][0]: ...})
        raise ColumnError(f"{name} needs the column {either}; the table has: {quoted(names)}; set its name with ", way)


def without_columns(
    suite: str, names: Sequence[str], members: Iterable[Metric], columns: Mapping[str, str]
) -> ColumnError:
    """The error for a suite none of whose metrics has its columns: what it lacks, or for ``core`` what others can."""
    why = f"can be computed from the columns {quoted(names)}"
    if suite not in ("core", "all"):
        lacks = dict.fromkeys(column for metric in members for column in metric.required if column not in columns)
        also = f"; it also reads {', '.join(lacks)}" if lacks else ""
        return ColumnError(f"no metric of the suite {suite!r} {why}{also}")
    able = [
        name
        for name in families.SUITES
        if any(metric.fits(columns) for metric in families.suite(name) if metric.level == "row")
    ]
    if not able:
        ways = Argument("columns", {"answer": ..., "reference": ...})
        return ColumnError(f"no metric {why}; say which of them hold answers and references with ", ways)
    return ColumnError(
        f"no metric of the suite {suite!r} {why}; name suites that can: ", Argument("suites", ",".join(able))
    )


def lacking(name: str, metric: Metric, columns: Mapping[str, str]) -> str:
    """A score, and the columns that it lacks; of a judge's score, the rubric that makes it."""
    if metric.required == (name,):
        return f"{name} (judge run --rubrics {name.removeprefix('judge_')})"
    return f"{name} ({', '.join(column for column in metric.required if column not in columns)})"


# Planning from names: the requested metrics and suites, and the columns found.


@dataclass(frozen=True)
class Plan:
    """The plan: the scores, the position of each canonical column, and the columns to copy."""

    scores: tuple[Score, ...]
    columns: Mapping[str, str]
    keep: tuple[str, ...] = ()
    passed_over: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The columns that also match a used column by name and were ignored."""
    named: Mapping[str, str] = field(default_factory=dict)
    """The columns that the user, or a preset, named."""
    common: Mapping[str, Any] = field(default_factory=dict)
    """Options of all scores that have them, unless a score's name sets its own."""

    identity: Mapping[str, str] = field(default_factory=dict)
    """The columns of the fingerprint of the rows, by user name; empty without a fingerprint."""

    left_out: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The metrics of requested tiers that the columns do not allow, by tier, each with the columns it lacks."""

    lists: Mapping[str, str] = field(default_factory=dict)
    """The columns of the user's table whose texts are parsed as lists, with what separates the items, if not empty."""

    has_blanks: bool = False
    """Whether a missing value of a column of text is a blank cell of a file."""

    latency_unit: float | None = 1.0
    """The milliseconds in a unit of latencies; None where no name tells what it is, NaN if their size does neither."""

    reason: str | None = None
    """The column of the user's table that says why an answer is missing."""

    keep_counts: bool = False
    """Whether each row's counts are stored with the scores, for corpus metrics based on counts."""

    strip_thoughts: bool = False
    """Whether the thoughts of a reasoning model are left out of the answers."""

    extracted: Mapping[str, Sequence[str] | str] = field(default_factory=dict)
    """The columns of extracted answers that are kept, and the extractors of each."""

    @cached_property
    def copied(self) -> dict[str, str]:
        """The columns to copy, by their names in the output."""
        return copied_columns(self.keep, self.columns)

    @cached_property
    def extracts(self) -> list[Sequence[str] | str]:
        """The ways in which answers are extracted, each once."""
        return _extracts(self.scores)

    @cached_property
    def memory(self) -> dict[str, Any]:
        """What is computed once for the batches of a run."""
        return {}

    @property
    def compares_spelling(self) -> bool:
        """Whether a metric compares answers and references as they are spelled."""
        both = {"answer", "reference"}
        read = [score.options for score in self.scores if both <= score.metric.needs.keys() <= self.used.keys() | both]
        return both <= self.used.keys() and any(not options.get("normalize") for options in read)

    @cached_property
    def kept_counts(self) -> dict[str, str]:
        """The columns that store the counts of rows, by corpus metric; metrics that read scores have none.

        Lists for corpus metrics that need all rows are always stored, once for all metrics with the same lists.
        """
        corpus = [
            score for score in self.scores if score.metric.corpus is not None and score.metric.corpus.over is None
        ]
        columns = {score.name: score.metric.keeps or counts_column(score.name) for score in corpus}
        return {score.name: columns[score.name] for score in corpus if self.keep_counts or score.metric.keeps}

    @property
    def texts(self) -> list[str]:
        """The columns of text beside scores."""
        return [f"{score.name}_{column}" for score in self.scores for column in score.metric.beside]

    @property
    def kept_columns(self) -> list[str]:
        """The columns that store data of each row for corpus metrics, each once."""
        return list(dict.fromkeys(self.kept_counts.values()))

    @property
    def notes(self) -> list[str]:
        """The notes on metrics that were left out."""
        return [
            f"{tier}: not scored for lack of columns: {', '.join(scores)}" for tier, scores in self.left_out.items()
        ]

    @property
    def added(self) -> list[str]:
        """The columns that a table with its scores has more."""
        return [*self.extracted, *self.names, *self.texts]

    @cached_property
    def names(self) -> list[str]:
        """The score columns: one per row metric."""
        return [score.name for score in self.scores if score.metric.corpus is None]

    @property
    def inputs(self) -> tuple[str, ...]:
        """The columns of the user's table that the plan reads, each once."""
        reason = [self.reason] if self.reason is not None else []
        return tuple(dict.fromkeys([*self.keep, *self.used.values(), *self.identity.values(), *reason]))

    @property
    def columns_read(self) -> dict[str, str]:
        """The columns of the table that a run reads, by the user's name, with their kinds."""
        return {**dict.fromkeys([*self.keep, *self.identity.values()], "any"), **self.kinds}

    @cached_property
    def used(self) -> dict[str, str]:
        """The canonical columns that a score needs, and the user's name of each."""
        return _used(self.scores, self.columns)

    @property
    def used_as(self) -> dict[str, str]:
        """The same with latencies in seconds as ``latency_s``, by which ``columns`` names them."""
        in_seconds = self.latency_unit == 1000
        return {SECONDS if name == "latency_ms" and in_seconds else name: of for name, of in self.used.items()}

    @cached_property
    def kinds(self) -> dict[str, str]:
        """The required kind of each column of the user's table that a score needs."""
        kinds: dict[str, str] = {}
        needs = [need for score in self.scores for need in score.metric.all_needs()]
        plain = {column for column, need in needs if not hasattr(need, "kind")}
        required = {column: need.kind for column, need in needs if hasattr(need, "kind") and column not in plain}
        for canonical, name in self.used.items():
            if kinds.get(name) not in ("texts", "values"):
                kind = required[canonical] if canonical in required else COLUMNS[canonical].kind
                kind = {"text": "value", "texts": "values"}.get(kind, kind)
                kinds[name] = "any" if name in self.lists and kind not in ("value", "values") else kind
        return kinds if self.reason is None else {self.reason: "any", **kinds}

    @cached_property
    def keys(self) -> frozenset[str]:
        """The columns of texts that every score reads as keys, by which rows are told apart, or as JSON."""
        return frozenset(column for column, name in self.used.items() if self.kinds[name] in ("id", "json", "jsons"))

    @cached_property
    def shared(self) -> frozenset[str]:
        """The columns that are tokenised under several text conventions."""
        by_column: dict[str, set[str | None]] = defaultdict(set)
        for score in self.scores:
            for column, need in score.metric.all_needs():
                by_column[column].add(getattr(need, "convention", None))
        return frozenset(column for column, conventions in by_column.items() if len(conventions - {None}) > 1)


def _ranged(score: Score, stored: Callable[[], ScoreMetadata]) -> Score:
    """The score of a judge's column with the range of its rubric."""
    if not isinstance(score.metric, JudgedMetric):
        return score
    return replace(score, metric=score.metric.within(stored().ranges.get(score.metric.name)))


def plan(
    present: Iterable[str],
    request: ScoreRequest,
    *,
    has_blanks: bool = False,
    has_name: bool | None = None,
    stored: Callable[[], ScoreMetadata] = ScoreMetadata,
) -> Plan:
    """The plan of a request for a table with the columns ``present``; it copies the ``id``, first.

    >>> plan(["answer", "ID"], ScoreRequest("answer_words", keep="all")).keep
    ('ID', 'answer')

    The fingerprint of a run's rows is that of the ids, and of the questions too if they are read anyway, or the run
    ``has_name``; None is for rows without a fingerprint.  ``stored`` returns the metadata of the table, which have the
    ranges of a judge's scores.

    Raises ``ColumnError`` for a missing column, for two columns that both match a needed one, or for a suite without
    its columns, ``OptionError`` for an invalid value of ``no_relevant``, and for counts to keep where no
    metric has any.
    """
    names = present if isinstance(present, Names) else Names(present)
    metrics, suites = listed(request.metrics), listed(request.suites)
    mapping, rivals, fitting = found_columns(names, request.columns, request.schema)
    check_rivals(rivals, ("id",))
    common = request.common(mapping)
    parsed = [_ranged(score, stored) for score in _each_once(metrics, common, names)]
    ids = [mapping["id"]] if "id" in mapping else []
    keep = list(dict.fromkeys([*ids, *kept_columns(request.keep, names, mapping)]))
    for name in keep:
        if name not in names:
            raise UnknownNameError(names.unknown(name))
    if request.embedder is not None:
        argument("embedder", request.embedder, of_hint(Embeds))
    cache = None if request.cache is None else os.path.abspath(local_path(request.cache, "cache"))
    embedding = {"embedder": request.embedder, "cache": cache}
    scores = [_embedding(score, mapping, embedding) for score in parsed]
    fitted = [score.metric for score in scores if isinstance(score.metric, FittedMetric)]
    mapping |= {name: name for metric in fitted for name in metric.raw_columns if name in names}
    judged = [score.metric.name for score in parsed if isinstance(score.metric, JudgedMetric)]
    mapping |= {name: name for name in judged if name in names}
    left_out = {}
    for asked in suites if suites or metrics else ["core"]:
        suite = asked.partition("(")[0].strip()
        requested = {score.name for score in scores}
        members = [_embedding(score, mapping, embedding) for score in _of_suite(asked, common)]
        able = [score for score in members if score.metric.fits(mapping)]
        if not able:
            raise without_columns(suite, names, [score.metric for score in members], mapping)
        if suite in families.TIERS and len(able) < len(members):
            left_out[suite] = [
                lacking(score.name, score.metric, mapping) for score in members if not score.metric.fits(mapping)
            ]
        scores += [score for score in able if score.name not in requested]
    if request.prices is not None and all(score.metric.name != "cost" for score in scores):
        scores.append(parse("cost", common))
    for score_read in [parse(spec, common) for score in scores for spec in score.metric.reads(score.options)]:
        if score_read.name not in {score.name for score in scores}:
            scores.append(_embedding(score_read, mapping, embedding))
    for score in scores:
        check_columns(score.name, score.metric, names, mapping, preset_of(names, request.schema))
    _check_distinct(scores)
    _check_stored_alike(scores)
    if ids:  # readers tell systems apart that answer under the same ids
        keep += [name for name in names if is_system(name) and name not in keep]
    if ids and any(adds_up(score.metric.name) for score in scores):  # tell the rounds of an answer from other answers
        found = roles(list(names))
        keep += [name for name in names if name in (*found["repeat"], *found["round"]) and name not in keep]
    if listed(request.keep) == ["all"] and "all" not in names:  # the score of a column's name takes its place
        keep = [name for name in keep if name in ids or name not in {score.name for score in scores}]
    clash = [score.name for score in scores if score.name in copied_columns(keep, mapping)]
    if clash:
        raise OptionError(f"cannot keep the column {clash[0]!r}: a metric has the same name; rename the column")
    # without row metrics, the counts of rows are all that a row can have
    counted = request.keep_counts or all(score.metric.corpus is not None for score in scores)
    used, stated = _used(scores, mapping), named_columns(names, request.columns, request.schema)
    reason = _reason(names, used["answer"], request.schema) if "answer" in used else None
    read = {*keep, *used.values(), reason}
    named = [name for name in ("id", "question") if has_name is not None and name in mapping]
    extracts = _extracts(scores) if request.keep_extracted else []
    if request.keep_extracted and not extracts:
        raise OptionError(Argument("keep_extracted", True), " needs ", Argument("extract", "answer"))
    planned = Plan(
        tuple(scores),
        mapping,
        tuple(keep),
        passed_over={name: over for name, over in passed_over(fitting, used).items() if name not in stated},
        named=stated,
        common=common,
        identity={name: mapping[name] for name in named if has_name or mapping[name] in read},
        left_out=left_out,
        lists=text_lists(names, mapping, request.lists),
        has_blanks=has_blanks,
        latency_unit=milliseconds_in(used["latency_ms"], stated, names) if "latency_ms" in used else 1.0,
        reason=reason,
        keep_counts=counted,
        strip_thoughts=request.strip_thoughts,
        extracted={
            "extracted" if extract == common.get("extract") else f"extracted({extract!r})": extract
            for extract in extracts
        },
    )
    if counted and not planned.kept_counts:
        raise OptionError(Argument("keep_counts", True), " needs a corpus metric, such as corpus_bleu")
    kinds = {"counts of a metric": planned.kept_columns, "extracted answers": planned.extracted}
    for what, own in {**kinds, "words beside a score": planned.texts}.items():
        clash = [name for name in own if name in (*planned.copied, *planned.names)]
        if clash:
            raise OptionError(f"cannot keep the column {clash[0]!r}: the {what} have the same name; rename the column")
    check_rivals(rivals, {column for score in scores for column in score.metric.needs})
    return planned


def _used(scores: Iterable[Score], columns: Mapping[str, str]) -> dict[str, str]:
    """The canonical columns that a score needs, and the user's name of each."""
    needed = dict.fromkeys(column for score in scores for column, _ in score.metric.all_needs())
    return {column: columns[column] for column in needed if column in columns}


def _extracts(scores: Iterable[Score]) -> list[Sequence[str] | str]:
    """The ways in which answers are extracted, each once."""
    options = [score.options for score in scores if "answer" in score.metric.needs]
    fitted = [score.metric for score in scores if isinstance(score.metric, FittedMetric)]
    options += [part.options for metric in fitted for part in metric.parts]
    return list(dict.fromkeys(some["extract"] for some in options if some.get("extract")))


def _reason(names: Names, answer: str, schema: str | None) -> str | None:
    """The column that says why an answer is missing: of a preset, or of the path of the answer."""
    preset = preset_of(names, schema)
    reasons = [preset.reason if preset is not None else None, answer.partition(" unless ")[2]]
    return next((column for column in map(names.fitting, filter(None, reasons)) if column is not None), None)


def _each_once(metrics: Sequence[str], common: Mapping[str, Any], names: Names) -> list[Score]:
    """The scores of specs; one for several names of a metric, such as S_rel and Relevance Score."""
    found: dict[str, tuple[Score, list[str]]] = {}
    scores = []
    for spec in metrics:
        try:
            score = parse(spec, common)
        except UnknownNameError:
            if spec not in names:
                raise
            way = f"unknown metric {spec!r}, a column of the table: rename it judge_{spec}, or copy it with "
            raise UnknownNameError(
                way, Argument("keep", spec), " and name it as a metric of summarize or compare"
            ) from None
        first, spellings = found.setdefault(score.name, (score, []))
        if not spellings or fold(spec) in map(fold, spellings) or _source(first) != _source(score):
            scores.append(score)  # twice by one name is a slip
        spellings.append(spec)
    return scores


def _check_distinct(scores: Sequence[Score]) -> None:
    """Raise ``OptionError`` if two scores have the same name."""
    if len({score.name for score in scores}) == len(scores):
        return
    specs = {score.name: [_source(other) for other in scores if other.name == score.name] for score in scores}
    for name, several in specs.items():
        if len(set(several)) > 1:
            raise OptionError(f"two metrics have the name {name!r}: {' and '.join(several)}; give each another name")
    twice = sorted(name for name, several in specs.items() if len(several) > 1)
    if twice:
        raise OptionError(f"metrics requested twice: {', '.join(twice)}; name each once")


def _check_stored_alike(scores: Sequence[Score]) -> None:
    """Raise ``OptionError`` if metrics that share the data that a run stores of each row read texts differently."""
    first: dict[str, Score] = {}
    for score in scores:
        if score.metric.keeps is not None:
            other = first.setdefault(score.metric.keeps, score)
            if any(score.options.get(name) != other.options.get(name) for name in TEXT_OPTIONS):
                raise OptionError(
                    f"{other.name} and {score.name} need the same extract and normalize, for they share what is stored "
                    "of each row; score them in runs of their own"
                )


def _source(score: Score) -> str:
    """What the user wrote for a score: its spec, or the file of a fitted score."""
    metric = score.metric
    return metric.path if isinstance(metric, FittedMetric) and score.spec == metric.name else score.spec


def text_lists(names: Sequence[str], mapping: Mapping[str, str], lists: Sequence[str] | str) -> dict[str, str]:
    """The columns of texts that are lists, with the separator of each, if it has one.

    Raises ``UnknownNameError`` or ``OptionError`` for any other column.
    """
    found = {}
    fitting = [column for column in COLUMNS.values() if column.kind in _OF_LISTS]
    for spec in listed(lists):
        name, _, separator = (spec, "", "") if spec in names else spec.partition("=")
        if name not in names:
            raise UnknownNameError.of("column", name, names)
        if not any(mapping.get(column.name) == name for column in fitting):
            raise OptionError(Argument("lists", name), ": only columns of texts, ids or numbers can hold lists")
        found[name] = separator
    return found


_OF_LISTS = ("text", "texts", "ids", "id_groups", "numbers", "amounts", "vector", "vectors")
"""The kinds of columns that may hold a list."""


def _of_suite(asked: str, common: Mapping[str, Any]) -> list[Score]:
    """The scores of a suite: all that a tier lists, or the usual row metrics of families.

    Its options, as in ``tier2(tokenizer='unicode')``, are those of all its metrics that have them and allow the value.
    """
    suite = specs.parse_spec(asked, lambda name: True, "suite")
    members = families.TIERS.get(suite.name) or [
        metric.name for metric in families.suite(suite.name) if metric.level == "row"
    ]
    found, unused = [], dict(suite.options)
    for score in [parse(spec, common) for spec in members]:
        own = {name: value for name, value in suite.options.items() if _allows(score.metric, name, value)}
        found.append(parse(score.spec, common, own) if own else score)
        unused = {name: value for name, value in unused.items() if name not in own}
    for name, value in unused.items():
        having = [score for score in found if name in score.metric.accepts]
        if not having:
            options = dict.fromkeys(option for score in found for option in score.metric.accepts)
            raise UnknownNameError.of(f"option of the suite {suite.name}", name, options)
        having[0].metric.options({name: value})  # no metric allows the value: the error of one of them
    return found


def _allows(metric: Metric, name: str, value: Any) -> bool:
    """Whether a metric has an option that allows the value."""
    accepts = metric.accepts
    if name not in accepts:
        return False
    try:
        accepts[name].take(value)
    except NotAllowedError:
        return False
    return True


def _embedding(score: Score, columns: Mapping[str, str], embedding: Mapping[str, Any]) -> Score:
    """The score with the requested embedder and cache if it embeds text and sets none of its own."""
    if isinstance(score.metric, FittedMetric):

        def embedded(part: Part) -> Part:
            if part.metric is None:
                return part
            changed = _embedding(Score(part.name, part.metric, part.options, part.name), columns, embedding)
            return Part(part.name, changed.metric, changed.options)

        embedding = score.metric.own_embedding(embedding)
        return replace(score, metric=with_parts(score.metric, embedded))
    metric = score.metric if embedding["embedder"] is None else from_text(score.metric, columns)
    if "embedder" not in metric.defaults:
        return score
    own = {name: value for name, value in score.options.items() if value}
    return replace(score, metric=metric, options={**metric.defaults, **embedding, **own})
