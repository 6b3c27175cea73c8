"""``fm.columns``: what a table holds, what would be read of it, and what to type for the rest."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import ColumnError, FileFormatError
from tests.support.program import program

TOOLS = Path(__file__).parents[1] / "data" / "tools"


def test_a_recognised_file_shows_its_preset_and_what_is_read():
    found = fm.columns(TOOLS / "inspect.eval")
    assert found.preset == "inspect_ai"
    answer = found.columns["answer"]
    assert (answer.path, answer.rows, answer.filled, answer.first) == (
        "output.completion unless error.message || error",
        3,
        2,
        "Paris",
    )
    assert found.suites["latency_and_cost"] == ["latency_ms", "prompt_tokens", "completion_tokens", "total_tokens"]
    assert found.reads["novelty"] == ["answer", "contexts"]
    assert found.lacking["retrieval"] == ["retrieved_ids", "relevant_ids"]
    assert found.rest["output.choices[].message.content"] == "texts" or "output.choices[].stop_reason" in found.rest
    assert "output.completion" not in found.rest
    assert "read by the preset inspect_ai" in str(found)
    assert json.loads(found.to_json())["columns"]["answer"]["filled"] == 2


def test_what_is_not_found_is_said_with_what_to_type(tmp_path):
    rows = [{"body": {"said": "Paris"}, "gold": "Paris", "query": "Where?", "prompt": "Where?"}]
    (tmp_path / "rows.jsonl").write_text(json.dumps(rows[0]))
    found = fm.columns(tmp_path / "rows.jsonl")
    assert {name: column.path for name, column in found.columns.items()} == {"reference": "gold", "question": "query"}
    assert found.ambiguous == {"question": ["prompt"]}
    [note] = [note for note in found.remarks() if note.startswith("not found: answer")]
    assert "(--columns answer=…) names a column or path, such as body.said" in note
    named = fm.columns(tmp_path / "rows.jsonl", columns={"answer": "body.said"})
    assert named.columns["answer"].first == "Paris"
    assert named.rest == {"prompt": "text"}


def test_a_column_of_another_kind_says_why_it_cannot_be_read(tmp_path):
    pq.write_table(pa.table({"answer": [{"text": "Paris"}], "reference": ["Paris"]}), tmp_path / "rows.parquet")
    found = fm.columns(tmp_path / "rows.parquet")
    assert "expected text, got struct" in str(found.columns["answer"].fault)
    assert found.columns["reference"].first == "Paris"
    assert found.rest == {"answer.text": "text"}


def test_a_table_in_memory_has_names_alone():
    found = fm.columns({"answer": ["a", None], "odd": [object(), object()]})
    assert found.columns["answer"].filled == 1
    assert found.rest == {"odd": ""}


def test_bad_rows_and_a_later_one_of_another_type_do_not_stop_it(tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"id": 1, "latency_ms": "slow"}\n{"id": "b", "latency_ms": 7}')
    found = fm.columns(tmp_path / "rows.jsonl").columns
    assert {name: (column.first, column.rows) for name, column in found.items()} == {
        "id": ("1", 2),
        "latency_ms": (7.0, 2),
    }


def test_a_column_of_objects_leaves_the_others_as_they_are(tmp_path):
    chat, contexts = [{"role": "user", "content": "hi"}], [{"text": "a"}, {"text": "b"}]
    row = {"id": 1, "question": chat, "answer": "x", "reference": {"n": 1}, "contexts": contexts}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row))
    found = fm.columns(tmp_path / "rows.jsonl").columns
    assert (found["answer"].first, found["answer"].filled, found["id"].first) == ("x", 1, 1)
    assert found["question"].fault == "objects, not text; try --columns question=question[0].content"
    assert found["reference"].fault == "expected a string or a list of strings, got an object"
    assert found["contexts"].fault == "objects, not text; try --columns contexts=contexts[].text"
    named = fm.columns(tmp_path / "rows.jsonl", columns={"question": "question[0].content"})
    assert named.columns["question"].first == "hi"


def test_a_document_names_its_lists(tmp_path):
    (tmp_path / "rows.json").write_text('{\n"n": 1, "rows": [{"answer": "a"}]}')
    with pytest.raises(FileFormatError, match="it has lists of objects at 'rows'; name the one to read with records="):
        fm.columns(tmp_path / "rows.json")
    found = fm.columns(tmp_path / "rows.json", reading=fm.tables.ReadSettings(records="rows"))
    assert found.columns["answer"].first == "a"


def test_a_path_that_no_row_has_names_what_is_near():
    with pytest.raises(ColumnError, match="unknown field 'outputs'; did you mean 'output'"):
        fm.columns(TOOLS / "promptfoo.json", columns={"answer": "response.outputs"})


def test_the_command_prints_it():
    done = program("columns", str(TOOLS / "otlp.jsonl"))
    assert "read by the preset otlp" in done.out
    assert "(--columns reference=…) names a column or path" in " ".join(done.out.split())
    assert json.loads(program("columns", str(TOOLS / "otlp.jsonl"), "--json").out)["preset"] == "otlp"


def test_expected_calls_of_tools_are_named_beside_a_conversation(tmp_path):
    call = {"type": "function", "function": {"name": "find", "arguments": "{}"}}
    said = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": None, "tool_calls": [call]}]
    (tmp_path / "log.jsonl").write_text(json.dumps({"messages": said, "gold": {"tools": [{"name": "find"}]}}))
    assert fm.columns(tmp_path / "log.jsonl").remarks()[-1].endswith("--columns expected_tool_calls=gold.tools")
