"""What a report says first: the verdict, what changed and where, on one scale, agreeing with the comparison."""

from __future__ import annotations

import html
import re
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

import fastmetrics as fm
from fastmetrics.reporting.compared_systems import compared
from fastmetrics.reporting.labels import figures, labels
from fastmetrics.results.opening_scores import open_scores
from tests.reporting.test_report import read

ROWS = 60
OPTIONS = SimpleNamespace(resamples=None, main=None, by=[], allow_differences=False, seed=0, threads=1)


def run(seed: int, **shifts: float) -> pa.Table:
    """Scores with the shifts of some metrics on top; of lengths, which have no direction, too."""
    base, own = np.random.default_rng(0), np.random.default_rng(seed)
    names = ("token_f1", "rougeL_f1", "hallucination", "answer_words", "keyword_recall")
    columns = {name: 0.25 + base.random(ROWS) / 4 + own.random(ROWS) / 50 + shifts.get(name, 0.0) for name in names}
    languages = [("en", "ru", "de")[at % 3] for at in range(ROWS)]
    return pa.table({"id": list(range(ROWS)), "language": languages, **columns})


OLD = run(1)
NEW = run(2, token_f1=-0.2, hallucination=0.2, keyword_recall=0.3, answer_words=0.4)
OTHER = run(3, token_f1=0.3)


def page_of(runs, tmp_path, **options):
    out = tmp_path / "r.html"
    fm.report(runs, out, **options)
    return html.unescape(out.read_text(encoding="utf-8"))


def headline(page: str) -> str:
    return " ".join(re.search(r'<h2 class="verdict">(.*?)</h2>', page, re.S).group(1).split())


def charted(page: str) -> dict[str, list[str]]:
    """The metrics of the chart, by concern."""
    table = page[page.index('<table class="forest') :].partition("</table>")[0]
    parts = [part.partition("</th>") for part in re.split(r'<th scope="rowgroup".*?>', table)[1:]]
    return {concern: re.findall('<th scope="row" title="(.*?)">', some) for concern, _, some in parts}


@pytest.mark.parametrize("language", ["en", "ru"])
def test_the_overview_leads_with_the_verdict_by_the_main_metric(tmp_path, language):
    tokens = pa.array([100.0 + at for at in range(ROWS)])
    old, new = (table.append_column("total_tokens", tokens) for table in (OLD, NEW))
    fewer = pa.array([75.0 + 0.75 * at for at in range(ROWS)])
    new = new.set_column(new.column_names.index("total_tokens"), "total_tokens", fewer)
    page = page_of({"new": new}, tmp_path, baseline=old, language=language)
    baseline = re.search(r"<bdi>(.*?)</bdi> → new", page).group(1)
    words = labels(language)
    pair = fm.compare({"run 1": old, "new": new})["keyword_recall"]
    figure = f"keyword_recall {pair.mean_baseline:.4f} → {pair.mean_other:.4f} ({pair.delta:+.4f})"
    over = words["over_rows"].format(n=ROWS, of=ROWS)
    better = words["head_better"].format(other="new", baseline=baseline)
    expected = [f"{better}: {figures(figure, language)} {over}", words["beside_cheaper"].format(percent="25")]
    assert headline(page).split("; ")[:2] == expected
    assert {"en": "; answer_words ", "ru": "; answer_words больше на "}[language] in headline(page)
    overview = page[page.index('id="overview"') : page.index('id="distributions"')]
    assert words["decided_by"].format(metric="keyword_recall") in overview
    assert charted(page) == {
        words["concern_quality"]: ["keyword_recall", "token_f1", "hallucination", "rougeL_f1"],
        words["concern_cost"]: ["total_tokens"],
        words["concern_form"]: ["answer_words"],
    }
    for one in fm.compare({"run 1": old, "new": new}):
        interval = f"{one.delta:+.4f} [{one.low:+.4f}, {one.high:+.4f}]"
        if one.metric in ("token_f1", "hallucination", "keyword_recall"):
            assert f'<td class="figure">{figures(interval, language)}' in overview
    page = page_of({"new": new}, tmp_path, baseline=old, language=language, main="token_f1", overwrite=True)
    assert headline(page).startswith(words["head_worse"].format(other="new", baseline=baseline))


