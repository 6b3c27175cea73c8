"""Systems compared by their scores: rows that meet or do not, figures, segments, margins, notes."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

import fastmetrics as fm
from fastmetrics.base.errors import InputError, OptionError
from fastmetrics.reporting.labels import headed

RNG = np.random.default_rng(3)
N = 240
IDS = [f"q{n}" for n in range(N)]
LANGUAGE = ["en", "ru", "zh", "de"] * (N // 4)
FIRST = RNG.random(N).round(3)
SECOND = np.clip(FIRST + RNG.normal(0.05, 0.1, N), 0, 1).round(3)


def run(values, ids=IDS, **columns):
    return pa.table({"id": ids, "token_f1": values, **columns})


OLD, NEW = run(FIRST, language=LANGUAGE), run(SECOND, language=LANGUAGE)
SMALL = {"resamples": 500, "bootstrap": 300}


def test_the_figures_are_those_of_the_definitions():
    found = fm.compare({"old": OLD, "new": NEW})["token_f1"]
    differences = SECOND - FIRST
    assert (found.baseline, found.other, found.segment, found.test) == ("old", "new", None, "fisher")
    assert (found.n_paired, found.n_only_baseline, found.n_only_other) == (N, 0, 0)
    assert found.mean_baseline == pytest.approx(FIRST.mean(), rel=1e-12)
    assert found.delta == pytest.approx(differences.mean(), rel=1e-12)
    assert found.d_z == pytest.approx(differences.mean() / differences.std(ddof=1), rel=1e-12)
    assert (found.wins, found.ties, found.losses) == tuple(
        int(one.sum()) for one in (SECOND > FIRST, SECOND == FIRST, SECOND < FIRST)
    )
    assert found.low < found.delta < found.high
    assert found.p == 1 / 10_001


def test_json_and_arrow_have_the_same_columns():
    found = fm.compare({"old": OLD, "new": NEW}, by="language", **SMALL)
    told = json.loads(found.to_json())["comparisons"]
    table = found.to_arrow()
    assert (len(told), table.schema.names) == (5, [*told[0], "language"])
    assert table.drop_columns(["language"]).to_pylist() == told


def shuffled(table, seed):
    return table.take(np.random.default_rng(seed).permutation(table.num_rows))


def test_row_order_and_table_type_do_not_matter(tmp_path):
    expected = fm.compare({"old": OLD, "new": NEW}, by="language", threads=1, **SMALL).to_json()
    pq.write_table(shuffled(OLD, 1), tmp_path / "old.parquet", row_group_size=17)
    shuffled(NEW, 2).to_pandas().to_csv(tmp_path / "new.csv", index=False)
    (tmp_path / "new.csv.meta.json").write_text(
        json.dumps({"metrics": {"token_f1": {"n_rows": N, "n_missing": 0, "n_undefined": 0, "n_error": 0}}})
    )
    forms = [
        (shuffled(OLD, 5), shuffled(NEW, 6)),
        (shuffled(OLD, 5).to_pandas(), pl.from_arrow(shuffled(NEW, 9))),
        (OLD.to_pylist(), NEW.to_pydict()),
        (tmp_path / "old.parquet", tmp_path / "new.csv"),
        (pa.concat_tables([OLD.slice(100), OLD.slice(0, 100)]), NEW),
    ]
    for old, new in forms:
        assert fm.compare({"old": old, "new": new}, by="language", threads=2, **SMALL).to_json() == expected


def test_one_table_with_a_column_of_systems_is_the_same():
    both = pa.concat_tables(
        [OLD.append_column("system", pa.array(["old"] * N)), NEW.append_column("system", pa.array(["new"] * N))]
    )
    expected = fm.compare({"old": OLD, "new": NEW}, **SMALL).to_json()
    assert fm.compare(both, system="system", **SMALL).to_json() == expected
    turned = fm.compare(both, system="system", baseline="new", **SMALL)["token_f1"]
    assert (turned.baseline, turned.delta) == ("new", -fm.compare({"old": OLD, "new": NEW}, **SMALL)["token_f1"].delta)


def test_rows_of_one_side_are_counted_and_a_note_says_where_they_matter():
    values = [None if n < 40 else value for n, value in enumerate(SECOND)]
    found = fm.compare({"old": OLD, "new": run(values)}, **SMALL)
    assert (found["token_f1"].n_paired, found["token_f1"].n_only_baseline) == (N - 40, 40)
    fewer = fm.compare({"old": OLD, "new": run(SECOND[40:], IDS[40:])}, **SMALL)
    assert fewer["token_f1"] == found["token_f1"]
    note = next(note for note in found.notes if "reverse" in note)
    known = float((SECOND[40:] - FIRST[40:]).sum())
    low, high = ((known + float((filled - FIRST[:40]).sum())) / N for filled in (0.0, 1.0))
    assert "40 rows with a score of old alone, 0 of new" in note
    assert f"between {low:+.4f} and {high:+.4f}" in note
    for low, high in ((0.0, 1.0), (1.0, 0.0)):
        clear = fm.compare({"old": run(np.full(N, low)), "new": run([None, *[high] * (N - 1)])}, **SMALL)
        assert not any("reverse" in note for note in clear.notes)


def test_lower_is_better_where_it_is_declared():
    old = pa.table({"id": IDS, "hallucination": np.full(N, 0.5), "own": FIRST})
    new = pa.table({"id": IDS, "hallucination": np.full(N, 0.4), "own": SECOND})
    found = fm.compare({"old": old, "new": new}, **SMALL)
    assert (found["hallucination"].delta < 0, found["hallucination"].wins) == (True, N)
    assert found.verdict(found["hallucination"]) == "better"
    assert found.verdict(found["own"]) == "higher"
    assert any("neither better nor worse, as no direction is declared: own" in note for note in found.notes)
    given = fm.compare({"old": old, "new": new}, better={"own": "lower"}, **SMALL)
    assert given.verdict(given["own"]) == "worse"
    assert given["own"].wins == found["own"].losses


@pytest.mark.parametrize(("without_old", "without_new"), [(0, 40), (30, 0), (30, 40)])
def test_the_note_on_rows_of_one_run_has_the_differences_that_they_could_give(without_old, without_new):
    """The extremes are those of all rows, with the lowest and the highest score for the missing ones."""
    old = [None if n < without_old else value for n, value in enumerate(FIRST)]
    new = [None if n >= N - without_new else value for n, value in enumerate(SECOND)]
    found = fm.compare({"old": run(old), "new": run(new)}, **SMALL)
    low, high = (
        sum((at_new if n is None else n) - (at_old if o is None else o) for o, n in zip(old, new, strict=True)) / N
        for at_old, at_new in ((1.0, 0.0), (0.0, 1.0))
    )
    [note] = [note for note in found.notes if "reverse" in note]
    assert f"{without_new} rows with a score of old alone, {without_old} of new" in note
    assert f"between {low:+.4f} and {high:+.4f}" in note


THREE = {name: FIRST * 0.3 + shift for name, shift in (("c", 0.2), ("a", 0.0), ("b", 0.1))}
"""Three systems that differ in every row, all by enough to be told apart."""


@pytest.mark.parametrize(("better", "best_first"), [("lower", ["a", "b", "c"]), ("higher", ["c", "b", "a"])])
def test_tables_of_three_systems_follow_the_direction(better, best_first):
    """Rankings begin with the best, and the superscripts in LaTeX are those of the systems that are worse."""
    runs = {name: {"id": IDS, "own": values} for name, values in THREE.items()}
    found = fm.compare(runs, better={"own": better}, margin=1.0, **SMALL)
    [ranking] = found.rankings
    assert ranking.systems == best_first
    marks = dict(zip(found.systems, "abc", strict=True))
    lines = [line.split(" & ") for line in found.to_latex().splitlines() if line[1:4] == " & "]
    superscripts = {cells[1]: re.findall(r"\^\{(\w+)\}", cells[2]) for cells in lines}
    for place, name in enumerate(best_first):
        beaten = "".join(sorted(marks[other] for other in best_first[place + 1 :]))
        assert superscripts[name] == ([beaten] if beaten else [])


@pytest.mark.parametrize("better", ["lower", "higher"])
def test_a_loss_beyond_the_margin_is_not_called_not_worse(better):
    """A gain in the direction of the metric is not worse, a loss that is larger than the margin is."""
    sign = -1 if better == "lower" else 1
    noise = np.random.default_rng(3).normal(0, 0.01, len(FIRST))
    for change, is_fine in ((0.1, True), (-0.1, False)):
        runs = {"old": {"id": IDS, "own": FIRST}, "new": {"id": IDS, "own": FIRST + sign * change + noise}}
        found = fm.compare(runs, better={"own": better}, margin=0.05, **SMALL)["own"]
        assert (found.p_not_worse < 0.01) == is_fine
        assert found.p_equivalent > 0.99


@pytest.mark.parametrize(("spread", "verdict"), [(0.001, "equivalent"), (1.0, "–")])
def test_systems_within_the_margin_are_equivalent(spread, verdict):
    """A difference within the margin on both sides is called equivalent, which says more than not worse."""
    noise = np.random.default_rng(4).normal(0, spread, len(FIRST))
    runs = {"old": {"id": IDS, "own": FIRST}, "new": {"id": IDS, "own": FIRST + noise - noise.mean()}}
    found = fm.compare(runs, better={"own": "higher"}, margin=0.05, **SMALL)
    assert found.verdict(found["own"]) == verdict


def test_segments_are_the_comparisons_of_their_rows():
    found = fm.compare({"old": OLD, "new": NEW}, by=["language"], correction="none", **SMALL)
    for one in found.comparisons[1:]:
        rows = np.array([f"language={language}" == one.segment for language in LANGUAGE])
        assert one.n_paired == rows.sum()
        assert one.delta == pytest.approx((SECOND - FIRST)[rows].mean(), rel=1e-12)
    assert [one.segment for one in found] == [None, "language=de", "language=en", "language=ru", "language=zh"]
    pairs = fm.compare({"old": OLD, "new": NEW}, by=[["language"], ["language", "length"]], segments=SIDE, **SMALL)
    assert len(pairs) == 1 + 4 + 4 * 4
    assert sum(one.n_paired for one in pairs.comparisons[5:]) == N
    assert "language=de, length=[" in pairs.comparisons[5].segment


SIDE = pa.table({"id": IDS[::-1], "length": np.arange(N, dtype=float)[::-1], "few": [1, 2] * (N // 2)})


def test_numeric_segments_are_quartiles_unless_few_values():
    found = fm.compare({"old": OLD, "new": NEW}, by=[["length"], ["few"]], segments=SIDE, **SMALL)
    assert [one.n_paired for one in found][1:] == [60, 60, 60, 60, 120, 120]
    names = [one.segment for one in found]
    assert names[-2:] == ["few=1", "few=2"]
    assert names[4].endswith("239]")
    assert names[1].startswith("length=[0, 59.7")
    lacking = fm.compare({"old": OLD, "new": NEW}, by="length", segments=SIDE.slice(0, 200), **SMALL)
    assert [one.n_paired for one in lacking if one.segment == "length=null"] == [40]


def test_rows_of_a_table_of_segments_are_matched_by_the_column_that_pairs_the_runs():
    runs = {
        name: pa.table({"key": ["a", "b", "c"], "m": scores}) for name, scores in (("x", [1, 2, 3]), ("y", [1, 1, 1]))
    }
    side = {"id": ["c", "a", "b"], "key": ["a", "b", "c"], "kind": ["one", "two", "two"]}
    found = fm.compare(runs, on="key", by="kind", segments=side, **SMALL)
    assert [(one.segment, one.n_paired, one.delta) for one in found][1:] == [
        ("kind=one", 1, 0.0),
        ("kind=two", 2, -1.5),
    ]


def test_words_for_no_value_in_csv_files_of_segments_are_null(tmp_path):
    words = ["1", "NULL", "null", "None", "2"]
    (tmp_path / "side.csv").write_text("\n".join(["id,few", *(f"{n},{word}" for n, word in enumerate(words))]))
    run = {"id": list(range(5)), "m": [0.1, 0.2, 0.3, 0.4, 0.5]}
    found = fm.compare([run, run], by="few", segments=tmp_path / "side.csv", **SMALL)
    assert {one.segment: one.n_paired for one in found} == {None: 5, "few=1": 1, "few=2": 1, "few=null": 3}


def test_p_is_corrected_in_families_of_the_main_metric_the_others_and_segments():
    table = OLD.append_column("own", pa.array(SECOND)).append_column("jaccard", pa.array(FIRST))
    other = NEW.append_column("own", pa.array(FIRST)).append_column("jaccard", pa.array(SECOND))
    for main, of_main in ((None, "token_f1"), ("jaccard", "jaccard")):
        found = fm.compare({"a": table, "b": other}, by="language", tests="t,fisher", main=main, **SMALL)
        assert found.main == of_main
        assert found.families == {"main metric": 1, "all rows": 2, "segments": 12}
        for test in ("t", "fisher"):
            some = [one for one in found if one.test == test]
            whole = {one.metric: one for one in some if one.segment is None}
            others = [one for one in whole.values() if one.metric != of_main]
            for family, count in (([whole[of_main]], 1), (others, 2), ([one for one in some if one.segment], 12)):
                assert len(family) == count
                least = min(family, key=lambda one: one.p)
                assert least.p_corrected == min(1, least.p * count)
                assert all(one.p_corrected >= one.p for one in family)


def test_the_main_metric_decides_and_cost_stands_beside_it():
    base = {"id": list(range(40)), "token_f1": [0.1, 0.4] * 20, "total_tokens": [100.0, 120.0] * 20}
    worse = {**base, "token_f1": [0.0, 0.35] * 20, "total_tokens": [50.0, 60.0] * 20, "jaccard": [0.2] * 40}
    found = fm.compare({"old": {**base, "jaccard": [0.1] * 40}, "new": worse}, **SMALL)
    expected = "new is worse than old (token_f1 0.2500 → 0.1750); 50 % cheaper (total_tokens 110 → 55)"
    assert found.headline == found.to_dict()["headline"] == expected
    assert f"<p><strong>{expected}</strong></p>" in found._repr_html_()
    found = fm.compare({"old": base, "new": {**worse, "token_f1": base["token_f1"]}}, **SMALL)
    assert found.headline.startswith("new against old: quality equal in every row (token_f1 0.2500 → 0.2500); 50 %")
    mixed = {**worse, "token_f1": [0.4, 0.1] * 20}
    found = fm.compare({"old": base, "new": mixed}, **SMALL)
    assert found.headline.startswith("new against old: quality undecided (token_f1 0.2500 → 0.2500); 50 % cheaper")
    found = fm.compare({"old": base, "copy": base}, **SMALL)
    assert found.headline == "copy has the same scores as old in every row"
    short = {name: values[1:] for name, values in base.items()}
    assert not fm.compare({"old": base, "copy": {**short, "id": list(range(1, 40))}}, **SMALL).is_identical
    found = fm.compare({"a": base, "b": worse, "c": base}, main="token_f1", **SMALL)
    assert found.headline == "a leads by token_f1 (0.2500), better than b; not told apart from it: c (0.2500)"
    found = fm.compare({"old": base, "new": worse}, main="total_tokens", **SMALL)
    assert found.headline.startswith("new is better than old (total_tokens")
    assert fm.compare([{"id": [1, 2], "own": own} for own in ([1, 2], [3, 1])], **SMALL).headline is None
    priced = [{**table, "eur": table["total_tokens"]} for table in (base, worse)]
    for better, main in (("lower", "token_f1"), ("higher", "eur")):  # a price is no metric that decides
        assert fm.compare(priced, metrics="token_f1,eur", better={"eur": better}, **SMALL).main == main


@pytest.mark.parametrize(
    ("name", "better", "beside"),
    [
        ("price", {"price": "lower"}, "; price 50 % higher"),
        ("price", None, "; price 50 % higher"),
        ("spent_usd", None, "; spent_usd 50 % higher"),
        ("waits", {"waits": "lower"}, ""),
        ("rougeL_f1", None, "; other metrics of quality: better 0, worse 1"),
        ("price_match", {"price_match": "lower"}, ""),
    ],
)
def test_only_metrics_of_known_quality_count_beside_the_main_one(name, better, beside):
    one, two = [0.2, 0.4] * 20, [0.3, 0.6] * 20
    one, two = (two, one) if name == "rougeL_f1" else (one, two)
    rows = {"id": list(range(40))}
    runs = {
        "old": {**rows, "token_f1": [0.1, 0.3] * 20, name: one},
        "new": {**rows, "token_f1": [0.2, 0.5] * 20, name: two},
    }
    found = fm.compare(runs, metrics=f"token_f1,{name}", better=better, **SMALL)
    assert found.headline == f"new is better than old (token_f1 0.2000 → 0.3500){beside}"


def test_the_headline_names_segments_that_are_worse_by_the_direction_of_the_metric():
    places = ["Alps", "Andes", "Pamir"]
    rows = {"id": list(range(120)), "place": [places[n % 3] for n in range(120)]}
    old = {**rows, "token_f1": [0.5 + n % 5 / 20 for n in range(120)], "hallucination": [0.2] * 120}
    change = {"Alps": 0.1, "Andes": -0.2, "Pamir": 0.1}
    new = [value + change[place] for value, place in zip(old["token_f1"], rows["place"], strict=True)]
    lies = [0.1 if place == "Alps" else 0.25 for place in rows["place"]]
    found = fm.compare({"old": old, "new": {**old, "token_f1": new}}, by="place", **SMALL)
    assert found.headline.endswith(
        "quality undecided (token_f1 0.6000 → 0.6000); worse in place=Andes (token_f1 0.6000 → 0.4000)"
    )
    found = fm.compare({"old": old, "new": {**old, "hallucination": lies}}, by="place", main="hallucination", **SMALL)
    worse = [f"; worse in place={place} (hallucination 0.2000 → 0.2500)" for place in places[1:]]
    assert [text in found.headline for text in worse] == [True, True]
    found = fm.compare({"a": old, "b": {**old, "token_f1": new}, "c": old}, by="place", metrics="token_f1", **SMALL)
    assert found.headline.endswith("; b worse in place=Andes (token_f1 0.6000 → 0.4000)")
    lower = {**old, "token_f1": [value - 0.3 for value in new]}
    assert "worse in" not in fm.compare({"old": old, "new": lower}, by="place", **SMALL).headline  # so are all rows


def test_p_of_equal_runs_is_1_without_a_note_and_that_of_few_skewed_differences_has_one():
    rows = {"id": list(range(40)), "token_f1": [0.1, 0.4] * 20}
    same = fm.compare([rows, rows], **SMALL)["token_f1"]
    assert (same.p, same.p_note) == (1.0, None)
    skewed = {**rows, "token_f1": [0.9, *rows["token_f1"][1:]]}
    assert fm.compare([rows, skewed], **SMALL)["token_f1"].p_note is not None


def test_several_systems_are_compared_in_pairs_and_ranked():
    runs = {"old": OLD, "new": NEW, "same": NEW}
    found = fm.compare(runs, **SMALL)
    assert [(one.baseline, one.other) for one in found] == [("old", "new"), ("old", "same"), ("new", "same")]
    (ranking,) = found.rankings
    assert list(ranking.systems) == ["new", "same", "old"]
    assert list(ranking.letters) == ["a", "a", "b"]
    assert ranking.n == N
    assert {*fm.compare(runs, confidence=0.999, **SMALL).rankings[0].letters} == {"a"}  # the least p is 3/501


def test_results_of_rank_are_runs():
    qrels = {f"q{n}": {"d1": 1} for n in range(30)}
    good = {query: {"d1": 2.0, "d2": 1.0} for query in qrels}
    poor = {query: {"d1": 1.0, "d2": 2.0} for query in qrels}
    runs = {name: fm.rank(one, qrels, "mrr,ndcg@10") for name, one in {"poor": poor, "good": good}.items()}
    found = fm.compare(runs, **SMALL)
    assert found["mrr"].delta == 0.5
    assert found.verdict(found["mrr"]) == "better"
    assert fm.compare({name: one.per_query for name, one in runs.items()}, **SMALL).to_json() == found.to_json()


def test_runs_without_ids_meet_by_position():
    old, new = OLD.drop(["id"]), NEW.drop(["id"])
    found = fm.compare([old, new], **SMALL)
    assert (found.joined_by, found["token_f1"].n_paired) == ("position", N)
    assert found.to_json() == fm.compare([OLD, NEW], pairing="position", **SMALL).to_json()
    gate = fm.gate(new, ["token_f1.drop <= 1"], baseline=old)
    assert (gate.passed, "rows paired by position" in str(gate)) == (True, True)
    planned = fm.power([old, new], metrics="token_f1", delta=0.1)
    assert "rows paired by position" in str(planned)


def test_segments_beside_runs_without_ids_meet_by_position():
    segments = {"half": ["a", "b"] * (N // 2)}
    found = fm.compare([OLD.drop(["id"]), NEW.drop(["id"])], by="half", segments=segments, metrics="token_f1", **SMALL)
    named = fm.compare([OLD, NEW], by="half", segments={"id": OLD["id"], **segments}, metrics="token_f1", **SMALL)
    assert [one.delta for one in found.comparisons] == [one.delta for one in named.comparisons]


def test_numbers_and_text_that_look_alike_are_one_id():
    left = run(FIRST, range(N))
    assert fm.compare([left, run(SECOND, [str(n) for n in range(N)])], **SMALL)["token_f1"].n_paired == N


def test_rows_of_one_run_only_are_in_their_segments():
    old = {"id": ["a", "b", "c"], "token_f1": [0.1, 0.2, 0.3], "language": ["en", "en", "ru"], "question": list("xyz")}
    new = {"id": ["b", "c", "d"], "token_f1": [0.5, 0.6, 0.7], "language": ["en", "ru", "de"], "question": list("yzw")}
    for runs, alone in (([old, new], (1, 0)), ([new, old], (0, 1))):
        found = {one.segment: one for one in fm.compare(runs, by="language", **SMALL)}
        counts = {name: (one.n_paired, one.n_only_baseline, one.n_only_other) for name, one in found.items()}
        assert counts == {
            None: (2, 1, 1),
            "language=en": (1, *alone),
            "language=ru": (1, 0, 0),
            "language=de": (0, *alone[::-1]),
        }


def test_other_questions_under_one_id_are_compared_on_request():
    asked = [f"What is {n}?" for n in range(N)]
    other = ["Why 7?" if n == 7 else text for n, text in enumerate(asked)]
    assert fm.compare([run(FIRST, question=asked), run(SECOND, question=asked)], **SMALL)["token_f1"].n_paired == N
    for texts in ((asked, other), (other, asked)):
        runs = [run(FIRST, question=texts[0]), run(SECOND, query=texts[1])]
        allowed = fm.compare(runs, allow_differences=True, **SMALL)
        assert any("have different questions in 1 rows" in note for note in allowed.notes)


def test_fingerprints_detect_different_questions(tmp_path):
    made = {}
    for name, question in (("first", "Why {}?"), ("second", "Why {}?"), ("third", "Who is {}?")):
        rows = [{"id": n, "question": question.format(n), "answer": "a b", "reference": "a"} for n in range(20)]
        made[name] = tmp_path / f"{name}.parquet"
        (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        fm.score(tmp_path / "rows.jsonl", output=made[name], metrics="token_f1", name=name)
    found = fm.compare([made["first"], made["second"]], **SMALL)
    assert list(found.systems) == ["first", "second"]
    one, other = fm.compare([made["first"]] * 2, **SMALL).systems
    assert other == f"{one} (2)"
    with pytest.raises(InputError):
        fm.compare([made["first"], made["third"]])
    assert fm.compare([made["first"], made["third"]], allow_differences=True, **SMALL)["token_f1"].ties == 20


def test_runs_with_other_settings_raise_unless_allowed(tmp_path):
    rows = tmp_path / "rows.jsonl"
    queries = [{"id": n, "retrieved_ids": ["a", "b"], "relevant_ids": ["b"] * (n % 2)} for n in range(30)]
    rows.write_text("".join(json.dumps(one) + "\n" for one in queries))
    for name in ("zero", "undefined"):
        fm.score(rows, output=tmp_path / f"{name}.parquet", metrics="mrr,precision@1", no_relevant=name)
    files = {name: tmp_path / f"{name}.parquet" for name in ("zero", "undefined")}
    what = "scores.reciprocal_rank.no_relevant is 'zero' in zero, 'undefined' in undefined"
    with pytest.raises(OptionError):
        fm.compare(files)
    assert what in fm.compare(files, allow_differences=True, **SMALL).notes
    table = pq.read_table(files["zero"])
    metadata = json.loads(table.schema.metadata[b"fastmetrics"]) | {"fastmetrics": "0.0.1"}
    older = table.replace_schema_metadata({b"fastmetrics": json.dumps(metadata)})
    with pytest.raises(OptionError):
        fm.compare({"zero": files["zero"], "older": older})


@pytest.mark.parametrize("values", [[None] * N, [math.nan] * N, [math.inf] * N])
def test_runs_without_a_score_are_undefined_not_wrong(values):
    found = fm.compare({"old": OLD, "new": run(pa.array(values, pa.float64()))}, **SMALL)
    one = found["token_f1"]
    assert (one.n_paired, one.n_only_baseline) == (0, N)
    assert all(map(math.isnan, (one.delta, one.low, one.p, one.p_corrected, one.d_z, one.detectable)))
    assert json.loads(found.to_json())["comparisons"][0]["delta"] is None
    assert "–" in str(found)


def test_constant_scores_and_one_pair():
    same = fm.compare([run(np.ones(N)), run(np.ones(N))], **SMALL)["token_f1"]
    assert (same.delta, same.p, same.ties) == (0.0, 1.0, N)
    assert math.isnan(same.d_z)
    one = fm.compare([run([0.1], ["a"]), run([0.9], ["a"])], **SMALL)["token_f1"]
    assert (one.n_paired, one.p) == (1, 1.0)
    assert math.isnan(one.low)


def test_many_runs_of_one_row():
    runs = {f"r{n}": run([n / 60], ["a"]) for n in range(60)}
    found = fm.compare(runs, resamples=200, bootstrap=50)
    assert len(found) == 60 * 59 // 2
    assert {*found.rankings[0].letters} == {"a"}


def test_clusters_widen_the_interval():
    cluster = np.repeat(np.arange(N // 8), 8)
    noise = np.repeat(RNG.normal(0.02, 0.1, N // 8), 8)
    old, new = run(np.full(N, 0.5), session=cluster), run(0.5 + noise, session=cluster)
    alone, grouped = (fm.compare([old, new], cluster=name, tests="fisher,t") for name in (None, "session"))
    assert grouped["token_f1"].high - grouped["token_f1"].low > 2 * (alone["token_f1"].high - alone["token_f1"].low)
    assert grouped["token_f1"].p > alone["token_f1"].p
    assert grouped["token_f1"].detectable > 2 * alone["token_f1"].detectable
    assert any("clustered by" in note for note in grouped.notes)


def test_tables_of_several_tests_show_the_verdict_of_the_first():
    rng = np.random.default_rng(6)
    a = {"id": range(30), "token_f1": rng.random(30), "language": ["ru", "en", "en"] * 10}
    b = {**a, "token_f1": np.clip(a["token_f1"] + rng.normal(0.15, 0.3, 30), 0, 1)}
    runs = {"a": a, "b": b}
    several = fm.compare(runs, tests="t,wilcoxon,fisher", by="language", correction="none")
    alone = fm.compare(runs, tests="t", by="language", correction="none")
    assert [str(grid) for grid in several.grids()[2:]] == [str(grid) for grid in alone.grids()[2:]]
    assert several.to_latex() == alone.to_latex()


def test_detectable_is_at_the_corrected_level():
    rng = np.random.default_rng(6)
    runs = [{"id": range(50), "a": rng.random(50), "b": rng.random(50)} for _ in range(2)]
    alone, both, plain = (
        fm.compare(runs, metrics=names, correction=correction)["a"].detectable
        for names, correction in (("a", "holm"), ("a,b", "holm"), ("a,b", "none"))
    )
    assert alone == plain
    assert both / alone == pytest.approx(
        (stats.t.ppf(1 - 0.0125, 49) + stats.t.ppf(0.8, 49)) / (stats.t.ppf(0.975, 49) + stats.t.ppf(0.8, 49))
    )


def test_detectable_of_three_systems_is_at_the_level_of_three_pairs():
    rng = np.random.default_rng(6)
    runs = [{"id": range(50), "a": rng.random(50)} for _ in range(3)]
    corrected, plain = (fm.compare(runs, correction=correction, **SMALL) for correction in ("holm", "none"))
    for one, other in zip(corrected, plain, strict=True):
        assert one.detectable / other.detectable == pytest.approx(
            (stats.t.ppf(1 - 0.05 / 6, 49) + stats.t.ppf(0.8, 49)) / (stats.t.ppf(0.975, 49) + stats.t.ppf(0.8, 49))
        )


def test_segments_by_a_score_or_by_differing_values_are_noted():
    a = {"id": range(8), "token_f1": np.linspace(0, 0.7, 8), "topic": list("aabbccdd")}
    b = {**a, "token_f1": np.linspace(0.1, 0.8, 8), "topic": list("aabbccda")}
    notes = " ".join(fm.compare({"a": a, "b": b}, metrics="token_f1", by="topic").notes)
    assert "a and b differ in 'topic' in 1 rows" in notes
    assert "regress to the mean" not in notes
    assert "regress to the mean" in " ".join(fm.compare({"a": a, "b": b}, metrics="token_f1", by="token_f1").notes)


def test_enough_patterns_are_drawn_for_a_verdict_of_many_comparisons():
    rng = np.random.default_rng(0)
    base = {"id": range(40), **{f"m{n}": rng.random(40) for n in range(600)}}
    runs = [base, {**base, "m0": base["m0"] + 0.3}]
    better = {"m0": "higher", "m1": "higher"}
    found = fm.compare(runs, better=better, main="m1", bootstrap=1)
    assert (found.resamples, found.families) == (23_960, {"main metric": 1, "all rows": 599})
    assert found.verdict(found["m0"]) == "better"
    few = fm.compare(runs, better=better, main="m1", bootstrap=1, resamples=10_000)
    assert few.verdict(few["m0"]) == "–"
    note = "40 rows: the smallest possible p of fisher, times 599 comparisons, is 0.0599: no verdict can come"
    assert note in few.notes


@pytest.mark.parametrize(("rows", "metrics", "said"), [(5, 1, True), (6, 1, False), (8, 8, True), (9, 8, False)])
def test_too_few_rows_for_a_verdict_are_noted(rows, metrics, said):
    base = {"id": range(rows), **{f"m{n}": np.zeros(rows) for n in range(metrics)}}
    other = {**base, "m0": np.ones(rows)}
    main = f"m{metrics - 1}"
    found = fm.compare([base, other], better={"m0": "higher", main: "higher"}, main=main, tests=["fisher", "t"])
    of, times = ("", 1) if metrics == 1 else (f", times {metrics - 1} comparisons,", metrics - 1)
    note = f"{rows} rows: the smallest possible p of fisher{of} is {times * 2.0 ** (1 - rows):.4f}: no verdict can come"
    assert (note in found.notes) is said
    assert (found.verdict(found["m0"]) == "–") is said


@pytest.mark.parametrize(("n", "detects"), [(5, False), (6, True)])
def test_a_difference_is_detectable_only_where_p_can_be_small_enough(n, detects):
    """With 5 rows, the smallest p of random signs is 2/32."""
    rng = np.random.default_rng(n)
    first = {"id": range(n), "token_f1": rng.uniform(0.4, 0.5, n)}
    second = {"id": range(n), "token_f1": rng.uniform(0.8, 0.9, n)}
    by_signs, by_t = fm.compare([first, second], tests="fisher,t")
    assert (math.isnan(by_signs.detectable), by_signs.p <= 0.05) == (not detects, detects)
    assert by_t.detectable > 0


def test_runs_of_unequal_precision_are_said():
    values = np.random.default_rng(0).random(40)
    rows = [pa.table({"id": range(40), "token_f1": pa.array(values, kind)}) for kind in (pa.float32(), pa.float64())]
    notes = fm.compare({"narrow": rows[0], "wide": rows[1]}).notes
    assert any(note.startswith("token_f1: float32 in narrow, wider in another run;") for note in notes)
    assert not any("float32" in note for note in fm.compare([rows[0], rows[0]]).notes)


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "dict", "score", "csv"])
def test_numbers_of_the_user_are_no_metrics_unless_they_are_asked_for(kind, tmp_path):
    texts = {"nr": list(range(6)), "says": ["a b", "b", "c", "d", "e", "f"], "gold": ["a", "b", "x", "d", "y", "f"]}
    runs = []
    for at in range(2):
        table = pa.table(
            {**texts, "price": [float(at + n) for n in range(6)], "exported": [n % 2 == at for n in range(6)]}
        )
        named = {"columns": {"answer": "says", "reference": "gold", "id": "nr"}}
        if kind in ("pandas", "polars"):
            frame = table.to_pandas() if kind == "pandas" else pl.from_arrow(table)
            runs.append(fm.with_scores(frame, "token_f1,token_recall(name='mine')", **named))
        elif kind == "score":
            runs.append(fm.score(table, "token_f1,token_recall(name='mine')", keep=["price"], **named))
        elif kind == "csv":
            scored = fm.with_scores(table, "token_f1", **named).to_pandas()
            scored.to_csv(tmp_path / f"{at}.csv", index=False)
            runs.append(tmp_path / f"{at}.csv")
        else:
            scored = fm.with_scores(table, "token_f1,token_recall(name='mine')", **named)
            runs.append(scored if kind == "arrow" else scored.to_pydict())
    on = None if kind == "score" else "nr"
    found = fm.compare(runs, on=on, **SMALL)
    knows = kind in ("pandas", "arrow", "score")  # other tables do not say what was scored: the names do
    assert list(found.better) == (["token_f1", "mine"] if knows else ["token_f1"])
    assert ("numbers of yours that were not scored are left out: price" in str(found)) is True
    assert list(fm.compare(runs, metrics="price", on=on, **SMALL).better) == ["price"]


def test_all_numbers_of_a_table_of_scores_alone_are_metrics():
    runs = [{"id": [1, 2, 3], "token_f1": [0.1, 0.2, at], "own": [1.0, 2.0, at]} for at in (0.3, 0.5)]
    assert list(fm.compare(runs, **SMALL).better) == ["token_f1", "own"]


QUESTIONS = 120


def designed(seed, shift=0.0, first_id=0, n=QUESTIONS):
    rng = np.random.default_rng(seed)
    base = np.random.default_rng(9).random(n)
    scores = np.clip(base * 0.8 + shift + rng.normal(0, 0.05, n), 0, 1)
    return pa.table(
        {
            **{"id": np.arange(first_id, first_id + n), "token_f1": scores, "latency_ms": rng.exponential(size=n)},
            **{"language": ["ru", "en", "en"] * (n // 3), "document": [f"d{row // 4}" for row in range(n)]},
        }
    )


def test_unpaired_runs_are_independent_samples():
    a, b = designed(1), designed(2, 0.05, first_id=1_000, n=90)
    compared = fm.compare({"a": a, "b": b}, metrics="token_f1", pairing="none", by="language")
    x, y = a["token_f1"].to_numpy(), b["token_f1"].to_numpy()
    theirs = stats.ttest_ind(y, x, equal_var=False)
    welch = compared["token_f1"]
    assert (welch.p, welch.delta) == pytest.approx((theirs.pvalue, y.mean() - x.mean()))
    assert (welch.low, welch.high) == pytest.approx(tuple(theirs.confidence_interval()))
    assert (welch.n_paired, welch.n_only_baseline, welch.n_only_other) == (0, 120, 90)
    segments = {one.segment: one for one in compared}
    english = [side.filter(pa.compute.equal(side["language"], "en"))["token_f1"].to_numpy() for side in (a, b)]
    assert segments["language=en"].p == pytest.approx(stats.ttest_ind(*english, equal_var=False).pvalue)
    assert "independent rows: a 120, b 90" in compared.notes


def test_clusters_of_unpaired_runs_widen_the_interval():
    a, b = designed(1), designed(2, 0.05, first_id=1_000)
    plain, clustered = (
        fm.compare([a, b], metrics="token_f1", pairing="none", tests="welch", cluster=cluster)["token_f1"]
        for cluster in (None, "document")
    )
    assert clustered.n_clusters == 60
    assert clustered.low != plain.low
    by_interval = fm.compare([a, b], metrics="token_f1", pairing="none", cluster="document")["token_f1"]
    assert (by_interval.p <= 0.05) == (not by_interval.low <= 0 <= by_interval.high)


def test_margin_tells_equivalent_from_undecided():
    a, same, more = designed(1), designed(2), designed(3, 0.06)
    alike = fm.compare({"a": a, "b": same}, metrics="token_f1", margin=0.05)
    assert alike.verdict(alike["token_f1"]) == "equivalent"
    few = fm.compare({"a": a.slice(0, 4), "b": same.slice(0, 4)}, metrics="token_f1", margin=0.05)
    assert few.verdict(few["token_f1"]) == "–"
    better = fm.compare({"a": a, "b": more}, metrics="token_f1", margin=0.05)
    assert better.verdict(better["token_f1"]) == "better"
    assert fm.compare({"a": a, "b": same}, metrics="token_f1")["token_f1"].p_equivalent is None
    differences = same["token_f1"].to_numpy() - a["token_f1"].to_numpy()
    low, high = stats.ttest_1samp(differences, 0).confidence_interval(0.9)
    assert (alike["token_f1"].p_equivalent <= 0.05) == (-0.05 < low < high < 0.05)


def test_a_ranking_of_clusters_is_that_of_rows_that_occur_once():
    """Rows that occur ten times, as clusters, tell as much about three systems as each row once."""
    once = {f"r{seed}": designed(seed, 0.01 * seed, n=30) for seed in range(3)}
    rows = np.repeat(np.arange(30), 10)
    often = {
        name: table.take(rows).set_column(0, "id", pa.array(range(300))).set_column(4, "document", pa.array(rows))
        for name, table in once.items()
    }
    options = {"metrics": "token_f1", "resamples": 500}
    [expected], [ranking] = (
        fm.compare(once, **options).rankings,
        fm.compare(often, cluster="document", **options).rankings,
    )
    assert np.array(ranking.p) == pytest.approx(np.array(expected.p), abs=0.05)
    assert ranking.systems == expected.systems


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (("metric", "delta"), ("'metric'", "delta")),
        (("mean", "p"), ("mean", "'p'")),
        (("interval", "verdict"), ("'interval'", "'verdict'")),
    ],
)
def test_a_system_named_like_a_heading_stands_in_quotes(names, shown):
    runs = {name: {"id": range(9), "f1": [score] * 9} for name, score in zip(names, (0.25, 0.5), strict=True)}
    found = fm.compare(runs)
    assert found.grids()[0].header == ("metric", "verdict", *shown, "Δ", "interval", "p")
    beside = fm.results.side_by_side(runs)
    assert beside.grids()[0].header == ("mean", *(f"'{name}'" if name == "mean" else name for name in names))
    [told] = found.to_arrow().to_pylist()
    assert (told["metric"], told["baseline"], told["other"], told["delta"]) == ("f1", *names, 0.25)
    assert f"| metric | verdict | {' | '.join(shown)} |" in found.to_markdown()
    assert headed(found.grids()[0], "ru").header[2:4] == shown


def test_one_row_without_a_system_is_refused() -> None:
    with pytest.raises(fm.errors.InputError, match="row 2"):
        fm.compare({"id": [1, 1, 2], "run": ["a", "b", None], "token_f1": [1.0, 0.5, 0.25]}, system="run")


@pytest.mark.parametrize(("metrics", "noted"), [(None, True), ("token_f1", False)])
def test_metrics_that_one_run_lacks_are_noted(metrics, noted):
    runs = {"a": {"token_f1": [0.1, 0.4], "chrf": [0.1, 0.2]}, "b": {"token_f1": [0.2, 0.3], "bleu": [0.3, 0.2]}}
    note = "left out, as not every run has them: chrf (a), bleu (b)"
    assert (note in fm.compare(runs, metrics=metrics).remarks()) == noted
