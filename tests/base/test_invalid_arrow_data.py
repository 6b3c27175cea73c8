"""Arrow data that is invalid, dictionaries and every kind of column."""

import functools
import struct

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import fastmetrics as fm
from fastmetrics.base import arrays as intact
from fastmetrics.base.errors import ColumnError, FastmetricsError, FileFormatError, InputError
from fastmetrics.tables.opening import open_source
from fastmetrics.tables.readers import cell_bytes
from fastmetrics.vectors.vector_arrays import Vectors
from tests.support.column_kinds import TABLES, kinds
from tests.support.every_metric import CASES, READERS
from tests.support.goldens import refused
from tests.support.program import program
from tests.support.public_functions import CALLS, EXCEPTIONS, as_plain, public

FAR = 1_000_000_000
TEXT = ["Paris", None, "in the city of light and of long words", ""]
LISTS = [["Paris", "x"], None, [], ["a text that is far too long to lie in a view"]]


class Damaged:
    """An array, good until it is spoilt behind Arrow's back: Arrow itself looks at what it makes tables of."""

    def __init__(self, array, buffer, numbers, width=np.int32, wrap=lambda array: array):
        own = {"list_view<item: string>": 3, "large_list_view<item: string>": 3, "list<item: string>": 2}
        buffers = array.buffers()
        self._kept = np.frombuffer(buffers[buffer], width)[: len(numbers)].copy()
        self._numbers = numbers
        buffers[buffer] = pa.py_buffer(self._kept)
        nested = pa.types.is_nested(array.type)
        buffers, children = (buffers[: own[str(array.type)]], [array.values]) if nested else (buffers, [])
        self.array = wrap(pa.Array.from_buffers(array.type, len(array), buffers, children=children))

    def spoil(self):
        self._kept[:] = self._numbers
        return self.array


def text(numbers, type_=None, width=np.int32, wrap=lambda array: array):
    return lambda: Damaged(pa.array(TEXT, type_ or pa.string()), 1, numbers, width, wrap)


def view(place, number):
    """Strings in views, one number of which is another."""
    array = pa.array(TEXT, pa.string_view())
    numbers = np.frombuffer(array.buffers()[1], np.int32).copy()
    numbers[place] = number
    return lambda: Damaged(array, 1, numbers)


def codes(numbers):
    words = pa.array(["yes", "no"])
    return lambda: Damaged(
        pa.array([0, 1, 1, 0], pa.int32()), 1, numbers, wrap=lambda codes: pa.DictionaryArray.from_arrays(codes, words)
    )


def runs(ends):
    values = ["a", "b"]
    return lambda: Damaged(
        pa.array([1, 4], pa.int32()), 1, ends, wrap=lambda ends: pa.RunEndEncodedArray.from_arrays(ends, values)
    )


def lists(buffer, numbers, type_, width=np.int32):
    return lambda: Damaged(pa.array(LISTS, type_), buffer, numbers, width)