def test_equal_runs_are_said_to_be_equal(tmp_path):
    page = page_of({"new": OLD}, tmp_path, baseline=OLD, by="language")
    assert headline(page) == "new has the same scores as run 1 in every row"
    names = re.findall("<bdi>(.*?)</bdi>", page[page.index(labels("en")["equal_in_rows"]) :].partition("</div>")[0])
    assert names == ["token_f1", "rougeL_f1", "hallucination", "answer_words", "keyword_recall"]
    assert "and 3 more" in page
    assert '<table class="forest' not in page
    main = OLD.drop_columns("answer_words").append_column("answer_words", NEW["answer_words"])
    page = page_of({"new": main}, tmp_path, baseline=OLD, overwrite=True)
    assert headline(page).startswith("new against run 1: quality equal in every row: keyword_recall 0.")
    assert charted(page) == {"form": ["answer_words"]}
    lower = OLD.drop_columns("token_f1").append_column("token_f1", NEW["token_f1"])
    page = page_of({"new": lower}, tmp_path, baseline=OLD, overwrite=True, main="keyword_recall")
    mean = np.mean(np.asarray(OLD["keyword_recall"]))
    equal = f"quality equal in every row: keyword_recall {mean:.4f} → {mean:.4f} over 60 of 60 rows"
    assert headline(page) == f"new against run 1: {equal}"
    differences = page[page.index('id="differences"') :].partition("</table>")[0]
    assert re.findall('"row" title="(.*?)"', differences) == ["token_f1"]
    page = page_of({"a": OLD, "b": lower, "c": lower}, tmp_path, overwrite=True)
    ranked = page[page.index('<table class="ranked') :].partition("</table>")[0]
    assert re.findall('"row" title="(.*?)"', ranked) == ["token_f1"]


def test_runs_without_a_direction_have_no_headline_metric(tmp_path):
    old, new = (table.select(["id", "answer_words"]) for table in (OLD, NEW))
    assert headline(page_of({"new": new}, tmp_path, baseline=old)) == labels("en")["no_main"]


def test_without_a_baseline_the_overview_says_what_to_look_at(tmp_path):
    scores = NEW.append_column("ndcg", pa.array([0.1] * ROWS))
    low = np.where(np.asarray(NEW["language"]) == "ru", 0.0, 0.9) + np.random.default_rng(0).random(ROWS) / 50
    scores = scores.set_column(scores.column_names.index("rougeL_f1"), "rougeL_f1", pa.array(low))
    few = pa.array(NEW["keyword_recall"].to_pylist(), mask=np.arange(ROWS) < 30)
    scores = scores.set_column(scores.column_names.index("keyword_recall"), "keyword_recall", few)
    page = page_of({"new": scores}, tmp_path, by="language")
    lines = [" ".join(re.sub("<.*?>", "", line).split()) for line in re.findall("<li>(.*?)</li>", page, re.S)]
    assert next(line for line in lines if "language=" in line).startswith("rougeL_f1 · language=ru: 0.0")
    missing = "an input or value is missing"
    assert [line for line in lines if " of 60 rows" in line] == [f"30 of 60 rows, {missing}: keyword_recall"]
    assert charted(page)["quality"][0] == "keyword_recall"
    assert '"ndcg">' in page[: page.index('class="badge poor"')]
    assert "The worst rows by keyword_recall" in page
    [mean] = fm.results.summarize_by(scores, metrics="keyword_recall")
    assert headline(page) == f"<bdi>new</bdi>: keyword_recall {mean.mean:.4f} over 30 of 60 rows"
    assert f"95 % interval: [{mean.low:.4f}, {mean.high:.4f}]" in page
    assert labels("en")["answers_only"] not in page.partition("<script")[0]
    overview = page[page.index('id="overview"') : page.index('id="distributions"')]
    assert set(re.findall(r"\](†)", overview)) == {"†"}
    assert "† approximate: fewer than 100 rows of values without bounds" in overview


def test_a_table_of_answers_says_that_it_has_no_scores(tmp_path):
    answers = {"id": list(range(9)), "answer": ["x"] * 9, "latency_ms": [float(at) for at in range(9)]}
    page = page_of({"new": answers}, tmp_path)
    assert labels("en")["answers_only"] in page.partition("<script")[0]


def test_missing_rows_are_marked_from_a_share_that_matters_on(tmp_path):
    scores = {"id": list(range(100))}
    for name, missing in (("token_f1", 5), ("rougeL_f1", 6)):
        scores[name] = pa.array(np.linspace(0, 1, 100), mask=np.arange(100) < missing)
    page = page_of({"new": pa.table(scores)}, tmp_path)
    marks = {}
    for name in ("token_f1", "rougeL_f1"):
        line = re.search(rf'<table id="metrics">.*?(title="{name}".*?</tr>)', page, re.S).group(1)
        marks[name] = re.search(r'<td class="(lacking|quiet)">(\d)</td>', line).groups()
    assert marks == {"token_f1": ("quiet", "5"), "rougeL_f1": ("lacking", "6")}


