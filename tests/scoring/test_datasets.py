"""Hugging Face datasets: as tables, with scores beside their columns, and as functions for ``map``."""

import pytest

import fastmetrics as fm
from tests.scoring.test_with_scores import METRICS, ROWS, bits, scores
from tests.support.goldens import refused
from tests.support.optional_parts import needs

pytestmark = needs("datasets")


@pytest.fixture
def dataset(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path)
    datasets.disable_progress_bars()
    return datasets.Dataset.from_dict(ROWS)


def scores_in(rows):
    return {name: bits(rows[name]) for name in rows.column_names if name not in ROWS}


def test_a_dataset_is_a_table_with_its_selection_and_order(dataset):
    assert scores(dataset) == scores()
    turned = dataset.select([3, 1, 0])
    assert fm.score(turned, "token_f1")["id"].to_pylist() == ["d", "b", "a"]
    assert scores(turned)["token_f1"] == [scores()["token_f1"][row] for row in (3, 1, 0)]
    assert scores(dataset.to_iterable_dataset()) == scores()
    assert fm.score(dataset.select([]), "token_f1").num_rows == 0
    refused(fm.errors.ColumnError, "train test", fm.score, {"train": dataset, "test": dataset}, "token_f1")


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_scores_stand_beside_the_columns(dataset, n):
    some = dataset.select(range(n))
    scored = fm.with_scores(some, METRICS)
    assert type(scored) is type(dataset)
    assert scored.select_columns(list(ROWS)).to_dict() == some.to_dict()
    assert scores_in(scored) == scores(some)
    assert {scored.features[name].dtype for name in scores(some)} == {"float64"}
    refused(fm.errors.ColumnError, "dataset.map", lambda: fm.with_scores(dataset.to_iterable_dataset(), METRICS))


@pytest.mark.parametrize("rows", [1, 2, 1000])
@pytest.mark.parametrize("form", [None, "arrow", "pandas", "numpy"])
def test_map_adds_scores(dataset, form, rows):
    scored = dataset.with_format(form).map(fm.datasets.scorer(METRICS), batched=True, batch_size=rows).with_format(None)
    assert scored.column_names[:5] == list(ROWS)
    expected = scores()
    if form in ("pandas", "numpy"):  # these have no null
        expected = {
            name: [bits([float("nan")])[0] if value is None else value for value in column]
            for name, column in expected.items()
        }
        assert {
            name: [bits([float("nan")])[0] if value is None else value for value in column]
            for name, column in scores_in(scored).items()
        } == expected
    else:
        assert scores_in(scored) == expected


def test_map_recognises_its_function_and_works_in_processes(dataset, tmp_path):
    import datasets

    dataset.to_parquet(tmp_path / "rows.parquet")
    stored = datasets.Dataset.from_parquet(str(tmp_path / "rows.parquet"), cache_dir=str(tmp_path / "cache"))
    first = stored.map(fm.datasets.scorer("token_f1"), batched=True)
    again = stored.map(fm.datasets.scorer("token_f1"), batched=True)
    other = stored.map(fm.datasets.scorer("token_recall"), batched=True)
    assert first._fingerprint == again._fingerprint != other._fingerprint
    assert scores_in(stored.map(fm.datasets.scorer(METRICS), batched=True, num_proc=2)) == scores()
    streamed = list(stored.to_iterable_dataset().map(fm.datasets.scorer("token_f1"), batched=True))
    assert bits(row["token_f1"] for row in streamed) == scores()["token_f1"]
