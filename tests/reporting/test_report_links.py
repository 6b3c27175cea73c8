"""From a figure to its rows in a real browser: links, filters, what the address keeps, changed words, rows as CSV."""

from __future__ import annotations

import csv
import io
import itertools
import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select, WebDriverWait

import fastmetrics as fm
from tests.reporting.test_report import HOSTILE
from tests.support.browser import complaints, visible_texts, width

ROWS = 90
LANGUAGES = ["en", "ru", "de"]
NAMES = ["hallucination", "answer_words", "token_f1"]


def run(seed: int, shift: float) -> pa.Table:
    """Scores of which the first rows are missing, and of which a third is as it was."""
    base, own = np.random.default_rng(0), np.random.default_rng(seed)
    columns = {}
    for name in NAMES:
        values = (base.random(ROWS) / 4 + 0.375).round(3)
        moved = (values + shift * own.random(ROWS) * 0.375 * (1 if name != "token_f1" else -1)).round(3)
        kept = np.where(np.arange(ROWS) % 3 == 0, values, moved)
        columns[name] = pa.array(kept, mask=np.arange(ROWS) < 2)
    languages = [LANGUAGES[at // 30] for at in range(ROWS)]
    return pa.table({"id": [f"q{at:02}" for at in range(ROWS)], "language": languages, **columns})


OLD, NEW = run(1, 0.0), run(2, 1.0)
CHANGES = {name: [None if a is None else round(b - a, 6) for a, b in zip(OLD[name].to_pylist(), NEW[name].to_pylist(),
           strict=True)] for name in NAMES}  # fmt: skip


def texts(answer: str) -> pa.Table:
    questions = [HOSTILE[6] if at == 5 else f"Question {at}?" for at in range(ROWS)]
    return pa.table({"id": NEW["id"], "question": questions, "answer": [f"{answer} {at}" for at in range(ROWS)]})


@pytest.fixture(scope="module", params=["sample", "all"])
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("links") / ("report.html" if request.param == "sample" else "report")
    given = {"texts": texts("It opened in"), "baseline_texts": texts("It closed in")}
    fm.report({"new": NEW}, out, baseline=OLD, by="language", rows=request.param, **given)
    return out if request.param == "sample" else out / "report.html"


def wait(driver, condition):
    WebDriverWait(driver, 60).until(lambda _: condition())


def lines(driver):
    return [text.split("\n") for text in visible_texts(driver, "#row-table .lines [role=row]")]


def state(driver):
    return driver.execute_script("return address.read()")


def worst(name: str, language: str | None = None) -> list[str]:
    """The ids by change, the worst first: the largest of a metric whose lower scores are better."""
    sign = -1 if name == "hallucination" else 1
    some = [at for at in range(2, ROWS) if language is None or LANGUAGES[at // 30] == language]
    return [f"q{at:02}" for at in sorted(some, key=lambda at: (sign * CHANGES[name][at], at))]


def open_page(driver, page, hash_=""):
    driver.get("about:blank")
    driver.get(page.as_uri() + hash_)


@pytest.mark.parametrize("name", ["token_f1", "hallucination"])
def test_a_changed_metric_opens_its_rows_and_the_worst_of_them(driver, page, name):
    """Which is better is the headline; the metric is one click away from its worst row, whose texts are open."""
    open_page(driver, page)
    assert driver.find_element(By.CSS_SELECTOR, "#overview h2.verdict").text.startswith("new is worse than")
    driver.find_element(By.CSS_SELECTOR, f"#overview .forest th[title={name}] a").click()
    expected = worst(name)
    wait(driver, lambda: lines(driver) and lines(driver)[0][0] == expected[0])
    shown = lines(driver)
    assert [line[0] for line in shown] == expected[: len(shown)]
    assert visible_texts(driver, "#row-detail h2") == [expected[0]]
    assert Select(driver.find_element(By.ID, "row-metric")).first_selected_option.text == name
    driver.back()
    assert driver.find_element(By.ID, "overview").is_displayed()
    driver.forward()
    assert driver.find_element(By.ID, "rows").is_displayed()
    driver.refresh()
    wait(driver, lambda: visible_texts(driver, "#row-detail h2") == [expected[0]])
    assert complaints(driver) == []


def test_a_cell_of_the_heat_map_opens_the_rows_of_its_segment(driver, page):
    open_page(driver, page, "#page=comparison")
    heads = visible_texts(driver, ".heat thead th")
    line = next(
        line for line in driver.find_elements(By.CSS_SELECTOR, ".heat tbody tr") if line.text.startswith("language=ru")
    )
    assert line.find_elements(By.TAG_NAME, "td")[heads.index("n") - 1].text in ("30", "28–30", "29–30")
    line.find_elements(By.CSS_SELECTOR, "td a")[heads.index("token_f1") - 2].click()
    expected = worst("token_f1", "ru")
    wait(driver, lambda: lines(driver) and lines(driver)[0][0] == expected[0])
    assert driver.find_element(By.ID, "row-count").text == f"shows 30 of {ROWS}."
    shown = [line[0] for line in lines(driver)]
    assert shown == expected[: len(shown)]
    Select(driver.find_element(By.ID, "row-segment")).select_by_visible_text("language=en (30)")
    expected = worst("token_f1", "en")
    wait(driver, lambda: lines(driver)[0][0] == expected[0])
    driver.back()
    wait(driver, lambda: lines(driver)[0][0] == worst("token_f1", "ru")[0])
    assert complaints(driver) == []


def test_filters_by_change_are_counted_and_stay_in_the_address(driver, page):
    open_page(driver, page, "#page=rows&metric=0")
    counts = {"regressed": 0, "improved": 0, "unchanged": 0, "without a score": 2}
    for change in CHANGES["hallucination"][2:]:
        counts["unchanged" if change == 0 else "regressed" if change > 0 else "improved"] += 1
    told = [f"{kind} {count}" for kind, count in counts.items() if count]
    wait(driver, lambda: visible_texts(driver, "#row-kinds button") == told)
    driver.find_element(By.CSS_SELECTOR, "[data-kind=unchanged]").click()
    assert driver.find_element(By.ID, "row-count").text == f"shows {counts['unchanged']} of {ROWS}."
    assert all(int(line[0][1:]) % 3 == 0 for line in lines(driver))
    driver.find_element(By.CSS_SELECTOR, "[data-kind=regressed]").click()
    assert state(driver)["kind"] == "regressed"
    driver.refresh()
    wait(driver, lambda: driver.find_element(By.ID, "row-count").text == f"shows {counts['regressed']} of {ROWS}.")
    driver.back()
    wait(driver, lambda: driver.find_element(By.ID, "row-count").text == f"shows {counts['unchanged']} of {ROWS}.")
    pressed = driver.find_elements(By.CSS_SELECTOR, "#row-kinds [aria-pressed=true]")
    assert [button.get_attribute("data-kind") for button in pressed] == ["unchanged"]
    pressed[0].click()
    assert driver.find_element(By.ID, "row-count").text == f"shows {ROWS} of {ROWS}."


def test_a_metric_without_a_direction_is_higher_or_lower(driver, page):
    open_page(driver, page, "#page=rows&metric=1")
    wait(driver, lambda: visible_texts(driver, "#row-kinds button"))
    told = visible_texts(driver, "#row-kinds button")
    assert [text.rsplit(" ", 1)[0] for text in told] == ["higher", "unchanged", "without a score"]
    assert driver.find_elements(By.CSS_SELECTOR, "#row-table .gain, #row-table .loss") == []


def test_the_row_says_its_segments_and_a_choice_of_segments_is_there_only_with_some(driver, page, tmp_path):
    open_page(driver, page, "#page=rows&metric=2&row=40")
    wait(driver, lambda: visible_texts(driver, "#row-detail h2 + .note") == ["language=ru"])
    assert driver.find_element(By.ID, "row-segment").is_displayed()
    fm.report({"new": NEW}, tmp_path / "r.html")
    open_page(driver, tmp_path / "r.html", "#page=rows")
    assert not driver.find_element(By.ID, "row-segment").is_displayed()


def test_the_theme_and_the_rows_survive_pages_and_reload(driver, page):
    open_page(driver, page, "#page=rows&metric=2&row=7")
    before = driver.execute_script("return document.documentElement.dataset.theme")
    driver.find_element(By.ID, "theme").click()
    other = {"dark": "light", "light": "dark"}[before]
    driver.find_element(By.CSS_SELECTOR, "nav [data-page=overview]").click()
    assert state(driver) == {"page": "overview", "metric": "2", "row": "7", "theme": other}
    driver.refresh()
    assert driver.execute_script("return document.documentElement.dataset.theme") == other
    driver.find_element(By.CSS_SELECTOR, "nav [data-page=rows]").click()
    wait(driver, lambda: visible_texts(driver, "#row-detail h2") == ["q07"])
    driver.back()
    driver.back()
    assert driver.find_element(By.ID, "rows").is_displayed()
    assert driver.execute_script("return document.documentElement.dataset.theme") == other


def test_rows_are_downloaded_as_they_are_filtered_and_sorted(driver, page):
    """Formulas have a quote before them, as in CSV that fastmetrics writes."""
    open_page(driver, page, "#page=rows&metric=2&segment=1&kind=regressed")
    wait(driver, lambda: lines(driver) and lines(driver)[0][0] != "…")
    driver.execute_script(
        "window.sheets = []; URL.createObjectURL = (blob) => { window.sheets.push(blob); return '#' };"
        "HTMLAnchorElement.prototype.click = () => {}"
    )
    driver.find_element(By.CSS_SELECTOR, "#row-more summary").click()
    driver.find_element(By.ID, "row-csv").click()
    wait(driver, lambda: driver.execute_script("return window.sheets.length"))
    text = driver.execute_async_script("window.sheets[0].text().then(arguments[0])")
    rows = list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"))))
    segment = driver.execute_script("return data.segments[1].name").removeprefix("language=")
    expected = [id_ for id_ in worst("token_f1", segment) if CHANGES["token_f1"][int(id_[1:])] < 0]
    assert [row["id"] for row in rows] == expected
    scores = dict(zip(NEW["id"].to_pylist(), NEW["token_f1"].to_pylist(), strict=True))
    before = dict(zip(OLD["id"].to_pylist(), OLD["token_f1"].to_pylist(), strict=True))
    assert [float(row["token_f1"]) for row in rows] == [scores[row["id"]] for row in rows]
    assert [float(row["token_f1 (baseline)"]) for row in rows] == [before[row["id"]] for row in rows]
    assert driver.find_element(By.ID, "row-done").text == f"rows: {len(rows)}"
    cells = ["=1+1", "-5", "- five", "'=1", "five", 'a "b"', None, 0.5, "\t1"]
    told = driver.execute_script("return arguments[0].map(csvCell)", cells)
    assert told == ['"\'=1+1"', '"-5"', '"\'- five"', "\"''=1\"", '"five"', '"a ""b"""', "", "0.5", '"\'\t1"']


def test_changed_words_make_both_texts(driver, page):
    open_page(driver, page, "#page=rows&row=7")
    wait(driver, lambda: driver.find_elements(By.CSS_SELECTOR, "#row-detail del"))
    shown = [(tag, *visible_texts(driver, f"#row-detail p.text {tag}")) for tag in ("del", "ins")]
    assert shown == [("del", "closed"), ("ins", "opened")]
    chance = random.Random(0)
    words = ["a", "b", "c", "Paris", "в", "1889", "👩‍👩‍👧", "."]
    pairs = [[" ".join(chance.choices(words, k=chance.randrange(9))) for _ in range(2)] for _ in range(200)]
    pairs += [["", ""], ["same", "same"], ["", "new"], ["x " * 2_000 + "end", "y " * 2_000 + "end"]]
    told = driver.execute_script("return arguments[0].map(([a, b]) => wordChanges(a, b))", pairs)
    for (before, after), parts in zip(pairs, told, strict=True):
        assert "".join(text for kind, text in parts if kind != "ins") == before
        assert "".join(text for kind, text in parts if kind != "del") == after
        assert all(first[0] != second[0] for first, second in itertools.pairwise(parts))
        assert before != after or [kind for kind, _ in parts] in ([], ["same"])


def test_the_comparison_fits_a_screen_of_1280_pixels(driver, page):
    open_page(driver, page, "#page=comparison")
    fits = (
        "return [...document.querySelectorAll('#comparison .wide')].map((home) => home.scrollWidth <= home.clientWidth)"
    )
    assert all(driver.execute_script(fits))
    driver.execute_script("document.querySelectorAll('details').forEach((part) => (part.open = true))")
    assert all(driver.execute_script(fits))


def test_the_order_of_the_list_is_named(driver, page):
    """By change, of metrics with a direction as better and worse, turned round for errors; of lengths as figures."""
    names = {"worst": "Those that got worse most come first.", "best": "Those that improved most come first."}
    for metric, down, text in [
        (0, "", names["best"]), (0, "1", names["worst"]), (2, "", names["worst"]), (2, "1", names["best"]),
        (1, "", "The lowest come first."), (1, "1", "The highest come first."),
    ]:  # fmt: skip
        open_page(driver, page, f"#page=rows&metric={metric}&sort=change&down={down}")
        wait(driver, lambda: lines(driver) and lines(driver)[0][0] != "…")
        wait(driver, lambda text=text: visible_texts(driver, "#row-order") == [text])
    open_page(driver, page, "#page=rows&metric=2&sort=id")
    wait(driver, lambda: lines(driver) and lines(driver)[0][0] != "…")
    assert driver.find_element(By.ID, "row-order").text == ""


def test_a_linked_row_leaves_the_selectors_in_sight_on_a_phone(driver, page):
    """The tabs scroll away, the selectors of metric and systems and the head of the row are on the first screen."""
    width(driver, 390)
    open_page(driver, page)
    driver.execute_script("document.querySelector('.worst a').click()")
    wait(driver, lambda: visible_texts(driver, "#row-detail h2"))
    place = "return document.querySelector(arguments[0]).getBoundingClientRect().top"
    assert 0 < driver.execute_script(place, "#row-metric") < driver.execute_script(place, "#row-detail h2") < 844
    assert driver.execute_script("return getComputedStyle(document.querySelector('nav')).position") == "static"
    width(driver, 1280)


def test_a_tapped_row_is_seen_on_a_phone(driver, page):
    width(driver, 390)
    open_page(driver, page, "#page=rows&metric=2")
    wait(driver, lambda: lines(driver) and lines(driver)[0][0] != "…")
    assert driver.execute_script("return scrollY") == 0
    driver.find_elements(By.CSS_SELECTOR, "#row-table .lines [role=row]")[2].click()
    wait(driver, lambda: visible_texts(driver, "#row-detail h2") == [worst("token_f1")[2]])
    place = driver.execute_script("return document.querySelector('#row-detail h2').getBoundingClientRect().top")
    assert 0 < place < 844
    width(driver, 1280)
