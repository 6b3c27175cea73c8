"""Metrics of one's own: plugins and their columns."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.column_names import BUILT_IN, COLUMNS
from fastmetrics.base.errors import InputError, OptionError, PluginError
from fastmetrics.metrics.metric import REGISTRY, SPELLINGS
from fastmetrics.metrics.score_names import parse
from fastmetrics.plans.stored_metadata import code_of
from tests.support.goldens import refused
from tests.support.program import ENVIRONMENT, ROOT, jsonl, program

OWN = """
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import fastmetrics as fm

@fm.metric(bounds=(0, 1), better="higher", source="ours", labels={"mean": "own_mean"})
def own_overlap(answer: str, reference: str, *, lower: bool = True) -> float | None:
    \"\"\"Share of the reference's words that the answer holds.\"\"\"
    if lower:
        answer, reference = answer.lower(), reference.lower()
    words = reference.split()
    return sum(word in answer.split() for word in words) / len(words) if words else None

@fm.metric(bounds=(0, np.inf), better=None)
def own_letters(answer: pa.StringArray, reference: pa.StringArray):
    \"\"\"How much longer the answer is.\"\"\"
    difference = pc.subtract(pc.utf8_length(answer), pc.utf8_length(reference))
    return np.abs(difference.fill_null(0).to_numpy(zero_copy_only=False)).astype(float)

@fm.metric(bounds=(0, 100), better="higher")
def own_references(reference: list[str], answer: str, latency_ms: float | None = None, *, add: int = 0) -> float:
    \"\"\"How many references there are, and whether a time is given.\"\"\"
    return len(reference) + (latency_ms is not None) / 2 + add
