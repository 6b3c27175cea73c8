"""Rows drawn for a dear score: which, with what probability, a second sample, and their way back beside all rows."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import ColumnError, InputError
from tests.support.judge_server import judge_server
from tests.support.program import program

N = 1200
RNG = np.random.default_rng(7)
CHEAP = RNG.random(N)
DEAR = {f"q{n:04}": float(RNG.random() < 0.1 + 0.8 * CHEAP[n]) for n in range(N)}
ROWS = pa.table(
    {
        "id": list(DEAR),
        "question": [f"Question {n}?" for n in range(N)],
        "token_f1": CHEAP,
        "overlap": pa.array([None if n % 9 == 0 else n % 5 / 4 for n in range(N)]),
        "language": [("en", "en", "ru")[n % 3] for n in range(N)],
    }
)
HOW = {"for_": "judge_x", "using": ["token_f1", "overlap"], "by": "language"}


def drawn(rows=ROWS, budget=120, **more):
    return fm.sample(rows, budget=budget, **{**HOW, **more})


def with_scores(sample, lost=(), name="judge_x"):
    """The sample with its scores, of which those of some places are missing."""
    scores = [None if place in lost else DEAR[row] for place, row in enumerate(sample["id"].to_pylist())]
    sample = sample.drop_columns([name]) if name in sample.column_names else sample
    return sample.append_column(name, pa.array(scores, pa.float64()))


def fifths(rows):
    """The strata by the definition: fifths of the first principal component of the standardised columns, by segment."""
    columns = []
    for name in ("token_f1", "overlap"):
        values = np.array(rows[name].to_pylist(), np.float64)
        scaled = (values - np.nanmean(values)) / np.nanstd(values)
        columns.append(np.where(np.isnan(scaled), 0.0, scaled))
    both = np.stack(columns)
    axis = np.linalg.svd(both, full_matrices=False)[0][:, 0]
    number, found = axis @ both, {}
    for language in ("en", "ru"):
        own = np.array(rows["language"].to_pylist()) == language
        cuts = np.quantile(number[own], [0.2, 0.4, 0.6, 0.8])
        order = np.searchsorted(cuts, number[own], side="right")
        low_first = order if axis[0] > 0 else 4 - order
        found |= {row: (language, int(fifth)) for row, fifth in zip(np.array(rows["id"])[own], low_first, strict=True)}
    return found


def test_strata_get_rows_in_proportion_and_probabilities_are_theirs():
    sample, strata = drawn(), fifths(ROWS)
    sizes, counts = Counter(strata.values()), Counter(strata[row] for row in sample["id"].to_pylist())
    assert (sample.num_rows, len(sizes), len(set(sample["id"].to_pylist()))) == (120, 10, 120)
    for stratum, size in sizes.items():
        assert abs(counts[stratum] - 0.1 * size) < 1
    for row, share in zip(sample["id"].to_pylist(), sample["judge_x_inclusion"].to_pylist(), strict=True):
        assert share == counts[strata[row]] / sizes[strata[row]]
    assert sample.column_names == [*ROWS.column_names, "judge_x_inclusion", "judge_x_sample"]


def test_the_seed_alone_decides_whatever_holds_the_rows(tmp_path):
    expected = drawn(seed=3)
    shuffled = ROWS.take(np.random.default_rng(1).permutation(N))
    pq.write_table(shuffled, tmp_path / "rows.parquet", row_group_size=100)
    chunked = pa.concat_tables([shuffled.slice(at, 170) for at in range(0, N, 170)])
    for rows in (shuffled, chunked, tmp_path / "rows.parquet", shuffled.to_pandas(), shuffled.to_pydict()):
        found = drawn(rows, seed=3)
        found = pa.Table.from_pandas(found) if isinstance(found, pd.DataFrame) else found
        for name in ("id", "judge_x_inclusion", "judge_x_sample"):
            assert found[name].to_pylist() == expected[name].to_pylist()
    assert drawn(seed=4)["id"].to_pylist() != expected["id"].to_pylist()


def test_every_row_is_drawn_with_its_probability():
    """Over many seeds, as often as stated: the mean of 0/1 draws is within four standard errors for all but chance."""
    small = ROWS.slice(0, 60)
    counts: Counter[str] = Counter()
    for seed in range(150):
        sample = fm.sample(small, budget=15, for_="y", using="token_f1", seed=seed)
        counts.update(sample["id"].to_pylist())
    shares = np.array([counts[row] for row in small["id"].to_pylist()]) / 150
    assert abs(shares - 0.25).max() < 4.5 * math.sqrt(0.25 * 0.75 / 150)


def test_a_second_sample_contains_the_first_and_knows_its_scores():
    first = with_scores(drawn(for_="human"), lost=[3], name="human")
    second = drawn(budget=80, judged=first, for_="human")
    known = dict(zip(first["id"].to_pylist(), first["human"].to_pylist(), strict=True))
    assert (second.num_rows, set(known) <= set(second["id"].to_pylist())) == (200, True)
    for row, score in zip(second["id"].to_pylist(), second["human"].to_pylist(), strict=True):
        assert score == known.get(row)
    assert sum(1 / share for share in second["human_inclusion"].to_pylist()) == pytest.approx(N)
    whole = fm.with_sample(ROWS, with_scores(second, name="human"))
    assert whole["human"].null_count == N - 200


def test_equal_known_scores_leave_the_rows_in_proportion():
    first = drawn(using="token_f1", by=None)
    second = drawn(budget=80, judged=first.append_column("judge_x", pa.array([1.0] * 120)), using="token_f1", by=None)
    assert {*second["judge_x_inclusion"].to_pylist()} == {200 / N}


def test_a_pilot_sends_rows_where_the_score_varies():
    """Neyman: in proportion to size times standard deviation, a third to size alone: 26 where 80 would be by size.

    The fifths are those of what 400 noisy scores predict, which are not quite those of the rows.
    """
    cheap = np.arange(N) / N
    noise = np.where(cheap < 0.4, 0.01, 0.5) * np.where(np.arange(N) % 2, 1.0, -1.0)
    rows = pa.table({"id": range(N), "token_f1": cheap})
    pilot = rows.append_column("y", pa.array(cheap + noise)).take(pa.array(range(0, N, 3)))
    sample = fm.sample(rows, budget=200, for_="y", using="token_f1", pilot=pilot)
    low = sum(row < 0.4 * N for row in sample["id"].to_pylist())
    spreads = np.array([0.01] * 2 + [0.5] * 3)
    shares = 0.3 * spreads.mean() + 0.7 * spreads
    assert low == pytest.approx(200 * shares[:2].sum() / shares.sum(), abs=16)
    by_ids = fm.sample(rows, budget=200, for_="y", using="token_f1", pilot=pilot.select(["id", "y"]))
    assert by_ids["id"].to_pylist() == sample["id"].to_pylist()


def test_systems_have_rows_of_one_id_and_texts_come_from_the_answers():
    two = pa.concat_tables([ROWS.append_column("system", pa.array([name] * N)) for name in "ab"])
    sample = fm.sample(two, budget=100, for_="y", using="token_f1", by="system")
    assert Counter(sample["system"].to_pylist()) == {"a": 50, "b": 50}
    bare = ROWS.drop_columns(["question"])
    assert drawn(bare, texts=ROWS)["question"].to_pylist() == drawn()["question"].to_pylist()


def test_the_drawn_rows_go_back_beside_all(tmp_path):
    rows, sheet, out = (tmp_path / name for name in ("rows.parquet", "sheet.csv", "scores.parquet"))
    pq.write_table(ROWS, rows)
    using = ("--for", "judge_x", "--using", "token_f1,overlap", "--by", "language")
    done = program("sample", rows, "--budget", "120", *using, "-o", sheet)
    assert (done.code, done.err, done.out) == (0, "", f"120 rows: {sheet}\n")
    lines = sheet.read_text().splitlines()
    scores = [DEAR[line.split(",")[0].strip('"')] for line in lines[1:]]
    sheet.write_text(
        "\n".join([lines[0] + ",judge_x", *(f"{line},{one:g}" for line, one in zip(lines[1:], scores, strict=True))])
    )
    done = program("sample", rows, "--judged", sheet, "-o", out)
    assert (done.code, done.err, done.out) == (0, "", f"1,200 rows: {out}\n")
    found, expected = pq.read_table(out), fm.with_sample(ROWS, with_scores(drawn()))
    assert found.drop_columns(["id"]).to_pydict() == expected.drop_columns(["id"]).to_pydict()
    assert "120 of 1,200 rows" in " ".join(program("summarize", out).out.split())
    added = []
    for how in (using, ()):  # by the options of the first, which it tells
        done = program(
            "sample", rows, "--budget", "30", *how, "--judged", sheet, "-o", tmp_path / "more.csv", "--overwrite"
        )
        assert (done.code, done.err) == (0, "")
        added.append((tmp_path / "more.csv").read_text())
    assert (len(added[0].splitlines()), added[1]) == (151, added[0])
    text = tmp_path / "scores.csv"
    assert program("sample", rows, "--judged", sheet, "-o", text).code == 0
    for way in ((), ("--intervals",)):
        shown = [program("summarize", one, *way).out.replace("scores.csv", "scores.parquet") for one in (out, text)]
        assert "judge_x" in shown[0]
        assert shown[0] == shown[1]


def test_a_drawn_row_without_a_score_of_an_own_column_is_left_out_of_the_estimate():
    whole = fm.with_sample(ROWS, with_scores(drawn(for_="human"), lost=[3], name="human"))
    found = fm.gate(whole, ["human >= 0.2", "human.n_unpaired == 1", "human.low >= 0.2"])
    assert found.passed, str(found)
    assert found[0].value == fm.summarize(whole)["human"].mean
    assert (found[0].n, found[0].n_ignored, found[0].n_worst) == (119, 1, 0)
    assert any("left out" in note for note in found.remarks())


def test_a_prediction_of_a_drawn_row_does_not_know_its_score():
    sample = with_scores(drawn())
    scores = sample["judge_x"].to_pylist()
    other = sample.set_column(sample.column_names.index("judge_x"), "judge_x", pa.array([1 - scores[0], *scores[1:]]))
    one, two = (fm.with_sample(ROWS, each) for each in (sample, other))
    row = ROWS["id"].to_pylist().index(sample["id"][0].as_py())
    assert one["judge_x_predicted"][row] == two["judge_x_predicted"][row]
    assert one["judge_x_predicted"].to_pylist() != two["judge_x_predicted"].to_pylist()
    error = np.array(one["judge_x_predicted"]) - (0.1 + 0.8 * CHEAP)
    assert abs(error.mean()) < 0.1
    assert error.std() < 0.15


def test_a_judge_rates_the_drawn_rows_and_asks_only_for_added_ones(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")
    rows = ROWS.slice(0, 100).append_column("answer", pa.array([f"answer {n}" for n in range(100)]))
    how = {"for_": "judge_safety", "using": "token_f1"}
    with judge_server() as judge:
        options = {"model": "m", "base_url": judge.url, "store": tmp_path / "s.sqlite", "keep": "all"}
        first = fm.judge(fm.sample(rows, budget=12, **how), "safety", **options)
        asked = len(judge.questions)
        second = fm.judge(fm.sample(rows, budget=5, judged=first, **how), "safety", **options)
        assert (asked, len(judge.questions)) == (12, 17)
    found = fm.summarize(fm.with_sample(rows, second))
    assert (found["judge_safety"].n, found["judge_safety"].n_not_drawn) == (17, 83)
    assert fm.gate(fm.with_sample(rows, second), "judge_safety >= 1").passed  # by the range of the rubric


def test_a_score_that_is_highest_in_the_middle_is_predicted():
    cheap = np.random.default_rng(2).random(2000)
    rows = pa.table({"id": range(2000), "token_f1": cheap})
    sample = fm.sample(rows, budget=200, for_="judge_x", using="token_f1")
    middle = 1 - 4 * (np.array(sample["token_f1"]) - 0.5) ** 2
    found = np.array(fm.with_sample(rows, sample.append_column("judge_x", pa.array(middle)))["judge_x_predicted"])
    assert abs(found - (1 - 4 * (cheap - 0.5) ** 2)).max() < 0.1


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "csv"])
@pytest.mark.parametrize("words", [("да", "нет"), (True, False)])
def test_a_sheet_of_ids_and_scores_is_joined_with_its_sample(kind, words, tmp_path):
    """In any order and under its own name; what comes back is of the kind that went in."""
    frame = pd.DataFrame({"cheap": [n * 7 % 11 / 10 for n in range(100)]}, index=pd.Index(range(500, 600), name="nr"))

    def csv(one):
        one.rename_axis("id").to_csv(path := tmp_path / f"{len(one)}.csv")
        return path

    def arrow(one):
        return pa.Table.from_pandas(one.reset_index(), preserve_index=False)

    make = {
        "pandas": lambda one: one,
        "polars": lambda one: pl.DataFrame(one.reset_index()),
        "arrow": arrow,
        "csv": csv,
    }
    table, on = make[kind](frame), "nr" if kind in ("polars", "arrow") else None
    drawn = fm.sample(table, budget=30, for_="dear", using="cheap", on=on)
    assert type(drawn) is (pa.Table if kind == "csv" else type(table))
    ids = [int(one) for one in (drawn.index if kind == "pandas" else drawn[on or "id"].to_numpy())]
    values = [words[int(frame["cheap"][one] < 0.5)] for one in ids]
    sheet = pd.DataFrame({"opinion": values}, index=pd.Index(ids, name="nr"))
    whole = fm.with_sample(table, make[kind](sheet[::-1]), drawn=drawn, on=on)
    assert type(whole) is type(drawn)
    direct = fm.with_sample(table, drawn.assign(dear=values) if kind == "pandas" else with_column(drawn, values), on=on)
    means = [fm.summarize(one, metrics="dear")["dear"].mean for one in (whole, direct)]
    assert means[0] == means[1] == pytest.approx((frame["cheap"] >= 0.5).mean(), abs=0.2)
    if kind == "pandas":
        assert whole.index.equals(frame.index)
        none = whole.assign(dear=whole["dear"].where(whole["dear"].isna(), 0.0))
        assert fm.compare({"a": whole, "b": none}, metrics="dear")["dear"].delta == pytest.approx(-means[0])
        with pytest.raises(InputError, match="'7' was not drawn"):
            fm.with_sample(table, sheet.rename({ids[0]: 7}), drawn=drawn)
        with pytest.raises(ColumnError, match="needs it in drawn="):
            fm.with_sample(table, sheet)


def with_column(drawn, values):
    if isinstance(drawn, pa.Table):
        return drawn.append_column("dear", pa.array(values))
    return drawn.with_columns(pl.Series("dear", values))
