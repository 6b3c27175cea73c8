"""A fitted score's file is a metric: the same bits as plain Python, in any batch, thread and process."""

import ast
import json
import math
import pickle
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import fastmetrics as fm
from fastmetrics.metrics.fitted_file import load, text_of
from fastmetrics.metrics.score_names import parse
from fastmetrics.plans.plan import ScoreRequest, plan
from tests.reference import fitted as reference
from tests.support.fitted_models import CUTS, features, written

FORMS = {"logistic": {}, "linear": {"kind": "linear", "bounds": (-0.5, 0.9)}}


def rows(n, seed=0):
    """Answers with references and a judge's scores, some missing or undefined."""
    rng = np.random.default_rng(seed)
    words = np.array(["in", "Paris", "Rome", "the", "capital", "of", "France", ""])
    texts = [" ".join(rng.choice(words, size)) for size in rng.integers(0, 6, 2 * n)]
    judged = [None if x < 0.1 else math.nan if x < 0.2 else 7 * x - 1 for x in rng.random(n)]
    answers = [None if x < 0.1 else text for x, text in zip(rng.random(n), texts, strict=False)]
    return {"answer": answers, "reference": texts[n:], "judge_x": judged}


@pytest.mark.parametrize("form", FORMS)
def test_scores_are_those_of_plain_python_bit_by_bit(form, tmp_path):
    path = written(tmp_path, **FORMS[form])
    table = rows(500)
    scored = fm.score(table, ["token_f1", str(path)])
    text = path.read_text(encoding="utf-8")
    expected = [
        reference.score(text, row) for row in zip(scored["token_f1"].to_pylist(), table["judge_x"], strict=True)
    ]
    assert scored["mine"].to_pylist() == expected
    assert None in expected
    assert len(set(expected)) >= 5


@pytest.mark.parametrize("form", FORMS)
def test_bits_do_not_depend_on_batches_and_threads(form, tmp_path):
    path = str(written(tmp_path, **FORMS[form]))
    table = rows(3000)
    whole = fm.score(table, path, threads=1)["mine"].to_pylist()
    assert fm.score(table, path, threads=3)["mine"].to_pylist() == whole
    pieces = [fm.score({k: v[i : i + 7] for k, v in table.items()}, path)["mine"].to_pylist() for i in (0, 7, 14)]
    assert [score for piece in pieces for score in piece] == whole[:21]


def test_a_score_is_missing_where_all_its_metrics_are(tmp_path):
    table = {"answer": [None, "Paris"], "reference": ["Paris", None], "judge_x": [None, 2.0]}
    assert fm.score(table, str(written(tmp_path)))["mine"].is_null().to_pylist() == [True, False]
    for n in (0, 1, 2):
        assert len(fm.score({k: v[:n] for k, v in rows(5).items()}, str(written(tmp_path)))) == n


def test_the_file_is_read_back_as_it_was_written(tmp_path):
    for form in FORMS.values():
        path = written(tmp_path, thresholds=CUTS, **form)
        assert text_of(load(path)) == path.read_text(encoding="utf-8")


def test_the_score_works_in_files_gates_and_reports(tmp_path):
    path, scores = written(tmp_path), tmp_path / "scores.parquet"
    table = rows(300)
    scored = fm.score(table, f"{path}(name='quality'),token_f1", output=scores)
    assert scored.summary["quality"].n > 200
    declared = json.loads(fm.score(table, [str(path)]).schema.metadata[b"fastmetrics"])["declared"]["mine"]
    assert (declared["better"], declared["bounds"]) == ("higher", [0.0, 1.0])
    assert fm.gate(scores, "quality >= 0.01").passed
    path.unlink()  # the scores tell all that their readers need
    assert fm.gate(scores, "quality >= 0.01").passed


def test_another_process_has_the_same_metric(tmp_path):
    path = written(tmp_path)
    score = parse(str(path))
    path.unlink()
    again = pickle.loads(pickle.dumps(score))
    assert again.metric.text == score.metric.text
    assert again.metric.code == score.metric.code


def test_a_resumed_run_notices_another_file(tmp_path):
    path = written(tmp_path)
    first = parse(str(path)).metric.code
    written(tmp_path, intercept=0.5)
    assert parse(str(path)).metric.code != first


@pytest.mark.parametrize(("better", "order"), [("higher", (0.0, 0.5, 1.0)), ("lower", (1.0, 0.5, 0.0))])
def test_a_verdict_goes_by_the_thresholds_of_a_fitted_score(better, order, tmp_path):
    known = sorted(set(fm.score(rows(500), str(written(tmp_path)))["mine"].drop_null().to_pylist()))
    low, high = known[len(known) // 3], known[2 * len(known) // 3]  # scores of rows, which are at the cuts
    cuts = {name: replace(CUTS[name], cut=cut) for name, cut in (("precision", high), ("recall", low))}
    path = written(tmp_path, thresholds=cuts, better=better)
    scored = fm.score(rows(500), [str(path), f"verdict(fitted={str(path)!r})"])
    expected = [
        None if score is None else order[(score >= low) + (score >= high)] for score in scored["mine"].to_pylist()
    ]
    assert scored.column(1).to_pylist() == expected
    words = {0.0: "FAIL", 0.5: "WARN", 1.0: "PASS", None: None}
    assert scored.column(2).to_pylist() == [words[one] for one in expected]
    assert {0.0, 0.5, 1.0} <= set(expected)


PLUGIN = """
import fastmetrics as fm

@fm.metric(bounds=(0, 1), better="higher")
def fit_plugin_score(answer: str) -> float:
    \"\"\"A number.\"\"\"
    return {value}
"""
PICKLED = """
import pickle, sys
import fastmetrics as fm
from fastmetrics.plans.plan import plan
from fastmetrics.plans.plan import ScoreRequest
from fastmetrics.plans.stored_metadata import signature

fm.metrics.load_plugin(sys.argv[1])
planned = plan(["answer"], ScoreRequest(sys.argv[2]))
print([repr(signature(planned).scores["mine"]), pickle.dumps(planned.scores[0]).hex()])
"""
UNPICKLED = """
import pickle, sys
print(pickle.loads(bytes.fromhex(sys.argv[1])).metric.parts[0].metric.name)
"""


def output_of(program, *arguments):
    """What a program prints in a process of its own."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout.strip()


@pytest.mark.full
def test_plugins_that_it_reads_count_for_the_signature_and_go_to_other_processes(tmp_path):
    plugin = tmp_path / "fit_plugin.py"
    path = written(tmp_path, features=features(["fit_plugin_score"]))
    runs = []
    for value in (0.25, 0.75):
        plugin.write_text(PLUGIN.format(value=value), encoding="utf-8")
        runs.append(ast.literal_eval(output_of(PICKLED, plugin, path)))
    assert runs[0][0] != runs[1][0]
    assert output_of(UNPICKLED, runs[0][1]) == "fit_plugin_score"


def test_other_processes_have_the_embedder_of_the_run(tmp_path):
    names = ["answer", "reference"]
    path = written(tmp_path, features=features(["semantic_similarity"]))
    [score] = plan(names, ScoreRequest(str(path), embedder="wordllama", cache=tmp_path / "cache")).scores
    again = pickle.loads(pickle.dumps(score)).metric.parts[0]
    assert again.options == score.metric.parts[0].options
    assert again.options["embedder"] == "wordllama"
