"""Formats: presets of tools, workbooks, and formats that are added."""

import json
import re
import shutil
import string
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.column_names import COLUMNS, resolve
from fastmetrics.base.errors import FastmetricsError, FileFormatError, InputError, MissingExtraError, OptionError
from fastmetrics.base.limits import STANDARD
from fastmetrics.base.paths import parse
from fastmetrics.base.presets import presets
from fastmetrics.tables.encoders import Encoder
from fastmetrics.tables.formats import FORMATS
from fastmetrics.tables.opening import expand, open_source
from fastmetrics.tables.readers import Chunk, Format, Position, Reader
from tests.support.goldens import refused
from tests.support.program import program
from tests.support.workbooks import write_workbook

TOOLS = Path(__file__).parents[1] / "data" / "tools"
"""Files that the tools wrote themselves: scripts/tool_files.py."""
ANSWERS = {"Which city is the capital of France?": "Paris", "Which city is the capital of Italy?": "It is Rome."}
FAILED = "Which city is the capital of Spain?"


def read(source, *columns, schema=None):
    """The rows of the canonical columns that are found, all of them unless some are named."""
    mapping = resolve(source.names, schema=schema, needed=())
    named = {name: mapping[name] for name in columns or mapping}
    kinds = {
        path: {"text": "value", "texts": "values", "time": "any"}.get(COLUMNS[name].kind, COLUMNS[name].kind)
        for name, path in named.items()
    }
    selection = source.select(kinds)
    rows = []
    for chunk in source.chunks(selection):
        assert not chunk.rejects
        batch = source.conform(chunk, selection)
        rows += [{name: batch.column(path)[at].as_py() for name, path in named.items()} for at in range(len(batch))]
    return rows


# Files that the tools wrote.


@pytest.mark.parametrize(
    ("name", "preset"),
    [
        ("inspect.eval", "inspect_ai"),
        ("inspect.json", "inspect_ai"),
        ("promptfoo.json", "promptfoo"),
        ("promptfoo.jsonl", "promptfoo"),
        ("otlp.jsonl", "otlp"),
        ("sdk_spans.jsonl", "otel_sdk"),
        ("deepeval.json", "deepeval"),
        ("deepeval.jsonl", "deepeval"),
    ],
)
def test_a_file_of_a_tool_is_read_without_an_option(name, preset):
    source = open_source(TOOLS / name)
    assert source.names.preset == preset
    rows = {row["question"]: row for row in read(source)}
    assert {question: row["answer"] for question, row in rows.items()} == {**ANSWERS, FAILED: None}
    if preset not in ("otlp", "otel_sdk"):  # which have none
        references = {question: row["reference"] for question, row in rows.items()}
        assert [references[question] for question in ANSWERS] in (["Paris", "Rome"], [["Paris"], ["Rome", "Roma"]])
    if preset != "deepeval":
        answered = [rows[question] for question in ANSWERS]
        assert [(row["prompt_tokens"], row["completion_tokens"]) for row in answered] == [(12, 3)] * 2
        assert all(row["latency_ms"] is not None for row in rows.values())
        assert len({row["id"] for row in rows.values()}) == 3


def test_a_failed_sample_has_no_answer_and_its_reason_is_counted(tmp_path):
    """Inspect writes an empty text for it, which would be scored as an answer."""
    document = json.loads((TOOLS / "inspect.json").read_text())
    assert [sample["output"]["completion"] for sample in document["samples"] if "error" in sample] == [""]
    for name in ("inspect.json", "inspect.eval", "promptfoo.json", "otlp.jsonl", "sdk_spans.jsonl"):
        scored = fm.score(TOOLS / name, "answer_words", output=tmp_path / f"{name}.parquet")
        assert (scored.summary["answer_words"].n, scored.summary["answer_words"].n_missing) == (2, 1)
        assert any("no connection to the model" in note for note in scored.summary.notes), name


def test_the_preset_is_named_in_the_summary(tmp_path):
    done = program("score", str(TOOLS / "promptfoo.json"), "-m", "exact_match", "-o", str(tmp_path / "scores.csv"))
    assert "recognised as promptfoo" in done.out
    assert "answer = response.output unless response.error" in " ".join(done.out.split())
    asked = ("-m", "exact_match", "-o", tmp_path / "b.csv", "--schema", "promptfoo")
    named = program("score", TOOLS / "promptfoo.json", *asked)
    assert "recognised" not in named.out
    assert (tmp_path / "b.csv").read_text() == (tmp_path / "scores.csv").read_text()


