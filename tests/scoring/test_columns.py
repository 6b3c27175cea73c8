"""Columns: which are read, and which are kept."""

import datetime
import decimal
import io
import json
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.base.arrays import as_lists
from fastmetrics.base.column_names import COLUMNS, fitting_names, passed_over, resolve
from fastmetrics.base.errors import ColumnError, FileFormatError, OptionError, OutputError
from fastmetrics.engines import run
from fastmetrics.scoring.score import score
from fastmetrics.tables.opening import open_source
from fastmetrics.tables.outputs import OutputWriter, read_metadata
from fastmetrics.tables.readers import cell_bytes
from tests.results.test_corpus_comparison import ASKED, NEW, OLD, RUNS, SMALL
from tests.support import table_files
from tests.support.goldens import refused
from tests.support.program import jsonl, program

ALIASES = [(column.name, alias) for column in COLUMNS.values() for alias in column.aliases]
PAIRS = [(name, one, other) for name, one in ALIASES for of, other in ALIASES if of == name and one < other]


def test_canonical_name_precedes_alias_except_plural():
    for name, alias in ALIASES:
        for spelling in (alias, alias.upper(), alias.title()):
            assert resolve(["other", spelling]) == {name: spelling}
            both = [spelling, name]
            if alias.removesuffix("s") == name.removesuffix("s"):
                refused(ColumnError, f"{name} {spelling} {name}", resolve, both)
            else:
                assert resolve(both) == {name: name}
                assert passed_over(fitting_names(both), resolve(both)) == {name: [spelling]}


def test_two_aliases_of_a_needed_column_are_ambiguous():
    for name, one, other in PAIRS:
        message = f"^columns '{one}' and '{other}' both match '{name}'; choose one with columns={{'{name}': ...}}$"
        with pytest.raises(ColumnError, match=message):
            resolve([one, other])
        with pytest.raises(ColumnError, match=message):
            resolve([one, other], needed={name})
        assert resolve([one, other], needed=set(COLUMNS) - {name}) == {name: one}
        given = resolve([one, other], {name: other})
        assert {column: path for column, path in given.items() if path in (one, other)} == {name: other}


def test_a_column_that_was_given_to_another_is_not_read_twice():
    for name, alias in ALIASES:
        other = "question" if name != "question" else "answer"
        present = [name, alias]
        assert resolve(present, {other: name}) == {other: name, name: alias}
        assert resolve(present, {other: alias}) == {other: alias, name: name}


def test_another_case_of_the_name_is_ambiguous():
    for name in COLUMNS:
        for present in ([name, name.upper()], [name.upper(), name]):
            with pytest.raises(ColumnError, match=f"^columns '{name}' and '{name.upper()}' both match '{name}'; "):
                resolve(present)


@given(present=st.lists(st.sampled_from([*COLUMNS, *(alias for _, alias in ALIASES), "x"]), unique=True, max_size=8))
def test_every_fitting_column_is_found_or_passed_over(present):
    found = resolve(present, needed=())
    over = passed_over(fitting_names(present), found)
    fitting = {name for name in present if name != "x"}
    assert fitting == {*found.values(), *(name for others in over.values() for name in others)}
    assert not set(found.values()) & {name for others in over.values() for name in others}


ROW = {"id": 1, "answer": "a b", "reference": "a", "references": "a b", "output": "c"}
READ = {"answer": "answer", "reference": "references"}
FOOTER = "read: answer (not output), reference = references"


def test_only_a_column_that_a_metric_needs_is_ambiguous():
    message = "^columns 'reference' and 'references' both match 'reference'; choose one with columns="
    for metrics in (None, ["token_f1"], ["answer_length", "corpus_bleu"]):
        with pytest.raises(ColumnError, match=message):
            fm.score([ROW], metrics=metrics)
    assert fm.score([ROW], metrics="answer_length")["answer_length"].to_pylist() == [3.0]
    fm.score([ROW], metrics="token_f1", columns={"reference": "reference", "answer": "output"})
    assert fm.score([ROW], metrics="token_f1", columns={"reference": "references"})["token_f1"].to_pylist() == [1.0]