def test_differences_are_sorted_by_verdict_and_drawn_on_the_scale_of_their_bounds():
    found = compared([open_scores(OLD), open_scores(NEW)], OPTIONS)
    assert [found.found.verdict(line) for line in found.differences] == ["better", "worse", "worse", "higher", "–"]
    assert found.differences[0].metric == found.lead.metric
    comparison = {pair.metric: pair for pair in fm.compare([OLD, NEW])}
    shares = [name for name in comparison if name != "answer_words"]
    for line in found.differences:
        pair = comparison[line.metric]
        family = shares if line.metric in shares else [line.metric]
        reached = max(abs(end) for name in family for end in (comparison[name].low, comparison[name].high))
        ends = (pair.low, pair.delta, pair.high)
        assert found.drawn(line) == pytest.approx([50 + 46 * end / reached for end in ends], abs=0.01)


def test_letters_and_the_matrix_agree_with_the_verdicts():
    runs = {"a": OLD, "b": NEW, "c": OTHER, "d": run(4, hallucination=-0.01)}
    options = SimpleNamespace(**{**vars(OPTIONS), "by": ["language"]})
    found = compared([open_scores(table, name=name) for name, table in runs.items()], options)
    comparison = fm.compare(runs, by=[["language"]], resamples=10_000)
    whole = [pair for pair in comparison if pair.segment is None]
    apart = {frozenset((pair.metric, pair.baseline, pair.other)): comparison.verdict(pair) != "–" for pair in whole}
    assert set(apart.values()) == {True, False}
    for metric, _, cells in found.rankings:
        letters = {name: set(own) for name, (_, own, _) in cells.items()}
        for pair in whole:
            if pair.metric == metric:
                shares = bool(letters[pair.baseline] & letters[pair.other])
                assert shares != apart[frozenset((pair.metric, pair.baseline, pair.other))]
    assert found.lead.metric == "keyword_recall"
    order = found.matrix
    assert order == list(found.lead.means)
    assert list(found.lead.means.values()) == sorted(found.lead.means.values(), reverse=True)
    of_main = {(pair.baseline, pair.other): pair for pair in whole if pair.metric == "keyword_recall"}
    for name in order:
        for other in order:
            if other != name:
                forward = (other, name) in of_main
                pair = of_main[(other, name) if forward else (name, other)]
                turns = ("gain", "loss") if forward else ("loss", "gain")
                turn = dict(zip(("better", "worse"), turns, strict=True)).get(comparison.verdict(pair), "same")
                delta, colour, _ = found.cell(name, other)
                assert colour == turn
                assert delta == pytest.approx(pair.delta if forward else -pair.delta, abs=1e-4)


def test_a_verdict_that_missing_scores_could_reverse_says_so(tmp_path):
    """A third of the rows has a score of the baseline only; zeros or ones outweigh a difference of 0.02, not 0.3."""
    kept = np.arange(ROWS) % 3 > 0
    few = pa.array(NEW["keyword_recall"].to_pylist(), mask=~kept)
    less = pa.array((np.asarray(OLD["rougeL_f1"]) + 0.02).tolist(), mask=~kept)
    new = NEW.set_column(NEW.column_names.index("keyword_recall"), "keyword_recall", few)
    new = new.set_column(new.column_names.index("rougeL_f1"), "rougeL_f1", less)
    found = compared([open_scores(OLD), open_scores(new)], OPTIONS)
    comparison = fm.compare([OLD, new])
    noted = {note.partition(",")[0] for note in comparison.notes if "could reverse" in note}
    expected = {pair.metric for pair in comparison if comparison.verdict(pair) != "–"} & noted
    assert {line.metric for line in found.differences if found.reversible(line)} == expected == {"rougeL_f1"}
    page = page_of({"new": new}, tmp_path, baseline=OLD)
    overview = " ".join(page[page.index('id="overview"') : page.index('id="distributions"')].split())
    assert labels("en")["reversible"].split("|")[0].format(n=1) in overview
    assert overview.count("<small>‡</small>") == 1
    assert labels("en")["reversible_key"] not in overview
    assert labels("en")["reversible_key"] in page


