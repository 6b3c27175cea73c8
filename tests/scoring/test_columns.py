"""Which column of a table is read as what: names, aliases, ambiguity, and what is said of it afterwards."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.base.column_names import COLUMNS, fitting_names, passed_over, resolve
from fastmetrics.base.errors import ColumnError, UnknownNameError
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
    with pytest.raises(
        UnknownNameError, match=r"^columns=.'output': 'answer'. is reversed: expected columns=.'answer': 'out"
    ):
        fm.score([ROW], metrics="token_f1", columns={"output": "answer"})
    with pytest.raises(ColumnError, match=r"^columns 'qid' and 'sample_id' both match 'id'; "):
        fm.score([{"qid": 1, "sample_id": 2, "answer": "a"}], metrics="answer_length")


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


def test_the_bot_asks_which_question_is_meant(tmp_path):
    faq = {"query": ["a"], "prompt": ["b"], "answer": ["c"], "qid": ["1"], "sample_id": ["2"]}
    with pytest.raises(ColumnError, match=r"^columns 'query' and 'prompt' both match 'question'; "):
        fm.retrieval.StrictMatchBot(faq)
    del faq["prompt"]
    assert fm.retrieval.StrictMatchBot(faq).answer("a").answer == "c"
