"""The worked examples run as they stand, and say what they promise."""

import io
import json
import re
import runpy
import shutil
import sys
from contextlib import redirect_stdout
from pathlib import Path
from unittest import mock

import pyarrow.parquet as pq

import fastmetrics as fm
from tests.support.optional_parts import needs

FOLDER = Path(__file__).parents[2] / "examples"


def run(script: str, *arguments: str | Path) -> str:
    """What the script prints; a warning in it is an error, as in the tests."""
    words = [str(FOLDER / script), *map(str, arguments)]
    with mock.patch.object(sys, "argv", words), redirect_stdout(io.StringIO()) as printed:
        runpy.run_path(words[0], run_name="__main__")
    return printed.getvalue()


def test_worst_rows_are_those_whose_scores_are_printed() -> None:
    printed = run("worst_rows.py", FOLDER / "answers.jsonl")
    rows = {row["id"]: row for row in map(json.loads, (FOLDER / "answers.jsonl").read_text().splitlines())}
    shown = re.findall(r"^(\S+)  token_f1=([\d.]+)\n    (.*)\n    (.*)$", printed, re.MULTILINE)
    assert len(shown) == 5
    for name, score, question, answer in shown:
        row = rows[name]
        assert (row["question"], row["answer"], bool(row["contexts"])) == (question, answer, True)
        assert f"{fm.token_f1([answer], [row['reference']])[0]:.2f}" == score
    unscored = sum(row["answer"] is None or not row["reference"] for row in rows.values() if row["contexts"])
    assert f"\n{unscored} of {sum(bool(row['contexts']) for row in rows.values())} rows have no token_f1" in printed


def test_big_parquet_makes_its_own_rows() -> None:
    assert "30,000 rows, 0 of them scored earlier, 0 rejected" in run("big_parquet.py")


def test_big_parquet_scores_a_file(tmp_path: Path) -> None:
    source, target = tmp_path / "rows.parquet", tmp_path / "scores.parquet"
    printed = run("big_parquet.py", _example_rows(source), target)
    assert f"300 rows, 0 of them scored earlier, 0 rejected: {target}" in printed
    scores = pq.read_table(target)
    assert scores.column_names == [
        *("id", "question", "token_f1", "keyword_recall", "squad_f1(version=2)", "answer_words"),
    ]
    assert scores.num_rows == 300


def test_two_systems() -> None:
    lines = run("two_systems.py", FOLDER / "answers.jsonl", FOLDER / "brief_answers.jsonl").splitlines()
    head = next(at for at, line in enumerate(lines) if line.startswith("metric "))
    verdicts = {line.split()[0]: line.split()[1] for line in lines[head + 1 : head + 5]}
    assert list(verdicts) == ["token_f1", "token_precision", "token_recall", "answer_words"]
    assert verdicts["answer_words"] == "better"
    changes = [abs(float(line.split()[1])) for line in lines[-5:]]
    assert changes == sorted(changes, reverse=True)


def _example_rows(path: Path) -> Path:
    from pyarrow import json

    pq.write_table(json.read_json(FOLDER / "answers.jsonl"), path)
    return path


def test_a_log_becomes_a_list_of_gaps() -> None:
    printed = run("log_to_gaps.py", FOLDER / "answers.jsonl")
    rows = [json.loads(line) for line in (FOLDER / "answers.jsonl").read_text().splitlines()]
    assert f"300 questions, {len({row['question'].lower().strip() for row in rows})} distinct" in printed
    gaps = re.findall(r"^ +([\d.]+) of +(\d+) +(\d+) chunks  (.*)$", printed, re.MULTILINE)
    assert len(gaps) == 5
    lost = [float(gap) for gap, _, _, _ in gaps]
    assert lost == sorted(lost, reverse=True)
    assert all(0 < float(gap) <= int(questions) for gap, questions, _, _ in gaps)
    assert {sample for _, _, _, sample in gaps} <= {row["question"] for row in rows}
    first = {row["retrieved_ids"][0] for row in rows if row["retrieved_ids"]}
    assert f"\n{len(first)} chunks came first; " in printed


def test_a_score_is_fitted_to_labels() -> None:
    printed = run("fit_a_score.py")
    assert "correctness" in printed.splitlines()[1]
    assert "labelled 'correct'" in printed
    assert json.loads(printed.splitlines()[-1].replace("'", '"').replace("None", "null"))[0]["id"] == "q0001"


@needs("nbclient", "ipykernel")
def test_the_notebook_runs_from_top_to_bottom(tmp_path: Path) -> None:
    import nbclient
    import nbformat

    for name in ("answers.jsonl", "brief_answers.jsonl"):
        shutil.copy(FOLDER / name, tmp_path)
    notebook = nbformat.read(FOLDER / "first_look.ipynb", as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "outputs are not committed"
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = "".join(str(output) for cell in notebook.cells for output in cell.get("outputs", ()))
    for part in ("text/html", "image/png", "token_recall.drop", "FAILED"):
        assert part in shown