@pytest.mark.parametrize("name", ["o.parquet", "o.jsonl", "o.csv", "o.arrow", "o/"])
def test_what_was_read_is_in_the_footer_and_the_metadata(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    jsonl(tmp_path / "in.jsonl", ROW)
    done = program("score", "in.jsonl", "-o", name, "-m", "token_f1")
    assert done.code == 3
    both = "columns 'reference' and 'references' both match 'reference'"
    assert done.err == f"error: {both}; choose one with --columns reference=...\n"
    done = program("score", "in.jsonl", "-o", name, "-m", "token_f1", "--columns", "reference=references")
    assert FOOTER in done.out.splitlines()
    told = read_metadata(name)
    assert (told["columns"], told["passed_over"]) == (READ, {"answer": ["output"]})
    assert program("summarize", name).out.splitlines()[-1] == FOOTER
    summary = json.loads(program("summarize", name, "--json").out)
    assert (summary["columns"], summary["passed_over"]) == (READ, {"answer": ["output"]})


def test_a_summary_of_files_that_read_other_columns_names_none(tmp_path):
    jsonl(tmp_path / "in.jsonl", ROW)
    for name in ("reference", "references"):
        columns = {"reference": name, "answer": "answer"}
        made = score(tmp_path / "in.jsonl", output=tmp_path / f"{name}.csv", metrics=["token_f1"], columns=columns)
        assert made.summary.remarks()[-1] == f"read: answer, reference{' = references' if name[9:] else ''}"
    done = program("summarize", tmp_path / "reference.csv", tmp_path / "references.csv")
    assert "read: " not in done.out


TOOLS = Path(__file__).parents[1] / "data" / "tools"


CALL = {"type": "function", "function": {"name": "find", "arguments": "{}"}}
SAID = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": None, "tool_calls": [CALL]}]
CHAT = {"id": 1, "question": SAID[:1], "answer": "x", "reference": {"n": 1}, "contexts": [{"text": "a"}, {"text": "b"}]}
NEAR = {"body": {"said": "Paris"}, "gold": "Paris", "query": "Where?", "prompt": "Where?"}
SHOWN = {
    "a recognised file": (TOOLS / "inspect.eval", {}),
    "no answer": (NEAR, {}),
    "an answer at a path": (NEAR, {"columns": {"answer": "body.said"}}),
    "a struct": (pa.table({"answer": [{"text": "Paris"}], "reference": ["Paris"]}), {}),
    "objects of Python": ({"answer": ["a", None], "odd": [object(), object()]}, {}),
    "bad rows": ('{"id": 1, "latency_ms": "slow"}\n{"id": "b", "latency_ms": 7}', {}),
    "objects": (CHAT, {}),
    "a path into objects": (CHAT, {"columns": {"question": "question[0].content"}}),
    "calls of tools": ({"messages": SAID, "gold": {"tools": [{"name": "find"}]}}, {}),
    "names of the sources": ({"answer": ["a"], "Фактичность": [0.5], "Avg F1": [1.0], "mine": [2]}, {}),
}
"""Tables, or one row of a file, and options."""


def test_what_is_found_and_shown(golden):
    shown = {}
    for name, (table, options) in SHOWN.items():
        if isinstance(table, str) or table in (NEAR, CHAT) or (isinstance(table, dict) and "messages" in table):
            Path("rows.jsonl").write_text(table if isinstance(table, str) else json.dumps(table))
            table = "rows.jsonl"
        elif isinstance(table, pa.Table):
            pq.write_table(table, "rows.parquet")
            table = "rows.parquet"
        found = fm.columns(table, **options)
        columns = {one: [at.path, at.filled, at.rows, at.first, at.fault] for one, at in found.columns.items()}
        rest = {one: kind for one, kind in found.rest.items() if not one.startswith(("events", "messages"))}
        noted = {"ambiguous": found.ambiguous, "remarks": found.remarks(), "preset": found.preset}
        shown[name] = {"columns": columns, "rest": rest, **noted}
    golden("columns.json", shown)
    golden("columns_not_read.txt", str(found).split("\n\n")[2])
    recognised = fm.columns(TOOLS / "inspect.eval")
    assert recognised.suites["latency_and_cost"] == [
        *("latency_ms", "prompt_tokens", "completion_tokens", "total_tokens"),
    ]
    assert recognised.reads["novelty"] == ["answer", "contexts"]
    assert recognised.lacking["retrieval"] == ["retrieved_ids", "relevant_ids"]
    assert "in the sources" not in str(fm.columns({"answer": ["a"], "mine": [2]}))


def test_a_document_names_its_lists(tmp_path):
    (tmp_path / "rows.json").write_text('{\n"n": 1, "rows": [{"answer": "a"}]}')
    refused(FileFormatError, "rows records=", fm.columns, tmp_path / "rows.json")
    found = fm.columns(tmp_path / "rows.json", reading=fm.tables.ReadSettings(records="rows"))
    assert found.columns["answer"].first == "a"


def test_a_path_that_no_row_has_names_what_is_near():
    refused(ColumnError, "outputs output", fm.columns, TOOLS / "promptfoo.json", columns={"answer": "response.outputs"})


def test_the_command_prints_it():
    done = program("columns", str(TOOLS / "otlp.jsonl"))
    assert "read by the preset otlp" in done.out
    assert "(--columns reference=…) names a column or path" in " ".join(done.out.split())
    assert json.loads(program("columns", str(TOOLS / "otlp.jsonl"), "--json").out)["preset"] == "otlp"


ODD = [math.nan, math.inf, -math.inf, -0.0, 5e-324, 0.1, None, 2.0]
DAY = datetime.datetime(2020, 2, 2)
TYPES = {
    "float64": (pa.float64(), float),
    "float16": (pa.float16(), np.float16),
    "int8": (pa.int8(), int),
    "uint64": (pa.uint64(), lambda n: 2**63 + n),
    "bool": (pa.bool_(), lambda n: n % 2 == 1),
    "timestamp": (pa.timestamp("us", "UTC"), lambda n: DAY + datetime.timedelta(n)),
    "date": (pa.date32(), lambda n: (DAY + datetime.timedelta(n)).date()),
    "duration": (pa.duration("s"), datetime.timedelta),
    "decimal": (pa.decimal128(9, 2), decimal.Decimal),
    "string": (pa.string(), lambda n: "text " * n),
    "large string": (pa.large_string(), lambda n: "text " * n),
    "binary": (pa.binary(), lambda n: b"\x7f" * n),
    "fixed binary": (pa.binary(2), lambda n: bytes([n, n])),
    "uuid": (pa.uuid(), lambda n: bytes([n] * 16)),
    "list": (pa.list_(pa.int64()), lambda n: [n] * n),
    "fixed list": (pa.list_(pa.float32(), 2), lambda n: [n, n]),
    "struct": (pa.struct({"a": pa.string(), "b": pa.date32()}), lambda n: {"a": "x" * n, "b": DAY.date()}),
    "map": (pa.map_(pa.string(), pa.int64()), lambda n: [("k" * n, n)]),
}


def array(kind, numbers, hidden):
    """Values made of numbers; under a null lies what ``hidden`` makes."""
    type_, make = TYPES[kind]
    plain = type_.storage_type if isinstance(type_, pa.BaseExtensionType) else type_
    whole = pa.array([make(hidden if n is None else n) for n in numbers], plain)
    bits = np.packbits([n is not None for n in numbers], bitorder="little").tobytes()
    found = _with_validity(whole, pa.py_buffer(bits))
    assert [value is None for value in found.to_pylist()] == [n is None for n in numbers]
    return pa.ExtensionArray.from_storage(type_, found) if plain != type_ else found


def _with_validity(whole, bits):
    if pa.types.is_fixed_size_list(whole.type) or pa.types.is_list(whole.type) or pa.types.is_map(whole.type):
        buffers = whole.buffers()[: 1 if pa.types.is_fixed_size_list(whole.type) else 2]
        child = whole.values if not pa.types.is_map(whole.type) else _entries(whole)
        return pa.Array.from_buffers(whole.type, len(whole), [bits, *buffers[1:]], children=[child])
    if pa.types.is_struct(whole.type):
        return pa.Array.from_buffers(whole.type, len(whole), [bits], children=whole.flatten())
    return pa.Array.from_buffers(whole.type, len(whole), [bits, *whole.buffers()[1:]])


def _entries(maps):
    kind = maps.type
    fields = [pa.field("key", kind.key_type, nullable=False), kind.item_field]
    return pa.StructArray.from_arrays([maps.keys, maps.items], fields=fields)


@pytest.mark.parametrize("kind", TYPES)
def test_bytes_under_nulls_are_ignored(tmp_path, kind, monkeypatch):
    """Whatever it is, the bytes of the output are the same: a run that goes on may have read other memory."""
    monkeypatch.setattr(run, "describe_inputs", lambda *_: None)  # the metadata hold the input's size, which differs
    numbers = [1, None, 2, None, None, 3, 1, None]
    made = []
    for hidden in (1, 4, 7):
        kept = array(kind, numbers, hidden)
        rows = pa.table({"id": range(8), "answer": ["a"] * 8, "reference": ["a"] * 8, "kept": kept})
        table_files.write(rows, tmp_path / "in.arrow")
        for name in ("o.arrow", "o.parquet", "o.csv"):
            score(tmp_path / "in.arrow", output=tmp_path / name, metrics=["exact_match"], keep=["kept"], overwrite=True)
        assert pa.ipc.open_file(tmp_path / "o.arrow").read_all()["kept"].to_pylist() == kept.to_pylist()
        made.append([(tmp_path / name).read_bytes() for name in ("o.arrow", "o.parquet", "o.csv")])
    assert made[0] == made[1] == made[2]


def test_bytes_under_nulls_in_lists_are_ignored(tmp_path):
    made = []
    for hidden in (1, 4):
        items = array("date", [1, None, 2, None], hidden)
        rows = pa.table({"answer": ["a", "b"], "kept": pa.ListArray.from_arrays([0, 3, 4], items)})
        table_files.write(rows, tmp_path / "in.arrow")
        score(
            tmp_path / "in.arrow", output=tmp_path / "o.arrow", metrics=["answer_length"], keep=["kept"], overwrite=True
        )
        made.append((tmp_path / "o.arrow").read_bytes())
    assert made[0] == made[1]


@pytest.mark.parametrize("kind", ["timestamp", "bool", "date", "duration", "int8", "string", "list"])
def test_kept_columns_have_the_same_bytes_however_parquet_was_read(tmp_path, kind):
    """The reader leaves other values under nulls where its batches end elsewhere."""
    numbers = [None if n % 3 == 1 or n % 7 == 2 else n % 5 for n in range(4000)]
    kept = array(kind, numbers, 0)
    rows = pa.table({"id": range(4000), "answer": ["a"] * 4000, "reference": ["a"] * 4000, "kept": kept})
    made = []
    for size in (4000, 37, 1500):
        pq.write_table(rows, tmp_path / "in.parquet", row_group_size=size, use_dictionary=False)
        score(
            tmp_path / "in.parquet", output=tmp_path / "o.arrow", metrics=["exact_match"], keep=["kept"], overwrite=True
        )
        made.append((tmp_path / "o.arrow").read_bytes())
    assert made[0] == made[1] == made[2]


@pytest.mark.parametrize("name", ["o.parquet", "o.arrow", "o.csv", "o/"])
@pytest.mark.parametrize("type_", [pa.float64(), pa.float32()])
def test_numbers_of_the_user_stay_as_they_were(tmp_path, name, type_):
    """A NaN of a score is undefined, and null in files; one in a column that is kept is the user's own."""
    odd = pa.array(ODD, type_, from_pandas=False)
    rows = pa.table({"id": range(8), "answer": ["a"] * 8, "reference": ["a"] * 8, "latency_ms": odd, "odd": odd})
    pq.write_table(rows, tmp_path / "in.parquet")
    made = score(tmp_path / "in.parquet", output=f"{tmp_path}/{name}", metrics=["latency_ms"], keep=["odd"]).output
    if name == "o.csv":
        found = [line.split(",")[1] for line in made.read_text().splitlines()[1:]]
        assert found[:4] == ["nan", "inf", "-inf", "-0"]
        assert found[6] == ""
        return
    table = pa.ipc.open_file(made).read_all() if name == "o.arrow" else pq.read_table(made)
    assert list(map(repr, table["odd"].to_pylist())) == list(map(repr, odd.to_pylist()))
    assert table["odd"].type == type_


_NOON = datetime.datetime(2024, 1, 2, 12)
_KEPT = {
    "decimal": (lambda: pa.array([decimal.Decimal("1.25"), None]), ["1.25", None]),
    "decimals": (lambda: pa.array([[decimal.Decimal("1.25")], None]), [["1.25"], None]),
    "map": (lambda: pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int64())), [[{"key": "a", "value": 1}], None]),
    "uuid": (lambda: _stored(pa.uuid(), [b"0123456789abcdef", None]), ["30313233-3435-3637-3839-616263646566", None]),
    "json": (lambda: _stored(pa.json_(pa.string()), ['{"a": 1}', None]), ['{"a": 1}', None]),
    "zoned": (
        lambda: pa.array([_NOON, None], pa.timestamp("us", "Europe/Berlin")),
        ["2024-01-02 13:00:00.000000+0100", None],
    ),
    "runs": (lambda: pa.RunEndEncodedArray.from_arrays([1, 2], pa.array(["a", None])), ["a", None]),
    "views": (lambda: pa.array([["a", "b"], None], pa.list_view(pa.string())), [["a", "b"], None]),
    "large views": (lambda: pa.array([[1], None], pa.large_list_view(pa.int8())), [[1], None]),
    "dictionary": (lambda: pa.array(["a", None]).dictionary_encode(), ["a", None]),
}