def test_own_columns_win_over_a_preset():
    scores = fm.score(TOOLS / "promptfoo.json", "exact_match", columns={"answer": "vars.reference"})
    assert scores["exact_match"].to_pylist() == [1.0, 1.0, 1.0]


def test_seconds_of_a_preset_become_milliseconds(tmp_path):
    [first] = [row for row in read(open_source(TOOLS / "inspect.eval")) if row["id"] == "lyon"]
    scores = fm.score(TOOLS / "inspect.eval", "latency_ms").to_pylist()
    assert [row["latency_ms"] for row in scores if row["id"] == "lyon"] == [first["latency_ms"] * 1000]
    own = fm.score(TOOLS / "inspect.eval", "latency_ms", columns={"latency_ms": "total_time"}).to_pylist()
    assert next(row["latency_ms"] for row in own if row["id"] == "lyon") < 1


def test_logs_in_a_folder_are_one_table(tmp_path):
    for name in ("a.eval", "b.eval"):
        shutil.copy(TOOLS / "inspect.eval", tmp_path / name)
    assert fm.score(tmp_path, "answer_words").num_rows == 6


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("size", [5, 100_000])
def test_a_log_is_read_alike_whatever_is_read_at_a_time(tmp_path, size, method):
    samples = json.loads((TOOLS / "inspect.json").read_text())["samples"] * 20
    with zipfile.ZipFile(tmp_path / "log.eval", "w", method) as log:
        log.writestr("header.json", "{}")
        for number, sample in enumerate(samples):
            log.writestr(f"samples/{number}_epoch_1.json", json.dumps({**sample, "id": number}, indent=2))
    source = open_source(tmp_path / "log.eval", sizes=replace(STANDARD, line_block_bytes=size))
    rows = read(source, "id", "answer")
    assert [row["id"] for row in rows] == list(range(60))
    assert [row["answer"] for row in rows] == [None, "Paris", "It is Rome."] * 20
    start = Position(0, 37)
    selection = source.select({"id": "id"})
    later = [number for chunk in source.chunks(selection, start) for number in chunk.batch["id"].to_pylist()]
    assert later == list(range(37, 60))


def test_a_large_log_is_read_by_its_large_directory(tmp_path, monkeypatch):
    """As it is written for more members, or more bytes, than the small record of a zip archive can count."""
    monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", 10)
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 100)
    with zipfile.ZipFile(tmp_path / "log.eval", "w", zipfile.ZIP_DEFLATED) as log:
        for number in range(30):
            log.writestr(f"samples/{number}_epoch_1.json", json.dumps({"id": number, "input": "x" * 10 * number}))
    rows = read(open_source(tmp_path / "log.eval"), "id", "question")
    assert [row["id"] for row in rows] == list(range(30))
    assert [row["question"] for row in rows] == ["x" * 10 * number for number in range(30)]


@pytest.mark.parametrize("most", [5_000, 6_850])
def test_a_sample_that_is_too_long_is_a_bad_row(tmp_path, most):
    files = fm.tables.FileSettings(max_row_bytes=most, on_error="skip")
    scored = fm.score(TOOLS / "inspect.eval", "answer_words", keep="id", output=tmp_path / "s.csv", files=files)
    assert (scored.rows, scored.rejected) == ((1, 2) if most == 5_000 else (2, 1))
    assert "samples/rome_epoch_1.json" in (tmp_path / "s.csv.rejects.jsonl").read_text()
    assert '"sample": 3' in (tmp_path / "s.csv.rejects.jsonl").read_text()


@pytest.mark.parametrize("kept", [0.2, 0.6, 0.97])
def test_a_log_that_is_cut_says_so(tmp_path, kept):
    data = (TOOLS / "inspect.eval").read_bytes()
    (tmp_path / "cut.eval").write_bytes(data[: int(len(data) * kept)])
    refused(FileFormatError, "written", fm.score, tmp_path / "cut.eval", "answer_words")
    document = (TOOLS / "inspect.json").read_bytes()
    (tmp_path / "cut.json").write_bytes(document[: int(len(document) * kept)])
    refused(InputError, "cut.json", fm.score, tmp_path / "cut.json", "answer_words")


