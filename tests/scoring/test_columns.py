"""Which column is read as what: names, aliases, ambiguity, and what ``fm.columns`` says of it."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.base.column_names import COLUMNS, fitting_names, passed_over, resolve
from fastmetrics.base.errors import ColumnError, FileFormatError
from fastmetrics.base.presets import presets
from fastmetrics.scoring.score import score
from fastmetrics.tables.outputs import read_metadata
from tests.support.program import jsonl, program

ALIASES = [(column.name, alias) for column in COLUMNS.values() for alias in column.aliases]
PAIRS = [(name, one, other) for name, one in ALIASES for of, other in ALIASES if of == name and one < other]
OWN = [(column.name, f"{column.name}s".replace("ss", "s")) for column in COLUMNS.values()]


def test_canonical_name_precedes_alias_except_plural():
    for name, alias in ALIASES:
        for spelling in (alias, alias.upper(), alias.title()):
            assert resolve(["other", spelling]) == {name: spelling}
            both = [spelling, name]
            if alias.removesuffix("s") == name.removesuffix("s"):
                with pytest.raises(ColumnError, match=f"^columns '{name}' and '{spelling}' both match '{name}'; "):
                    resolve(both)
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


def test_preset_resolves_all_columns():
    for schema in ("ragas", "mlflow", "hf", "autorag"):  # those of plain columns
        preset = presets()[schema].columns
        present = [*preset.values(), *(name for name in preset if name not in preset.values())]
        assert {name: yours for name, yours in resolve(present, schema=schema).items() if name in preset} == dict(
            preset
        )


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


def test_columns_that_are_not_read_are_told_by_their_names_in_the_sources():
    shown = str(fm.columns({"answer": ["a"], "Фактичность": [0.5], "Avg F1": [1.0], "mine": [2]}))
    rest = [line.split("  ") for line in shown.split("\n\n")[2].splitlines()]
    assert [(line[0], line[-1].strip()) for line in rest] == [
        ("not read", "in the sources"),
        ("Фактичность", "judge_answer_faithfulness.mean"),
        ("Avg F1", "token_f1.mean"),
        ("mine", "–"),
    ]
    assert "in the sources" not in str(fm.columns({"answer": ["a"], "mine": [2]}))