def _stored(type_, values):
    return pa.ExtensionArray.from_storage(type_, pa.array(values, type_.storage_type))


def _write(path, **columns):
    table = pa.table({"id": [1, 2], "answer": ["a", "b"], "reference": ["a", "a"], **columns})
    return table_files.write(table, path)


def _is_in_parquet(kind):
    try:
        pq.write_table(pa.table({"kept": _KEPT[kind][0]()}), io.BytesIO())
    except pa.ArrowNotImplementedError:
        return False
    return True


_IN_FILES = [
    (kind, suffix) for kind in _KEPT for suffix in ("parquet", "arrow") if suffix == "arrow" or _is_in_parquet(kind)
]


@pytest.mark.parametrize(("kind", "suffix"), _IN_FILES)
def test_columns_of_any_type_are_kept(tmp_path, kind, suffix):
    made, expected = _KEPT[kind]
    rows = _write(tmp_path / f"in.{suffix}", kept=made())
    for name in ("o.parquet", "o.arrow", "o.csv", "o/"):
        assert score(rows, output=f"{tmp_path}/{name}", metrics=["token_f1"], keep=["kept"]).rows == 2
    out = tmp_path / "o.jsonl"
    score(rows, output=out, metrics=["token_f1"], keep=["kept"])
    assert [json.loads(line)["kept"] for line in out.read_text().splitlines()] == expected
    assert cell_bytes(made()).tolist()[0] > 0


