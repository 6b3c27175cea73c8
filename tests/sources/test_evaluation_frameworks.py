"""docs/start.md: the metrics of Ragas and DeepEval that ask no model, beside ours.

Their requirements contradict those of the extras, so they have an environment of their own, which ``.ci/run`` makes.
"""

from __future__ import annotations

import json
import os
import subprocess

import pytest

import fastmetrics as fm

PYTHON = os.environ.get("FASTMETRICS_FRAMEWORKS", "")
"""The Python of an environment with Ragas and DeepEval."""

pytestmark = pytest.mark.skipif(not PYTHON, reason="FASTMETRICS_FRAMEWORKS is not set")

ANSWERS = ["It opened in Paris", "The running cats", "the Rome", "a b c d e f", "First. Second part"]
REFERENCES = ["Paris opened it", "the cat runs", "Rome!", "a b c d e g", "First one. Second part"]

RAGAS = """
import asyncio, json, sys
from ragas import SingleTurnSample
from ragas.metrics import BleuScore, ChrfScore, ExactMatch, IDBasedContextPrecision, IDBasedContextRecall, RougeScore
pairs = json.loads(sys.stdin.read())
metrics = RougeScore(), ChrfScore(), BleuScore(), ExactMatch()
samples = [SingleTurnSample(response=answer, reference=reference) for answer, reference in pairs]
scores = {metric.name: [asyncio.run(metric.single_turn_ascore(sample)) for sample in samples] for metric in metrics}
ids = SingleTurnSample(retrieved_context_ids=["a", "b", "b"], reference_context_ids=["a", "c", "d"])
for metric in (IDBasedContextRecall(), IDBasedContextPrecision()):
    scores[metric.name] = asyncio.run(metric.single_turn_ascore(ids))
print(json.dumps(scores))
"""
DEEPEVAL = """
import json, sys
from deepeval.scorer import Scorer
pairs = json.loads(sys.stdin.read())
print(json.dumps({
    "rouge": [Scorer.rouge_score(reference, answer, "rougeL") for answer, reference in pairs],
    "exact": [Scorer.exact_match_score(reference, answer) for answer, reference in pairs],
    "quasi": [Scorer.quasi_exact_match_score(reference, answer) for answer, reference in pairs],
}))
"""


def run(code: str) -> dict[str, list[float]]:
    """What a program of another package prints, which asks nothing of any server and reports nothing."""
    quiet = {"RAGAS_DO_NOT_TRACK": "true", "DEEPEVAL_TELEMETRY_OPT_OUT": "YES", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [PYTHON, "-W", "ignore", "-c", code],
        input=json.dumps(list(zip(ANSWERS, REFERENCES, strict=True))),
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | quiet,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    scores: dict[str, list[float]] = json.loads(done.stdout.splitlines()[-1])
    return scores


def test_ragas():
    theirs = run(RAGAS)
    assert fm.rouge(ANSWERS, REFERENCES, types=["rougeL"], stemmer=True)["rougeL_f1"].tolist() == theirs["rouge_score"]
    assert (fm.chrf(ANSWERS, REFERENCES) / 100).tolist() == pytest.approx(theirs["chrf_score"], rel=1e-14)
    bleu = [fm.corpus_bleu([a], [r]).score / 100 for a, r in zip(ANSWERS, REFERENCES, strict=True)]
    assert bleu[:4] == theirs["bleu_score"][:4]
    assert bleu[4] != theirs["bleu_score"][4]  # two sentences
    assert theirs["exact_match"] == [0.0] * 5
    recall = fm.retrieval_recall([["a", "b", "b"]], [["a", "c", "d"]])
    assert recall.tolist() == [theirs["id_based_context_recall"]]
    assert theirs["id_based_context_precision"] == 0.5
    assert fm.retrieval_precision([["a", "b", "b"]], [["a", "c", "d"]], k=3).tolist() == [1 / 3]


def test_deepeval():
    theirs = run(DEEPEVAL)
    assert fm.rouge(ANSWERS, REFERENCES, types=["rougeL"], stemmer=True)["rougeL_f1"].tolist() == theirs["rouge"]
    assert fm.squad_em(ANSWERS, REFERENCES).tolist() == theirs["quasi"]
    assert theirs["quasi"][2] == 1
    assert theirs["exact"] == [0] * 5
