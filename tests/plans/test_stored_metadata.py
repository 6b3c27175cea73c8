"""A plugin's scores are read as the plugin declares them, without the plugin."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import OptionError
from fastmetrics.base.score_metadata import ScoreMetadata
from fastmetrics.metrics.suites import lookup
from fastmetrics.reporting.readings import reading
from fastmetrics.results.opening_scores import read_table
from fastmetrics.results.score_columns import stored_declarations
from tests.support.program import ENVIRONMENT, alone, jsonl, program, unfolded

PLUGIN = """
import numpy as np
import pyarrow as pa
import fastmetrics as fm
from fastmetrics.metrics.metric import Corpus
from fastmetrics.metrics.batch import Number

@fm.metric(
    bounds=(0, 10), better="lower", labels={"mean": "errors_a_row"}, statistics=["p90"], reading=(1, 5)
)
def own_errors(answer: str, reference: str, *, weight: float = 1.0) -> float | None:
    '''How many letters differ.'''
    return min(10, weight * sum(one != other for one, other in zip(answer, reference))) if reference else None

class Value:
    def __init__(self, score):
        self.score = score

@fm.metric(
    bounds=(0, 1), better="lower", corpus=Corpus(finish=lambda sums: Value(sums[0] / sums[1] if sums[1] else np.nan))
)
def own_rate(latency_ms: Number):
    '''The share of slow answers.'''
    return np.stack([latency_ms.values > 30, latency_ms.values >= 0], axis=1).astype(np.int64)
"""
SCORE = """
import sys
from pathlib import Path
import pyarrow.parquet as pq
import fastmetrics as fm

folder = Path(sys.argv[1])
fm.metrics.load_plugin(folder / "mine.py")
specs = "own_errors,own_errors(weight=2,name='twice'),token_f1"
for name in ("old", "new"):
    for suffix in (".parquet", ".csv", ".jsonl"):
        fm.score(folder / f"{name}_rows.jsonl", specs, output=folder / f"{name}{suffix}", keep=["language"])