def test_decimals_and_views_are_scored(tmp_path):
    latency = pa.array([decimal.Decimal("1.5"), None])
    contexts = pa.array([["a b", "c"], None], pa.list_view(pa.string()))
    source = open_source(_write(tmp_path / "in.arrow", latency_ms=latency, contexts=contexts))
    found, rejects = table_files.read(source, {"latency_ms": "number", "contexts": "texts"})
    assert found["contexts"].to_pylist() == [["a b", "c"], None]
    score(tmp_path / "in.arrow", output=tmp_path / "o.jsonl", metrics=["latency_ms"])
    assert (tmp_path / "o.jsonl").read_text().count('"latency_ms": 1.5') == 1
    assert rejects == []


def test_views_in_any_order_are_lists():
    views = pa.ListViewArray.from_arrays([2, 0, 1], [1, 2, 0], pa.array(["a", "b", "c"]), mask=pa.array([False] * 3))
    assert as_lists(views).to_pylist() == views.to_pylist() == [["c"], ["a", "b"], []]
    assert cell_bytes(views).tolist() == [2, 4, 0], "an element of a view counts a byte more"
    runs = pa.RunEndEncodedArray.from_arrays([2, 3], pa.array(["ab", None]))
    assert cell_bytes(runs).tolist() == [2, 2, 0]
    maps = pa.array([[("a", "bc")], None, []], pa.map_(pa.string(), pa.string()))
    assert cell_bytes(maps.slice(1)).tolist() == [0, 0]
    assert cell_bytes(maps).tolist() == [3, 0, 0]