HARM = [0, 5, FAR, 43, 43]
DAMAGED = {
    "text beyond its bytes": text([0, 5, 5, 43, FAR]),
    "text that begins beyond": text([FAR, FAR, FAR, FAR, FAR + 8]),
    "text of negative length": text([0, 43, 5, 43, 43]),
    "text of negative offset": text([-FAR, 5, 5, 43, 43]),
    "one offset in the middle": text(HARM),
    "large text": text([0, 5, 5, 2**60, 43], pa.large_string(), np.int64),
    "a text view beyond its buffer": view(11, FAR),
    "a text view of a buffer that is not there": view(10, 7),
    "a text view of negative length": view(8, -1),
    "a dictionary index beyond": codes([0, 1, 2, 0]),
    "a negative dictionary index": codes([0, -1, 1, 0]),
    "a dictionary of damaged text": text(HARM, wrap=lambda words: pa.DictionaryArray.from_arrays([0, 1, 2, 3], words)),
    "a list beyond its values": lists(1, [0, 2, 2, 2, FAR], pa.list_(pa.string())),
    "a list of negative length": lists(1, [0, 3, 2, 2, 3], pa.list_(pa.string())),
    "a list of damaged text": text(HARM, wrap=lambda values: pa.ListArray.from_arrays([0, 4, 4, 4, 4], values)),
    "lists of fixed size": text(HARM, wrap=lambda values: pa.FixedSizeListArray.from_arrays(values, 1)),
    "a list view beyond": lists(1, [0, 0, 0, FAR], pa.list_view(pa.string())),
    "a list view too long": lists(2, [2, 0, 0, FAR], pa.list_view(pa.string())),
    "a large list view": lists(1, [0, 0, 0, FAR], pa.large_list_view(pa.string()), np.int64),
    "runs that end early": runs([1, 3]),
    "runs that go back": runs([3, 1]),
}
WHOLE = {
    "bytes that are not UTF-8": pa.array([b"caf\xe9"], pa.binary()).view(pa.string()),
    "a date with a time": pa.array([5], pa.int64()).view(pa.date64()),
    "a time beyond the day": pa.array([10**13], pa.int64()).view(pa.time64("us")),
    "a decimal of too many digits": pa.array([b"\x7f" * 16], pa.binary(16)).view(pa.decimal128(5)),
    "views that share": pa.array(["a text that is far too long to lie in a view"] * 3, pa.string_view()),
    "a slice": pa.array(TEXT).slice(1, 2),
    "a slice of lists": pa.array(LISTS).slice(1, 2),
    "a slice of runs": pa.RunEndEncodedArray.from_arrays([1, 4], ["a", "b"]).slice(2, 1),
    "no rows": pa.array([], pa.string()),
    "months": pa.array([(1, 2, 3)], pa.month_day_nano_interval()),
    "a map": pa.array([[("a", "x")]], pa.map_(pa.string(), pa.string())),
    "an extension type": pa.ListArray.from_arrays(
        [0, 1], pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"0" * 16], pa.binary(16)))
    ),
    "tensors": pa.FixedShapeTensorArray.from_numpy_ndarray(np.zeros((3, 2), np.float32)),
    "a union": pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array(["a", "b"]), pa.array([1, 2])]),
    "durations": pa.array([1], pa.duration("s")),
    "flags": pa.array([True, None]),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_offsets_beyond_buffers_raise(name):
    damaged = DAMAGED[name]()
    intact.check(damaged.array, "before")
    array = damaged.spoil()
    refused(InputError, "answer", intact.check, array, "column 'answer'")
    with pytest.raises(FileFormatError):
        intact.check(pa.chunked_array([array]), "t.arrow", FileFormatError)


def test_no_array_has_more_rows_than_the_format_allows():
    refused(InputError, "2 147 483 648", lambda: intact.check(pa.nulls(2**31), "column 'answer'"))


@pytest.mark.parametrize("name", WHOLE)
def test_arrays_within_buffers_pass(name):
    intact.check(WHOLE[name], name)


@pytest.mark.parametrize(
    "type_", [*map(pa.type_for_alias, ("int8", "float16", "date32", "time32[s]", "timestamp[us]"))]
)
def test_the_layout_of_a_type_takes_the_same_buffers(type_):
    for wrapped in (type_, pa.list_(type_), pa.large_list_view(type_), pa.struct([("x", type_)]), pa.list_(type_, 0)):
        array = pa.nulls(3, wrapped)
        assert array.view(intact.layout(wrapped)).null_count == 3


@pytest.mark.parametrize("name", DAMAGED)
def test_tables_in_memory_are_checked_at_every_entry_point(name):
    damaged = DAMAGED[name]()
    array, none = damaged.array, pa.nulls(4)
    lists = pa.types.is_nested(array.type)
    columns = {"answer": none, "reference": array} if lists else {"answer": array, "reference": none}
    table = pa.table(columns)
    tables = [table, table.to_batches()[0], table.to_reader(), [table], columns]
    run = pa.table({"query_id": array, "doc_id": array, "score": pa.array([0.5] * 4)})
    damaged.spoil()
    for given in tables:
        refused(InputError, f"{'reference' if lists else 'answer'}", fm.score, given, metrics=["token_f1"], threads=1)
    refused(InputError, f"{'reference' if lists else 'answer'}", fm.token_f1, **columns)
    refused(InputError, "damaged", fm.rank, run, {"q": {"d": 1}})


@pytest.mark.parametrize("type_", [pa.list_(pa.float32()), pa.large_list(pa.float64())])
def test_vectors_in_memory_are_checked(type_):
    values = pa.array([1.0] * 6, type_.value_type)
    width = np.int64 if pa.types.is_large_list(type_) else np.int32
    kept = np.array([0, 3, 6], width)
    array = pa.Array.from_buffers(type_, 2, [None, pa.py_buffer(kept)], children=[values])
    assert Vectors.of(array).rows == 2
    kept[:] = [FAR, FAR + 3, FAR + 6]
    refused(InputError, "damaged", Vectors.of, array)


# Arrow reads these offsets to determine how many bytes to write.
UNWRITABLE = {"text of negative offset", "text that begins beyond"}


