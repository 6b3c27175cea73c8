"""What is known of judges: every figure that of its own function, in Python and on the command line."""

from __future__ import annotations

import json
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score

import fastmetrics as fm
from fastmetrics.base.display import number
from fastmetrics.models.calls import answer_in
from fastmetrics.stats.prediction_powered import powered_mean
from tests.support.judge_server import judge_server, user_message

N = 120
RNG = np.random.default_rng(14)
TRUE = RNG.integers(1, 6, N).astype(float)
IDS = [f"q{n}" for n in range(N)]


def judged(seed, axis="judge_relevance"):
    rng = np.random.default_rng(seed)
    repeats = np.clip(TRUE[:, None] + rng.integers(-1, 2, (N, 2)), 1, 5)
    failed = np.arange(N) % 10 == 0
    scores = np.where(failed, np.nan, repeats.mean(axis=1))
    statuses = [["timeout", "unparsed"] if bad else ["ok", "ok"] for bad in failed]
    pairs = [[None, None] if bad else row.tolist() for bad, row in zip(failed, repeats, strict=True)]
    return pa.table(
        {
            **{"id": IDS, "language": [("en", "ru")[n % 2] for n in range(N)]},
            "answer": [" ".join(["word"] * int(3 * one + n % 2)) for n, one in enumerate(TRUE)],
            **{axis: pa.array(scores, from_pandas=True), f"{axis}_status": [row[0] for row in statuses]},
            **{f"{axis}_prompt_tokens": [10] * N, f"{axis}_completion_tokens": [2] * N},
            **{f"{axis}_latency_ms": [float(n) for n in range(N)], f"{axis}_scores": pairs},
            f"{axis}_statuses": statuses,
        }
    )


PEOPLE = pa.table({"id": IDS[:40][::-1], "human_relevance": TRUE[:40][::-1]})