def test_a_log_of_damaged_bytes_is_an_error_or_a_bad_row(tmp_path):
    data = bytearray((TOOLS / "inspect.eval").read_bytes())
    for at in range(0, len(data), 401):
        damaged = bytes(data[:at]) + bytes([data[at] ^ 0xFF]) + bytes(data[at + 1 :])
        (tmp_path / "damaged.eval").write_bytes(damaged)
        try:
            fm.score(tmp_path / "damaged.eval", "answer_words")
        except FastmetricsError:
            continue


def test_tools_still_write_such_files(tmp_path):
    """Where they are installed, as a newer version may write something else."""
    from scripts.tool_files import MAKERS

    for tool, make in MAKERS.items():
        try:
            make(tmp_path)
        except ImportError as error:
            print(f"{tool} is not installed: {error}")
    for path in tmp_path.iterdir():
        rows = read(open_source(path), "question", "answer")
        assert {row["question"]: row["answer"] for row in rows} == {**ANSWERS, FAILED: None}, path.name


# Files in the documented form of their tools: what each preset finds in them.

DOCUMENTED = [json.loads(line) for line in (TOOLS.parent / "documented.jsonl").read_text("utf-8").splitlines()]
"""Preset, record, and what is found in it."""


@pytest.mark.parametrize(
    ("preset", "record", "found"), DOCUMENTED, ids=lambda part: part if isinstance(part, str) else ""
)
def test_a_documented_form_is_recognised(tmp_path, preset, record, found):
    document = json.dumps(record, indent=1)
    (tmp_path / "rows.json").write_text(document)
    files = [tmp_path / "rows.json"]
    if isinstance(record, dict) and not isinstance(record.get("data"), list):
        (tmp_path / "rows.jsonl").write_text(f"{json.dumps(record)}\n" * 2)
        files = [tmp_path / "rows.jsonl"]
    source = open_source(files)
    assert source.names.preset == preset
    row = read(source)[0]
    assert {name: row.get(name) for name in found} == found


def test_presets_that_are_only_named(tmp_path):
    rows = {
        "ragas": {"user_input": "Where?", "response": "Paris", "reference": "Rome", "retrieved_contexts": ["a"]},
        "mlflow": {"inputs": "Where?", "predictions": "Paris", "targets": "Rome", "context": ["a"]},
        "hf": {"id": "q", "question": "Where?", "predictions": "Paris", "references": "Rome"},
        "deepeval": {"input": "Where?", "actualOutput": "Paris", "expectedOutput": "Rome"},
    }
    for schema, row in rows.items():
        (tmp_path / "rows.jsonl").write_text(json.dumps(row))
        source = open_source(tmp_path / "rows.jsonl")
        assert source.names.preset is None
        [found] = read(source, "question", "answer", "reference", schema=schema)
        assert found == {"question": "Where?", "answer": "Paris", "reference": "Rome"}


@pytest.mark.parametrize("kind", ["jsonl", "parquet", "dicts"])
def test_calls_of_all_turns_of_ragas_are_read(kind, tmp_path):
    """Ragas' ToolCallAccuracy and ToolCallF1 compare the calls of every message of the model, in their order."""
    calls = [{"name": "weather", "args": {"city": city}} for city in ("Paris", "Rome")]
    talk = [{"content": "Paris?", "type": "human"}, {"content": "", "type": "ai"}]
    talk += [{"content": "5", "type": "tool"}, {"content": "And Rome?", "type": "human"}, {"content": "", "type": "ai"}]
    talk[1]["tool_calls"], talk[4]["tool_calls"] = calls[:1], calls[1:]
    rows = [{"user_input": talk, "reference_tool_calls": wanted} for wanted in (calls, calls[:1], calls[::-1])]
    path = tmp_path / f"rows.{kind}"
    if kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif kind == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    scores = fm.score(rows if kind == "dicts" else path, "tool_call_match,tool_call_f1", schema="ragas")
    assert scores["tool_call_match"].to_pylist() == [1.0, 0.0, 0.0]
    assert scores["tool_call_f1"].to_pylist() == pytest.approx([1.0, 2 / 3, 1.0])


def test_a_parquet_file_is_recognised_by_its_columns(tmp_path):
    row = {"query_id": 9, "query": "Where?", "answers": ["Paris"], "passages": {"passage_text": ["a", "b"]}}
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "rows.parquet")
    source = open_source(tmp_path / "rows.parquet")
    assert source.names.preset == "ms_marco"
    assert read(source, "contexts") == [{"contexts": ["a", "b"]}]