@pytest.mark.parametrize("name", sorted(set(DAMAGED) - UNWRITABLE))
@pytest.mark.parametrize(("file", "make"), [("t.arrow", pa.ipc.new_file), ("t.arrows", pa.ipc.new_stream)])
def test_arrow_files_and_streams_are_checked(name, file, make, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    damaged = DAMAGED[name]()
    table = pa.table({"answer": damaged.array, "reference": pa.nulls(4)})
    damaged.spoil()
    with make(file, table.schema) as writer:
        writer.write_table(table)
    done = program("score", file, "-o", "o.parquet", "-m", "token_f1", "--on-error", "skip", "--threads", "1")
    assert (done.code, done.out) == (3, "")
    assert done.err.startswith(f"error: {file}")
    assert not (tmp_path / "o.parquet").exists()


LONGER = {
    "text": pa.array(["a"] * 77),
    "numbers": pa.array([1.5] * 77),
    "flags": pa.array([True] * 77),
    "lists": pa.array([["a"]] * 77),
    "lists of fixed size": pa.array([["a", "b"]] * 77, pa.list_(pa.string(), 2)),
    "views": pa.array(["a"] * 77, pa.string_view()),
    "codes": pa.array(["a"] * 77).dictionary_encode(),
}


@pytest.mark.parametrize("name", LONGER)
@pytest.mark.parametrize("rows", [1000, 2**31 - 1, 2**40, 2**62])
@pytest.mark.parametrize(("file", "make"), [("t.arrow", pa.ipc.new_file), ("t.arrows", pa.ipc.new_stream)])
def test_more_rows_than_the_buffers_hold_are_refused(name, rows, file, make, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = pa.table({"id": LONGER[name]})
    with make(file, table.schema) as writer:
        writer.write_table(table)
    data = (tmp_path / file).read_bytes()
    (tmp_path / file).write_bytes(data.replace(struct.pack("<q", 77), struct.pack("<q", rows)))
    source = open_source(file)
    refused(FileFormatError, f"{file}", lambda: list(source.chunks(source.select({"id": "any"}))))


def test_damaged_unused_column_is_not_read(tmp_path):
    damaged = DAMAGED["a dictionary index beyond"]()
    table = pa.table({"answer": ["a"] * 4, "other": damaged.spoil()})
    with pa.ipc.new_file(tmp_path / "t.arrow", table.schema) as writer:
        writer.write_table(table)
    source = open_source(tmp_path / "t.arrow")
    (chunk,) = source.chunks(source.select({"answer": "text"}))
    assert chunk.batch.to_pydict() == {"answer": ["a"] * 4}


def test_invalid_utf8_in_an_arrow_file_is_a_bad_row(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answers = pa.array([b"fine", b"caf\xe9"], pa.binary()).view(pa.string())
    table = pa.table({"answer": answers, "reference": ["fine", "b"]})
    with pa.ipc.new_file("t.arrow", table.schema) as writer:
        writer.write_table(table)
    done = program("score", "t.arrow", "-o", "o.jsonl", "-m", "exact_match", "--on-error", "skip", "-q")
    assert (done.code, (tmp_path / "o.jsonl").read_text()) == (0, '{"exact_match": 1}\n')


@pytest.mark.parametrize("rows", [0, 1, 7, 40])
@pytest.mark.parametrize("part", [slice(None), slice(3, None), slice(2, 6)])
def test_bytes_of_cells_are_those_of_what_the_cells_hold(rows, part):
    texts = [None if row % 5 == 1 else "é" * (row % 17) for row in range(rows)]
    lists = [None if row % 4 == 2 else texts[: row % 3] for row in range(rows)]

    def size(value):
        return sum(map(size, value)) if isinstance(value, list) else len((value or "").encode())

    assert cell_bytes(pa.array(texts, pa.string_view())[part]).tolist() == [size(one) for one in texts[part]]
    views = pa.array(lists, pa.list_view(pa.string_view()))[part]
    assert cell_bytes(views).tolist() == [size(one) + len(one or ()) for one in lists[part]]
    if rows:
        assert cell_bytes(pc.run_end_encode(pa.array(texts))[part]).tolist() == [size(one) for one in texts[part]]


def test_large_views_are_sliced_before_flattening(tmp_path):
    """A thousand rows of a million elements each: four kilobytes of views for what would be gigabytes of lists."""
    values = pa.array(["x"] * 1_000_000)
    starts, sizes = pa.array([0] * 1000, pa.int32()), pa.array([1_000_000] * 1000, pa.int32())
    lists = pa.ListViewArray.from_arrays(starts, sizes, values)
    with pa.ipc.new_file(tmp_path / "t.arrow", pa.schema([("contexts", lists.type)])) as writer:
        writer.write_batch(pa.record_batch({"contexts": lists}))
    source = open_source(tmp_path / "t.arrow")
    chunk = next(source.chunks(source.select({"contexts": "texts"})))
    assert cell_bytes(chunk.batch["contexts"]).tolist() == [2_000_000] * 1000


@pytest.mark.parametrize("kind", ["table", "batch"])
@pytest.mark.parametrize("name", DAMAGED)
def test_batches_of_rows_are_checked(name, kind):
    column = DAMAGED[name]()
    table = pa.table({"answer": column.array, "reference": pa.nulls(4, pa.string())})
    batch = table if kind == "table" else table.to_batches()[0]
    column.spoil()
    refused(InputError, "answer", lambda: fm.scorer("exact_match")(batch))


def test_an_id_that_is_null_in_a_dictionary_is_refused_as_any_null_id():
    holes = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]), pa.array(["a", None]))
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 3]), holes)
    refused(ColumnError, "retrieved_ids 1", fm.retrieval_recall, lists, [["a"], ["a"]])
    refused(ColumnError, "relevant_ids 1", fm.retrieval_recall, [["a"], ["a"]], lists)