def write(path, table):
    return table_files.write(pa.table(table), path)


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".jsonl", ".jsonl.gz", ".csv", ".tsv.zst", ""])
def test_files_of_scores_keep_counts(tmp_path, suffix):
    asked = {"metrics": ASKED, "keep": "language"}
    outputs = []
    for name, table in (("old", OLD), ("new", NEW)):
        source, out = write(tmp_path / f"{name}.in.jsonl", table), tmp_path / f"{name}{suffix}"
        fm.score(source, output=out, keep_counts=True, threads=2, files=fm.tables.FileSettings(batch_rows=7), **asked)
        plain = fm.score(source, output=tmp_path / f"plain_{name}{suffix}", **asked)
        assert repr(fm.summarize(out).figures) == repr(plain.summary.figures)  # counts are not scores
        outputs.append(str(out))
    found = fm.compare(dict(zip(RUNS, outputs, strict=True)), by="language", **SMALL)
    wanted = fm.compare(RUNS, metrics=[one.metric for one in found if one.segment is None], by="language", **SMALL)
    assert repr(found.comparisons) == repr(wanted.comparisons)
    assert {one.metric for one in found} == set(ASKED)


def test_a_run_goes_on_with_the_same_bytes_and_only_under_the_same_choice(tmp_path, monkeypatch):

    source, whole, out = write(tmp_path / "in.jsonl", OLD), tmp_path / "whole.parquet", tmp_path / "out.parquet"
    asked = {"metrics": "bleu,corpus_bleu"}
    fm.score(source, output=whole, keep_counts=True, **asked)
    monkeypatch.setattr(OutputWriter, "close", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        fm.score(source, output=out, keep_counts=True, **asked)
    monkeypatch.undo()
    refused(OutputError, "keep_counts", fm.score, source, output=out, resume=True, **asked)
    fm.score(source, output=out, keep_counts=True, resume=True, **asked)
    assert out.read_bytes() == whole.read_bytes()


def test_a_file_without_a_row_has_the_column(tmp_path):
    fm.score(
        write(tmp_path / "in.jsonl", {**OLD}),
        output=tmp_path / "full.parquet",
        metrics="bleu,corpus_chrf",
        keep_counts=True,
    )
    pq.write_table(pa.table(OLD).slice(0, 0), tmp_path / "none.parquet")
    fm.score(tmp_path / "none.parquet", output=tmp_path / "out.parquet", metrics="bleu,corpus_chrf", keep_counts=True)
    schema = pq.read_schema(tmp_path / "out.parquet")
    assert (
        schema.field("corpus_chrf.counts").type
        == pq.read_schema(tmp_path / "full.parquet").field("corpus_chrf.counts").type
    )


def test_other_options_and_versions_are_refused(tmp_path):
    paths = []
    for name in ("old", "new"):
        out = tmp_path / f"{name}.jsonl"
        fm.score(write(tmp_path / f"{name}.in.jsonl", OLD), output=out, metrics="bleu,corpus_bleu", keep_counts=True)
        beside = tmp_path / f"{name}.jsonl.meta.json"
        said = json.loads(beside.read_text())
        if name == "new":
            said["scores"]["corpus_bleu"]["tokenizer"] = "char"
        beside.write_text(json.dumps(said))
        paths.append(out)
    refused(OptionError, "tokenizer", fm.compare, paths, metrics="corpus_bleu")
    assert fm.compare(paths, metrics="corpus_bleu", allow_differences=True)[0].delta == 0