def test_failed_calls_of_a_batch_are_missing_with_their_reasons(tmp_path):
    good = {
        "custom_id": "a",
        "error": None,
        "response": {"status_code": 200, "body": {"choices": [{"message": {"content": "Paris"}}]}},
    }
    limited = {
        "custom_id": "b",
        "error": None,
        "response": {"status_code": 429, "body": {"error": {"message": "Rate limit of 40000 tokens", "code": "rate"}}},
    }
    expired = {"custom_id": "c", "response": None, "error": {"code": "expired", "message": "It could not be executed."}}
    (tmp_path / "out.jsonl").write_text("".join(json.dumps(row) + "\n" for row in (good, limited, limited, expired)))
    scored = fm.score(tmp_path / "out.jsonl", "answer_words", output=tmp_path / "scores.parquet")
    assert (scored.summary["answer_words"].n, scored.summary["answer_words"].n_missing) == (1, 3)
    [note] = [note for note in scored.summary.notes if note.startswith("answers are missing")]
    assert "'Rate limit of … tokens' (2)" in note
    assert "'It could not be executed.' (1)" in note
    again = fm.summarize(tmp_path / "scores.parquet")
    assert note in again.notes


def test_rows_of_another_kind_are_left_out(tmp_path):
    """The spans of other work, and the events of oaieval other than those of matching."""
    events = [
        {"spec": {"eval_name": "capitals"}},
        {"run_id": "r", "event_id": 0, "sample_id": "t.0", "type": "sampling", "data": {"sampled": ["Paris"]}},
        {"run_id": "r", "event_id": 1, "sample_id": "t.0", "type": "match", "data": {"expected": "a", "sampled": "b"}},
    ]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    assert [row["id"] for row in read(open_source(tmp_path / "log.jsonl"), "id", "answer")] == ["t.0"]
    assert len((TOOLS / "otlp.jsonl").read_text().splitlines()) == 6
    assert fm.score(TOOLS / "otlp.jsonl", "answer_words").num_rows == 3


def test_a_preset_is_given_up_for_the_columns_of_others(tmp_path):
    """A file with some names of a tool is not taken for one of it."""
    (tmp_path / "rows.jsonl").write_text('{"question": "Where?", "answer": "Paris", "answers": ["Rome"]}\n')
    source = open_source(tmp_path / "rows.jsonl")
    assert source.names.preset is None
    assert resolve(source.names, needed=()) == {"question": "question", "answer": "answer"}


@pytest.mark.parametrize("preset", presets().values(), ids=lambda preset: preset.name)
def test_a_preset_has_columns_that_exist_and_paths_that_parse(preset):
    assert set(preset.columns) <= set(COLUMNS)
    for path in [*preset.paths.values(), *filter(None, [preset.only, preset.reason, preset.records])]:
        parse(path)
    assert re.fullmatch(r"[a-z_]+", preset.name)


def test_the_rows_of_one_filter_of_lm_eval_are_read(tmp_path):
    record = {"target": "Paris", "resps": [["Paris\n"]], "doc": {"question": "Where?"}}
    names = ("strict-match", "flexible-extract")
    path = tmp_path / "samples.jsonl"
    for in_turn in (False, True):
        lines = [
            {"doc_id": doc, **record, "filter": name, "filtered_resps": [f"{name} {doc}"]}
            for doc in range(3)
            for name in names
        ]
        lines.sort(key=lambda line: 0 if in_turn else names.index(line["filter"]))
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        source = open_source(path)
        assert any("the rows of filter 'strict-match' are read" in note for note in source.notes)
        scores = fm.score(path, "answer_words", keep="filtered_resps")
        assert scores["id"].to_pylist() == [0, 1, 2]
        assert scores["filtered_resps"].to_pylist() == [[f"strict-match {doc}"] for doc in range(3)]


ROWS = [
    ["id", "answer", "reference", "latency_ms", "answerable", "retrieved_ids", "relevant_ids"],
    [7, "в Париже", "Париж", 1.5, True, '["d1", "d2"]', '["d2"]'],
    [8, 42, 42, 12, False, '["d3"]', '["d4"]'],
    [9, None, "Rome", None, None, None, None],
]
METRICS = "exact_match,token_f1,latency_ms,reciprocal_rank,answer_words"


