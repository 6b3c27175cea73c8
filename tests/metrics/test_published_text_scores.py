"""Our numbers against those that others published for real rows."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import roc_auc_score

import fastmetrics as fm
from tests.reference import lexical


@pytest.mark.parametrize("version", [1, 2])
def test_official_squad_scores(data_folder: Path, version: int) -> None:
    golden = json.loads((data_folder / "oracles" / "text_golden.json").read_text(encoding="utf-8"))
    rows = [(case["pred"], [case["ref"]], case["squad"]) for case in golden["pairs"]]
    rows += [(case["pred"], case["refs"], case["squad"]) for case in golden["multi_ref"]]
    answers, references, official = map(list, zip(*rows, strict=True))
    for metric, key in (("squad_em", "em"), ("squad_f1", "f1")):
        expected = [float(scores[f"v{version}"][key]) for scores in official]
        slow = getattr(lexical, metric)
        assert [slow(a, r, version) for a, r in zip(answers, references, strict=True)] == expected
        assert getattr(fm, metric)(answers, references, version=version).tolist() == expected


def test_mkqa_english_cases(data_folder: Path) -> None:
    published = json.loads((data_folder / "oracles" / "mkqa" / "expected.json").read_text(encoding="utf-8"))
    english = [case for case in published["cases"] if case[2] == "en"]
    answers, references, _, f1, em = map(list, zip(*english, strict=True))
    assert fm.squad_f1(answers, references, version=2) == pytest.approx(f1, rel=1e-15)
    assert fm.squad_em(answers, references, version=2) == pytest.approx(em, rel=1e-15)


@pytest.mark.parametrize(("metric", "expected"), [("token_f1", 0.884), ("squad_f1", 0.898), ("keyword_recall", 0.94)])
def test_published_agreement_with_human_labels(data_folder: Path, metric: str, expected: float) -> None:
    """Area under the curve of a metric as a judge of what people called right."""
    table = pq.read_table(data_folder / "dev" / "evouna_qa.parquet")
    right = table["human_correct"].to_pandas()
    scores = getattr(fm, metric)(table["answer"], table["references"])
    judged = np.flatnonzero(right.notna() & ~np.isnan(scores))
    assert len(judged) > 12_000
    assert roc_auc_score(right[judged].astype(bool), scores[judged]) == pytest.approx(expected, abs=0.005)
    answers, references = table["answer"].to_pylist()[:500], table["references"].to_pylist()[:500]
    slow = [getattr(lexical, metric)(a, r) for a, r in zip(answers, references, strict=True)]
    assert scores[:500] == pytest.approx([np.nan if one is None else one for one in slow], nan_ok=True, rel=1e-15)