def test_of_several_systems_the_headline_names_the_leader_and_who_is_near(tmp_path):
    page = page_of({"a": OLD, "b": NEW, "c": OLD}, tmp_path)
    assert headline(page) == "b leads: better than a, c: keyword_recall 0.7023 over 60 of 60 rows"
    page = page_of({"a": OLD, "b": run(6, keyword_recall=-0.2), "c": OLD}, tmp_path, overwrite=True)
    assert headline(page).startswith("a leads: better than b: keyword_recall ")
    assert "Not told apart from a: c." in page
    page = page_of({"a": OLD, "b": OLD, "c": OLD}, tmp_path, overwrite=True)
    assert headline(page).startswith(labels("en")["lead_none"])


def test_resamples_suffice_for_the_correction_and_what_few_rows_cannot_show_is_said():
    """Of 10 pairs, 5 metrics and 12 segments, 10,000 resamples would allow no verdict: 600 / 10,001 > 0.05."""
    kinds = [f"k{at // 10}" for at in range(120)]
    scores = np.random.default_rng(0).random((5, 120)) / 3
    runs = []
    for system in range(5):
        columns = {f"m{at}": scores[at] + (0.6 if system == 4 else 0.01 * at * system) for at in range(5)}
        runs.append(open_scores({"id": list(range(120)), "kind": kinds, **columns}, name=f"s{system}"))
    options = SimpleNamespace(**{**vars(OPTIONS), "by": ["kind"]})
    found = compared(runs, options)
    assert {found.found.verdict(line) for line in found.differences if line.other == "s4"} == {"higher"}
    assert found.limits == [("limit_rows", {"n": "15", "family": "600", "p": "0.05"})]


@pytest.mark.parametrize("others", ["new", "new third"])
@pytest.mark.parametrize("language", ["en", "ru"])
def test_the_headline_names_segments_that_are_worse_as_compare_does(tmp_path, others, language):
    """One language of three falls by 0.1, the others rise: over all rows nothing is decided."""
    fallen = np.array([{"ru": -0.2, "de": 0.08, "en": 0.12}[one] for one in OLD["language"].to_pylist()])
    new = OLD.drop_columns("keyword_recall")
    new = new.append_column("keyword_recall", pa.array(np.asarray(OLD["keyword_recall"]) + fallen))
    runs = {"old": OLD, **dict.fromkeys(others.split(), new)}
    found = fm.compare(runs, by=[["language"]], main="keyword_recall", seed=0)
    named = re.findall(r"worse in (\S+ \(keyword_recall \S+ → \S+\))", found.headline)
    assert [name.partition(" ")[0] for name in named] == ["language=ru"] * len(others.split())
    shown = headline(page_of(runs, tmp_path, by="language", language=language, main="keyword_recall"))
    word = labels(language)["worse_in"].format(segment="")
    assert [one.rstrip(";") for one in re.findall(rf"{word}(\S+ \(keyword_recall \S+ → \S+\))", shown)] == [
        figures(name, language) for name in named
    ]


@pytest.mark.parametrize("others", ["b", "bc"])
def test_a_note_on_figures_stands_once_on_the_comparison(tmp_path, others):
    runs = {"b": run(2, token_f1=0.01), "c": run(3)}
    page = page_of({"a": OLD, **{name: runs[name] for name in others}}, tmp_path)
    comparison = page[page.index('id="comparison"') : page.index('id="rows"')]
    noted = [note for note in fm.compare({"a": OLD, **{name: runs[name] for name in others}}).notes if "(" in note]
    marked = [note for note in noted if getattr(note, "id", "") == "of_figures"]
    assert marked
    assert [comparison.count(f"<li>{note}</li>") for note in noted] == [1] * len(noted)


def test_columns_that_could_be_segments_are_named_where_there_are_none(tmp_path):
    assert "Columns with few values: language." in page_of({"new": OLD}, tmp_path, baseline=OLD)


def test_metrics_without_rows_are_named_and_in_no_table(tmp_path):
    empty = pa.array([None] * ROWS, pa.float64())
    old, new = (table.append_column("jaccard", empty) for table in (OLD, NEW))
    page = page_of({"new": new}, tmp_path, baseline=old, by="language")
    assert page.count("No rows: <bdi>jaccard</bdi></p>") == 3
    assert 'title="jaccard"' not in page
    assert "60 of 60 rows</strong>, an input or value is missing: " in page
    assert "<bdi>jaccard</bdi></th>" not in page


