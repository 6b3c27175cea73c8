"""Polars: expressions of metrics in eager, lazy and streamed frames, and the namespace ``fm``."""

import polars as pl
import pytest

import fastmetrics as fm
from tests.scoring.frames.tables import METRICS, ROWS, WITHOUT_EMBEDDER, bits, columns_of, scores
from tests.support.every_metric import READERS

fm.polars.register()


@pytest.mark.parametrize("name", [name for name in READERS if name in WITHOUT_EMBEDDER])
def test_every_metric_of_a_row_is_an_expression(name):
    frame = pl.DataFrame(columns_of(name), strict=False)
    expected = scores(frame, name)[name]
    scored = frame.lazy().select(getattr(fm.polars, name)(*frame.columns)).collect(engine="streaming")
    assert scored.columns == [name]
    assert bits(scored[name]) == expected


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_absent_values_filters_and_groups(n):
    frame = pl.DataFrame(ROWS).head(n)
    expression = fm.polars.token_f1("answer", pl.col("reference"))
    assert bits(frame.select(expression).to_series()) == scores(frame)["token_f1"]
    some = frame.filter(pl.col("id") != "a")
    assert (
        bits(frame.lazy().filter(pl.col("id") != "a").select(expression).collect().to_series())
        == scores(some)["token_f1"]
    )
    groups = frame.lazy().group_by("id", maintain_order=True).agg(expression.first()).collect()
    assert bits(groups["token_f1"]) == scores(frame)["token_f1"]


def test_options_constants_and_names():
    frame = pl.DataFrame(ROWS)
    squad = frame.select(fm.polars.squad_f1("answer", reference="reference", version=2))
    assert bits(squad["squad_f1(version=2)"]) == scores()["squad_f1(version=2)"]
    rouge = frame.select(fm.polars.expression("rougeL_f1(stemmer=True)", "answer", "reference"))
    assert bits(rouge.to_series()) == scores()["rougeL_f1(stemmer=True)"]
    constant = frame.with_columns(reference=pl.lit("Oslo"))
    for text in (pl.lit("Oslo"), pl.lit(None, pl.String)):
        expected = scores(frame.with_columns(reference=text), "token_f1")["token_f1"]
        assert bits(frame.lazy().select(fm.polars.token_f1("answer", text)).collect().to_series()) == expected
    assert bits(constant.select(fm.polars.token_f1("answer", "reference").alias("f"))["f"])[4] is not None
    assert frame.clear().select(fm.polars.token_f1("answer", pl.lit("x"))).height == 0


def test_the_namespace_gives_frames():
    fm.polars.register()  # a second call changes nothing
    frame = pl.DataFrame(ROWS)
    assert {name: bits(column) for name, column in frame.fm.score(METRICS).drop("id").to_dict().items()} == scores()
    lazy = frame.lazy().fm.score(METRICS)
    assert isinstance(lazy, pl.LazyFrame)
    assert lazy.collect().equals(frame.fm.score(METRICS), null_equal=True)
    assert frame.fm.with_scores(METRICS).columns == frame.lazy().fm.with_scores(METRICS).collect().columns
    assert bits(frame.fm.token_f1()) == bits(frame.fm.token_f1("answer", "reference")) == scores()["token_f1"]
    assert frame.fm.token_f1().name == "token_f1"
    assert "token_f1" in dir(frame.fm)


def test_lazy_scores_are_those_of_eager_frames():
    frame = pl.DataFrame(ROWS).rename({"id": "key"})
    scored = frame.fm.with_scores("token_f1")  # whose column the scores do not replace
    for metrics in ("token_f1", METRICS):
        for table, columns in ((frame, {"id": "key"}), (scored, {"id": "key"}), (scored, None)):
            eager = table.fm.score(metrics, columns=columns)
            lazy = table.lazy().fm.score(metrics, columns=columns).collect()
            assert lazy.schema == eager.schema
            assert all(lazy[name].equals(eager[name]) for name in eager.columns)