def test_a_sheet_is_scored_like_the_same_table_in_csv(tmp_path):
    book = write_workbook(tmp_path / "rows.xlsx", {"Sheet1": ROWS})
    lines = [
        "id,answer,reference,latency_ms,answerable,retrieved_ids,relevant_ids",
        '7,в Париже,Париж,1.5,true,"[""d1"", ""d2""]","[""d2""]"',
        '8,42,42,12,false,"[""d3""]","[""d4""]"',
        "9,,Rome,,,,",
    ]
    (tmp_path / "rows.csv").write_text("\n".join([*lines, ""]))
    scored = [
        fm.score(path, METRICS, output=tmp_path / f"{path.suffix[1:]}.parquet")
        for path in (book, tmp_path / "rows.csv")
    ]
    assert scored[0].summary == scored[1].summary
    assert scored[0].summary["exact_match"].n_missing == 1
    assert "blank cells are missing: 1 of 3 in answer" in scored[0].summary.notes[0]
    assert fm.score(book, "answer_words").to_pydict() == {"id": ["7", "8", "9"], "answer_words": [2.0, 1.0, None]}


def test_a_sheet_is_read_by_its_name(tmp_path):
    book = write_workbook(tmp_path / "rows.xlsx", {"January": ROWS, "Февраль": [["answer"], ["yes"]]})
    assert "with --sheet January" in program("score", book, "-m", "answer_words").err
    assert fm.score(book, "answer_words", files=fm.tables.FileSettings(sheet="Февраль")).num_rows == 1
    header = write_workbook(tmp_path / "header.xlsx", {"Sheet1": [["answer"]]})
    assert fm.score(header, "answer_words").num_rows == 0


def test_a_row_with_a_bad_cell_is_set_aside(tmp_path):
    rows = [[None, None], ["answer", "latency_ms"], ["a", 1], ["b", "slow"], ["c", 2]]
    book = write_workbook(tmp_path / "rows.xlsx", {"Sheet1": rows})
    done = fm.score(book, "latency_ms", output=tmp_path / "s.csv", files=fm.tables.FileSettings(on_error="skip"))
    assert (done.rows, done.rejected) == (2, 1)


def test_many_rows_are_read_in_batches_and_from_the_middle(tmp_path):
    rows = [["id", "answer"], *([at, f"text {at}"] for at in range(9000))]
    source = open_source(write_workbook(tmp_path / "rows.xlsx", {"Sheet1": rows}))
    selection = source.select({"id": "id"})
    chunks = list(source.chunks(selection))
    assert len(chunks) == 2
    assert [value for chunk in chunks for value in chunk.batch["id"].to_pylist()] == [str(at) for at in range(9000)]
    later = list(source.chunks(selection, Position(0, 8990)))
    assert later[0].batch["id"].to_pylist() == [str(at) for at in range(8990, 9000)]


def test_the_package_is_an_extra(tmp_path, monkeypatch):
    book = write_workbook(tmp_path / "rows.xlsx", {"Sheet1": ROWS})
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    refused(MissingExtraError, "[xlsx]", fm.score, book, "answer_words")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_is_known_by_its_mark(tmp_path, encoding):
    """As Excel saves "Unicode Text", with tabs."""
    path = tmp_path / "rows.csv"
    path.write_bytes("\ufeffid\tanswer\treference\r\n1\tв Париже\tв Париже\r\n".encode(encoding))
    assert fm.score(path, "exact_match").to_pydict() == {"id": ["1"], "exact_match": [1.0]}
    assert fm.columns(path).columns["answer"].first == "в Париже"


def test_utf_16_that_is_cut_half_way_names_the_row(tmp_path):
    path = tmp_path / "rows.csv"
    data = "\ufeffid,answer\n1,yes\n2,Париж\n".encode("utf-16-le")
    path.write_bytes(data[:-4] + b"\x00\xd8" + "\n3,b\n".encode("utf-16-le"))
    refused(FastmetricsError, "rows.csv 1", fm.score, path, "answer_words")