def test_a_main_metric_without_scores_is_no_verdict(tmp_path):
    nothing = pa.array([None] * ROWS, pa.float64())
    table = OLD.select(["id", "token_f1"]).append_column("judge_tone", nothing)
    page = page_of(dict.fromkeys("abcde", table), tmp_path)
    assert headline(page) == labels("en")["main_unscored"].format(metric="judge_tone")


def test_rows_open_by_a_metric_with_more_values_than_0_and_1(tmp_path):
    flags = pa.array([float(at % 2) for at in range(ROWS)])
    table = OLD.add_column(1, "exact_match", flags).select(["id", "exact_match", "keyword_recall", "token_f1"])
    page_of({"new": table}, tmp_path)
    assert read(tmp_path / "r.html")[2]["first"] == 1
    page_of({"new": table}, tmp_path, main="token_f1", overwrite=True)
    assert read(tmp_path / "r.html")[2]["first"] == 2
    page_of({"new": table.select(["id", "exact_match"])}, tmp_path, overwrite=True)
    assert read(tmp_path / "r.html")[2]["first"] == 0
    page_of({"new": table}, tmp_path, main="exact_match", baseline=table, overwrite=True)
    assert read(tmp_path / "r.html")[2]["first"] == 0


def test_the_title_names_the_baseline_and_what_is_compared_with_it(tmp_path):
    runs = dict.fromkeys(("a", "b", "c", "d", "e"), OLD)
    assert "<title>b, c against a</title>" in page_of({name: runs[name] for name in "abc"}, tmp_path)
    assert "<title>4 systems against a</title>" in page_of(runs, tmp_path, overwrite=True)
    assert "<title>a</title>" in page_of({"a": OLD}, tmp_path, overwrite=True)


@pytest.mark.parametrize("language", ["en", "ru"])
def test_figures_of_one_of_several_systems_and_of_common_rows_say_so(tmp_path, language):
    words = labels(language)
    runs = {"a": OLD, "b": NEW.slice(0, ROWS - 9), "c": OTHER}
    page = page_of(runs, tmp_path, by="language", language=language)
    assert f"<h2>{words['every_metric']}: <bdi>a</bdi>" in page
    assert page.count(words["common_rows"].format(n=ROWS - 9)) == 1
    assert words["over_rows"].format(n=ROWS - 9, of=ROWS) in headline(page)
    assert {"en": "60 rows · 5 metrics · 3 systems", "ru": "60 строк · 5 метрик · 3 системы"}[language] in page
    assert f'<th scope="col"><bdi>{words["mean"]}</bdi></th>' in page
    assert f'<th scope="row"><bdi>{words["rows_scored"]}</bdi></th>' in page
    page = page_of({"a": OLD, "c": OTHER, "d": NEW}, tmp_path, language=language, overwrite=True)
    assert words["common_rows"].format(n=ROWS) not in page
    page = page_of({"a": OLD}, tmp_path, language=language, overwrite=True)
    assert f"<h2>{words['every_metric']}</h2>" in page


def test_the_places_of_changes_are_the_first_of_all(tmp_path):
    page = page_of({"a": OLD, "b": NEW, "c": OTHER}, tmp_path, by="language")
    options = SimpleNamespace(**{**vars(OPTIONS), "by": ["language"]})
    found = compared(
        [open_scores(table, name=name) for name, table in zip("abc", (OLD, NEW, OTHER), strict=True)], options
    )
    assert len(found.places) > 4
    overview = page[page.index('id="overview"') : page.index('id="distributions"')]
    lines = re.findall(r"<li>.*? · <bdi>(.*?)</bdi> \(<bdi>(.)</bdi> → <bdi>(.)</bdi>\): (\w+)", overview)
    some = found.places[:4]
    assert lines == [(one.segment, one.baseline, one.other, found.found.verdict(one)) for one in some]
    assert 'data-at="segments"' in page
    assert '<h2 id="segments">' in page


def test_the_places_of_changes_are_of_all_systems_and_sorted_without_units():
    """Latencies in milliseconds do not precede shares for the size of their unit."""
    runs = {"a": OLD, "b": NEW, "c": OTHER, "d": run(4, hallucination=-0.1, rougeL_f1=0.1)}
    opened = []
    for at, (name, table) in enumerate(runs.items()):
        chance = np.random.default_rng(at)
        slow = table.append_column("latency_ms", pa.array(300 + 400 * bool(at) + 400 * chance.random(ROWS)))
        opened.append(open_scores(slow, name=name))
    found = compared(opened, SimpleNamespace(**{**vars(OPTIONS), "by": ["language"]}))
    own = [line for line in found.places if line.baseline == "a"]
    for verdict in ("worse", "better"):
        ratios = []
        for line in [line for line in own if found.found.verdict(line) == verdict]:
            ratios.append(abs(line.delta) / ((line.high - line.low) / 2))
        assert ratios == pytest.approx(sorted(ratios, reverse=True), rel=0.02)
        assert len(ratios) > 2
    assert own[0].metric != "latency_ms"