"""

ANSWERS = ["a b", "A", None, "", "c d e", "x"] * 400
REFERENCES = [["a", "a b c"], ["b a", None], ["a"], ["  "], None, []] * 400
TABLE = pa.table({"id": range(2400), "answer": ANSWERS, "reference": REFERENCES})


def expected_overlap(answer, references):
    """The definition, of the reference where it is highest."""
    if answer is None or not references or not any(one is not None for one in references):
        return None
    found = [one.split() for one in references if one is not None]
    shares = [sum(word in answer.lower().split() for word in words) / len(words) for words in found if words]
    return max(shares) if shares else float("nan")


@pytest.fixture
def own(tmp_path):
    """A file of metrics."""
    file = tmp_path / "mine.py"
    file.write_text(OWN)
    return file


def same(scores, expected):
    assert [score.as_py() for score in scores] == pytest.approx(expected, nan_ok=True, abs=0)


@pytest.mark.parametrize("threads", [1, 2])
def test_metric_from_row_function(own, threads):
    assert fm.metrics.load_plugin(own) == ["own_overlap", "own_letters", "own_references"]
    scores = fm.score(TABLE, "own_overlap,token_f1", threads=threads)
    same(scores["own_overlap"], list(map(expected_overlap, ANSWERS, REFERENCES)))
    assert np.isnan(fm.own_overlap(["a"], [" "])).all()
    assert fm.own_overlap(["A"], ["A"], lower=False).tolist() == [1.0]
    assert fm.own_overlap(pa.chunked_array([["x"], pa.array(["a b", "a"]).slice(1)]), ["a", "a"]).tolist() == [0.0, 1.0]


@pytest.mark.parametrize("threads", [1, 2])
def test_metric_from_array_function(own, threads):
    fm.metrics.load_plugin(own)
    encoded = TABLE.set_column(1, "answer", TABLE["answer"].dictionary_encode())
    for table in (TABLE, encoded):
        scores = fm.score(table, "own_letters", threads=threads)["own_letters"]
        lengths = [
            None
            if a is None or not [one for one in r or () if one is not None]
            else [abs(len(a) - len(one)) for one in r if one is not None]
            for a, r in zip(ANSWERS, REFERENCES, strict=True)
        ]
        same(scores, [None if found is None else max(found) for found in lengths])


def test_custom_metric_with_references_optional_columns_and_options(own):
    fm.metrics.load_plugin(own)
    assert fm.own_references([["a", "b"], ["a"]], ["x", "y"]).tolist() == [2.0, 1.0]
    assert fm.own_references([["a", "b"], ["a"]], ["x", "y"], [1.0, None]).tolist() == [2.5, 1.0]
    assert fm.score(TABLE.slice(0, 1), "own_references(add=40)")["own_references(add=40)"].to_pylist() == [42.0]
    refused(OptionError, "add", parse, "own_references(add=1.5)")


def test_custom_metrics_in_files_summaries_and_validation(own, tmp_path):
    source, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    pq.write_table(TABLE, source)
    done = program("score", source, "-o", out, "-m", "own_overlap,token_f1", "--plugin", own, "--threads", 2)
    assert (done.code, done.err) == (0, "")
    scores = pq.read_table(out)["own_overlap"]
    wanted = [None if one != one else one for one in map(expected_overlap, ANSWERS, REFERENCES)]  # noqa: PLR0124
    same(scores, wanted)
    assert "own_mean" in program("summarize", out, "--plugin", own, "--json").out
    some = tmp_path / "some.parquet"
    assert program("score", source, "-o", some, "--plugin", own).code == 0
    assert {"own_overlap", "own_references", "token_f1"} <= set(pq.read_schema(some).names)
    assert program("metrics", "--plugin", own, "own_overlap").out.startswith(
        "own_overlap: row metric, 0 to 1; source: ours"
    )
    listed = program("metrics", "--plugin", own).out
    assert "own_references" in listed
    profile = program("profile", source, "-m", "own_overlap", "--plugin", own)
    assert "own_overlap" in profile.out


def test_changed_code_prevents_resuming(own, tmp_path):
    fm.metrics.load_plugin(own)
    before = code_of(parse("own_overlap").metric)
    assert before == code_of(parse("own_overlap").metric) != code_of(parse("own_references").metric)
    assert code_of(parse("token_f1").metric) is None
    own.write_text(OWN.replace("/ len(words)", "/ (1 + len(words))"))
    assert fm.metrics.load_plugin(own)[0] == "own_overlap"
    assert fm.own_overlap(["a"], ["a"]).tolist() == [0.5], "the file is run again"
    assert code_of(parse("own_overlap").metric) != before
    own.write_text(OWN.replace("own_overlap", "own_other"))
    assert fm.metrics.load_plugin(own)[0] == "own_other"
    assert "own_overlap" not in REGISTRY, "what the file no longer declares is gone"
    assert SPELLINGS["own_mean"] == "own_other"
    own.write_text(OWN)
    assert fm.metrics.load_plugin(own)[0] == "own_overlap", "the first text again"
    assert code_of(parse("own_overlap").metric) == before


def test_a_file_that_fails_leaves_no_metric(own):
    own.write_text(OWN + "1 / 0\n")
    with pytest.raises(PluginError):
        fm.metrics.load_plugin(own)
    assert not {"own_overlap", "own_mean", "own_letters"} & {*REGISTRY, *SPELLINGS}


def test_custom_metric_works_in_another_process_without_file(own, tmp_path):
    fm.metrics.load_plugin(own)
    kept = tmp_path / "metric.pickle"
    kept.write_bytes(pickle.dumps(REGISTRY["own_overlap"]))
    own.unlink()
    load = f"metric = pickle.load(open({str(kept)!r}, 'rb'))"
    code = f"import pickle, fastmetrics as fm; {load}; print(metric.name, fm.own_overlap(['a'], ['a b']))"
    run = subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (0, "own_overlap [0.5]\n"), run.stderr


@pytest.mark.full
def test_installed_package_provides_metrics(tmp_path):
    (tmp_path / "theirs.py").write_text(OWN.replace("own_", "their_"))
    info = tmp_path / "theirs-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[fastmetrics.metrics]\ntheirs = theirs\n")
    environment = {**ENVIRONMENT, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    code = "import fastmetrics as fm; print(fm.their_overlap(['a'], ['a']), 'their_letters' in dir(fm))"
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (0, "[1.] True\n"), run.stderr
    (tmp_path / "theirs.py").write_text("1 / 0")
    broken = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert "package theirs: its metrics (theirs) cannot be loaded: ZeroDivisionError" in broken.stderr


@pytest.mark.full
def test_metric_of_main_module_cannot_be_pickled():
    code = textwrap.dedent("""
        import pickle
        import fastmetrics as fm

        for _ in range(2):
            @fm.metric(bounds=(0, 1), better="higher")
            def mine(answer: str) -> float:
                return len(answer) / 4

        print(fm.mine(["ab"]), fm.score({"answer": ["abc"]}, "mine")["mine"])
        try:
            pickle.dumps(__import__("fastmetrics.metrics.metric").metrics.metric.REGISTRY["mine"])
        except fm.errors.PluginError as error:
            print(error)
    """)
    run = subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert "[0.5]" in run.stdout
    assert "0.75" in run.stdout
    assert "metric 'mine' is declared in the main program, which workers cannot import: move it to a file" in run.stdout


PLUGIN = """
import fastmetrics as fm

MEANINGS = {"tools_used": "the tools", "category": "the area", "steps": "what was done", "weight": "w", "urgent": "u"}

@fm.metric(bounds=(0, 1), better="higher", columns=MEANINGS)
def tool_use(
    answer: str, tools_used: list[str], steps: list, weight: float, urgent: bool, category: str | None = None
) -> float:
    assert isinstance(steps, list) and isinstance(tools_used, list)
    return float("search" in tools_used) * weight * (category != "smalltalk") * bool(urgent)
