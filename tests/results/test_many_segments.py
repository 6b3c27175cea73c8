"""Results of many segments: their order and their tables."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa

import fastmetrics as fm
from fastmetrics.reporting.charts import SEGMENTS, fewer_segments
from fastmetrics.results.opening_scores import open_scores


def test_a_table_lists_segments_from_the_worst_and_equal_ones_by_name() -> None:
    n = 60
    scores = {
        "id": range(n),
        "token_f1": [(row % 5) / 4 for row in range(n)],
        "topic": [f"t{row % 20}" for row in range(n)],
    }
    means = {f"topic=t{topic}": (topic % 5) / 4 for topic in range(20)}
    table = fm.results.summarize_by(scores, by="topic").grids()[1]
    assert [row[0] for row in table.rows] == sorted(means, key=lambda name: (means[name], name))
    other = {**scores, "token_f1": [1.0 - score for score in scores["token_f1"]]}
    found = fm.compare({"a": scores, "b": other}, by="topic", tests="t", interval="t")
    shown = [row[0] for row in found.grids()[2].rows]
    assert shown == sorted(means, key=lambda name: (1 - 2 * means[name], name))


def test_many_segments_are_merged_except_for_the_largest() -> None:
    sizes = {f"t{number:03d}": 1 + number % 97 for number in range(97)}
    topics = [name for name, size in sizes.items() for _ in range(size)]
    order = np.random.default_rng(0).permutation(len(topics))
    table = pa.table(
        {"id": list(map(str, order)), "token_f1": order / len(order), "topic": [topics[at] for at in order]}
    )
    [run], [note] = fewer_segments([open_scores(table)], ["topic"])
    kept = run.column("topic", "").to_pylist()
    largest = sorted(sizes, key=lambda name: -sizes[name])[:SEGMENTS]
    others = 97 - SEGMENTS
    assert set(kept) == {*largest, f"({others} others)"}
    assert kept.count(f"({others} others)") == sum(sizes.values()) - sum(sizes[name] for name in largest)
    assert f"shows {SEGMENTS} of 97 segments, those of most rows" in note


def test_a_column_that_is_given_twice_segments_once() -> None:
    table = {"id": list("abcd"), "token_f1": [0.1, 0.2, 0.3, 0.4], "lang": ["en", "ru", "en", "ru"]}
    worst = fm.worst_rows(table, "token_f1", by=["lang", "lang"], segment="lang=ru")
    assert worst["id"].to_pylist() == ["b", "d"]
    found = fm.compare({"a": table, "b": table}, by=[["lang"], "lang,lang", ["lang"]])
    assert [one.segment for one in found] == [None, "lang=en", "lang=ru"]
    judged = {"id": list("abcd"), "judge_x": [1.0, 2.0, 3.0, 4.0], "judge_x_status": ["ok"] * 4, "lang": table["lang"]}
    [axis] = fm.judge_report(judged, by="lang,lang").axes
    assert [one.segment for one in axis.segments] == ["lang=en", "lang=ru"]


def test_a_segment_of_each_row_is_listed() -> None:
    n = 2_000
    scores = np.random.default_rng(n).random(n)
    ids, topics = [f"{row:08d}" for row in range(n)], [f"topic {row:07d}" for row in range(n)]
    old, new = (pa.table({"id": ids, "token_f1": some, "topic": topics}) for some in (scores, scores[::-1]))
    compared = fm.compare({"old": old, "new": new}, by="topic", tests="t", threads=1)
    means = fm.results.summarize_by(old, by="topic", threads=1)
    checked = fm.gate(old, "token_f1 >= 0.5 where topic=* with n >= 1")
    for found, segments in ((compared, n + 1), (means, n + 1), (checked, n)):
        assert len(found) == segments
        assert str(found).count("topic=") >= n
        assert json.loads(found.to_json())
    assert len(compared.to_arrow()) == n + 1


def test_results_of_segments_are_tables_of_declared_types() -> None:
    scores = {"id": list("abcd"), "token_f1": [0.1, 0.2, 0.3, 0.4], "lang": ["en", "ru", "en", "ru"]}
    means = fm.results.summarize_by(scores, by="lang").to_arrow()
    assert means["segment"].to_pylist() == [None, "lang=en", "lang=ru"]
    compared = fm.compare({"a": scores, "b": scores}, by="lang").to_arrow()
    assert compared["segment"].to_pylist() == [None, "lang=en", "lang=ru"]
    for table, name in ((means, "n_clusters"), (compared, "n_clusters"), (compared, "n_missing_other")):
        assert (table[name].type, table[name].null_count) == (pa.int64(), len(table))
    assert (compared["p_equivalent"].type, compared["better"].type) == (pa.float64(), pa.string())


def test_a_number_at_a_quartile_is_in_the_range_that_begins_there() -> None:
    scores = {"token_f1": [0.5] * 13, "length": list(range(13))}
    found = fm.results.summarize_by(scores, by="length")
    ranges = ["[0, 3)", "[3, 6)", "[6, 9)", "[9, 12]"]
    assert [(one.segment, one.n) for one in found][1:] == [
        (f"length={name}", n) for name, n in zip(ranges, (3, 3, 3, 4), strict=True)
    ]