@pytest.mark.parametrize("far", ["XFD1048576", "A1048576", "ZZ999999"])
def test_a_cell_far_from_the_others_is_refused_before_there_is_room_for_all_between(tmp_path, far):
    near = write_workbook(tmp_path / "near.xlsx", {"a": [["id", "answer"], ["1", "x"]]})
    path = tmp_path / "rows.xlsx"
    with zipfile.ZipFile(near) as before, zipfile.ZipFile(path, "w") as after:
        for name in before.namelist():
            cell = f'<row r="{far.lstrip(string.ascii_uppercase)}"><c s="1" r="{far}"><v>1</v></c></row></sheetData>'
            after.writestr(name, before.read(name).replace(b"</sheetData>", cell.encode()))
    if far.startswith("A1"):  # a long column alone needs little
        assert open_source(path).schema.names == ["id", "answer"]
        return
    refused(FileFormatError, "rows.xlsx 5", open_source, path)


MAGIC = b"%cards\n"


class CardsReader(Reader):
    """One column in each line: its name, a colon and its cells, separated by bars."""

    def __init__(self, file):
        super().__init__(file)
        with file.open()[0] as stream:
            lines = stream.read().removeprefix(MAGIC).decode().splitlines()
        cells = {name: text.split("|") for name, _, text in (line.partition(":") for line in lines)}
        self.table = pa.table(cells).to_batches()[0]
        self.schema, self.rows = self.table.schema, self.table.num_rows

    def read(self, selection, number, start, threads):
        names = [name for name in selection.schema.names if name in self.schema.names]
        rows = np.arange(start, self.rows)
        yield Chunk(number, rows, self.table.select(names).slice(start))


CARDS = "id:a|b\nanswer:in Paris|Rome\nreference:in Paris|in Rome\n"


class CardsEncoder(Encoder):
    """Writes the file when it is closed."""

    def __init__(self, path):
        self.path, self.parts = path, []

    def write(self, part):
        self.parts.append(part)

    def close(self, conclusion):
        columns = pa.Table.from_batches(self.parts).to_pydict()
        lines = [f"{name}:{'|'.join(map(str, cells))}\n" for name, cells in columns.items()]
        self.path.write_bytes(MAGIC + "".join(lines).encode())

    def discard(self):
        """There is nothing to close."""


@pytest.fixture
def cards(tmp_path, monkeypatch):
    monkeypatch.setitem(FORMATS, "cards", Format("cards", (".cards",), CardsReader, magic=(MAGIC,)))
    (tmp_path / "rows.cards").write_bytes(MAGIC + CARDS.encode())
    return tmp_path / "rows.cards"


def test_format_is_read_by_functions_and_commands(cards, tmp_path):
    fm.score(cards, output=tmp_path / "s.parquet", metrics="token_f1")
    done = program("score", cards, "-m", "token_f1", "-o", tmp_path / "c.parquet")
    assert done.code == 0, done.err
    for name in ("s.parquet", "c.parquet"):
        assert pa.parquet.read_table(tmp_path / name)["token_f1"].to_pylist() == [1.0, pytest.approx(2 / 3)]


def test_format_is_detected_by_suffix_first_bytes_option_and_in_folders(cards, tmp_path):
    (tmp_path / "unnamed").write_bytes(cards.read_bytes())
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "part.cards").write_bytes(cards.read_bytes())
    for path in (cards, tmp_path / "unnamed", tmp_path / "folder"):
        assert [file.format for file in expand(path)] == ["cards"]
    (tmp_path / "plain.txt").write_text(CARDS)
    assert [file.format for file in expand(tmp_path / "plain.txt", "cards")] == ["cards"]


def test_output_in_a_format_without_encoder_is_refused(cards, tmp_path):
    refused(OptionError, "cards written", fm.score, cards, output=tmp_path / "s.cards", metrics="token_f1")
    assert not (tmp_path / "s.cards").exists()


def test_output_in_a_format_with_encoder_is_written(cards, tmp_path, monkeypatch):
    encoder = lambda path, schema, compression: CardsEncoder(path)  # noqa: E731
    monkeypatch.setitem(FORMATS, "cards", Format("cards", (".cards",), CardsReader, magic=(MAGIC,), encoder=encoder))
    fm.score(cards, output=tmp_path / "s.cards", metrics="exact_match", keep="answer")
    assert (tmp_path / "s.cards").read_text() == "%cards\nid:a|b\nanswer:in Paris|Rome\nexact_match:1.0|0.0\n"
    assert (tmp_path / "s.cards.meta.json").exists()
    refused(OptionError, "ending", fm.score, cards, output=tmp_path / "s.cards.gz", metrics="exact_match")
