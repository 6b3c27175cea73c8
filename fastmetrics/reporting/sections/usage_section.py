"""The usage page: results of the commands that read logs, on chunks, topics, caches, sessions and words."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from fastmetrics.base.display import Grid, Shown
from fastmetrics.base.errors import FileFormatError
from fastmetrics.logs.chunks import ChunkUse
from fastmetrics.logs.domains import Domain
from fastmetrics.logs.similar_questions import CacheHits, Sessions
from fastmetrics.logs.topics import Topic, Topics
from fastmetrics.reporting.charts import Charts, LineChart
from fastmetrics.reporting.row_texts import cut
from fastmetrics.reporting.sections.section import WORDS, Section
from fastmetrics.tables.addresses import as_local, last_name, shown_address
from fastmetrics.tables.input_files import read_small, reading

T = TypeVar("T")

_LISTED = 100
"""Maximum number of displayed ids of a list."""
_NO_ROWS = pa.schema([]).empty_table()
_LISTS = ("unused_ids", "never_cited_ids", "hubs", "unknown_ids")
_COMMANDS = "logs chunks, topics, cache, context or domains"


@dataclass(frozen=True)
class IdList:
    """A list of ids of which the first are shown: its label and total number."""

    label: str
    ids: Sequence[str]
    n: int


@dataclass(frozen=True)
class UsagePart:
    """The contents of one file: a heading, and optionally tables, lists, a bar of two parts and a chart."""

    kind: str
    """A label: chunks, topics, cache, sessions or domain."""
    source: str
    grids: Sequence[Grid]
    notes: Sequence[str]
    lists: Sequence[IdList] = ()
    used: tuple[int, int] | None = None
    """The numbers of used and unused chunks."""
    chart: int | None = None
    samples: Sequence[tuple[str, Sequence[str]]] = ()
    """Questions by topic."""
    figures: Sequence[tuple[str, str, Any]] = ()
    """The source, label and value of each figure of a tier."""
    days: int | None = None
    """The chart of questions over days."""


def usage_parts(usage: Any, charts: Charts) -> list[UsagePart]:
    """The parts of the page: from files of the commands that read logs, or from their results."""
    several = isinstance(usage, Sequence) and not isinstance(usage, str)
    return [
        _part(result, name, charts)
        for source in (usage if several else [usage])
        for result, name in (_opened(source) if isinstance(source, str | Path) else _results(source, "usage"))
    ]


def _opened(path: str | Path) -> Iterator[tuple[Shown, str]]:
    where = as_local(path)
    with reading(shown_address(where)):
        data = read_small(where)
    if data is None:
        raise FileFormatError(f"{shown_address(where)}: there is no such file; it is what {_COMMANDS} write with -o")
    try:
        figures = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise FileFormatError(
            f"{shown_address(where)}: expected JSON as {_COMMANDS} write it with -o: {error}"
        ) from error
    yield from _results(figures, last_name(shown_address(where)))


def _results(value: Any, name: str) -> list[tuple[Shown, str]]:
    """The results in a value: the value itself, or results restored from figures."""
    if isinstance(value, ChunkUse | Topics | CacheHits | Sessions | Domain):
        value = json.loads(value.to_json())
    results: list[Shown] = []
    if isinstance(value, Mapping):
        results = [restored(value, name) for keys, restored in _KINDS.items() if set(keys) <= set(value)]
    if not results:
        raise FileFormatError(f"{name}: holds no figures of {_COMMANDS}; write them with -o")
    return [(result, name) for result in results]


def _restored(cls: Callable[..., T], figures: Mapping[str, Any], **others: Any) -> T:
    """The result with these figures; a number that JSON cannot represent is NaN."""
    own: Any = cls
    unknown = {
        attribute.name: math.nan
        for attribute in fields(own)
        if attribute.type == "float" and figures.get(attribute.name, 0.0) is None
    }
    names = {attribute.name for attribute in fields(own)}
    return cls(**{key: value for key, value in {**figures, **unknown, **others}.items() if key in names})


def _checked(restore: Callable[[Mapping[str, Any]], Shown]) -> Callable[[Mapping[str, Any], str], Shown]:
    """A restored result with valid tables; raises ``FileFormatError`` otherwise."""

    def restored(figures: Mapping[str, Any], name: str) -> Shown:
        try:
            result = restore(figures)
            result.grids(), result.remarks()
        except (TypeError, ValueError, KeyError, AttributeError, LookupError, StopIteration) as error:
            raise FileFormatError(f"{name}: not the figures that {_COMMANDS} write: {error}") from error
        return result

    return restored


def _chunks(figures: Mapping[str, Any]) -> ChunkUse:
    most = figures.get("most_used") or [{"chunk": chunk} for chunk in figures["hubs"]]
    most = [{**chunk, "chunk": str(chunk["chunk"])} for chunk in most]
    return _restored(ChunkUse, figures, table=pa.Table.from_pylist(most, schema=_schema(most)))


def _schema(rows: Sequence[Mapping[str, Any]]) -> pa.Schema:
    """The Arrow schema of rows: chunks are text, counts are integers, other figures are floats."""
    names = rows[0] if rows else ("chunk",)
    kinds: dict[str, pa.DataType] = {name: pa.string() if name == "chunk" else pa.float64() for name in names}
    whole: dict[str, pa.DataType] = {name: pa.int64() for name in ("retrieved", "cited", "relevant") if name in kinds}
    return pa.schema(list({**kinds, **whole}.items()))


def _topics(figures: Mapping[str, Any]) -> Topics:
    topics = [_restored(Topic, topic) for topic in figures["topics"]]
    return _restored(Topics, figures, topics=topics, assignment=_NO_ROWS)


_KINDS: Mapping[tuple[str, ...], Callable[[Mapping[str, Any], str], Shown]] = {
    ("used_chunks", "places", "hubs"): _checked(_chunks),
    ("topics", "gaps"): _checked(_topics),
    ("tau", "curve"): _checked(lambda figures: _restored(CacheHits, figures, table=_NO_ROWS)),
    ("context_preservation", "pairs"): _checked(lambda figures: _restored(Sessions, figures, table=_NO_ROWS)),
    ("words", "indicators", "scripts"): _checked(lambda figures: _restored(Domain, figures)),
}
"""The keys that identify the figures of each kind, and the class that restores the result."""


_FIGURES: Mapping[type, Sequence[str]] = {
    ChunkUse: ("utilization_rate", "total_chunks", "used_chunks", "unused_chunks"),
    Topics: ("questions", "avg_chunks_per_topic"),
    CacheHits: ("cache_hit_rate", "wrong_share"),
    Sessions: ("context_preservation", "sessions"),
    Domain: ("questions", "answered_share", "mean_characters"),
}
"""The figures of each result that stand among those of the tiers."""


def _part(result: Shown, source: str, charts: Charts) -> UsagePart:
    figures = [
        (source, name, value)
        for name in _FIGURES[type(result)]
        if (value := getattr(result, name)) is not None and not math.isnan(value)
    ]
    part = _shown_part(result, source, charts)
    days = (result.days or {}) if isinstance(result, Domain) else {}
    over_days = None
    if len(days) > 1:
        places = [date.fromisoformat(day).toordinal() for day in days]
        lines = {"bars_questions": list(map(float, days.values()))}
        over_days = charts.add(LineChart("bars_days", "bars_days", places, lines, words=True, x_labels=list(days)))
    return replace(part, figures=figures, days=over_days)


def _shown_part(result: Shown, source: str, charts: Charts) -> UsagePart:
    grids, notes, name = result.grids(), list(result.remarks()), source
    if isinstance(result, ChunkUse):
        ids = {label: getattr(result, label) for label in _LISTS if getattr(result, label)}
        lists = [
            IdList(label, [cut(chunk_id)[:80] for chunk_id in ids_of_list[:_LISTED]], _n(result, label))
            for label, ids_of_list in ids.items()
        ]
        used = None if result.unused_chunks is None else (result.used_chunks, result.unused_chunks)
        return UsagePart("chunks", name, grids, notes, lists, used)
    if isinstance(result, Topics):
        samples = [
            (f"{topic.topic}: {' '.join(topic.words[:6])}", list(map(cut, topic.samples))) for topic in result.topics
        ]
        return UsagePart("topics", name, grids, notes, samples=[(head, some) for head, some in samples if some])
    if isinstance(result, CacheHits):
        lines = {line: [point[line] for point in result.curve] for line in ("cache_hit_rate", "wrong_share")}
        drawn = {line: values for line, values in lines.items() if any(value is not None for value in values)}
        places = [float(point["tau"] or 0.0) for point in result.curve]
        return UsagePart("cache", name, grids, notes, chart=charts.add(LineChart("cache", "τ", places, drawn)))
    return UsagePart("sessions" if isinstance(result, Sessions) else "domain", name, grids, notes)


def _n(use: ChunkUse, label: str) -> int:
    return use.unknown_chunks if label == "unknown_ids" else len(getattr(use, label))


SECTION = Section(
    "usage",
    labels=WORDS["sections"]["usage"],
    content=lambda section_input: (
        [] if section_input.options.usage is None else usage_parts(section_input.options.usage, section_input.charts)
    ),
    template="{% include 'usage_section.html' %}",
)