table = {"id": list(range(9)), "answer": ["aaaa"] * 9, "reference": ["aaab", "abbb", "aaaa"] * 3}
scores = fm.score(table, "own_errors")
assert fm.summarize(scores)["own_errors"].n == 9
pq.write_table(scores, folder / "table.parquet")
"""
N = 60
WORDS = ["aaaa", "aaab", "aabb", "abbb"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """An old run and a better new one, scored in a process that loads the plugin; this process never does."""
    made = tmp_path_factory.mktemp("stored")
    (made / "mine.py").write_text(PLUGIN)
    for name, shift in (("old", 2), ("new", 1)):
        rows = [
            {
                "id": n,
                "answer": WORDS[(n + shift * (n % 3 > 0)) % 4],
                "reference": WORDS[n % 4],
                "language": "ab"[n % 2],
                "latency_ms": float(n),
            }
            for n in range(N)
        ]
        jsonl(made / f"{name}_rows.jsonl", *rows)
    subprocess.run([sys.executable, "-c", SCORE, made], check=True, env=ENVIRONMENT)
    assert lookup("own_errors") is None
    return made


def errors_of(path):
    return read_table(path).column("own_errors").to_numpy()


def test_the_fixture_is_an_improvement(folder):
    assert errors_of(folder / "new.parquet").mean() < errors_of(folder / "old.parquet").mean() - 0.1


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".jsonl"])
def test_gate_and_compare_know_the_direction(folder, suffix):
    old, new = folder / f"old{suffix}", folder / f"new{suffix}"
    assert fm.gate(new, "own_errors.drop <= 0", baseline=old).passed
    assert not fm.gate(old, "own_errors.drop <= 0", baseline=new).passed
    done = program("gate", new, "--baseline", old, "-r", "own_errors.drop <= 0", "-r", "twice.drop <= 0")
    assert done.code == 0, done.out
    found = fm.compare({"old": old, "new": new}, metrics="own_errors,twice", resamples=100, bootstrap=100)
    assert [found.verdict(one) for one in found] == ["better", "better"]
    assert found["own_errors"].wins > found["own_errors"].losses
    assert found.bounds == {"own_errors": (0.0, 10.0), "twice": (0.0, 10.0)}
    assert fm.gate(new, "own_errors.p90 <= 10").passed


def test_rows_summaries_histograms_and_correlations_know_the_declaration(folder):
    new = folder / "new.parquet"
    values = errors_of(new)
    worst = fm.worst_rows(new, "own_errors", n=3)
    assert worst["own_errors"].to_pylist() == sorted(values, reverse=True)[:3]
    done = program("summarize", new, "--worst", "own_errors", "-n", "1")
    assert f"own_errors {values.max():.4f}" in done.out
    for suffix in (".parquet", ".csv", ".jsonl"):
        summary = fm.summarize(folder / f"new{suffix}")
        assert summary.figures["errors_a_row"] == values.mean()
        assert summary["own_errors"].extra["p90"] == np.percentile(values, 90)
        assert "twice.mean" in summary.figures
    assert fm.summarize(pq.read_table(new))["own_errors"].extra == fm.summarize(new)["own_errors"].extra
    reader = pq.read_table(new).to_reader()
    assert fm.summarize(reader)["own_errors"].extra == fm.summarize(new)["own_errors"].extra
    by = fm.results.summarize_by(new, by="language", metrics="own_errors")
    assert by.better == {"own_errors": "lower"}
    assert fm.results.histograms(new, metrics="own_errors")["own_errors"].edges[-1] == 10.0
    (pair,) = fm.results.correlations(new, metrics="own_errors,token_f1")
    assert pair.agreement == -pair.spearman > 0


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".jsonl"])
def test_validate_knows_the_direction(folder, suffix):
    new = folder / f"new{suffix}"
    labels = jsonl(folder / "labels.jsonl", *({"id": n, "good": int(one == 0)} for n, one in enumerate(errors_of(new))))
    done = program("validate", new, labels, "-m", "own_errors", "--json")
    assert (done.code, done.err) == (0, "")
    found = json.loads(done.out)["metrics"]["own_errors"]
    assert (found["better"], found["auc"]["value"]) == ("lower", 1.0)
    assert fm.validate(read_table(new), read_table(labels), metrics="own_errors").metrics["own_errors"].auc.value == 1.0


def test_reports_and_plots_know_the_declaration(folder, tmp_path):
    new, old = folder / "new.parquet", folder / "old.parquet"
    fm.report(new, tmp_path / "report.html", baseline=old)
    page = (tmp_path / "report.html").read_text()
    assert '"name": "own_errors", "better": "lower"' in page or '"name":"own_errors","better":"lower"' in page
    stored = stored_declarations(ScoreMetadata.of_schema(pq.read_schema(new)))
    assert [reading("own_errors", mean, stored) for mean in (0.5, 3, 7)] == ["good", "middling", "poor"]
    assert reading("twice", 7, stored) == "poor"
    assert fm.trend(folder, "own_errors").metric == "own_errors"


def test_a_table_written_and_read_again_keeps_the_declaration(folder):
    for scores in (folder / "table.parquet", pq.read_table(folder / "table.parquet")):
        assert fm.worst_rows(scores, "own_errors", n=1)["own_errors"].to_pylist() == [3.0]


@pytest.mark.full
def test_a_plugins_corpus_metric_is_named_without_the_plugin(folder, tmp_path):
    out = tmp_path / "counted.parquet"
    command = ("score", folder / "new_rows.jsonl", "-o", out, "-m", "own_rate,token_f1", "--keep-counts")
    done = alone(*command, "--plugin", folder / "mine.py")
    assert (done.code, done.err) == (0, "")
    told = program("summarize", out)
    assert told.code == 0
    assert "left out: own_rate, a corpus metric that is unknown here; load the plugin that declares it" in unfolded(
        told.out
    )
    known = program("summarize", out, "--plugin", folder / "mine.py")
    assert "own_rate" in known.out
    assert "left out" not in known.out


def test_runs_that_declare_a_score_differently_are_refused(folder):
    old, new = (pq.read_table(folder / f"{name}.parquet") for name in ("old", "new"))
    metadata = json.loads(new.schema.metadata[b"fastmetrics"])
    metadata["declared"]["own_errors"]["better"] = "higher"
    turned = new.replace_schema_metadata({b"fastmetrics": json.dumps(metadata)})
    with pytest.raises(OptionError, match=r"declared\.own_errors\.better is 'lower'"):
        fm.compare({"old": old, "new": turned}, metrics="own_errors")
    found = fm.compare({"old": old, "new": turned}, metrics="own_errors", allow_differences=True)
    assert found.better == {"own_errors": "lower"}
