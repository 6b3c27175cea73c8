"""The report in a real browser: read, sorted, searched, linked to, printed, and nothing run that a text says."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from axe_core_python.selenium import Axe
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

import fastmetrics as fm
from tests.reporting.test_report import HOSTILE
from tests.support.browser import complaints, requests, visible_texts, width

ROWS = 300
DRAWN = {"distributions": 2, "retrieval": 1, "usage": 1, "vectors": 1}
"""Pages that draw charts, and how many pictures are there when they do."""
PAGES = ("overview", "distributions", "comparison", "rows", "retrieval", "judges", "usage", "vectors", "runs", "tiers",
         "data")  # fmt: skip


def made(seed: int) -> pa.Table:
    random = np.random.default_rng(seed)
    scores = {name: random.random(ROWS).round(3) for name in ("token_f1", "ndcg@10", "hallucination", "ndcg@1")}
    parts = {
        "language": [["en", "ru", HOSTILE[1]][at % 3] for at in range(ROWS)],
        "b": [at / ROWS for at in range(ROWS)],
    }
    return pa.table({"id": [f"q{at:03}" for at in range(ROWS)], **scores, **parts})


def texts(answer: str) -> pa.Table:
    answers = [HOSTILE[at] if at < len(HOSTILE) else f"{answer} in 18{at} [1]." for at in range(ROWS)]
    columns = {
        "question": [HOSTILE[at] if at < len(HOSTILE) else f"Question {at}?" for at in range(ROWS)],
        "answer": answers,
        "reference": [[f"It opened in 18{at}.", HOSTILE[1]] for at in range(ROWS)],
        "contexts": [["The tower opened in 1889.", HOSTILE[0]]] * ROWS,
        "retrieved_ids": [["d1", HOSTILE[1]]] * ROWS,
        "relevant_ids": [["d1"]] * ROWS,
    }
    return pa.table({"id": [f"q{at:03}" for at in range(ROWS)], **columns})


def usage() -> list[object]:
    log = {
        "question": [f"question {at % 5} {HOSTILE[at % 4]}" for at in range(40)],
        "question_embedding": np.random.default_rng(0).normal(size=(40, 3)).tolist(),
        "answer": [f"see [d{at % 4}]" for at in range(40)],
        "retrieved_ids": [[f"d{at % 7}", f"d{at % 3}"] for at in range(40)],
    }
    chunks = [f"d{at}" for at in range(20)] + HOSTILE[:4]
    return [
        fm.logs.chunk_utilization(log, chunks=chunks),
        fm.logs.topic_coverage(log, topics=3),
        fm.logs.cache_hit_rate(log),
    ]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("report") / "report.html"
    runs = {"new </script><b>": made(1), "third": made(2)}
    folder = out.parent / "runs"
    folder.mkdir()
    (out.parent / "rows.jsonl").write_text('{"answer": "in Paris", "reference": "Paris"}\n' * 3)
    for name in ("first", HOSTILE[3]):
        fm.score(out.parent / "rows.jsonl", output=folder / f"{len(name)}.parquet", metrics="token_f1", name=name)
    judged = {"id": ["q020", "q021", "x"], "judge_x": [1.0, None, 4.0], "judge_x_status": ["ok", "timeout", "ok"]}
    judged["judge_x_reason"] = [f"because {HOSTILE[0]}", None, "x"]
    vectors = pa.table({"id": made(1)["id"], "v": np.random.default_rng(0).normal(size=(ROWS, 5)).tolist()})
    given = {
        "vectors": vectors,
        "judged": judged,
        "usage": usage(),
        "runs": folder,
        "texts": texts("It opened"),
        "baseline_texts": texts("It closed"),
    }
    fm.report(runs, out, baseline=made(0), by="language", title=HOSTILE[0], **given)
    return out


def visit(driver, page, state):
    driver.get(f"{page.as_uri()}#{state}")
    # a page that is open already hears of the new address in a later event, and draws after it
    driver.execute_async_script("const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(done))")


def charts_drawn(driver):
    return len(driver.find_elements(By.CSS_SELECTOR, "section.open .chart svg.drawn"))


def lines(driver):
    return [text.split("\n") for text in visible_texts(driver, "#row-table .lines [role=row]")]


def selected_line(driver):
    [text] = visible_texts(driver, "#row-table [aria-selected=true]")
    return text


def wait_until(driver, condition):
    """Wait for what the page does after an event: it hears of a new address or a scrolled table a moment later."""
    WebDriverWait(driver, 60).until(lambda _: condition())


@pytest.mark.parametrize(("pixels", "dark"), [(1280, False), (390, True)])
def test_every_page_opens_cleanly_and_is_accessible(driver, page, pixels, dark, full):
    width(driver, pixels)
    driver.get("about:blank")
    for name in PAGES:
        visit(driver, page, f"page={name}&row=20")
        if name == PAGES[0] and dark != (
            driver.execute_script("return document.documentElement.dataset.theme") == "dark"
        ):
            driver.find_element(By.ID, "theme").click()
        assert [one for one in PAGES if driver.find_element(By.ID, one).is_displayed()] == [name]
        if name in DRAWN:
            driver.execute_script("document.querySelector('section.open .chart').scrollIntoView()")
            WebDriverWait(driver, 60).until(lambda found, many=DRAWN[name]: charts_drawn(found) >= many)
        # the rules that look at every node take seconds
        found = Axe().run(driver)["violations"] if full or not dark or name in ("overview", "rows") else []
        told = [(one["id"], [node["target"] for node in one["nodes"]][:3]) for one in found]
        assert told == [], name
        assert driver.execute_script("return document.documentElement.scrollWidth <= innerWidth"), name
    assert complaints(driver) == []
    assert requests(driver, page) == []
    assert driver.execute_script("return document.documentElement.dataset.theme") == ("dark" if dark else "light")


def test_rows_can_be_sorted_searched_selected_and_linked(driver, page):
    width(driver, 1280)
    driver.get("about:blank")
    visit(driver, page, "page=rows")
    Select(driver.find_element(By.ID, "row-metric")).select_by_visible_text("token_f1")
    head = driver.find_elements(By.CSS_SELECTOR, "#row-table [role=columnheader] button")[2]
    assert head.text == "new </script><b>"
    head.click()
    scores = made(1)["token_f1"].to_pylist()
    shown = lines(driver)
    assert [float(one[2]) for one in shown] == sorted(scores)[: len(shown)]
    assert 10 < len(shown) < 60 < ROWS
    head.click()
    assert float(lines(driver)[0][2]) == max(scores)
    grid = driver.find_element(By.ID, "row-table")
    grid.send_keys(Keys.END)
    assert float(selected_line(driver).split("\n")[2]) == min(scores)
    grid.send_keys(Keys.ARROW_UP)
    chosen = selected_line(driver)
    link, detail = driver.current_url, driver.find_element(By.ID, "row-detail").text
    assert "row=" in link
    assert "sort=score" in link
    driver.get("about:blank")
    driver.get(link)
    wait_until(driver, lambda: visible_texts(driver, "#row-table [aria-selected=true]") == [chosen])
    assert driver.find_element(By.ID, "row-detail").text == detail
    driver.find_element(By.CSS_SELECTOR, "#row-more summary").click()
    Select(driver.find_element(By.ID, "row-stratum")).select_by_index(1)
    assert "shows 25 of 300" in driver.find_element(By.ID, "row-count").text
    visit(driver, page, "page=rows&find=question+123")
    wait_until(driver, lambda: [line[0] for line in lines(driver)] == ["q123"])
    driver.find_element(By.ID, "row-search").send_keys("no such text")
    assert driver.find_element(By.ID, "row-count").text == "No row fits."
    assert complaints(driver) == []


def test_words_anchors_and_ids_are_highlighted(driver, page):
    visit(driver, page, "page=rows&row=20")
    detail = driver.find_element(By.ID, "row-detail")
    assert "1820" in [one.text for one in detail.find_elements(By.CSS_SELECTOR, "mark.unsupported")]
    common = [one.text for one in detail.find_elements(By.CSS_SELECTOR, ".text mark:not([class])")]
    assert {"It", "in", "1820"} <= set(common)
    assert [one.text for one in detail.find_elements(By.CSS_SELECTOR, "li.relevant")] == ["d1"]
    assert "It closed in 1820 [1]." in detail.text
    assert [one.text for one in detail.find_elements(By.CSS_SELECTOR, ".text mark.cite.cited_unsupported")] == ["[1]"]
    assert f"because {HOSTILE[0]}" in detail.text
    visit(driver, page, "page=rows&row=21")
    assert [one.text for one in detail.find_elements(By.CSS_SELECTOR, ".badge")] == ["timeout"]
    chosen = Select(driver.find_element(By.ID, "row-stratum"))
    assert chosen.options[1].get_attribute("textContent").startswith("most unsupported anchors (25 of 300)")


def test_all_answers_have_the_same_marks_for_words_of_any_reference(driver, tmp_path):
    ids = ["q1"]
    row = {"id": ids, "question": ["?"], "reference": [["in Paris today", "the red house"]]}
    new = pa.table({**row, "answer": ["a red house 5 in Paris"], "contexts": [["a red house in Paris"]]})
    old = pa.table({**row, "answer": ["the house"]})
    scores = [pa.table({"id": ids, "token_f1": [score]}) for score in (0.5, 0.6)]
    fm.report({"new": scores[0]}, tmp_path / "r.html", baseline=scores[1], texts=new, baseline_texts=old)
    driver.get("about:blank")
    visit(driver, tmp_path / "r.html", "page=rows")
    sections = driver.execute_script(
        "return [...document.querySelectorAll('#row-detail .beside section')].map((part) => [part.querySelector('h3')"
        ".textContent, ...[...part.querySelectorAll('mark')].map((mark) => mark.className + mark.textContent)])"
    )
    assert sections == [
        ["answer: new", "red", "house", "in", "Paris"],
        ["answer: run 1 (baseline)", "the", "house"],
        ["reference 1", "in", "Paris"],
        ["reference 2", "red", "house"],
    ]
    keys = visible_texts(driver, "#row-detail .beside + .legend")
    assert keys == [
        "Marked: in an answer: words that it shares with any of the references, in the same order; "
        "in a reference: words that it shares with the answer of new"
    ]
    assert "Checked against the contexts: new" in visible_texts(driver, "#row-detail h3")


def test_numbers_and_citations_within_a_claim_have_their_own_marks(driver, page):
    visit(driver, page, "page=rows&row=20")
    pieces = driver.execute_script(
        "const marked = anchored('😀 Acme sold 5 phones [1] and 7.', arguments[0], arguments[1]);"
        "return Array.from(marked.childNodes, (node) => [node.textContent, node.className ?? '', node.title ?? ''])",
        [[2, 20, 1, "claim"], [12, 13, 0, "number"], [29, 30, 1, "number"]],
        [[16, 20, 1, "cited"]],
    )
    supported, unsupported = "supported by the contexts", "not in the contexts"
    assert pieces == [
        ["😀 ", "", ""],
        ["Acme sold ", "supported", f"claim: {supported}"],
        ["5", "unsupported", f"number: {unsupported}"],
        [" ph", "supported", f"claim: {supported}"],
        ["ones", "cite cited", pieces[4][2]],
        [" [1] and ", "", ""],
        ["7", "supported", f"number: {supported}"],
        [".", "", ""],
    ]
    assert pieces[4][2].startswith("[1] ")


def test_points_are_coloured_by_metric_and_texts_are_escaped(driver, page):
    width(driver, 1280)
    driver.get("about:blank")
    visit(driver, page, "page=vectors")
    WebDriverWait(driver, 60).until(lambda found: charts_drawn(found) >= 1)
    Select(driver.find_element(By.ID, "point-metric")).select_by_visible_text("hallucination")
    dots = driver.execute_script(
        "return [...document.querySelectorAll('#points .dots circle')].map((dot) => "
        "[Number(dot.dataset.value), dot.querySelector('title').textContent])"
    )
    values = made(1)["hallucination"].to_pylist()
    assert [value for value, _ in dots] == values
    assert HOSTILE[1] in dots[1][1]
    assert "hallucination" in dots[1][1]
    fill = "return [...document.querySelectorAll('#points .dots circle')].map((dot) => dot.getAttribute('fill'))"
    fills = driver.execute_script(fill)
    assert (fills[int(np.argmin(values))], fills[int(np.argmax(values))]) == ("rgb(0, 34, 78)", "rgb(254, 232, 56)")
    dot = "document.querySelector('#points .dots [data-at=\"7\"]')"
    driver.execute_script(f"{dot}.dispatchEvent(new MouseEvent('click', {{ bubbles: true }}))")
    assert "👩‍👩‍👧 emoji" in driver.find_element(By.ID, "row-detail").text
    assert complaints(driver) == []


def test_hostile_texts_are_shown_and_not_executed(driver, page):
    width(driver, 1280)
    for at, text in enumerate(HOSTILE[:4]):
        visit(driver, page, f"page=rows&row={at}")
        assert text in driver.find_element(By.ID, "row-detail").text
    assert driver.title == HOSTILE[0]
    assert (
        driver.execute_script("return [...document.images].length + document.querySelectorAll('main script').length")
        == 0
    )
    visit(driver, page, "page=rows&row=8")
    assert "… [+996,000]" in driver.find_element(By.ID, "row-detail").text
    visit(driver, page, "page=rows&row=%3Cb%3E&metric=-1&stratum=x&sort=y&find=%3Cscript%3E&down=1")
    visit(driver, page, "page=nowhere")
    assert driver.find_element(By.ID, "overview").is_displayed()
    assert complaints(driver) == []


@contextmanager
def printing(driver) -> Iterator[None]:
    """The page as it is printed."""
    driver.execute_script("dispatchEvent(new Event('beforeprint'))")
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    width(driver, 718)
    yield
    width(driver, 1280)
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    driver.execute_script("dispatchEvent(new Event('afterprint'))")


def test_the_open_page_is_printed_and_the_overview_on_one_sheet(driver, page):
    """All charts are drawn and all folded parts are open, in light colours, without controls, also of a dark page."""
    drawn = "return [...document.querySelectorAll('.chart')].map((home) => home.querySelectorAll('svg.drawn').length)"
    folded = "return document.querySelectorAll('details:not([open], .more)').length"
    wider = "(one) => one.offsetWidth > one.parentElement.offsetWidth"
    for name in PAGES:
        driver.get("about:blank")
        visit(driver, page, f"page={name}&theme=dark")
        before = driver.execute_script(folded)
        with printing(driver):
            assert [one for one in PAGES if driver.find_element(By.ID, one).is_displayed()] == [name]
            assert set(driver.execute_script(drawn)) == {1}
            assert driver.execute_script(folded) == 0
            for selector in ("nav", "#theme", ".controls", ".files", ".rate", ".repeated", "#row-count"):
                assert not any(one.is_displayed() for one in driver.find_elements(By.CSS_SELECTOR, selector))
            paper = driver.execute_script("return getComputedStyle(document.body).backgroundColor")
            assert paper == "rgb(255, 255, 255)"
            assert driver.execute_script(f"return [...document.querySelectorAll('table')].filter({wider})") == []
            assert driver.find_element(By.CSS_SELECTOR, ".printed").is_displayed() == (name == "overview")
            if name == "rows":
                assert len(driver.find_elements(By.CSS_SELECTOR, "#row-table .lines [role=row]")) == 100
                assert driver.find_element(By.CSS_SELECTOR, "#row-table .lines .note").text == f"shows 100 of {ROWS}"
            inks = "return [...document.querySelectorAll('td')].map((one) => getComputedStyle(one).printColorAdjust)"
            assert set(driver.execute_script(inks)) == {"exact"}
        assert driver.execute_script(folded) == before
        if name == "overview":
            sheet = {"printBackground": True, "preferCSSPageSize": True}
            printed = base64.b64decode(driver.execute_cdp_cmd("Page.printToPDF", sheet)["data"])
            assert re.findall(rb"/Type /Page\b", printed) == [b"/Type /Page"]


def test_content_policy_blocks_foreign_scripts_and_requests(driver, page):
    driver.get("about:blank")
    visit(driver, page, "page=data")
    blocked = """
        const done = arguments[0];
        const script = document.createElement("script");
        script.textContent = "document.title = 'owned'";
        document.body.append(script);
        fetch("http://127.0.0.1:9/").then(() => done("went out"), () => done("stopped"));
    """
    assert driver.execute_async_script(blocked) == "stopped"
    assert driver.title == HOSTILE[0]
    assert any("Content Security Policy" in one for one in complaints(driver))
