"""The report as a file: what it says, what it shows of hostile texts, and what it makes of odd input."""

from __future__ import annotations

import base64
import html
import json
import re
import zlib
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats import rankdata

import fastmetrics as fm
from fastmetrics.base.errors import OptionError
from fastmetrics.base.notes import mark_of
from fastmetrics.reporting.compared_systems import compared
from fastmetrics.reporting.page_rows import EACH, _ranks, candidates, strata
from fastmetrics.results.opening_scores import open_scores
from fastmetrics.tables.good_rows import read_in_turn, whole_table
from fastmetrics.tables.opening import open_source
from tests.support.goldens import refused
from tests.support.program import program

HOSTILE = [
    "</script><script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "<!--<script>",
    "]]>&lt;b&gt; {{ 7*7 }} {% raw %}",
    "a\u202egnp.exe\u2066",
    "a\x00b\x1b[31m",
    '=HYPERLINK("http://example.org")',
    "👩‍👩‍👧 emoji",
    "x" * 1_000_000,
    "javascript:alert(1)",
]


class Reader(HTMLParser):
    """The tags of a page, its data, and whatever an attribute runs or asks for."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.asked: list[tuple[str, str, str | None]] = []
        self.texts: list[str] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.asked += [
            (tag, name, value) for name, value in attrs if name in ("src", "href", "style") or name.startswith("on")
        ]
        if tag == "script":
            self.scripts.append((dict(attrs), ""))

    def handle_data(self, text: str) -> None:
        if self.tags[-1:] == ["script"] and self.scripts and not self.scripts[-1][1]:
            self.scripts[-1] = (self.scripts[-1][0], text)
        else:
            self.texts.append(text)


def data_of(page):
    """What the script of a page reads."""
    size, deflated = re.search(r'id="report-data" data-size="(\d+)">(.*?)</script>', page).groups()
    found = zlib.decompress(base64.b64decode(deflated))
    assert len(found) == int(size)
    return json.loads(found)


def read(path):
    page = path.read_text(encoding="utf-8")
    reader = Reader()
    reader.feed(page)
    return page, reader, data_of(page)


def made(rows, seed=0, metrics=("token_f1", "rougeL_f1", "hallucination")):
    random = np.random.default_rng(seed)
    columns = {name: pa.array(random.random(rows), mask=random.random(rows) < 0.1) for name in metrics}
    return pa.table({"id": [f"q{at}" for at in range(rows)], **columns})


def test_the_matrix_of_correlations_has_every_pair_on_both_sides(tmp_path):
    names = ["token_f1", "rougeL_f1", "hallucination", "latency_ms"]
    scores = made(60, 3, names)
    fm.report(scores, tmp_path / "r.html")
    matrix = read(tmp_path / "r.html")[2]["correlations"]
    assert matrix["names"] == names
    agreements = {
        frozenset((pair.a, pair.b)): float(f"{pair.agreement:.6g}") for pair in fm.results.correlations(scores)
    }
    expected = [[1.0 if a == b else agreements[frozenset((a, b))] for b in names] for a in names]
    assert (matrix["values"], matrix["shown"]) == ([expected], 0)


def test_page_shows_the_figures_of_the_package(tmp_path):
    old, new = made(200), made(200, 1)
    texts = pa.table(
        {
            "id": new["id"],
            "question": [f"Question {at}?" for at in range(200)],
            "answer": ["It opened in 1890."] * 200,
            "contexts": [["The tower opened in 1889."]] * 200,
            "retrieved_ids": [["d1", "d2"]] * 200,
            "relevant_ids": [["d2"]] * 200,
        }
    )
    kept = new.append_column("language", pa.array(["en", "ru"] * 100))
    said = fm.report({"new": kept}, tmp_path / "r.html", texts=texts, baseline=old, by="language")
    page, reader, data = read(tmp_path / "r.html")
    assert (said.n_rows, said.n_shown, len(data["rows"])) == (200, 200, 200)
    assert said.n_bytes == len(page.encode())
    summary = fm.summarize(new)
    for name, one in summary.metrics.items():
        line = re.search(rf'<table id="metrics">.*?(<bdi>{name}</bdi></a></th>.*?</tr>)', page, re.S).group(1)
        assert f'<td class="mean">{one.mean:.4f}</td>' in line
        assert f'<td>{one.n}</td>\n<td class="lacking">{one.n_missing}</td>' in line
    found = fm.compare({"old": old, "new": new})
    for one in found:
        assert f"[{one.low:+.4f}, {one.high:+.4f}]" in page
    assert [one["systems"][1]["counts"] for one in data["histograms"]] == [
        list(one.counts) for one in fm.results.histograms(new).values()
    ]
    for system, table in enumerate((old, new)):
        [pair] = fm.results.correlations(table, metrics="token_f1,rougeL_f1")
        assert data["correlations"]["values"][system][0][1] == float(f"{pair.agreement:.6g}")
    assert data["correlations"]["shown"] == 1
    assert '<option value="1" selected>new</option>' in page
    row = next(row for row in data["rows"] if row["id"] == "q7")
    assert row["t"] | {"anchors": None} == {
        "question": "Question 7?", "answer": "It opened in 1890.", "contexts": ["The tower opened in 1889."],
        "retrieved_ids": ["d1", "d2"], "relevant_ids": ["d2"], "anchors": None,
    }  # fmt: skip
    assert [13, 17, 0, "number"] in row["t"]["anchors"]
    scores = [new[name][7].as_py() for name in ("token_f1", "rougeL_f1", "hallucination")]
    assert row["s"] == [None if value is None else float(f"{value:.6g}") for value in scores]
    assert "language=ru" in page
    worst = next(one for one in data["strata"] if (one["kind"], one["metrics"]) == ("worst", ["hallucination"]))
    assert worst["n"] == summary["hallucination"].n
    ids = [data["rows"][at]["id"] for at in worst["rows"]]
    assert ids == fm.worst_rows(new, "hallucination", n=EACH)["id"].to_pylist()
    assert [one for one in reader.asked if one[1] != "href"] == []
    assert all(str(value).startswith("#") for _, _, value in reader.asked)
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page).group(1)
    assert "default-src &#39;none&#39;" in policy
    assert "unsafe-eval" not in policy
    assert "script-src &#39;sha256-" in policy


def test_equal_scores_give_equal_bytes(tmp_path):
    for name, threads in (("a", 1), ("b", 2)):
        fm.report({"new": made(50)}, tmp_path / f"{name}.html", baseline=made(50, 1), threads=threads)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_hostile_texts_are_escaped(tmp_path):
    ids = [f"{at} {text[:50]}" for at, text in enumerate(HOSTILE)]
    name = "<script>alert(1)</script>&'\"\u202e"
    scores = pa.table({"id": ids, name: np.linspace(0, 1, len(ids)), "b": np.linspace(1, 0, len(ids)), "s": HOSTILE})
    texts = pa.table({"id": ids, "question": HOSTILE, "answer": HOSTILE, "contexts": [[one] for one in HOSTILE]})
    fm.report({name: scores}, tmp_path / "r.html", texts=texts, title=HOSTILE[0], by="s")
    page, reader, data = read(tmp_path / "r.html")
    assert reader.tags.count("script") == 2
    assert "img" not in reader.tags
    assert len(page) < 3_800_000
    assert not set(page) & {"\x00", "\x1b", "\u202e", "\u2066"}
    shown = {row["at"]: row["t"]["answer"] for row in data["rows"]}
    assert shown[0] == HOSTILE[0]
    assert shown[4] == "a␦gnp.exe␦"
    assert shown[5] == "a␀b␛[31m"
    assert shown[8] == "x" * 4_000 + " … [+996,000]"
    assert shown[7] == HOSTILE[7]
    assert html.escape(HOSTILE[0]).replace("&#x27;", "&#39;") in page


@pytest.mark.parametrize("rows", [0, 1, 2])
@pytest.mark.parametrize("missing", [False, True])
def test_report_of_few_rows_and_of_rows_without_scores(tmp_path, rows, missing):
    ids = pa.array([f"q{at}" for at in range(rows)], pa.string())
    scores = pa.table(
        {
            "id": ids,
            "token_f1": pa.array([None if missing else 0.5] * rows, pa.float64()),
            "b": pa.array([1.0] * rows, pa.float64()),
        }
    )
    said = fm.report(scores, tmp_path / "one.html")
    both = fm.report(scores, tmp_path / "two.html", baseline=scores, by=[] if rows else None)
    assert (said.n_shown, both.n_shown) == (rows, rows)
    for name in ("one", "two"):
        data = read(tmp_path / f"{name}.html")[2]
        assert len(data["rows"]) == rows
        assert "NaN" not in json.dumps(data | {"script": ""})


@pytest.mark.parametrize("systems", ["a", "ab"])
@pytest.mark.parametrize("by", [None, "kind"])
def test_a_page_of_numbers_whose_sums_are_beyond_the_largest_one(tmp_path, systems, by):
    run = {"id": list(range(60)), "a": [1.7e308, -1.7e308, 1.6e308] * 20, "kind": ["x", "y"] * 30}
    said = fm.report(dict.fromkeys(systems, run), tmp_path / "r.html", by=by)
    assert said.n_shown == 60
    assert {row["s"][0] for row in read(tmp_path / "r.html")[2]["rows"]} == {1.7e308, -1.7e308, 1.6e308}


@pytest.mark.full
def test_page_size_is_bounded_for_many_metrics_and_segments(tmp_path):
    random = np.random.default_rng(0)
    columns = {f"m{at}": random.random(2_000) for at in range(300)}
    rows = pa.table({"id": range(2_000), **columns})
    said = fm.report(rows, tmp_path / "wide.html")
    assert 0 < said.n_shown < 2_000
    assert said.n_bytes < 5_000_000
    many = made(4_000).append_column("session", pa.array([f"s{at // 2}" for at in range(4_000)]))
    said = fm.report(many, tmp_path / "long.html", by="session")
    page = (tmp_path / "long.html").read_text()
    assert said.n_bytes < 5_000_000
    assert "session: shows 60 of 2,000 segments" in page
    assert "(1,940 others)" in page


def test_strata_equal_those_of_a_full_sort():
    random = np.random.default_rng(0)
    values = {"a": random.integers(0, 9, 500) / 8, "hallucination": random.random(500)}
    values["a"][::7] = np.nan
    before = {"a": np.roll(values["a"], 1)}
    found = strata(
        list(values),
        values.__getitem__,
        before.get,
        {"a": "higher", "hallucination": "lower"},
        [("a", "hallucination")],
    )
    told = {(one.kind, one.metrics): one for one in found}
    order = np.lexsort((np.arange(500), values["a"]))[:EACH]
    assert sorted(values["a"][told["worst", ("a",)].places]) == sorted(values["a"][order])
    assert values["hallucination"][told["worst", ("hallucination",)].places[0]] == values["hallucination"].max()
    change = values["a"] - before["a"]
    assert change[told["fell", ("a",)].places].tolist() == sorted(change[np.isfinite(change)])[:EACH]
    assert (change[told["rose", ("a",)].places] > 0).all()
    assert told["disagree", ("a", "hallucination")].n == np.isfinite(values["a"]).sum()
    assert sorted(candidates(found, 500)) == list(range(500))
    assert len(set(candidates(found, 10_000))) == len(candidates(found, 10_000)) < 500
    many = np.ones(600_000)
    many[[5, 300_000, 599_999]] = 0.2, 0.1, 0.3
    assert strata(["a"], {"a": many}.__getitem__, {}.get, {}, [])[0].places[:4].tolist() == [300_000, 5, 599_999, 0]


def test_strata_of_a_metric_that_is_better_when_lower():
    after, before = {"hallucination": np.array([0.9, 0.1, 0.5, 0.5])}, {"hallucination": np.array([0.2, 0.8, 0.5, 0.4])}
    found = strata(["hallucination"], after.__getitem__, before.get, {"hallucination": "lower"}, [])
    places = {one.kind: one.places.tolist() for one in found}
    assert (places["worst"][0], places["best"][0]) == (0, 1)
    assert (places["fell"], places["rose"]) == ([0, 3], [1]), "a higher score is a loss"


def test_differences_of_a_metric_that_is_better_when_lower_have_the_colours_of_their_meaning():
    rng = np.random.default_rng(0)
    base = {"id": list(range(40)), "hallucination": rng.random(40) / 2, "token_f1": rng.random(40) / 2}
    more = {"id": list(range(40)), "hallucination": base["hallucination"] + 0.3 + rng.random(40) / 10}
    more["token_f1"] = base["token_f1"] + 0.3 + rng.random(40) / 10
    asked = SimpleNamespace(resamples=None, by=[], main=None, allow_differences=False, seed=0, threads=1)
    for first, second, expected in ((base, more, ("loss", "gain")), (more, base, ("gain", "loss"))):
        page = compared([open_scores(first), open_scores(second)], asked)
        turns = {one.metric: page.turn(one) for one in page.differences}
        assert (turns["hallucination"], turns["token_f1"]) == expected


@pytest.mark.parametrize("change", [0.2, -0.2, 0.01])
def test_a_difference_is_drawn_on_its_side_of_the_middle(change):
    """The middle is 50; the end that is farthest from 0 lies 46 away, a gain to the right."""
    scores = np.random.default_rng(2).random(60)
    rows = [{"id": list(range(60)), "own": one} for one in (scores, scores + change * scores)]
    options = SimpleNamespace(resamples=None, by=[], main=None, allow_differences=False, seed=0, threads=1)
    page = compared([open_scores(table) for table in rows], options)
    [line] = page.differences
    pair = fm.compare(rows)["own"]
    ends = (pair.low, pair.delta, pair.high)
    assert page.drawn(line) == pytest.approx([50 + 46 * end / max(map(abs, ends)) for end in ends], abs=0.01)


def test_differences_have_the_corrected_p_and_the_rows_of_each_run_and_the_seed():
    rng = np.random.default_rng(1)
    scores = {name: rng.random(44) for name in ("token_f1", "rougeL_f1")}
    changed = {name: np.clip(one + rng.normal(0.06, 0.2, 44), 0, 1) for name, one in scores.items()}
    first = {"id": list(range(44)), **scores}
    second = {"id": list(range(3, 43)), **{name: one[3:43] for name, one in changed.items()}}
    for seed in (0, 1):
        asked = SimpleNamespace(resamples=None, by=[], main=None, allow_differences=False, seed=seed, threads=1)
        page = compared([open_scores(first), open_scores(second)], asked)
        expected = fm.compare([first, second], seed=seed)
        for one, other in zip(page.differences, expected, strict=True):
            assert (one.metric, one.p_corrected, one.p_note) == (other.metric, other.p_corrected, other.p_note)
            assert (one.n_paired, one.n_only_baseline, one.n_only_other) == (40, 4, 0)
    seeds = [[one.p for one in fm.compare([first, second], seed=seed)] for seed in (0, 1)]
    assert seeds[0] != seeds[1], "the seed matters for these rows"


def test_a_report_compares_runs_of_other_settings_on_request_only(tmp_path):
    rows = {"id": ["p", "q"], "answer": ["a", "b"], "reference": ["a", "c"]}
    for version, name in enumerate(("old", "new"), 1):
        fm.score(rows, f"squad_f1(version={version}, name='f1')", output=tmp_path / f"{name}.parquet")
    runs = {"scores": tmp_path / "new.parquet", "output": tmp_path / "r.html", "baseline": tmp_path / "old.parquet"}
    refused(OptionError, "version", fm.report, **runs)
    assert not (tmp_path / "r.html").exists()
    assert fm.report(**runs, allow_differences=True).n_rows == 2


def test_ranks_equal_scipy_and_streamed_columns_equal_the_table(tmp_path):
    random = np.random.default_rng(0)
    values = random.integers(0, 9, 500) / 8
    known = random.random(500) < 0.8
    expected = np.full(500, np.nan)
    expected[known] = rankdata(values[known]) / known.sum()
    np.testing.assert_allclose(_ranks(values, known), expected, rtol=1e-15)
    assert np.isnan(_ranks(values, np.zeros(500, np.bool_))).all()
    pq.write_table(made(3_000), tmp_path / "a.parquet", row_group_size=1_000)
    source = open_source(tmp_path / "a.parquet")
    kinds = {"hallucination": "number", "id": "any", "token_f1": "number"}
    whole = whole_table(source, kinds)
    for few in (1, 2, 3):
        assert read_in_turn(source, kinds, few).equals(whole)
    assert all(one.num_chunks == 1 for one in read_in_turn(source, kinds, 2).columns)


def test_tables_without_ids_meet_their_texts_and_the_baseline_by_position(tmp_path):
    scores = made(6)
    texts = {"answer": [f"answer {n}" for n in range(6)]}
    own = {"id": scores["id"], **texts}
    fm.report(scores, tmp_path / "ids.html", texts=own, baseline=scores, baseline_texts=own)
    bare = scores.drop_columns("id")
    fm.report(bare, tmp_path / "rows.html", texts=texts, baseline=bare, baseline_texts=texts)
    with_ids, without = (read(tmp_path / f"{name}.html")[2]["rows"] for name in ("ids", "rows"))
    assert {row["at"]: (row["t"]["answer"], row["other"]) for row in without} == {
        n: (f"answer {n}", f"answer {n}") for n in range(6)
    }
    assert [row["t"] for row in without] == [row["t"] for row in with_ids]


def test_files_of_several_runs_without_ids_meet_by_position(tmp_path):
    for seed in (1, 2):
        pq.write_table(made(6, seed=seed).drop_columns("id"), tmp_path / f"{seed}.parquet")
    said = fm.report([tmp_path / "1.parquet", tmp_path / "2.parquet"], tmp_path / "r.html")
    assert said.n_shown == 6
    assert len(read(tmp_path / "r.html")[2]["rows"]) == 6


def test_texts_have_the_columns_that_the_run_named(tmp_path):
    rows = {"nr": ["x", "y"], "frage": ["Who is it?", "What?"], "antwort": ["a b", "c"], "reference": ["a", "c"]}
    named = {"id": "nr", "question": "frage", "answer": "antwort"}
    pq.write_table(pa.table(rows), tmp_path / "rows.parquet")
    fm.score(rows, "token_f1", columns=named, output=tmp_path / "scores.parquet")
    fm.report(tmp_path / "scores.parquet", tmp_path / "report.html", texts=tmp_path / "rows.parquet")
    assert "Who is it?" in read(tmp_path / "report.html")[0]


def test_a_baseline_among_the_runs_is_counted_once(tmp_path):
    """By its name or its file, as compare takes it."""
    files = [tmp_path / f"v{n}.parquet" for n in range(3)]
    for seed, file in enumerate(files):
        pq.write_table(made(20, seed), file)
    for baseline in (files[1], str(files[1])):
        fm.report(files, tmp_path / "r.html", baseline=baseline, overwrite=True)
        systems = read(tmp_path / "r.html")[2]["systems"]
        assert (len(systems), systems[0]) == (3, fm.compare(files, baseline=str(files[1])).systems[0])
        fm.report(files, tmp_path / "r.html", baseline=systems[0], overwrite=True)
        assert read(tmp_path / "r.html")[2]["systems"] == systems


def test_report_of_foreign_scores_and_of_scores_without_ids(tmp_path):
    pq.write_table(pa.table({"faithfulness": [0.5, 1.0], "comment": ["a", "b"]}), tmp_path / "other.parquet")
    said = fm.report(tmp_path / "other.parquet", tmp_path / "r.html")
    page, _, data = read(tmp_path / "r.html")
    assert said.n_shown == 2
    assert "No metadata" in page
    assert sorted(row["id"] for row in data["rows"]) == ["0", "1"]


def test_report_command(tmp_path):
    for name, seed in (("old", 0), ("new", 1)):
        pq.write_table(made(20, seed), tmp_path / f"{name}.parquet")
    out = tmp_path / "r.html"
    arguments = ("report", tmp_path / "new.parquet", "--baseline", tmp_path / "old.parquet", "-o", out)
    done = program(*arguments)
    assert (done.code, done.err) == (0, "")
    assert re.fullmatch(rf"20 of 20 rows, 0\.\d MB: {out}\n", done.out)
    done = program(*arguments)
    assert (done.code, done.out) == (4, "")
    assert done.err == f"error: {out} exists; choose --overwrite to replace it\n"
    assert "<html" in out.read_text(encoding="utf-8")
    assert program(*arguments, "--overwrite", "--language", "ru").code == 0
    assert '<html lang="ru">' in out.read_text(encoding="utf-8")


def test_judges_and_runs_add_pages(tmp_path):
    judged = {"id": [1, 2, 3], "judge_x": [1.0, 4.0, None], "judge_x_status": ["ok", "ok", "timeout"]}
    folder = tmp_path / "runs"
    folder.mkdir()
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"id": 1, "answer": "in <b>"}\n{"id": 2, "answer": "in Paris now"}\n')
    for name in ("first <b>", "second"):
        fm.score(rows, output=folder / f"{name}.parquet", metrics="answer_words", name=name)
    base = {"id": [1, 2], "answer_words": [5, 2]}
    fm.report(folder / "second.parquet", tmp_path / "r.html", judged=judged, runs=folder, baseline=base)
    page, reader, data = read(tmp_path / "r.html")
    [chart] = data["charts"]
    assert (chart["name"], chart["x"]) == ("answer_words", [1, 2])
    lines = {one["name"]: one["y"] for one in chart["lines"]}
    assert lines["mean"] == [2.5, 2.5]
    assert lines["baseline"] == [3.5, 3.5]
    assert lines["low"][0] <= 2.5 <= lines["high"][0]
    links = re.findall(r'data-page="(\w+)"', page)
    assert links == ["overview", "distributions", "comparison", "rows", "judges", "runs", "data"]
    for grid in fm.judge_report(judged).grids():
        for cell in {cell for row in grid.rows for cell in row if cell}:
            assert html.escape(cell, quote=False) in page
    assert "first &lt;b&gt;" in page
    assert "b" not in reader.tags
    fm.report(made(3), tmp_path / "plain.html")
    assert 'data-page="judges"' not in read(tmp_path / "plain.html")[0]


def test_notes_are_whole_and_intervals_are_marked_as_in_the_terminal(tmp_path):
    """A note is one item however long; an interval with a note has its mark."""
    random = np.random.default_rng(0)
    runs = {}
    for name, seed in (("old", 1), ("new", 2)):
        runs[name] = pa.table({
            "id": [f"q{at}" for at in range(40)],
            "exact_match": [float(at % 4 == 0) for at in range(39)] + [float(seed == 1)],
            "token_f1": pa.array(random.random(40), mask=np.arange(40) < 3),
            "abstained": pa.array(random.integers(0, 2, 40).astype(float), mask=np.arange(40) < 5),
        })  # fmt: skip
    fm.report({"new": runs["new"]}, tmp_path / "r.html", baseline=runs["old"])
    page = html.unescape(read(tmp_path / "r.html")[0])
    found = fm.compare(runs)
    for one in found:
        assert f"[{one.low:+.4f}, {one.high:+.4f}]{mark_of(one.interval_note)}<" in page
    assert found["exact_match"].interval_note is not None
    [starred, columns, absent] = fm.results.primary_table({"run 1": runs["old"], "new": runs["new"]}).remarks()
    assert max(map(len, (starred, columns, absent))) > 80
    for note in (starred, columns, absent):
        assert f"<li>{note}</li>" in page
    assert max(map(len, str(fm.results.primary_table(runs)).splitlines())) <= 80