NAMES = sorted(set(CALLS) - set(CASES) | set(CALLS) & set(READERS))
"""Functions of columns and tables; of the metrics of rows, one for each way of reading columns."""
TYPED = ("Polars", "pandas nullable", "pandas Arrow")
"""Kinds besides those of Arrow that have a type even without rows."""


def test_every_public_name_is_called_or_excepted():
    called = {name.partition(" ")[0] for name in CALLS}
    assert set(public()) == {*called, *EXCEPTIONS}
    assert not called & set(EXCEPTIONS)


def result(one, columns):
    """What the function returns, without the labels of pandas columns, or the text of its error."""
    try:
        made = one.call(columns) if one.tables else one.call(**columns)
        if isinstance(made, pa.Table) and not one.tables:
            made = made.select([name for name in made.column_names if name != "id"])
        return as_plain(made)
    except (FastmetricsError, AssertionError) as error:
        return str(error)


@functools.cache
def expected(name):
    one = CALLS[name]
    return as_plain(one.call(one.columns) if one.tables else one.call(**one.columns))


def some(names, name, full):
    """All kinds, or every third of them, from another one on for each function."""
    return names if full else names[NAMES.index(name) % 3 :: 3]


@pytest.mark.parametrize("name", NAMES)
def test_columns_of_every_kind_give_the_same_result(name, full):
    one = CALLS[name]
    forms = {column: kinds(values, seed) for seed, (column, values) in enumerate(one.columns.items())}
    for kind in some([*dict.fromkeys(kind for form in forms.values() for kind in form)], name, full):
        columns = {column: form.get(kind, form["list"]) for column, form in forms.items()}
        assert result(one, columns) == expected(name), kind


@pytest.mark.parametrize("name", [name for name in NAMES if not CALLS[name].tables])
def test_columns_of_few_rows_give_the_same_result_or_error(name, full):
    one = CALLS[name]
    forms = {column: kinds(values, seed) for seed, (column, values) in enumerate(one.columns.items())}
    names = some([*dict.fromkeys(kind for form in forms.values() for kind in form)], name, full)
    for n in (0, 1, 2, 5):
        first = result(one, {column: form["Arrow"][:n] for column, form in forms.items()})
        for kind in names if n else [kind for kind in names if kind in TYPED or kind.startswith("Arrow")]:
            columns = {column: form.get(kind, form["Arrow"])[:n] for column, form in forms.items()}
            assert result(one, columns) == first, (kind, n)


@pytest.mark.parametrize("name", [name for name in NAMES if CALLS[name].tables])
def test_tables_of_every_kind_give_the_same_result(name, full):
    for kind in some([*TABLES], name, full):
        assert result(CALLS[name], TABLES[kind](CALLS[name].columns)) == expected(name), kind


def test_null_text_has_no_characters_whatever_lies_beneath():
    text = pa.array(["Paris is old [1]."] * 2)
    over = pa.Array.from_buffers(pa.string(), 2, [pa.array(["", None]).buffers()[0], *text.buffers()[1:]])
    embedder = fm.Embedder(lambda texts: [[len(text), 1.0] for text in texts])
    plain, *others = (
        fm.metrics.grounding_evidence(answers, [["Paris"]] * 2, embedder=embedder)
        for answers in (["Paris is old [1].", None], over, over.dictionary_encode())
    )
    assert others == [plain] * 2