"""
WHOLE = {"answer": "a", "steps": [], "weight": 1, "urgent": True}
ROWS = [
    {**WHOLE, "id": 1, "tools_used": ["search"], "steps": [{"n": 1}], "category": "x"},
    {**WHOLE, "id": 2, "tools_used": [], "category": None},
    {**WHOLE, "id": 3, "tools_used": None, "category": "x"},
    {**WHOLE, "id": 4, "tools_used": ["search"], "weight": 0.5, "category": "y"},
]
SCORES = [1.0, 0.0, None, 0.5]


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(PLUGIN)
    return tmp_path / "mine.py"


def test_the_columns_are_read_from_files_and_tables(tmp_path: Path, plugin: Path) -> None:
    rows = jsonl(tmp_path / "rows.jsonl", *ROWS)
    words = ("score", rows, "-m", "tool_use", "--plugin", plugin, "--keep", "category,tools_used")
    done = program(*words, "-o", tmp_path / "scores.parquet")
    assert (done.code, done.err) == (0, "")
    by = program("summarize", "--intervals", tmp_path / "scores.parquet", "--by", "category", "-m", "tool_use")
    assert (by.code, by.err) == (0, "")
    assert fm.metrics.load_plugin(plugin) == ["tool_use"]
    assert fm.score(rows, "tool_use")["tool_use"].to_pylist() == SCORES
    assert fm.score(pa.Table.from_pylist(ROWS), "tool_use")["tool_use"].to_pylist() == SCORES
    renamed = pa.Table.from_pylist(ROWS).rename_columns({"category": "area"})
    assert fm.score(renamed, "tool_use", columns={"category": "area"})["tool_use"].to_pylist() == SCORES
    assert fm.tool_use(["a"], [["search"]], [[]], [1.0], [True]).tolist() == [1.0]


def test_the_columns_go_with_the_metric(plugin: Path) -> None:
    assert set(COLUMNS) == BUILT_IN
    fm.metrics.load_plugin(plugin)
    assert set(COLUMNS) - BUILT_IN == {"tools_used", "category", "steps", "weight", "urgent"}
    plugin.write_text(PLUGIN.replace('"weight": "w", ', "").replace("weight: float, ", "").replace("* weight", ""))
    fm.metrics.load_plugin(plugin)
    assert set(COLUMNS) - BUILT_IN == {"tools_used", "category", "steps", "urgent"}
    plugin.write_text(PLUGIN + "1 / 0\n")
    refused(PluginError, "ZeroDivisionError", fm.metrics.load_plugin, plugin)
    assert set(COLUMNS) - BUILT_IN == {"tools_used", "category", "steps", "urgent"}


def test_whole_columns(plugin: Path) -> None:
    @fm.metric(bounds=(0, 10), better="higher", columns={"tools": "the tools"})
    def calls(tools: pa.Array):
        return pa.compute.list_value_length(tools).to_numpy(zero_copy_only=False)

    assert fm.score({"tools": [["a"], [], None]}, "calls")["calls"].to_pylist() == [1.0, 0.0, None]


def test_parameters_may_have_the_aliases_of_columns() -> None:
    @fm.metric(bounds=(0, 1), better="higher")
    def same(response: str, gold: str | None = None) -> float:
        return float(response == gold)

    @fm.metric(bounds=(0, 9), better=None)
    def characters(output: pa.Array):
        return pa.compute.utf8_length(output).fill_null(0).to_numpy(zero_copy_only=False)

    rows = {"answer": ["a", "b", None], "target": ["a", "c", "d"]}
    scores = fm.score(rows, "same,characters")
    assert scores["same"].to_pylist() == [1.0, 0.0, None]
    assert scores["characters"].to_pylist() == [1.0, 1.0, None]
    assert fm.same(["a"], ["a"]).tolist() == [1.0]


def test_values_have_the_type_of_their_annotation() -> None:
    seen = []

    @fm.metric(bounds=(0, 9), better=None, columns=dict.fromkeys(("big", "oks", "counts", "shares", "done"), "x"))
    def typed(
        turn: int,
        total_tokens: int,
        big: int,
        oks: list[bool],
        counts: list[int],
        shares: list[float],
        done: bool,
        round: int | None = None,
    ) -> float:
        seen.append((turn, total_tokens, big, oks, counts, shares, done, round))
        return 1.0

    rows = {"turn": [3.0], "total_tokens": [[5, 6]], "big": [2**60 + 1], "oks": [[1.0, False, None]]}
    rows |= {"counts": [[1.0, 2.0]], "shares": [[1, 2]], "done": [1.0], "round": [float("nan")]}
    wanted = "(3, 11, 1152921504606846977, [True, False, None], [1, 2], [1.0, 2.0], True, None)"
    for table in (rows, pa.table({**rows, "oks": [[True, False, None]], "done": [True]})):
        fm.score(table, "typed")
        assert repr(seen.pop()) == wanted
    fm.typed(*rows.values())
    assert repr(seen.pop()) == wanted
    for bad, expected in (("turn", "a whole number"), ("counts", "a whole number"), ("done", "true or false")):
        value = [[1.0, 2.5]] if bad == "counts" else [2.5]
        odd = {name: given + (value if name == bad else given) for name, given in rows.items()}
        refused(InputError, f"1 {bad} {expected} 2.5", fm.score, odd, "typed")