def test_every_figure_is_that_of_its_own_function():
    table = judged(1)
    found = fm.judge_report(table, PEOPLE, by="language", positive=4)
    (one,) = found.axes
    scores = np.array(table["judge_relevance"].to_numpy())
    known = ~np.isnan(scores)
    assert (one.axis, one.n_rows, one.n) == ("judge_relevance", N, int(known.sum()))
    assert one.mean == pytest.approx(scores[known].mean())
    assert one.statuses == {"ok": N - N // 10, "timeout": N // 10}
    assert one.error_rate == pytest.approx(0.1)
    assert one.consistency == fm.stats.judge_consistency(table["judge_relevance_scores"].to_pylist())
    assert one.latency == fm.stats.judge_latency(np.arange(N))
    assert (one.prompt_tokens, one.completion_tokens) == (10 * N, 2 * N)
    truth = dict(zip(PEOPLE["id"].to_pylist(), PEOPLE["human_relevance"].to_pylist(), strict=True))
    labels = [truth.get(row) for row in table["id"].to_pylist()]
    assert one.powered == powered_mean(scores, np.array(labels, np.float64))
    words = [len(text.split()) for text in table["answer"].to_pylist()]
    assert one.length_spearman == pytest.approx(stats.spearmanr(scores[known], np.array(words)[known]).statistic)
    assert [(s.segment, s.n) for s in one.segments] == [("language=en", 48), ("language=ru", 60)]
    both = np.flatnonzero(known[:40])
    a, b = scores[both], TRUE[both]
    people = one.people
    assert (people.n, people.pearson.value) == (len(both), pytest.approx(stats.pearsonr(a, b).statistic))
    assert people.kendall.value == pytest.approx(stats.kendalltau(a, b).statistic)
    doubled = [(2 * side).astype(int) for side in (a, b)]  # means of two repeats are halves
    expected = cohen_kappa_score(*doubled, weights="quadratic", labels=range(2, 11))
    assert people.kappa_quadratic.value == pytest.approx(expected, abs=1e-12)
    assert people.alpha_interval.value == fm.stats.krippendorff_alpha([a, b], level="interval")
    decisions = fm.stats.judge_decisions(a >= 4, b >= 4)
    assert (people.accuracy, people.f1) == (decisions.accuracy, decisions.f1)
    assert (people.precision, people.recall) == (decisions.precision, decisions.recall)


@pytest.mark.parametrize(("rubric", "calls"), [("safety", 3), ("preference", 6), ("show_answer", 3)])
def test_latency_of_repeats_is_that_of_a_call(tmp_path, monkeypatch, rubric, calls):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    table = {"question": ["q", "r", None], "answer": ["a", "b", "c"], "other_answer": ["x", "y", "z"]}
    latency = iter(range(1, 100))

    async def send(client, call):
        reply = json.dumps({"score": 3, "better": "tie", "show": True})
        return answer_in(json.dumps({"choices": [{"message": {"content": reply}}]}), float(next(latency)))

    monkeypatch.setattr("fastmetrics.models.clients.ChatClient.send", send)
    options = {"model": "m", "repeats": 3, "base_url": "http://127.0.0.1:9/v1", "store": tmp_path / "s.sqlite"}
    made = fm.judge(table, rubric, times=True, **options)
    lists = made[f"judge_{rubric}_latencies_ms"].to_pylist()
    assert sorted(lists[0] + lists[1]) == list(range(1, 2 * calls + 1))
    assert lists[2] == [None] * calls
    means = made[f"judge_{rubric}_latency_ms"].to_pylist()
    assert means == [pytest.approx(np.mean(lists[0])), pytest.approx(np.mean(lists[1])), None]
    expected = fm.stats.judge_latency(lists[0] + lists[1])
    assert (expected.n, expected.mean) == (2 * calls, (2 * calls + 1) / 2)
    assert fm.stats.judge_latency(made[f"judge_{rubric}_latencies_ms"]) == expected
    labels = {"row": [0, 1, 2], "good": [1, 1, 0]}
    (report,) = fm.judge_report(made.append_column("row", pa.array([0, 1, 2])), labels, label="good", on="row").axes
    assert report.latency == expected
    assert rubric != "show_answer" or report.decisions.latency == expected
    pq.write_table(made.drop([f"judge_{rubric}_latencies_ms"]), tmp_path / "means.parquet")
    assert fm.judge_report(tmp_path / "means.parquet").axes[0].latency == fm.stats.judge_latency(means)


def test_judges_are_compared_with_each_other():
    a, b = judged(1), judged(2)
    found = fm.judge_report({"one": a, "two": b.take(np.random.default_rng(0).permutation(N))})
    (pair,) = found.pairs
    x, y = (np.array(one["judge_relevance"].to_numpy()) for one in (a, b))
    both = ~np.isnan(x)
    assert (pair.first, pair.second, pair.n) == ("one", "two", int(both.sum()))
    assert pair.spearman.value == pytest.approx(stats.spearmanr(x[both], y[both]).statistic)
    assert pair.kappa.value == fm.stats.cohen_kappa(np.floor(x[both]), np.floor(y[both]))  # the lower of two verdicts
    assert not fm.judge_report([a, judged(2, "judge_safety")]).pairs


def test_labels_off_the_scale_have_correlations_only():
    people = PEOPLE.set_column(1, "good", pa.array((TRUE[:40] >= 4).astype(float)[::-1]))
    found = fm.judge_report(judged(1), people)
    result = found.axes[0].people
    assert math.isnan(result.kappa.value)
    assert math.isnan(result.accuracy.value)
    assert result.spearman.value > 0.5
    assert found.notes[-1] == "run 1: judge_relevance has no accuracy and kappa: labels are outside its range of 1 to 5"


def test_judge_without_scores_or_labels_gives_a_note():
    table = pa.table({"id": IDS, "judge_x": pa.nulls(N, pa.float64()), "judge_x_status": ["http"] * N})
    (one,) = fm.judge_report(table, PEOPLE).axes
    assert (one.n, math.isnan(one.mean), one.error_rate, one.people.n, one.powered) == (0, True, 1.0, 0, None)


def test_the_range_of_an_axis_is_its_rubrics_or_the_one_given_and_a_guess_is_told():
    """Two repeats that are 0.3 apart agree on a scale of 1 to 5, and do not on one of 0 to 1."""
    table = pa.table(
        {
            "id": ["a", "b"],
            "judge_style": [0.35, 0.75],
            "judge_style_status": ["ok", "ok"],
            "judge_style_scores": [[0.2, 0.5], [0.75, 0.75]],
        }
    )
    said = {"scores": {"judge_style": {"metric": "judge_style", "range": [0.0, 1.0]}}}
    result = table.replace_schema_metadata({"fastmetrics": json.dumps(said)})
    assert fm.judge_report(result).axes[0].consistency.share.value == 0.5
    assert not any("assumed" in note for note in fm.judge_report(result).remarks())
    assert fm.judge_report(result, ranges={"judge_style": (1, 5)}).axes[0].consistency.share.value == 1.0
    guessed = fm.judge_report(table)
    assert guessed.axes[0].consistency.share.value == 1.0
    assert any("judge_style is unknown without its rubric; 1 to 5 is assumed" in note for note in guessed.remarks())


def test_range_comes_from_the_rubric_of_judged_rows(tmp_path):
    table = {"id": [1], "question": ["Where?"], "answer": ["Here."], "reference": ["There."]}
    settings = {"model": "m", "base_url": "http://localhost:1/v1", "store": tmp_path / "calls.sqlite", "max_calls": 0}
    judged_rows = fm.judge(table, ["safety", "e2e"], **settings)
    assert not any("assumed" in note for note in fm.judge_report(judged_rows).remarks())
    scores = json.loads(judged_rows.schema.metadata[b"fastmetrics"])["scores"]
    assert [scores[axis]["range"] for axis in ("judge_safety", "judge_e2e")] == [[1.0, 5.0], [0.0, 1.0]]


def _verdict(body):
    """A judge that prefers the first place unless a question says otherwise, and shows what it is asked to."""
    text = user_message(body)
    if "<first" in text:
        return json.dumps({"reason": "", "better": "tie" if "tie?" in text else "first"})
    return json.dumps({"reason": "", "show": "yes?" in text})


def test_rows_that_a_judge_has_judged_tell_orders_decisions_and_cost(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    questions = ["yes?", "no?", "tie?", "yes? again", "tie? yes?"]
    table = {
        **{"id": list(range(5)), "question": questions, "answer": ["a"] * 5, "other_answer": ["b"] * 5},
        **{"contexts": [["c"]] * 5, "reference": ["r"] * 5},
    }
    with judge_server(reply=_verdict) as judge:
        asked = {"model": "m", "base_url": judge.url, "store": tmp_path / "s.sqlite"}
        found = fm.judge(table, ["preference", "show_answer"], times=True, **asked)
    labels = {"id": list(range(5)), "right": [1, 1, 0, 1, 1]}
    pq.write_table(found, "judged.parquet")
    prices = {"m": {"input": 1.0, "output": 2.0}}
    report = fm.judge_report("judged.parquet", labels, prices=prices)
    preference, show = report.axes
    expected = fm.stats.pairwise(["A", "A", "tie", "A", "tie"], ["B", "B", "tie", "B", "tie"])
    assert preference.systems == ("answer", "other_answer")
    assert (preference.orders, preference.consistency, preference.decisions) == (expected, None, None)
    assert (expected.flips.value, expected.first_place.value, expected.win_rate.value) == (0.6, 1.0, 0.5)
    wanted = fm.stats.judge_decisions([1, 0, 0, 1, 1], labels["right"], latency_ms=show.latency and _times(found))
    assert (show.decisions, show.orders) == (wanted, None)
    assert (wanted.tp, wanted.fp, wanted.fn, wanted.tn) == (3, 0, 1, 1)
    assert (preference.cost, show.cost) == (pytest.approx(10 * 140e-6), pytest.approx(5 * 140e-6))
    rows = {grid.header[0]: grid.rows[0] for grid in report.grids()}
    wins = expected.win_rate
    assert rows["both orders"][1:] == tuple(map(number, (5, wins.value, wins.low, wins.high, 0.6, 1.0)))
    assert rows["decisions"][1:] == tuple(map(number, (3, 0, 1, 1, 0)))
    figures = (wanted.accuracy, wanted.precision, wanted.recall, wanted.f1)
    against = next(grid.rows[1] for grid in report.grids() if grid.header[0] == "against people")
    assert against[1:] == tuple(map(number, (5, *(figure.value for figure in figures))))
    assert wins.low < wins.high
    assert fm.judge_report("judged.parquet").axes[1].decisions is None


def _times(found):
    return found["judge_show_answer_latency_ms"].to_numpy()


def test_comparisons_take_higher_scores_of_a_judge_as_better_and_leave_out_what_calls_cost():
    runs = {"old": judged(1), "new": judged(2)}
    assert fm.compare(runs).better == {"judge_relevance": "higher"}
    tokens = fm.compare(runs, metrics="judge_relevance_prompt_tokens")
    assert tokens.better == {"judge_relevance_prompt_tokens": "lower"}
    found = fm.gate(runs["new"], ["judge_relevance.drop <= 2"], baseline=runs["old"])
    assert found.passed


def test_weighted_kappa_takes_the_scale_of_the_rubric():
    """Grades 2 and 4, which nobody used, keep their distance; so do means of repeats."""
    judge, human = [1.0, 5.0, 3.0, 1.0, 5.0, 3.0], [1, 3, 3, 1, 5, 5]
    judged = {"id": list(range(6)), "judge_x": judge, "judge_x_status": ["ok"] * 6}
    people = fm.judge_report(judged, {"id": list(range(6)), "human": human}).axes[0].people
    for weights in ("linear", "quadratic"):
        expected = cohen_kappa_score(np.array(judge, int), human, labels=range(1, 6), weights=weights)
        assert getattr(people, f"kappa_{weights}").value == pytest.approx(expected, abs=1e-12)
    judged["judge_x"] = [1.0, 4.5, 3.0, 1.0, 5.0, 3.0]
    people = fm.judge_report(judged, {"id": list(range(6)), "human": human}).axes[0].people
    doubled = cohen_kappa_score([2, 9, 6, 2, 10, 6], [2, 6, 6, 2, 10, 10], labels=range(2, 11), weights="linear")
    assert people.kappa_linear.value == pytest.approx(doubled, abs=1e-12)


def repeated(scores, **settings):
    means = [
        None if not (known := [one for one in row if one is not None]) else sum(known) / len(known) for row in scores
    ]
    columns = {"id": list(range(len(scores))), "judge_x": means, "judge_x_status": ["ok"] * len(scores)}
    columns["judge_x_scores"] = pa.array(scores, pa.list_(pa.float64()))
    metadata = {"scores": {"judge_x": {"metric": "judge_x", "range": [1, 5], **settings}}}
    return pa.table(columns).replace_schema_metadata({"fastmetrics": json.dumps(metadata)})


def test_the_verdict_of_repeats_is_their_median():
    """A mean of repeats is no grade, so no mean would ever be the same as a label."""
    judged = repeated([[5, 5, 1], [2, 2, 5], [4, 5, 4], [3, None, None], [None, None, None], [3, 4, None]], repeats=3)
    labels = {"id": list(range(6)), "human": [5, 2, 4, 3, 1, 4]}
    (axis,) = fm.judge_report(judged, labels, positive=4).axes
    medians, human = [5, 2, 4, 3, 3], [5, 2, 4, 3, 4]
    assert (axis.n, axis.people.n, axis.people.accuracy.value) == (5, 5, 0.8)
    assert axis.mean == pytest.approx(np.mean([11 / 3, 3, 13 / 3, 3, 3.5]))
    assert axis.people.kappa.value == fm.stats.cohen_kappa(medians, human)
    assert axis.people.alpha_nominal.value == fm.stats.krippendorff_alpha([medians, human], level="nominal")
    scores = [11 / 3, 3, 13 / 3, 3, 3.5]
    assert axis.people.alpha_interval.value == pytest.approx(
        fm.stats.krippendorff_alpha([scores, human], level="interval")
    )
    assert axis.people.confusion.labels == ["2", "3", "4", "5"]
    (pair,) = fm.judge_report(
        [judged, judged.drop_columns("judge_x").append_column("judge_x", judged["judge_x"])]
    ).pairs
    assert pair.kappa.value == 1


@pytest.mark.parametrize(("kind", "even", "n"), [("decision", math.nan, 2), ("pairwise", 0.5, 3)])
def test_the_verdict_of_decisions_and_comparisons_is_the_side_of_most_repeats(kind, even, n):
    judged = repeated([[1, 1, 0, 1], [0, 0, 0, 1], [1, 0, 1, 0]], kind=kind, range=[0, 1], repeats=4)
    (axis,) = fm.judge_report(judged, {"id": [0, 1, 2], "human": [1.0, 0.0, 0.5]}, positive=1).axes
    assert (axis.people.kappa.value, axis.people.accuracy.value, axis.people.n) == (1, 1, n)


def test_a_json_column_of_null_tokens_counts_none(tmp_path):
    row = {"id": "a", "judge_x": 3, "judge_x_status": "ok"}
    row |= {"judge_x_prompt_tokens": None, "judge_x_completion_tokens": None}
    (tmp_path / "judged.jsonl").write_text(json.dumps(row) + "\n")
    assert fm.judge_report(tmp_path / "judged.jsonl").axes[0].prompt_tokens == 0


def test_verdicts_need_the_repeats():
    judged = repeated([[4, 5], [2, 2], [3, 5], [1, 1]], repeats=2).drop_columns("judge_x_scores")
    report = fm.judge_report(judged, {"id": [0, 1, 2, 3], "human": [4, 2, 4, 1]})
    people = report.axes[0].people
    assert (math.isnan(people.kappa.value), math.isnan(people.accuracy.value), people.n) == (True, True, 4)
    assert people.kappa_quadratic.value > 0.9
    assert report.notes == ["run 1: judge_x has no accuracy and kappa: its repeats are missing, judge_x_scores"]


@pytest.mark.parametrize(
    ("human", "note"),
    [
        ([None, None], "run 1: no judged row has a label; is the sheet filled in?"),
        *(
            (
                graded,
                "run 1: judge_x has no accuracy and F1: the labels are grades, without the lowest "
                "positive one: positive=4 (--positive 4)",
            )
            for graded in ([1, None], [1, 4, 4], [1, 2, 4])
        ),
    ],
)
def test_a_note_says_why_there_is_no_accuracy(human, note):
    judged = repeated([[1], [3], [4]])
    report = fm.judge_report(judged, {"id": list(range(len(human))), "human": human})
    assert report.notes == ([note] if note else [])


@pytest.mark.parametrize("replies", [3, 5])
def test_odd_number_of_pairwise_replies_is_no_error(replies):
    scores = pa.array([[1.0] * replies, [0.0] * replies], pa.list_(pa.float64()))
    table = pa.table(
        {"id": [1, 2], "preference": [1.0, 0.0], "preference_status": ["ok", "ok"], "preference_scores": scores}
    )
    metadata = {b"fastmetrics": json.dumps({"scores": {"preference": {"kind": "pairwise", "range": [0, 1]}}}).encode()}
    orders = fm.judge_report(table.replace_schema_metadata(metadata)).axes[0].orders
    assert (orders.n, orders.win_rate.value, orders.n_one_order) == (2, 0.5, 0)


def test_labels_without_a_judged_row_are_counted():
    judged = {"id": [1, 2, 3], "judge_x": [1.0, 4.0, 3.0], "judge_x_status": ["ok"] * 3}
    labels = {"id": [1, 2, 8, 9], "human": [2, 4, 5, None]}
    report = fm.judge_report(judged, labels)
    assert any("1 labels belong to no judged row" in note for note in report.notes)
    assert report.axes[0].powered.n_labelled == 2


def test_the_answers_of_a_bot_are_no_scores() -> None:
    rows = {"id": [1, 2], "answer": ["a", "b"], "answer_status": ["ok", "ok"]}
    judged = {**rows, "judge_x": [1.0, 2.0], "judge_x_status": ["ok", "ok"]}
    assert [axis.axis for axis in fm.judge_report(judged).axes] == ["judge_x"]


def test_repeats_of_a_decision_are_counted_once_by_most_of_them():
    """Most of the repeats decide; an even split is no decision, in the confusion table and in all its figures."""
    scores = [1.0, 0.0, 0.5, 2 / 3, 1 / 3, None]
    settings = {"judge_show": {"metric": "judge_show", "kind": "decision", "range": [0, 1]}}
    judged = pa.table({"id": list(range(6)), "judge_show": scores, "judge_show_status": ["ok"] * 5 + ["http"]})
    judged = judged.replace_schema_metadata({"fastmetrics": json.dumps({"scores": settings})})
    [axis] = fm.judge_report(judged, {"id": list(range(6)), "label": [1, 1, 1, 1, 0, 1]}).axes
    decisions, people = axis.decisions, axis.people
    assert (decisions.tp, decisions.fp, decisions.fn, decisions.tn, decisions.n_left_out) == (2, 0, 1, 1, 2)
    assert (people.n, people.accuracy.value, people.precision.value) == (4, 0.75, 1.0)
    assert people.recall.value == decisions.recall.value == pytest.approx(2 / 3)
    assert people.f1.value == decisions.f1.value
