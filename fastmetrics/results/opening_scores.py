"""Opening scores in any form: a file, a folder of parts, an address, a frame, one run or several."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import (
    floats_of_arrow,
    is_list,
    is_number,
    is_text,
    plain_table,
)
from fastmetrics.base.column_names import COLUMNS, is_id, roles
from fastmetrics.base.columns import (
    aligned_table,
    as_array,
    as_arrow,
    index_columns,
    is_column,
    open_frame,
    tells_rows,
    with_index,
)
from fastmetrics.base.errors import (
    Argument,
    ColumnError,
    FileFormatError,
    InputError,
    OptionError,
    UnknownNameError,
    some,
)
from fastmetrics.base.options import by_name
from fastmetrics.base.paths import PathError, is_path, parse
from fastmetrics.base.score_metadata import METADATA, ScoreMetadata
from fastmetrics.plans.stored_metadata import Declared
from fastmetrics.results.row_groups import Piece
from fastmetrics.results.score_columns import (
    check_bounds,
    declared,
    has_numbers,
    score_columns,
    stored_declarations,
    untyped_scores,
    with_score_types,
)
from fastmetrics.results.score_table import UNSCORED, ScoreTable, has_answers, kinds_of, labels_of
from fastmetrics.stats.labels import are_flags
from fastmetrics.tables.addresses import as_local, last_name, shown_address
from fastmetrics.tables.csv_files import ambiguous, as_it_looks
from fastmetrics.tables.formats import without_suffix
from fastmetrics.tables.good_rows import good_batches, read_in_turn, whole_table
from fastmetrics.tables.input_files import DataFile, read_by_default
from fastmetrics.tables.opening import is_paths, open_each, open_source
from fastmetrics.tables.outputs import find_metadata
from fastmetrics.tables.sources import FileSource

_INPUT = frozenset(
    name
    for column in COLUMNS.values()
    if column.kind not in ("number", "amounts", "flag")
    for name in (column.name, *column.aliases)
)
"""The input columns that hold no numbers, though an answer or a reference may look like one."""
_FEW = 6
"""Maximum number of columns of a large Parquet file to read at once."""
_FEW_CELLS = 2_500_000
"""A table with this number of cells is read at once: its numbers take 20 MB."""
_MOST_NAMED = 5
"""Maximum number of runs that an error names."""
_NUMBERS = {str(type_): type_ for type_ in (pa.bool_(), pa.int64(), pa.int32(), pa.float64(), pa.float32())}
"""The types of scores by their names in metadata."""


# Opening tables of scores: one run, several runs, one table whose column names the systems.


def open_scores(
    scores: Any,
    name: str | None = None,
    *,
    table: str = "run 1",
    latest: bool = False,
    columns: Mapping[str, str] | None = None,
    asked: Sequence[str] = (),
    of_systems: bool = False,
) -> ScoreTable:
    """One run in any form, under its own name or another ``name``; a table without one is called ``table``.

    ``columns`` are the user's names of its ids and texts; kept columns of numbers in a file, also those of text, are
    scores if they are ``asked`` for.  A table ``of_systems`` keeps a pandas index in which labels recur.  Raises
    ``OptionError`` for several runs; ``latest`` says whether the caller can
    take the last one.
    """
    if columns:
        opened = open_scores(scores, name, table=table, latest=latest, asked=asked, of_systems=of_systems)
        return _with_named(opened, columns)
    if isinstance(scores, ScoreTable):
        return replace(scores, name=name or scores.name)
    if not is_paths(scores):
        return _of_table(getattr(scores, "per_query", scores), name or table, of_systems)
    if not isinstance(scores, str | Path):
        raise InputError(f"{table}: expected one run, got {len(scores)} paths; name them by a folder or a pattern")
    opened = open_file(scores, asked)
    files = () if opened.source is None or opened.metadata.stored else opened.source.files
    each = ((file.shown, metadata_of(file.path, [file])) for file in files if len(files) > 1)
    runs = [shown for shown, metadata in each if metadata is not None and metadata.metrics is not None]
    if len(runs) > 1:  # files without the metadata of a run are parts of one table
        ways = (", or take the last one with ", Argument("latest", True)) if latest else ()
        many = f"{opened.address} holds {len(runs):,} runs: {some(runs, _MOST_NAMED)}; name one of them"
        raise OptionError(many, *ways)
    return opened if name is None else replace(opened, name=name)


def open_runs(
    runs: Any,
    system: str | None = None,
    least: int = 2,
    of: str = "runs",
    columns: Mapping[str, str] | None = None,
    asked: Sequence[str] = (),
) -> list[ScoreTable]:
    """Runs in any form: paths and tables in a list or a dict, or one table whose column ``system`` names them.

    Two files with the same name are named by their paths; ``columns`` and ``asked`` as in ``open_scores``.
    Raises ``InputError``, about the argument ``of``, for fewer than ``least`` runs.
    """
    if system is not None:
        opened = _by_system(open_scores(runs, columns=columns, asked=asked, of_systems=True), system)
    elif isinstance(runs, Mapping):
        opened = [open_scores(run, str(name), columns=columns, asked=asked) for name, run in runs.items()]
    elif isinstance(runs, Sequence) and not isinstance(runs, str | bytes):
        named = enumerate(runs, 1)
        opened = [open_scores(run, table=f"run {place}", columns=columns, asked=asked) for place, run in named]
    else:
        ways = ": expected at least two runs: a list, a dict of names and runs, or one table with "
        raise InputError(Argument(of, otherwise=f"the {of}"), ways, Argument("system"))
    if not opened and least == 1:
        raise InputError("there are no runs")
    if len(opened) < least:
        got = f": expected at least two runs, got {'one' if opened else 'none'}; "
        way = "add another, or name the column of systems of one table with "
        own = opened[0].systems if opened else None
        raise InputError(
            Argument(of, otherwise=f"the {of}"), got, way, Argument("system", own[0]) if own else Argument("system")
        )
    counts, seen = Counter(run.name for run in opened), Counter[str]()
    apart = []
    for run in opened:
        name = str(run.address) if counts[run.name] > 1 and run.address else run.name
        seen[name] += 1
        apart.append(replace(run, name=name if seen[name] == 1 else f"{name} ({seen[name]})"))
    return apart


def are_several(runs: Any) -> bool:
    """Whether these are several runs, in a list or by name in a dict, rather than one path or table.

    A dict of columns is one table, and so is a list of record batches or of rows: dicts that do not contain columns
    only.

    >>> table = {"id": [1, 2], "token_f1": [0.5, 1.0]}
    >>> are_several([table, table]), are_several({"old": table, "new": "new.parquet"}), are_several(table)
    (True, True, False)
    >>> are_several([{"id": 1, "token_f1": 0.5}])
    False
    """
    if isinstance(runs, Mapping):
        return bool(runs) and not any(map(is_column, runs.values()))
    if not isinstance(runs, list | tuple) or (runs and isinstance(runs[0], pa.RecordBatch)):
        return False
    return not runs or not isinstance(runs[0], Mapping) or all(map(is_column, runs[0].values()))


def run_of(runs: Sequence[ScoreTable], wanted: Any) -> ScoreTable | None:
    """The run of this name, or of the file at this path; None if it is none of them."""
    if not isinstance(wanted, str | Path):
        return None
    file = shown_address(as_local(wanted))
    return next((run for run in runs if str(wanted) == run.name or run.address == file), None)


def run_named(runs: Sequence[ScoreTable], wanted: Any, of: str) -> ScoreTable | None:
    """The run of this name or file, the value of the argument ``of``; None for None.

    Raises ``UnknownNameError`` for a run that is none of them.
    """
    found = run_of(runs, wanted)
    if found is None and wanted is not None:
        if not isinstance(wanted, str | Path):
            raise OptionError(Argument(of, wanted), ": expected the name or the file of a run")
        raise UnknownNameError.of("run", str(wanted), [run.name for run in runs])
    return found


def two_runs(runs: Sequence[ScoreTable], baseline: str | None, other: str | None) -> tuple[ScoreTable, ScoreTable]:
    """The baseline and the compared run: by name or file, or the first and the second of two.

    Raises ``UnknownNameError`` for an unknown name, ``OptionError`` if names are needed to choose.
    """
    named, second = run_named(runs, baseline, "baseline"), run_named(runs, other, "other")
    first = named or next(run for run in runs if run is not second)
    left = [run for run in runs if run is not first]
    if other is None and len(left) > 1:
        names, both = ", ".join(run.name for run in left), (Argument("baseline"), " and ", Argument("other"))
        raise OptionError(f"there are {len(runs)} runs; choose two of them with ", *both, f": {first.name}, {names}")
    second = second or left[0]
    if second is first:
        raise OptionError(Argument("other", other), ": this run is the baseline; choose another run")
    return first, second


def open_file(path: str | Path, asked: Sequence[str] = ()) -> ScoreTable:
    """The table in a file, a folder of parts or at an address.

    Raises ``FileFormatError`` if it cannot be read or contains no scores.
    """
    text = as_local(path)
    source = open_source(text)
    return _of_source(shown_address(text), source, metadata_of(text, source.files), asked)


def open_parts(path: str | Path, asked: Sequence[str] = ()) -> list[ScoreTable]:
    """The table at a path, or each file of a folder or pattern, with its own metadata."""
    text = as_local(path)
    source = open_source(text)
    if len(source.files) == 1 or find_metadata(text) is not None:
        return [_of_source(shown_address(text), source, metadata_of(text, source.files), asked)]
    return _of_files(source.files, asked)


def parts_of(table: ScoreTable, asked: Sequence[str] = ()) -> list[ScoreTable]:
    """The table, or each of its files, if these have no metadata in common."""
    if table.source is None or len(table.source.files) == 1 or table.metadata.stored:
        return [table]
    return _of_files(table.source.files, asked)


def _of_files(files: Sequence[DataFile], asked: Sequence[str] = ()) -> list[ScoreTable]:
    each = ((source, source.files[0]) for source in open_each(files))
    return [_of_source(file.shown, source, metadata_of(file.path, [file]), asked) for source, file in each]


def _of_source(address: str, source: FileSource, stored: ScoreMetadata | None, asked: Sequence[str] = ()) -> ScoreTable:
    """The table in an opened source; columns of Parquet are read one by one, unless all together are small."""
    metadata, names, listed = stored or ScoreMetadata(), source.schema.names, stored_scores(stored)
    looks = {} if listed is not None or source.has_types else _looks(source)
    schema = pa.schema(looks.items()) if looks else source.schema
    known = {*score_columns(schema), *untyped_scores(schema)} if listed is None else {*listed}
    kept = [name for name in names if name in asked and name not in known and not is_id(name)]
    in_texts = {name: _looks_of_texts(source, name) for name in kept if is_text(schema.field(name).type)}
    in_texts = {name: type_ for name, type_ in in_texts.items() if type_ is not None}
    known |= {name for name in kept if name in in_texts or has_numbers(schema.field(name).type)}
    looks = {**looks, **in_texts}
    scores = [name for name in names if name in known]
    if not (scores or metadata.metrics is not None):
        first = "no column of scores (numbers or booleans); run `fastmetrics score` (fm.score) first"
        what = f" {UNSCORED}" if has_answers(names) else f": {first}"
        raise FileFormatError(f"{address}{what}")
    kinds_of_looks = {name: pa.bool_() if pa.types.is_boolean(looks[name]) else pa.float64() for name in looks}
    looks = {name: kinds_of_looks[name] for name in scores if name in looks}
    cells = math.inf if source.rows is None else source.rows * len(source.schema)
    by_column = cells > _FEW_CELLS and {part.format for part in source.files} <= {"parquet"}
    few = _FEW if by_column else len(source.schema)

    typed = {*scores} - looks.keys()

    def plain(names: Sequence[str]) -> pa.Table:
        table = read_in_turn(source, kinds_of(source, names, scores, looks), few)
        for at, name in enumerate(table.column_names):
            is_plain = not source.has_types and is_text(table.column(at).type) and name not in typed
            if is_plain and name not in in_texts and not is_id(name):
                table = table.set_column(at, name, as_it_looks(table.column(at), comma=source.has_decimal_comma))
            elif name in in_texts:
                table = table.set_column(at, name, as_it_looks(table.column(at), comma=True).cast(in_texts[name]))
        return table

    types = None
    if by_column:
        selected = source.select(kinds_of(source, names, scores, looks)).schema
        types = {**dict(zip(selected.names, selected.types, strict=True)), **in_texts}
    name = metadata.name or without_suffix(last_name(address))
    declarations, read = _within_bounds(plain, name, scores, metadata)
    of_texts = frozenset(in_texts)
    return ScoreTable(name, names, scores, metadata, declarations, read, source, address, looks, of_texts, types=types)


def _looks_of_texts(source: FileSource, name: str) -> pa.DataType | None:
    """The type of a column of text that holds numbers or booleans only; None for another one.

    Numbers may have a decimal comma.  Raises ``InputError`` where commas may as well separate thousands.
    """
    text = whole_table(source, {name: "any"}).column(0)
    mark = read_by_default().decimal
    values = as_it_looks(text, comma=mark != ".")
    if pa.types.is_boolean(values.type):
        return pa.bool_()
    if not is_number(values.type):
        return None
    if mark is None and not source.has_decimal_comma and (example := ambiguous(text)) is not None:
        what = (
            f"column {name!r}: numbers such as {example!r} have a decimal comma or separated thousands; say which with "
        )
        raise InputError(what, Argument("decimal", ",", otherwise="the setting decimal of reading"))
    return pa.float64()


def _looks(source: FileSource) -> dict[str, pa.DataType]:
    """The types of the columns of text that hold numbers or booleans only, or nothing; empty if there are none."""
    types: dict[str, set[pa.DataType]] = {name: set() for name in source.schema.names if name.lower() not in _INPUT}
    for batch in good_batches(source, source.select(dict.fromkeys(types, "any")), any_length=True):
        for name, found in list(types.items()):
            type_ = as_it_looks(pa.chunked_array([batch.column(name)]), comma=source.has_decimal_comma).type
            found |= set() if pa.types.is_null(type_) else {pa.float64() if is_number(type_) else type_}
            if not found <= {pa.float64()} and found != {pa.bool_()}:
                del types[name]
        if not types:
            break
    return {name: next(iter(found), pa.null()) for name, found in types.items()}


def _of_table(table: Any, name: str, of_systems: bool = False) -> ScoreTable:
    frame = open_frame(table, name)
    whole = with_score_types(pa.concat_tables(frame.read(list(dict.fromkeys(frame.names)))[1]))
    if isinstance(table, pa.Table | pa.RecordBatch):
        whole = whole.replace_schema_metadata(table.schema.metadata)
    elif isinstance(stored := frame.attributes.get(METADATA.decode()), str):  # of ``fm.with_scores``
        whole = whole.replace_schema_metadata({METADATA: stored})
    try:
        metadata = ScoreMetadata.of_schema(whole.schema)
    except FileFormatError as error:
        raise FileFormatError(f"{name}: {error}") from error
    labels = frame.index  # the default range only with a name, and labels that recur if several systems may share them
    is_unique = labels is not None and labels.is_unique
    if (is_unique and (labels.name is not None or tells_rows(labels))) or (
        of_systems and labels is not None and not is_unique
    ):
        try:
            whole = with_index(whole, frame.index)
        except ColumnError:  # labels of several types
            whole = with_index(whole, frame.index.map(str))
    numbers = {*(stored_scores(metadata) or ()), *score_columns(whole.schema)}
    scores = [score for score in whole.column_names if score in numbers]
    known, read = _within_bounds(whole.select, name, scores, metadata)
    index = tuple(sorted(index_columns(whole.schema)))
    run = _with_paths(ScoreTable(name, whole.column_names, scores, metadata, known, read, index=index))
    if run.id_column is None and are_ids(whole, index):
        return _with_named(run, {"id": index[0]})
    return run


_OF_ROWS = ("id", "question", "reference", "answer", "contexts")
"""The columns by which rows are known, and those that are shown of them."""


def _with_named(run: ScoreTable, columns: Mapping[str, str]) -> ScoreTable:
    """The run whose ids and texts have these names, ``{canonical: yours}``; raises ``UnknownNameError`` for others."""
    for name in by_name("columns", columns, "names"):
        if name not in COLUMNS:
            raise UnknownNameError.of("column", name, COLUMNS)
    own = {**(run.metadata.named or {}), **columns}
    return _with_paths(replace(run, metadata=replace(run.metadata, named=own)))


def _with_paths(run: ScoreTable) -> ScoreTable:
    """The run with the ids and texts that were named by paths within its columns, as columns of these names."""
    named = run.metadata.own_columns
    paths = {own: parse(own) for own in map(named.get, _OF_ROWS) if own and own not in run.columns and is_path(own)}
    found: dict[str, pa.Array] = {}
    for own, path in paths.items():
        roots = path.columns(run.columns)
        with suppress(PathError):  # what it leads through was taken out since
            table = run.read(roots)
            found |= {own: as_array(path.column({root: table[root] for root in roots}), own)} if roots else {}
    return run.with_columns(found) if found else run


def are_ids(table: pa.Table, index: Sequence[str]) -> bool:
    """Whether these columns of a pandas index are the ids of its rows: one with a name, without repeats."""
    if len(index) != 1 or index[0].startswith("__index_level_"):
        return False
    labels = table.column(index[0])
    has_kind = pa.types.is_integer(labels.type) or is_text(labels.type)
    if not has_kind or labels.null_count:
        return False
    return bool(pc.count_distinct(labels.cast(pa.large_string())).as_py() == len(labels))  # also of categories


def _within_bounds(
    read: Callable[[Sequence[str]], pa.Table], run: str, scores: Sequence[str], metadata: ScoreMetadata
) -> tuple[dict[str, Declared], Callable[[Sequence[str]], pa.Table]]:
    """The declarations of scores, and a reader that checks each column of them once: its values lie within its bounds.

    The reader raises ``InputError`` for a score outside them: a mean, an interval or a rule would be of another scale.
    """
    stored = stored_declarations(metadata)
    known = {**stored, **declared(scores, stored)}
    bounds = {name: known[name].bounds for name in scores if name in known}

    def checked(names: Sequence[str]) -> pa.Table:
        table = read(names)
        for name in bounds.keys() & set(names):
            check_bounds(table.column(name), name, bounds.pop(name), 0, run)
        return table

    return known, checked


def _by_system(whole: ScoreTable, system: str) -> list[ScoreTable]:
    """A run for each value of a column, in order of first occurrence.

    A pandas index whose labels recur over the systems is that of each: its ids, if it has a name and no repeats there.
    """
    column = whole.column(system, "that names the systems")
    if pa.types.is_nested(column.type):
        raise ColumnError(f"column {system!r} holds {column.type}, which cannot name systems")
    names, missing = column.cast(pa.large_string()), column.is_null(nan_is_null=True)
    if pc.any(missing).as_py():
        row = int(np.flatnonzero(missing.to_numpy(zero_copy_only=False))[0])
        raise InputError(f"column {system!r}, row {row}: the system is missing (null)")

    def run(name: str) -> ScoreTable:
        rows = pc.equal(names, name)
        # the missing queries of one ranking, since those of the whole table are the sum of all
        metadata = replace(whole.metadata, missing_queries=(whole.metadata.missing_by_ranking or {}).get(name))
        scores = [score for score in whole.scores if score != system]
        read = lambda columns: whole.read(columns).filter(rows)  # noqa: E731
        return ScoreTable(name, whole.columns, scores, metadata, whole.declared, read, is_part=True)

    runs = [run(name) for name in pc.unique(names).to_pylist()]
    if not whole.index or len(labels := labels_of([whole.column(one) for one in whole.index])) == len(labels.unique()):
        return runs
    runs = [replace(run, index=whole.index) for run in runs]
    if whole.id_column is None and all(are_ids(run.read(run.index), run.index) for run in runs):
        return [_with_named(run, {"id": run.index[0]}) for run in runs]
    return runs


def metadata_of(path: str | Path, files: Sequence[DataFile] = ()) -> ScoreMetadata | None:
    """The metadata beside a path, or in its single file, or None if there are none.

    Raises a ``FileFormatError`` with the file's name if they cannot be read.
    """
    stored = find_metadata(path, files)
    try:
        return None if stored is None else ScoreMetadata.of(stored)
    except FileFormatError as error:
        raise FileFormatError(f"{shown_address(as_local(path))}: {error}") from error


def stored_scores(metadata: ScoreMetadata | None) -> list[str] | None:
    """The score columns of a file according to its metadata, or None if unknown."""
    if metadata is None:
        return None
    if metadata.metrics is not None:
        return list(metadata.metrics)  # the other numeric columns are copied input
    output = metadata.stored.get("output")
    if not isinstance(output, Mapping):
        return None
    return score_columns(pa.schema([(name, _NUMBERS.get(str(type_), pa.string())) for name, type_ in output.items()]))


# Tables of any kind as one Arrow table, or piece by piece.


def column_of(path: str | Path, name: str) -> Iterator[Any]:
    """The scores of one column of an output, or the lists stored in it, at each call."""
    for batch in open_file(path).batches([name]):
        yield batch.column(0) if is_list(batch.schema.field(0).type) else floats_of_arrow(batch.column(0), name)


def read_table(path: str | Path | Sequence[str | Path], text: Collection[str] | None = None) -> pa.Table:
    """The rows of a file, a folder, or any other input of ``open_source``; raises ``FileFormatError`` for a bad row.

    In CSV and TSV, the columns ``text`` (by default all) and ids are read as text and the types of the others are
    inferred.  The metadata of the table have the stored declarations of the scores and the columns that the run read.
    """
    source = open_source(path)
    # several files are read as tables of any kind
    metadata = metadata_of(path, source.files) if isinstance(path, str | Path) else None
    scores = stored_scores(metadata) or ()
    table = whole_table(source, {name: "number" if name in scores else "any" for name in source.schema.names})
    if metadata is not None:
        kept = ScoreMetadata(declared=metadata.declared, columns=metadata.columns, named=metadata.named)
        table = table.replace_schema_metadata(kept.for_schema())
    if text is None or source.has_types:
        return table
    for at, name in enumerate(table.column_names):
        if name not in text and name not in scores and not is_id(name):
            table = table.set_column(at, name, as_it_looks(table.column(at)))
    return table


def table_of(
    table: Any, on: str | None, name: str, *, or_column: bool = False, named: Iterable[str | None] = ()
) -> pa.Table:
    """A table from files or any form of table; a plain sequence becomes the column ``label``.

    ``named`` are further names of ids.
    """
    if is_paths(table, or_column=or_column):  # ids are read as text, so that 007 differs from 7
        return read_table(table, {"id", on or "id", *filter(None, named)})
    return as_table(table, on, [on] if on is not None else [], name)[0]


def with_ids_of(scores: pa.Table, labels: pa.Table, on: str | None, named: str | None) -> tuple[pa.Table, str | None]:
    """The labels with their ids called as those of the scores, and the column that pairs both, ``on`` if it is named.

    The run called its ids ``named``; either name is that of the ids, in whichever of the tables they have it.
    """
    if on is not None and on in scores.column_names and on in labels.column_names:
        return labels, on
    if on is None and named in scores.column_names and named in labels.column_names:
        return labels, named
    if on is None and {*scores.column_names} & {*labels.column_names} & {"id"}:
        return labels, None
    found = []
    for table in (scores, labels):
        names = [on, named, "id", *roles(table.column_names)["id"]]
        found.append(next((name for name in names if name in table.column_names), None))
    own, other = found
    if own is None or other is None or on not in (None, named, own, other):
        return labels, on
    return labels.rename_columns([own if name == other else name for name in labels.column_names]), own


def as_table(data: Any, on: str | None, columns: Collection[str], name: str) -> tuple[pa.Table, Sequence[str]]:
    """A table from scores or labels in any form, and what was left out; a plain sequence becomes the column ``label``.

    The table includes the pandas index if no column identifies the rows.  ``columns`` is as in ``pieces_of``, and
    ``name`` is what errors call the data.
    """
    given = data
    if is_column(data):
        labels = as_arrow(data, "label")
        if is_text(labels.type) and not are_flags(labels):
            advice = "several files are named by Path objects"
            raise ColumnError(f"{name}: expected numbers or booleans, got {labels.type}; {advice}")
        given = {"label": labels}
    read, _, notes = pieces_of(given, columns, name)
    pieces = [piece if isinstance(piece, pa.Table) else pa.Table.from_batches([piece]) for piece in read()]
    table = pa.concat_tables(pieces) if pieces else pa.table({})
    by_row = hasattr(data, "iloc") and on in (None, data.index.name) and not {"id", on} & {*table.column_names}
    return with_index(table, data.index) if by_row else table, notes


def pieces_of(
    scores: Any, needed: Collection[str] = (), name: str = "scores"
) -> tuple[Callable[[], Iterable[Piece]], bool, list[str]]:
    """What reads a table of any kind piece by piece, whether it can do so again, and notes on columns left out.

    A column that cannot be read, such as mixed objects, is left out unless it is ``needed``.  Raises ``InputError`` for
    anything but a table or an iterable of parts of one.
    """
    if isinstance(scores, ScoreTable):
        return scores.pieces, True, []
    if type(scores).__module__.startswith(("ray.data", "pyspark.")):
        way = "write it as Parquet, and name the folder"
        raise InputError(f"{name}: a {type(scores).__name__} is in the workers of a cluster; {way}")
    if isinstance(scores, pa.Table | pa.RecordBatch):
        return lambda: _plain([scores]), True, []
    if isinstance(scores, pa.RecordBatchReader):
        return lambda: _plain([scores]), False, []
    if callable(scores):
        return lambda: _plain(scores()), True, []
    is_frame = any(hasattr(type(scores), attribute) for attribute in ("columns", "__arrow_c_stream__"))
    has_rows = isinstance(scores, list | tuple) and scores and isinstance(scores[0], Mapping)
    if isinstance(scores, Mapping) or is_frame or has_rows:
        frame, columns, notes = open_frame(scores), {}, []
        for column in dict.fromkeys(frame.names):
            try:
                columns[column] = pa.concat_tables(frame.read([column])[1]).column(0)
            except ColumnError as error:
                if column in needed:
                    raise
                notes.append(f"left out: {error}")
        table = aligned_table(columns)
        if isinstance(stored := frame.attributes.get(METADATA.decode()), str):  # of ``fm.with_scores``
            table = table.replace_schema_metadata({METADATA: stored})
        return lambda: [table], True, notes
    if isinstance(scores, Iterable) and not isinstance(scores, str | bytes):
        once = isinstance(scores, Iterator) or any(isinstance(item, pa.RecordBatchReader) for item in scores)
        return lambda: _plain(scores), not once, []
    raise InputError(f"{name}: expected a table of scores, got {type(scores).__name__}")


def _plain(items: Iterable[Any]) -> Iterator[Piece]:
    for place, item in enumerate(items):
        if isinstance(item, pa.RecordBatchReader):
            yield plain_table(item.schema.empty_table())
            yield from map(plain_table, item)
        elif isinstance(item, pa.Table | pa.RecordBatch):
            yield plain_table(item)
        else:
            raise InputError(f"item {place}: expected an Arrow table or record batch, got {type(item).__name__}")
