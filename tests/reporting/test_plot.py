"""Charts as files: what they show, the same bytes each time, and what is refused."""

import itertools
import re
import xml.etree.ElementTree as ET

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from matplotlib.figure import Figure

import fastmetrics as fm
from fastmetrics.base import display
from fastmetrics.reporting.plot import draw_into, picture_target
from tests.support import column_kinds
from tests.support.program import jsonl, program

RNG = np.random.default_rng(0)
SCORES = {
    "id": list(range(60)),
    "token_f1": RNG.random(60).tolist(),
    "hallucination": RNG.random(60).tolist(),
    "language": ["en", "ru", "$x_1$"] * 20,
}
OTHER = {**SCORES, "token_f1": RNG.random(60).tolist(), "hallucination": RNG.random(60).tolist()}
LOG = {
    "question": ["a", "b", "a", "b"],
    "answer": ["x", "y", "x", "z"],
    "question_embedding": [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]],
}


def save(result, path, **how):
    draw_into(picture_target(path, (), True), result, **how)


ONE_METRIC = ["token_f1: means with their intervals", "all rows, n = 60", "language=en, n = 20"]
RUNS = {"old": SCORES, "new": OTHER}
RESULTS = {
    "histograms": (lambda: fm.results.histograms(SCORES), ["token_f1, n = 60", "hallucination, n = 60"]),
    "comparison": (lambda: fm.compare(RUNS), ["difference of new from old, 95 % intervals; filled: significant"]),
    "changes": (lambda: fm.compare(RUNS, by="language"), ["language=ru", "language=$x_1$", "token_f1"]),
    "means": (lambda: fm.results.summarize_by(SCORES), ["token_f1, n = 60"]),
    "segments": (lambda: fm.results.summarize_by(SCORES, by="language"), ["language=en", "leaves out the mean"]),
    "one metric": (lambda: fm.results.summarize_by(SCORES, by="language", metrics="token_f1"), ONE_METRIC),
    "cache": (lambda: fm.logs.cache_hit_rate(LOG), ["hit rate", "wrong share of hits"]),
    "points": (lambda: fm.vectors.project(RNG.random((40, 5))), ["pca of 40 of 40 rows"]),
    "space": (lambda: fm.vectors.project(RNG.random((40, 5)), dims=3), ["trustworthiness"]),
}
LEVELS = [("a", 0.1), ("b", 0.2), ("c", 0.4)]


def texts(path):
    return " ".join(" ".join(one.itertext()) for one in ET.parse(path).iter() if one.tag.endswith("text"))


@pytest.mark.parametrize("name", RESULTS)
def test_svg_has_text_labels_and_reproducible_bytes(tmp_path, name):
    make, said = RESULTS[name]
    result = make()
    for at in range(2):
        save(result, tmp_path / f"{at}.svg")
    one, other = ((tmp_path / f"{at}.svg").read_bytes() for at in range(2))
    assert one == other
    assert all(label in texts(tmp_path / "0.svg") for label in said), texts(tmp_path / "0.svg")
    assert not re.search(rb"<dc:date>", one)