@pytest.mark.parametrize("language", ["en", "ru"])
def test_segments_without_a_verdict_say_so(tmp_path, language):
    page = page_of({"new": run(5, answer_words=0.4)}, tmp_path, baseline=OLD, by="language", language=language)
    overview = page[page.index('id="overview"') : page.index('id="distributions"')]
    assert labels(language)["no_place"] in overview


def test_a_cell_of_the_matrix_opens_the_main_metric_of_its_pair(tmp_path):
    page = page_of({"a": OLD, "b": NEW, "c": run(1)}, tmp_path)
    found = compared(
        [open_scores(table, name=name) for name, table in zip("abc", (OLD, NEW, OLD), strict=True)], OPTIONS
    )
    table = page[page.index('<table class="matrix') :].partition("</table>")[0]
    links = re.findall('<a href="([^"]*)', table)
    metrics = [line["name"] for line in read(tmp_path / "r.html")[2]["metrics"]]
    cells = [found.cell(name, other) for name in found.matrix for other in found.matrix if name != other]
    for (_, turn, _), link in zip(cells, links, strict=True):
        assert metrics[int(link.partition("metric=")[2].partition("&")[0])] == found.lead.metric
        assert ("&sort=change" in link) == (turn == "gain")


def test_metrics_that_lack_the_same_rows_are_one_line_that_says_how_many(tmp_path):
    few = pa.array(np.linspace(0, 1, 52), mask=np.arange(52) < 4)
    names = ["token_f1", "rougeL_f1", "keyword_recall"]
    page = page_of({"new": pa.table({"id": list(range(52)), **dict.fromkeys(names, few)})}, tmp_path)
    lines = [" ".join(re.sub("<.*?>", "", line).split()) for line in re.findall("<li>(.*?)</li>", page, re.S)]
    assert [line for line in lines if " of 52 rows" in line] == [
        f"4 of 52 rows, an input or value is missing: {', '.join(names)}"
    ]


def test_one_system_has_no_page_of_comparisons_and_its_segments_beside_its_metrics(tmp_path):
    page = page_of({"new": NEW}, tmp_path, by="language")
    assert 'data-page="comparison"' not in page
    assert '<section id="comparison"' not in page
    metrics = page[page.index('id="distributions"') : page.index('id="rows"')]
    assert f'<h2 id="segments">{labels("en")["segments"]}' in metrics
    assert 'data-page="comparison"' in page_of({"a": NEW, "b": OLD}, tmp_path, overwrite=True)


def test_notes_of_scores_stand_on_each_page_that_shows_them(tmp_path):
    rows = {"id": [1, 2], "answer": ["a", "b"], "reference": ["a", "c"], "retrieved_ids": [["x"], ["y"]],
            "relevant_ids": [["x"], ["x"]]}  # fmt: skip
    scores = fm.score(rows, "token_f1,ndcg@1,ndcg@10")
    [note] = fm.summarize(scores).notes
    page = page_of({"a": scores, "b": scores}, tmp_path)
    parts = {part.partition('"')[0]: html.unescape(part) for part in page.split('<section id="')[1:]}
    assert "ndcg@10" in note
    having = [name for name, part in parts.items() if note in part]
    assert having == ["overview", "distributions", "comparison", "rows", "retrieval", "tiers"][: len(having)]
    assert {"overview", "distributions", "comparison", "rows", "retrieval"} <= set(having)
    assert "data" in parts


def test_the_best_system_by_the_main_metric_stands_first(tmp_path):
    page = page_of({"a": run(1, keyword_recall=-0.2), "b": NEW, "c": OLD}, tmp_path)
    head = page[page.index('<table class="ranked') :].partition("</thead>")[0]
    found = compared(
        [open_scores(run(1, keyword_recall=-0.2), "a"), open_scores(NEW, "b"), open_scores(OLD, "c")], OPTIONS
    )
    assert re.findall('title="(.)"', head) == list(found.lead.means)
