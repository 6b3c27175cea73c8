"""Heat maps of segments: each cell's figure, shade and mark, by plain Python, and the segments of most rows."""

from __future__ import annotations

import math
import random
from statistics import fmean

import pytest

import fastmetrics as fm
from fastmetrics.reporting.charts import SEGMENTS, fewer_segments
from fastmetrics.results.opening_scores import open_scores

LANGUAGES = ["de", "en", "ru"]
METRICS = {"token_f1": 1, "hallucination": -1}
"""Two metrics and the sign of a gain in them."""


def run(seed: int) -> dict[str, list]:
    """Scores of 60 rows, 20 of each language, with means that differ between languages, more so in one metric."""
    chance = random.Random(seed)
    languages = LANGUAGES * 20
    scores = {
        name: [0.3 + size * LANGUAGES.index(language) + 0.2 * chance.random() for language in languages]
        for name, size in (("token_f1", 0.2), ("hallucination", 0.05 * seed))
    }
    return {"id": list(range(60)), "language": languages, **scores}


def segment_mean(scores: dict[str, list], metric: str, language: str | None = None) -> float:
    return fmean(
        score
        for score, own in zip(scores[metric], scores["language"], strict=True)
        if language is None or own == language
    )


def shades(differences: dict[tuple[str, str], float], widest: float = 0.0) -> dict[tuple[str, str], int]:
    """From −3 to 3: the share of the largest difference of both metrics, above 0 where it is a gain."""
    widest = max(widest, *map(abs, differences.values()))
    return {key: round(3 * METRICS[key[1]] * value / widest) for key, value in differences.items()}


@pytest.mark.parametrize("names", [["a", "b"], ["a", "b", "c"], ["c", "a", "b"]])
def test_cells_of_changes_are_those_of_the_first_two_systems(names):
    runs = {name: run(seed) for name, seed in zip("abc", (1, 2, 3), strict=True) if name in names}
    comparison = fm.compare({name: runs[name] for name in names}, by="language", metrics=list(METRICS), tests="t")
    heat = comparison.heat_map()
    noted = {pair.metric for pair in comparison if comparison.verdict(pair) != "–"
             and [pair.baseline, pair.other] == names[:2]}  # fmt: skip
    assert (heat.metrics, heat.n_metrics) == (sorted(METRICS, key=lambda metric: metric not in noted), 2)
    before, after = (runs[name] for name in names[:2])
    differences = {
        (language, metric): segment_mean(after, metric, language) - segment_mean(before, metric, language)
        for language in LANGUAGES
        for metric in METRICS
    }
    cells = {
        (segment.removeprefix("language="), metric): cell
        for segment, line in heat.lines
        for metric, cell in zip(heat.metrics, line, strict=True)
    }
    of_all_pairs = max(abs(pair.delta) for pair in comparison if pair.segment is not None)
    assert {key: cell.level for key, cell in cells.items()} == shades(differences, of_all_pairs)
    assert {key: float(cell.text) for key, cell in cells.items()} == pytest.approx(differences, abs=1e-4)
    assert {cell.n for cell in cells.values()} == {20}
    verdicts = {
        (pair.segment.removeprefix("language="), pair.metric): comparison.verdict(pair) != "–"
        for pair in comparison
        if pair.segment is not None and [pair.baseline, pair.other] == names[:2]
    }
    assert {key: cell.marked for key, cell in cells.items()} == verdicts


def test_cells_of_means_are_their_differences_from_the_mean_of_all_rows():
    scores = run(1)
    summary = fm.results.summarize_by(scores, by="language", metrics=list(METRICS))
    heat = summary.heat_map()
    differences = {
        (language, metric): segment_mean(scores, metric, language) - segment_mean(scores, metric)
        for language in LANGUAGES
        for metric in METRICS
    }
    cells = {
        (segment.removeprefix("language="), metric): cell
        for segment, line in heat.lines
        for metric, cell in zip(heat.metrics, line, strict=True)
    }
    assert {key: cell.level for key, cell in cells.items()} == shades(differences)
    for interval in summary:
        if interval.segment is not None:
            whole = segment_mean(scores, interval.metric)
            cell = cells[interval.segment.removeprefix("language="), interval.metric]
            assert cell.marked == (whole < interval.low or whole > interval.high)
            assert math.isclose(float(cell.text), interval.mean, abs_tol=1e-4)
    assert {cell.marked for cell in cells.values()} == {True, False}


def test_metrics_of_other_units_have_scales_of_their_own_and_none_without_a_direction():
    """Lengths, which no direction says to be better, have no colour; latencies do not set the scale of shares."""
    languages = LANGUAGES * 20
    places = [LANGUAGES.index(language) for language in languages]
    scores = {"token_f1": [0.1 * place for place in places], "latency_ms": [100.0 * place for place in places]}
    scores["answer_length"] = [float(place) for place in places]
    table = {"id": list(range(60)), "language": languages, **scores}
    heat = fm.results.summarize_by(table, by="language").heat_map()
    levels = {name: [line[at].level for _, line in heat.lines] for at, name in enumerate(heat.metrics)}
    assert levels == {"token_f1": [-3, 0, 3], "latency_ms": [3, 0, -3], "answer_length": [None] * 3}


def test_a_segment_of_one_pair_is_on_the_map():
    run = {"id": [1, 2], "language": ["en", "ru"], "token_f1": [0.5, 0.75]}
    heat = fm.compare({"a": run, "b": {**run, "token_f1": [0.75, 0.25]}}, by="language").heat_map()
    assert (heat.metrics, [line[0].level for _, line in heat.lines]) == (["token_f1"], [2, -3])


def test_metrics_with_a_verdict_come_before_the_first_others():
    """The last of 20 metrics is the only one that differs; the map has 16."""
    chance = random.Random(0)
    names = [f"m{at}" for at in range(20)]
    old = {name: [chance.random() for _ in range(60)] for name in names}
    new = {name: [score + 0.01 * chance.random() - 0.005 for score in old[name]] for name in names}
    new["m19"] = [score + 0.5 + chance.random() / 10 for score in old["m19"]]
    shared = {"id": list(range(60)), "language": LANGUAGES * 20}
    heat = fm.compare({"a": {**shared, **old}, "b": {**shared, **new}}, by="language", tests="t").heat_map()
    assert (heat.metrics, heat.n_metrics) == (["m19", *names[:15]], 20)


def test_segments_of_most_rows_are_shown_and_the_others_are_one():
    """Topic n has n rows, in mixed order; those of fewest rows become one segment, which says how many they are."""
    topics = [f"t{size}" for size in range(1, SEGMENTS + 6) for _ in range(size)]
    random.Random(0).shuffle(topics)
    table = {"id": list(range(len(topics))), "topic": topics, "token_f1": [0.5] * len(topics)}
    [merged], [note] = fewer_segments([open_scores(table)], ["topic"])
    expected = [topic if int(topic[1:]) > 5 else "(5 others)" for topic in topics]
    assert merged.column("topic", "").to_pylist() == expected
    assert note.startswith(f"topic: shows {SEGMENTS} of {SEGMENTS + 5} segments")
    few, notes = fewer_segments([open_scores({**table, "topic": ["a"] * len(topics)})], ["topic"])
    assert (few[0].column("topic", "").unique().to_pylist(), notes) == (["a"], [])
