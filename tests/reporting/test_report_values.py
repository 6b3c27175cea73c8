"""Figures and marks in the cells of a report, as a browser shows them, beside the functions' results."""

from __future__ import annotations

import base64
import re
import zlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

import fastmetrics as fm
from fastmetrics.base.display import number, p_value
from fastmetrics.base.notes import mark_of
from fastmetrics.results.comparison_result import bounds, signed

ROWS = 40
ANSWER = "😀👩‍👩‍👧 It opened in 1889 [1], not in 1770."
OTHER = "𝒜 It closed in 1889."


def run(seed: int) -> pa.Table:
    """Scores of which each metric misses other rows, so that every figure has an n of its own."""
    random = np.random.default_rng(seed)
    missing = {"token_f1": seed, "rougeL_f1": 5 + seed, "chrf": 9}
    columns = {
        name: pa.array(random.random(ROWS).round(3), mask=np.arange(ROWS) < count) for name, count in missing.items()
    }
    return pa.table({"id": [f"q{at:02}" for at in range(ROWS)], **columns})


OLD, NEW = run(1), run(2)


def texts(answer: str) -> pa.Table:
    columns = {"answer": [answer] * ROWS, "contexts": [["𝒜 The tower opened in 1889."]] * ROWS}
    return pa.table({"id": NEW["id"], "question": ["When?"] * ROWS, **columns})


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("values") / "report.html"
    fm.report({"new": NEW}, out, baseline=OLD, texts=texts(ANSWER), baseline_texts=texts(OTHER))
    return out


def test_cells_of_the_comparison_are_those_of_compare(driver, page):
    driver.get(f"{page.as_uri()}#page=comparison")
    compared = fm.compare({"old": OLD, "new": NEW}, tests="fisher")
    assert any(one.p < one.p_corrected for one in compared)
    lines = driver.find_elements(By.CSS_SELECTOR, "#differences tbody tr")
    cells = {line.find_element(By.TAG_NAME, "th").text: line.find_elements(By.TAG_NAME, "td") for line in lines}
    counts = {
        line.find_element(By.TAG_NAME, "th").get_attribute("textContent"): [
            cell.get_attribute("textContent") for cell in line.find_elements(By.TAG_NAME, "td")
        ]
        for line in driver.find_elements(By.CSS_SELECTOR, "#counts tbody tr")
    }
    for one in compared:
        shown = [cell.text for cell in cells[one.metric]]
        assert shown[1:3] == [signed(one.delta), bounds(one.low, one.high, mark_of(one.interval_note))]
        means = [number(one.mean_baseline), number(one.mean_other)]
        assert shown[4:] == [*means, p_value(one.p_corrected, one.p_note), number(one.n_paired)]
        assert counts[one.metric][:2] == [number(one.n_only_baseline), number(one.n_only_other)]
        assert counts[one.metric][2] == f"{one.wins} / {one.ties} / {one.losses}"
    assert len({one.n_paired for one in compared}) == 3


def test_rows_show_the_score_and_what_it_was(driver, page):
    driver.get("about:blank")
    driver.get(f"{page.as_uri()}#page=rows&row=30")
    Select(driver.find_element(By.ID, "row-metric")).select_by_visible_text("token_f1")
    old, new = (dict(zip(table["id"].to_pylist(), table["token_f1"].to_pylist(), strict=True)) for table in (OLD, NEW))
    lines = [line.text.split("\n") for line in driver.find_elements(By.CSS_SELECTOR, "#row-table .lines [role=row]")]
    assert len(lines) > 10
    for name, _, score, baseline, *_ in lines:
        figures = ["–" if one[name] is None else one[name] for one in (new, old)]
        assert [cell if cell == "–" else float(cell) for cell in (score, baseline)] == figures
    driver.get("about:blank")
    driver.get(f"{page.as_uri()}#page=rows&row=30")
    detail = driver.find_element(By.ID, "row-detail")
    name = driver.find_element(By.CSS_SELECTOR, "#row-table [aria-selected=true]").text.split("\n")[0]
    terms, values = (
        [one.text for one in detail.find_elements(By.CSS_SELECTOR, f".figures {tag}")] for tag in ("dt", "dd")
    )
    for metric, value in zip(terms, values, strict=True):
        place = NEW["id"].to_pylist().index(name)
        score, was = re.fullmatch(r"(\S+) \((\S+)\)", value).groups()
        assert [float(score), float(was)] == [table[metric][place].as_py() for table in (NEW, OLD)]


def test_marks_after_an_emoji_are_at_their_words(driver, page):
    driver.get("about:blank")
    driver.get(f"{page.as_uri()}#page=rows&row=30")
    marks = driver.find_elements(By.CSS_SELECTOR, "#row-detail .text mark")
    shown = {(mark.get_attribute("class") or "").split(" ")[0]: [] for mark in marks}
    for mark in marks:
        shown[(mark.get_attribute("class") or "").split(" ")[0]].append(mark.text)
    assert "1889" in shown["supported"]
    assert shown["unsupported"] == ["1770"]
    assert shown["cite"] == ["[1]"]
    changes = [
        (tag, one.text)
        for tag in ("del", "ins")
        for one in driver.find_elements(By.CSS_SELECTOR, f"#row-detail p.text {tag}")
    ]
    words = [(tag, text.strip()) for tag, text in changes]
    inserted = [("ins", text) for text in ("😀👩‍👩‍👧", "opened", "[1], not in 1770")]
    assert words == [("del", "𝒜"), ("del", "closed"), *inserted]


@pytest.mark.parametrize("level", [0, 1, 9])
@pytest.mark.parametrize("strategy", [zlib.Z_DEFAULT_STRATEGY, zlib.Z_FIXED, zlib.Z_HUFFMAN_ONLY])
def test_a_page_opens_all_that_zlib_writes(driver, page, level, strategy):
    random = np.random.default_rng(0)
    words = "".join(map(chr, random.integers(32, 0x2FFF, 3_000)))
    driver.get(page.as_uri())
    for plain in (b"", b"a", b"abc" * 900, random.bytes(70_000), f"{words} строка {words}".encode()):
        made = zlib.compressobj(level, strategy=strategy)
        deflated = base64.b64encode(made.compress(plain) + made.flush()).decode()
        opened = driver.execute_script(
            "const bytes = Uint8Array.from(atob(arguments[0]), (sign) => sign.charCodeAt(0));"
            "return btoa(Array.from(inflated(bytes, arguments[1]), (one) => String.fromCharCode(one)).join(''))",
            deflated,
            len(plain),
        )
        assert base64.b64decode(opened) == plain