@pytest.mark.parametrize("name", ["histograms", "changes", "space"])
def test_png_output_is_a_valid_image(tmp_path, name):
    import matplotlib.image

    result = RESULTS[name][0]()
    save(result, tmp_path / "a.png")
    picture = matplotlib.image.imread(tmp_path / "a.png")
    assert min(picture.shape[:2]) > 100
    assert picture[..., :3].std() > 0.01
    before = (tmp_path / "a.png").read_bytes()
    save(result, tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes() == before


def test_bar_heights_equal_the_counts(tmp_path):
    save(fm.results.histograms({"token_f1": [0.0, 0.0, 1.0, 1.0, 1.0]}), tmp_path / "a.svg")
    svg = (tmp_path / "a.svg").read_text()
    heights = []
    for path in re.findall(r'<path d="M ([^"]+?)\sz\s*" clip-path', svg):
        ys = [float(pair.split()[1]) for pair in re.split(r"[ML]", path.replace("\n", " ")) if pair.strip()]
        heights.append(max(ys) - min(ys))
    assert heights[-1] / heights[0] == pytest.approx(3 / 2, rel=1e-3)


def test_differences_of_three_systems_are_those_from_the_first(tmp_path):
    scores = {name: {"id": list(range(9)), "token_f1": [level + at / 90 for at in range(9)]} for name, level in LEVELS}
    found = fm.compare(scores)
    save(found, tmp_path / "a.svg")
    shown = texts(tmp_path / "a.svg")
    assert "difference of each from a, 95 % intervals" in shown
    assert "all are compared with a, and not with each other" in shown
    figure = Figure()
    found.plot(figure)
    axes = figure.axes[0]
    points = [line.get_xdata()[0] for line in axes.lines if line.get_marker() == "o"]
    assert points == pytest.approx([0.1, 0.3])
    assert [label.get_text() for label in axes.get_yticklabels()] == ["token_f1"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["b", "c"]


def test_metrics_of_one_scale_share_a_panel_and_more_than_the_palette_differ_by_markers(tmp_path):
    rng = np.random.default_rng(3)
    runs = {
        f"a system with a long name {at}": {
            "id": list(range(20)),
            "token_f1": rng.random(20),
            "jaccard": rng.random(20),
            "latency_ms": rng.random(20),
        }
        for at in range(13)
    }
    figure = Figure(layout="constrained")
    fm.compare(runs).plot(figure)
    assert figure.get_supxlabel() == "all are compared with a system with a long name 0, and not with each other"
    assert [[tick.get_text() for tick in axes.get_yticklabels()] for axes in figure.axes] == [
        ["token_f1", "jaccard"],
        ["latency_ms"],
    ]
    looks = {(line.get_color(), line.get_marker()) for axes in figure.axes for line in axes.lines}
    assert len({look for look in looks if look[1] not in ("None", "")}) == 12
    figure.draw_without_rendering()
    legend = figure.legends[0].get_window_extent()
    assert legend.x0 >= 0
    assert legend.x1 <= figure.bbox.x1
    assert all(not legend.overlaps(axes.get_window_extent()) for axes in figure.axes)


def test_titles_of_charts_beside_each_other_do_not_overlap():
    names = [f"a_metric_with_a_very_long_name_{at}(option={at})" for at in range(4)]
    figure = Figure(layout="constrained")
    fm.results.histograms({name: [0.1, 0.5] for name in names}).plot(figure)
    figure.draw_without_rendering()
    boxes = [axes.title.get_window_extent() for axes in figure.axes]
    assert all(a.x1 <= b.x0 for a, b in itertools.pairwise(boxes))


def test_a_heat_map_of_three_systems_has_both_others_and_marks_notable_cells(tmp_path):
    kinds = ["one"] * 20 + ["two"] * 20
    gains = {"a": np.zeros(40), "b": np.repeat([0.5, 0.0], 20), "c": np.repeat([0.25, 0.25], 20)}
    noise = np.random.default_rng(0).normal(0, 0.01, (3, 40))
    runs = {
        name: {"id": list(range(40)), "kind": kinds, "token_f1": (0.3 + gain + noise[at]).tolist()}
        for at, (name, gain) in enumerate(gains.items())
    }
    found = fm.compare(runs, by="kind", tests="t")
    save(found, tmp_path / "a.svg")
    cells = [one for one in found if one.segment is not None and one.baseline == "a"]
    cells.sort(key=lambda one: one.other)
    expected = [
        f"{'+' * (one.delta > 0)}{display.number(one.delta)}{'*' * (found.verdict(one) != '–')}" for one in cells
    ]
    assert [one for one in texts(tmp_path / "a.svg").split(" ") if one in expected] == expected
    assert [one.endswith("*") for one in expected] == [True, False, True, True]


def test_runs_of_other_rows_are_marked_in_a_trend(tmp_path):
    (tmp_path / "runs").mkdir()
    for name, count in (("first", 3), ("second", 2)):
        rows = {"id": list(range(count)), "answer": ["yes"] * count, "reference": ["yes"] * count}
        fm.score(rows, "token_f1", output=tmp_path / "runs" / f"{name}.parquet", name=name)
    save(fm.trend(tmp_path / "runs", "token_f1"), tmp_path / "a.svg")
    assert {"first", "second*"} <= set(texts(tmp_path / "a.svg").split(" "))


def test_points_can_be_coloured_by_numbers_and_categories(tmp_path, full):
    points = fm.vectors.project(RNG.random((30, 4)))
    save(points, tmp_path / "numbers.svg", color=[None, *range(29)])
    kinds = [f"topic {row % 14}" for row in range(30)]
    save(points, tmp_path / "kinds.svg", color=kinds)
    shown = texts(tmp_path / "kinds.svg")
    assert "topic 0" in shown
    assert "5 others" in shown
    assert "5 others" not in texts(tmp_path / "numbers.svg")
    some = {"Arrow dictionary with holes"} | (
        {"pandas", "pandas nullable", "Polars", "Arrow chunks"} if full else set()
    )
    for values, name in ((kinds, "kinds"), ([None, *map(float, range(29))], "numbers")):
        for kind, column in column_kinds.kinds(values).items():
            if kind in some:
                save(points, tmp_path / "again.svg", color=column)
                assert (tmp_path / "again.svg").read_bytes() == (tmp_path / f"{name}.svg").read_bytes(), kind


def test_hostile_labels_are_escaped(tmp_path):
    names = ["</svg><script>alert(1)</script>", "\x00\x1b[31m", "\u202eabc", "$\\frac{", "x" * 10_000]
    names += ["東京 🙂", "a\nb"]
    table = {"token_f1": [0.1, 0.9] * 7, "kind": [name for name in names for _ in range(2)]}
    for suffix in ("svg", "png"):
        save(fm.results.summarize_by(table, by="kind"), tmp_path / f"a.{suffix}")
    shown = texts(tmp_path / "a.svg")
    assert "</svg><script>alert(1)</script>"[:20] in shown
    assert "x" * 100 not in shown
    assert "<script>" not in (tmp_path / "a.svg").read_text()


def test_plots_of_many_metrics_and_few_or_no_rows(tmp_path):
    many = {f"m{at}": [0.1, 0.2] for at in range(40)}
    save(fm.results.histograms(many), tmp_path / "many.svg")
    assert "m15, n = 2" in texts(tmp_path / "many.svg")
    assert "m16, n = 2" not in texts(tmp_path / "many.svg")
    assert "the first 16 of 40 metrics are drawn" in texts(tmp_path / "many.svg")
    pair = [{"id": [1, 2], **many}, {"id": [1, 2], **many}]
    save(fm.compare(pair), tmp_path / "compared.svg")
    save(fm.results.summarize_by(many), tmp_path / "means.svg")
    for name in ("compared", "means"):
        assert "the first 16 of 40 metrics are drawn" in texts(tmp_path / f"{name}.svg")
    save(fm.results.histograms({"m": pa.array([None], pa.float64())}), tmp_path / "none.svg")
    save(fm.vectors.project([[1.0, 2.0]]), tmp_path / "one.svg")


def test_commands_draw_their_results(tmp_path):
    rows = [{"id": n, "answer": "a b" if n % 3 else "a", "reference": "a", "kind": "xy"[n % 2]} for n in range(12)]
    path = jsonl(tmp_path / "rows.jsonl", *rows)
    for name in ("one", "two"):
        out = tmp_path / "runs" / f"{name}.parquet"
        out.parent.mkdir(exist_ok=True)
        fm.score(path, output=out, metrics="token_f1,exact_match", keep="kind", name=name)
    one, two = tmp_path / "runs" / "one.parquet", tmp_path / "runs" / "two.parquet"
    pq.write_table(pa.table({"v": RNG.random((20, 4)).tolist(), "kind": ["a", "b"] * 10}), tmp_path / "v.parquet")
    pq.write_table(pa.table(LOG), tmp_path / "log.parquet")
    for number, (words, label) in enumerate(
        [
            (("summarize", one, "--histograms", "-m", "token_f1"), "token_f1, n = 12"),
            (("summarize", one, "--by", "kind"), "kind=x"),
            (("compare", one, two), "difference of two from one"),
            (("runs", "trend", tmp_path / "runs", "token_f1"), "two"),
            (("logs", "cache", tmp_path / "log.parquet"), "hit rate"),
            (("vectors", "project", tmp_path / "v.parquet", "-o", tmp_path / "p.csv", "--color", "kind"), "b"),
        ]
    ):
        out = tmp_path / f"{number}.svg"
        done = program(*words, "--plot", out)
        assert (done.code, done.err) == (0, ""), words
        assert label in texts(out)
        assert done.out
