"""A table is the same table in memory and in files: one function reads both, and returns a table or writes a file."""

import inspect
import io
import json
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import FileFormatError, OutputError
from fastmetrics.base.limits import SIZES
from fastmetrics.tables.good_rows import good_batches
from fastmetrics.tables.input_files import ReadSettings
from fastmetrics.tables.opening import open_table
from fastmetrics.tables.outputs import read_metadata
from fastmetrics.tables.readers import Limits
from tests.support.goldens import refused
from tests.support.judge_server import judge_server
from tests.support.public_functions import public
from tests.support.table_files import write

ROWS = {
    "id": [f"q{row}" for row in range(40)],
    "question": [f"Which number {row % 4}" for row in range(40)],
    "answer": [None if row % 7 == 3 else f"Paris number {row % 5}" for row in range(40)],
    "reference": [[f"Paris {row % 3}", "=number"] if row % 4 else [] for row in range(40)],
    "note": [f"=1+{row}" for row in range(40)],
    "latency_ms": [float(row) for row in range(40)],
}
TABLE = pa.table(ROWS)
METRICS = "token_f1,corpus_bleu,tfidf_cosine,latency_ms"
KINDS = {
    "arrow": lambda: TABLE,
    "chunks": lambda: pa.concat_tables([TABLE.slice(0, 13), TABLE.slice(13)]),
    "reader": lambda: pa.RecordBatchReader.from_batches(TABLE.schema, TABLE.to_batches(max_chunksize=9)),
    "generator": lambda: (batch for batch in TABLE.to_batches(max_chunksize=9)),
    "dict": lambda: ROWS,
    "dicts": TABLE.to_pylist,
    "pandas": lambda: pd.DataFrame(ROWS),
    "polars": lambda: pl.DataFrame(ROWS),
    "lazy": lambda: pl.DataFrame(ROWS).lazy(),
    "dictionary": lambda: TABLE.set_column(4, "note", TABLE["note"].dictionary_encode()),
}


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Several parts of several batches."""
    for name, size in (("part_rows", 16), ("read_batch_rows", 6), ("batch_rows", 6), ("folder_part_rows", 16)):
        monkeypatch.setattr(SIZES, name, size)


@pytest.fixture
def rows(tmp_path):
    """The rows in a file."""
    return write(TABLE, tmp_path / "rows.arrow")


def without_inputs(path):
    """The metadata of an output, without the names of the inputs and the types of text, which Polars has its own of."""
    return {name: value for name, value in read_metadata(path).items() if name not in ("inputs", "schema", "output")}


@pytest.mark.parametrize(
    ("name", "kind"),
    [("s.csv", "dictionary"), ("s.csv", "dicts"), ("s.jsonl", "polars"), *(("s.parquet", kind) for kind in KINDS)],
)
def test_a_table_in_memory_is_written_as_the_same_rows_of_a_file(tmp_path, rows, kind, name):
    options = {"metrics": METRICS, "keep": ["note"], "name": "a run"}
    for folder in ("file", "memory"):
        (tmp_path / folder).mkdir()
    of_file = fm.score(rows, output=tmp_path / "file" / name, **options)
    in_memory = fm.score(KINDS[kind](), output=tmp_path / "memory" / name, **options)
    assert in_memory.summary == of_file.summary
    assert in_memory.rows == 40
    assert without_inputs(tmp_path / "memory" / name) == without_inputs(tmp_path / "file" / name)
    if name == "s.parquet":
        made, expected = (pq.read_table(tmp_path / where / name) for where in ("memory", "file"))
        assert made.to_pydict() == expected.to_pydict()
    else:
        assert (tmp_path / "memory" / name).read_bytes() == (tmp_path / "file" / name).read_bytes()


@pytest.mark.parametrize("suffix", ["arrow", "jsonl", "csv"])
def test_files_are_scored_in_memory_as_the_same_table(tmp_path, rows, suffix):
    metrics = METRICS if suffix != "csv" else "latency_ms"
    if suffix == "jsonl":
        rows = write(TABLE, tmp_path / "rows.jsonl")
    elif suffix == "csv":
        rows = tmp_path / "rows.csv"
        pd.DataFrame(ROWS).drop(columns="reference").to_csv(rows, index=False)
    expected = fm.score(TABLE, metrics, keep="note")
    scores = fm.score([rows], metrics, keep="note", threads=2)
    assert scores.column_names == expected.column_names
    assert scores.to_pydict() == expected.to_pydict()
    assert fm.summarize(scores).figures == fm.summarize(expected).figures
    assert fm.scoring.profile(rows, metrics).rows == fm.scoring.profile(TABLE, metrics).rows == 40


def test_standard_input_is_scored(rows, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(rows.read_bytes())))
    assert fm.score("-", "token_f1").equals(fm.score(TABLE, "token_f1"))


@pytest.mark.parametrize("threads", [1, 2])
def test_batches_of_files_have_at_most_the_rows_of_the_option(tmp_path, rows, threads):
    """A batch ends with its part, and has ``SIZES.read_batch_rows`` without the option."""
    starts = range(0, 40, SIZES.part_rows)
    for batch_rows in (1, 7, 100, None):
        size = min(batch_rows or SIZES.read_batch_rows, SIZES.part_rows)
        stops = [min(start + SIZES.part_rows, 40) for start in starts]
        ends = zip(starts, stops, strict=True)
        expected = [min(first + size, stop) for start, stop in ends for first in range(start, stop, size)]
        steps = []
        fm.score(
            rows,
            "answer_words",
            output=tmp_path / f"{batch_rows}.parquet",
            threads=threads,
            files=fm.tables.FileSettings(batch_rows=batch_rows),
            progress=steps.append,
        )
        assert [step.rows for step in steps] == expected


def shouted(question):
    """A bot."""
    return question.upper()


def letters(texts):
    """A made-up model."""
    return np.array([[len(text), text.count("P") + 1.0] for text in texts], np.float32)


@pytest.fixture(scope="module")
def judge():
    with judge_server() as server:
        yield {"model": "m", "base_url": server.url, "store": ":memory:"}


MADE = {
    "with_scores": lambda table, judge, **more: fm.with_scores(table, "answer_words", **more),
    "score": lambda table, judge, **more: fm.score(table, "answer_words", **more),
    "embed": lambda table, judge, **more: fm.embed(table, fm.Embedder(letters), **more),
    "answer": lambda table, judge, **more: fm.answer(table, shouted, **more),
    "judge": lambda table, judge, **more: fm.judge(table, "safety", **judge, **more),
}
"""The functions that go through all rows of a table."""


WAYS = [(in_memory, output) for in_memory in (True, False) for output in (None, "out.jsonl")]
CALLS = [(name, *way) for name in MADE for way in (WAYS if name != "with_scores" else [(True, None)])]
"""Each function on a table and on files, with and without an output; ``with_scores`` is for tables alone."""


@pytest.mark.parametrize(("name", "in_memory", "output"), CALLS)
def test_progress_counts_the_rows_of_every_function(tmp_path, rows, judge, name, output, in_memory):
    """Each function with ``progress`` calls it batch by batch: with more rows each time, in the end with all.

    ``evaluate_rag`` counts in each of its stages, which are these functions; ``warm_up`` counts kernels, and ``apply``
    needs a model: tests/models/test_local_models.py.
    """
    functions = {name: value for name, value in public().items() if inspect.isfunction(value)}
    assert {*MADE, "evaluate_rag", "warm_up", "apply"} == {
        each for each in functions if "progress" in inspect.signature(functions[each]).parameters
    }
    counted = []
    more = {} if output is None else {"output": tmp_path / output}
    keep = {"keep": ["id", "note"]} if name == "answer" else {}
    MADE[name](TABLE if in_memory else rows, judge, progress=lambda done: counted.append(done.rows), **more, **keep)
    assert counted == sorted(counted)
    assert counted[-1] == 40
    assert len(counted) > 1 or name != "embed"


def test_kept_columns_keep_their_types_in_memory():
    scores = fm.score(KINDS["dictionary"](), "token_f1", keep=["note", "latency_ms"])
    assert scores.column_names == ["id", "note", "latency_ms", "token_f1"]
    assert scores["note"].to_pylist() == ROWS["note"]
    assert pa.types.is_dictionary(scores["note"].type)


def test_bad_rows_in_memory_are_set_aside(tmp_path):
    long = {"id": [1, 2, 3], "answer": ["a", "b" * 200, "c"], "reference": ["a", "b", "d"]}
    scored = fm.score(
        long, "token_f1", output=tmp_path / "o.jsonl", files=fm.tables.FileSettings(max_row_bytes=150, on_error="skip")
    )
    assert (scored.rows, scored.rejected) == (2, 1)
    [reject] = map(json.loads, (tmp_path / "o.jsonl.rejects.jsonl").read_text().splitlines())
    assert (reject["file"], reject["row"]) == ("the table", 1)


def test_a_killed_run_of_a_table_resumes_with_the_same_table_only(tmp_path, monkeypatch):
    calls = []

    def progress(done):
        calls.append(done)
        if len(calls) == 5:
            raise KeyboardInterrupt

    out = tmp_path / "o.jsonl"
    with pytest.raises(KeyboardInterrupt):
        fm.score(TABLE, "token_f1", output=out, progress=progress, threads=1)
    assert not out.exists()
    refused(OutputError, "input", lambda: fm.score(TABLE.slice(1), "token_f1", output=out, resume=True))
    resumed = fm.score(TABLE, "token_f1", output=out, resume=True)
    assert 0 < resumed.resumed_rows < 40
    fm.score(TABLE, "token_f1", output=tmp_path / "whole.jsonl")
    assert out.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


ALIKE = [
    *(("answer", kind, {"repeats": 2}) for kind in ("arrow", "reader", "pandas")),
    *(("answer", kind, {"repeats": 2, "sample": 7}) for kind in ("arrow", "reader")),
    *(("embed", kind, {}) for kind in ("arrow", "reader", "pandas", "dictionary")),
    ("judge", "arrow", {}),
    ("judge", "reader", {"sample": 30}),
]


@pytest.mark.parametrize(("name", "kind", "options"), ALIKE)
def test_tables_and_files_are_read_and_written_alike(tmp_path, rows, judge, name, kind, options):
    options["keep"] = "note"
    tables = [MADE[name](given, judge, **options) for given in (KINDS[kind](), rows)]
    for where, given in (("memory", KINDS[kind]()), ("file", rows)):
        made = MADE[name](given, judge, output=tmp_path / f"{where}.parquet", **options)
        tables.append(pq.read_table(made.output))
    own = {"latency_ms", "__index_level_0__"}  # the time that a call took, and the index of a frame
    plain = [table.drop_columns(own.intersection(table.column_names)).to_pydict() for table in tables]
    assert len(plain[0]["id"]) == options.get("sample", 40) * options.get("repeats", 1)
    assert plain[1:] == plain[:1] * 3


@pytest.mark.parametrize("name", ["score", "embed", "answer", "judge"])
def test_bad_rows_are_counted_once(tmp_path, judge, name):
    lines = [json.dumps({"id": row, "question": f"Which {row}", "answer": "Paris"}) for row in range(40)]
    lines[3] = lines[35] = "{"
    (tmp_path / "rows.jsonl").write_text("\n".join(lines))
    asked = {"output": tmp_path / "o.parquet", "files": fm.tables.FileSettings(on_error="skip")}
    for resume in (False, True):
        made = MADE[name](tmp_path / "rows.jsonl", judge, resume=resume, **asked)
        assert (made.rows, made.rejected, read_metadata(made.output)["n_rejected"]) == (38, 2, 2)
        assert len((tmp_path / "o.parquet.rejects.jsonl").read_text().splitlines()) == 2


def test_questions_are_matched_alike_in_memory_and_in_files(tmp_path):
    asked = {"id": [1, 2], "question": ["how to pay", None]}
    faq = {"question": ["Where is it?", "How do I pay?"], "answer": ["=By mail", "=Online"]}
    pq.write_table(pa.table(asked), tmp_path / "asked.parquet")
    pd.DataFrame(faq).to_csv(tmp_path / "faq.csv", index=False)
    expected = fm.match(asked, faq)
    assert expected["answer"].to_pylist() == ["=Online", None]
    assert fm.match(tmp_path / "asked.parquet", [tmp_path / "faq.csv"]).to_pydict() == expected.to_pydict()
    done = fm.match(pd.DataFrame(asked), tmp_path / "faq.csv", output=tmp_path / "o.csv")
    assert (done.rows, done.guarded) == (2, 1)
    assert fm.score(tmp_path / "o.csv", "answer_words")["answer_words"].to_pylist() == [1.0, None]


def test_scores_are_validated_alike_in_memory_and_in_files(tmp_path):
    scores = {"id": ["007", "7", "8", "9"], "token_f1": [0.1, 0.4, 0.35, 0.8]}
    labels = {"id": ["9", "8", "7", "007"], "label": [1, 1, 0, 0]}
    paths = tmp_path / "scores.csv", tmp_path / "labels.csv"
    for path, table in zip(paths, (scores, labels), strict=True):
        pd.DataFrame(table).to_csv(path, index=False)
    expected = fm.validate(scores, labels).to_json()
    assert fm.validate(*paths).to_json() == expected
    assert fm.validate(str(paths[0]), labels).to_json() == expected


def test_files_are_summarized_as_the_table_they_hold(tmp_path, rows):
    paths = [fm.score(TABLE.slice(start, 20), METRICS, output=tmp_path / f"{start}.csv").output for start in (0, 20)]
    both = fm.summarize(paths)
    assert both.n_rows == 40
    assert fm.summarize(paths[::-1]).figures == both.figures, "in any order"
    parts = [fm.score(TABLE.slice(start, 20), METRICS) for start in (0, 20)]
    assert both.figures == fm.summarize(parts).figures
    assert fm.summarize(f"{tmp_path}/*.csv", statistics={"latency_ms": ["p50"]}).figures["latency_ms.p50"] == 19.5


def test_several_runs_are_ranked_alike_in_memory_and_in_files(tmp_path):
    runs = {"a": {"q": {"x": 2.0, "y": 1.0}, "p": {"x": 1.0}}, "b": {"q": {"x": 1.0, "y": 2.0}}}
    qrels = {"q": {"x": 1}, "p": {"x": 1}}
    for name, run in runs.items():
        (tmp_path / name).write_text(
            "".join(f"{q} Q0 {d} 1 {s} t\n" for q, docs in run.items() for d, s in docs.items())
        )
    tables = {
        name: {"query_id": ["q", "q"], "doc_id": ["x", "y"], "score": list(runs[name]["q"].values())} for name in runs
    }
    report = fm.rank(runs, qrels, "mrr")
    assert report.to_arrow()["mrr"].to_pylist() == [1.0, 0.25]
    files = fm.rank([tmp_path / name for name in runs], qrels, "mrr")
    assert files.to_arrow().drop_columns("ranking").equals(report.to_arrow().drop_columns("ranking"))
    mixed = fm.rank({"a": tmp_path / "a", "b": pa.table(tables["b"])}, qrels, "mrr")
    assert mixed.to_arrow().equals(report.to_arrow())
    assert fm.rank(tables, qrels, "mrr", missing="skip").to_arrow()["mrr"].to_pylist() == [1.0, 0.5]
    assert fm.rank(runs["b"], qrels, "mrr").mean == {"mrr": 0.5}


def test_finished_batches_leave_bad_rows_out_or_end_with_the_first(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"n": "a"}\n{"n": \n{"n": "' + "b" * 99 + '"}\n{"n": "c"}\n')
    settings = ReadSettings(max_row_bytes=60)
    for source in (open_table(table, settings) for table in (path, {"n": ["a", "b" * 99, "c"]})):
        selection = source.select({"n": "text"})
        refused(FileFormatError, "line 2" if source.files else "row 1", list, good_batches(source, selection))
        for rows in (1, 100):
            batches = list(good_batches(source, selection, limits=Limits(batch_rows=rows), skip=True))
            assert [value for batch in batches for value in batch["n"].to_pylist()] == ["a", "c"]
            assert all(batch.schema.equals(selection.schema) for batch in batches)


def test_sampled_rows_keep_their_place(tmp_path, rows):
    """The label of a frame's index, or the number of the row, so that judgements and answers return to their rows."""
    frame = pd.DataFrame(ROWS, index=pd.Index([f"r{n}" for n in range(40)], name="label"))
    with judge_server() as server:
        settings = fm.models.JudgeSettings("safety", "m", base_url=server.url, store=tmp_path / "s.sqlite")
        judged = fm.judge(frame, settings, keep="question", sample=5).to_pandas()
        fm.judge(rows, settings, keep="question", sample=5, output=tmp_path / "judged.csv")
    answered = fm.answer(frame, shouted, sample=5, repeats=2, keep="id").to_pandas()
    assert judged["question"].equals(frame["question"][judged.index])
    assert list(answered.index) == [label for label in judged.index for _ in range(2)]
    assert "row" not in judged.columns
    for sampled in (
        fm.answer(TABLE, shouted, sample=5, keep="question"),
        fm.answer(rows, shouted, sample=5, keep="question"),
        pacsv.read_csv(tmp_path / "judged.csv"),
    ):
        assert sampled["row"].to_pylist() == [int(label[1:]) for label in judged.index]
        assert sampled["question"].to_pylist() == [ROWS["question"][row] for row in sampled["row"].to_pylist()]
