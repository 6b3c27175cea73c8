"""What a person does with rows: other columns, filters by several metrics, Markdown, labels, and charts as files."""

from __future__ import annotations

import base64
import json
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from axe_core_python.selenium import Axe
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select, WebDriverWait

import fastmetrics as fm
from fastmetrics.base.errors import visible
from tests.reporting.test_report import HOSTILE, read
from tests.support.browser import complaints, requests, width

ROWS = 40
IDS = [HOSTILE[at] if at < 8 else f"q{at}" for at in range(ROWS)]
MARKDOWN = f"""# Head {HOSTILE[1]}

Some **bold** and `code`, [a link](javascript:alert(1)) and ![x](http://127.0.0.1:9/x.png).

- one *thing*
- two {HOSTILE[0]}

3. three

| a | b |
|---|---|
| 1 | {HOSTILE[1]} |

> quoted

```html
{HOSTILE[0]}
```"""
KEPT = {
    "source": [HOSTILE[at % 8] for at in range(ROWS)],
    "stars": [None if at == 9 else f"{at % 5}" for at in range(ROWS)],
    "nested": [{"a": [at], "b": HOSTILE[0]} for at in range(ROWS)],
    "answer_embedding": [[0.5, float(at)] for at in range(ROWS)],
    "blob": [b"\xff"] * ROWS,
}


def scores() -> pa.Table:
    random = np.random.default_rng(0)
    columns = {name: random.random(ROWS).round(3) for name in ("token_f1", "rougeL_f1", "hallucination")}
    answers = [MARKDOWN, '{"b": [1, "</script>"], "a": null}', "[not json", *["plain"] * (ROWS - 3)]
    return pa.table({"id": IDS, **columns, "answer": answers, **KEPT})


def judged() -> pa.Table:
    status = ["timeout" if at == 3 else "ok" for at in range(ROWS)]
    values = [None if at == 3 else float(at) for at in range(ROWS)]
    return pa.table({"id": IDS[::-1], "judge_x": values[::-1], "judge_x_status": status[::-1]})


def page_of(path: Path, every: bool = False) -> Path:
    fm.report(scores(), path, rows="all" if every else "sample", judged=judged())
    return path / "report.html" if every else path


@pytest.mark.parametrize("every", [False, True])
def test_kept_columns_and_exact_ids_are_with_the_rows(tmp_path, every):
    data = read(page_of(tmp_path / "r", every))[2]
    assert data["kept"] == ["source", "stars", "nested"]
    rows = data["rows"]
    if every:
        written = (tmp_path / "r" / "rows" / "texts-0.js").read_text(encoding="utf-8")
        rows = json.loads(written.partition(",")[2].removesuffix(");\n"))["rows"]
    else:
        rows.sort(key=lambda row: row["at"])
    assert rows[8]["k"] == [HOSTILE[0], "3", json.dumps({"a": [8], "b": HOSTILE[0]})]
    assert rows[9]["k"][1] is None
    assert [row.get("key") for row in rows[:8]] == [None] * 4 + list(map(json.dumps, HOSTILE[4:6])) + [None] * 2


def test_scores_of_a_judge_are_metrics_joined_by_id(tmp_path):
    data = read(page_of(tmp_path / "r.html"))[2]
    assert data["metrics"][-1] == {"name": "judge_x", "better": "higher"}
    assert {row["id"]: row["s"][-1] for row in data["rows"] if row["at"] > 7} == {f"q{at}": at for at in range(8, ROWS)}
    assert [stratum["kind"] for stratum in data["strata"] if stratum["metrics"] == ["judge_x"]][:1] == ["worst"]
    assert '<th scope="row" title="judge_x">' in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_a_score_of_the_run_has_precedence_over_that_of_a_judge(tmp_path):
    own = scores().append_column("judge_x", pa.array([0.5] * ROWS))
    fm.report(own, tmp_path / "r.html", judged=judged())
    data = read(tmp_path / "r.html")[2]
    assert [metric["name"] for metric in data["metrics"]].count("judge_x") == 1
    assert {row["s"][-1] for row in data["rows"]} == {0.5}
    nowhere = judged().set_column(0, "id", pa.array([f"x{at}" for at in range(ROWS)]))
    fm.report(scores(), tmp_path / "r.html", judged=nowhere, overwrite=True)
    assert read(tmp_path / "r.html")[2]["rows"][0]["s"][-1] is None


def test_anchors_that_are_in_the_contexts_apart_differ_from_absent_ones(tmp_path):
    filler = " word" * 60
    context = f"Acme announced a phone.{filler}. The Widget came later."
    rows = {
        "id": ["apart", "absent", "near"],
        "answer": ["Acme announced the Widget.", "Acme announced the Gadget in 1999.", "Acme announced a phone."],
        "contexts": [[context]] * 3,
    }
    fm.report(fm.score(rows, "hallucination", keep="answer,contexts"), tmp_path / "r.html")
    anchors = {row["id"]: row["t"]["anchors"] for row in read(tmp_path / "r.html")[2]["rows"]}
    assert [anchor[2:] for anchor in anchors["apart"]] == [[0, "claim", 1]]
    assert all(len(anchor) == 4 and anchor[2] == 0 for anchor in anchors["absent"])
    assert [anchor[2:] for anchor in anchors["near"]] == [[1, "claim"]]


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> Path:
    return page_of(tmp_path_factory.mktemp("tools") / "r.html")


def visit(driver, page, state):
    width(driver, 1280)
    driver.get("about:blank")
    driver.get(f"{page.as_uri()}#{state}")
    requests(driver, page)
    opened = "#row-detail h2" if "page=rows" in state else "section.open svg.drawn"
    WebDriverWait(driver, 60).until(lambda _: driver.find_elements(By.CSS_SELECTOR, opened))


def saved(driver, action):
    """The bytes that a click hands to the browser as a file."""
    driver.execute_script(
        "window.files = []; URL.createObjectURL = (blob) => { window.files.push(blob); return '#' };"
        "HTMLAnchorElement.prototype.click = () => {}"
    )
    action()
    WebDriverWait(driver, 60).until(lambda _: driver.execute_script("return window.files.length"))
    read_file = "const r = new FileReader(); r.onload = () => arguments[0](r.result); r.readAsDataURL(window.files[0])"
    return base64.b64decode(driver.execute_async_script(read_file).partition(",")[2])


@pytest.mark.parametrize("every", [False, True])
def test_filters_by_several_metrics_are_kept_shown_and_removed(driver, tmp_path, every):
    table = scores()
    visit(
        driver,
        page_of(tmp_path / "r", every) if every else page_of(tmp_path / "r.html"),
        "page=rows&metric=0&least=0.3",
    )
    driver.find_element(By.ID, "row-also").click()
    Select(driver.find_element(By.ID, "row-metric")).select_by_visible_text("rougeL_f1")
    bound = driver.find_element(By.ID, "row-most")
    bound.send_keys("0.6\t")
    first, second = (table[name].to_numpy() for name in ("token_f1", "rougeL_f1"))
    n = int(((first >= 0.3) & (second <= 0.6)).sum())
    assert 5 < n < ROWS
    shown = lambda: driver.find_element(By.ID, "row-count").text  # noqa: E731
    WebDriverWait(driver, 60).until(lambda _: shown().startswith(f"shows {n} of"))
    assert "also=0%3A0.3%3A" in driver.current_url
    driver.refresh()
    WebDriverWait(driver, 60).until(lambda _: shown().startswith(f"shows {n} of"))
    [chip] = driver.find_elements(By.CSS_SELECTOR, "#row-filters button")
    assert chip.text == "token_f1 ≥ 0.3 ×"
    assert [one["id"] for one in Axe().run(driver)["violations"]] == []
    chip.click()
    WebDriverWait(driver, 60).until(lambda _: shown().startswith(f"shows {int((second <= 0.6).sum())} of"))
    driver.get(driver.current_url.partition("#")[0] + "#page=rows&also=x:1;99:1:2;0::;<b>:1&metric=0")
    WebDriverWait(driver, 60).until(lambda _: shown().startswith(f"shows {ROWS} of"))
    assert complaints(driver) == []


def test_markdown_and_json_are_rendered_on_request_without_markup_of_the_text(driver, page):
    visit(driver, page, "page=rows&row=0")
    detail = driver.find_element(By.ID, "row-detail")
    assert "**bold**" in detail.text
    driver.find_element(By.CSS_SELECTOR, "#row-more summary").click()
    driver.find_element(By.ID, "row-rendered").click()
    assert "rendered=1" in driver.current_url
    tags = "return [...document.querySelectorAll('.rendered *')].map((part) => part.localName)"
    assert {"strong", "code", "em", "ul", "ol", "table", "blockquote", "pre"} <= set(driver.execute_script(tags))
    assert {"a", "img", "script", "iframe"}.isdisjoint(driver.execute_script(tags))
    assert detail.find_element(By.CSS_SELECTOR, ".rendered pre").text == HOSTILE[0]
    assert HOSTILE[1] in detail.find_element(By.CSS_SELECTOR, ".rendered .head").text
    assert "javascript:alert(1)" in detail.text
    assert detail.find_element(By.CSS_SELECTOR, ".rendered ol").get_attribute("start") == "3"
    assert [one["id"] for one in Axe().run(driver)["violations"]] == []
    visit(driver, page, "page=rows&row=1&rendered=1")
    assert json.loads(driver.find_element(By.CSS_SELECTOR, "pre.rendered").text) == {"b": [1, "</script>"], "a": None}
    visit(driver, page, "page=rows&row=2&rendered=1")
    assert driver.find_element(By.CSS_SELECTOR, ".rendered").text == "[not json"
    assert driver.title != "owned"
    assert complaints(driver) == []
    assert requests(driver, page) == []


def test_markdown_of_any_text_ends_and_keeps_its_words(driver, page):
    visit(driver, page, "page=rows&row=0")
    texts = ["**a** b_c_d __e__ 2*3*4 ~~f~~ 1. g", "| a\n|-\n", "[" * 2000 + "](" * 1000, "#\n##", "a\n" + "> " * 1500]
    empty = ["*" * 4000, "`" * 3999, "- \n" * 900, "```", "", "\n\n", " " * 4000]
    shown = driver.execute_script("return arguments[0].map((text) => rendered(text).textContent)", texts + empty)
    assert shown[0] == "a b_c_d e 234 f 1. g"
    assert [words in text for words, text in zip(("a", "a", "](", "##", "a"), shown, strict=False)] == [True] * len(
        texts
    )
    assert {text.strip() for text in shown[len(texts) :]} == {""}


def test_ratings_and_comments_come_back_and_are_labels_that_validate_reads(driver, page, tmp_path):
    rated = {0: 5, 4: 1, 5: 2, 12: 4, 20: 3}
    for row, grade in rated.items():
        visit(driver, page, f"page=rows&row={row}")
        driver.find_elements(By.CSS_SELECTOR, ".grades button")[grade - 1].click()
    comment = driver.find_element(By.CSS_SELECTOR, "#row-detail textarea")
    comment.send_keys(f'good "{HOSTILE[1]}"\t')
    visit(driver, page, "page=rows&row=20")
    pressed = driver.find_elements(By.CSS_SELECTOR, ".grades [aria-pressed=true]")
    assert [button.text for button in pressed] == ["3"]
    assert driver.find_element(By.CSS_SELECTOR, "#row-detail textarea").get_attribute("value") == f'good "{HOSTILE[1]}"'
    driver.find_element(By.CSS_SELECTOR, "#row-more summary").click()
    assert driver.find_element(By.ID, "row-labels").text == "Your labels (5)"
    text = saved(driver, driver.find_element(By.ID, "row-labels").click).decode()
    (tmp_path / "labels.jsonl").write_text(text, encoding="utf-8")
    labels = [json.loads(line) for line in text.splitlines()]
    assert {IDS.index(label["id"]): label["human"] for label in labels} == rated
    result = fm.validate(scores().select(["id", "token_f1"]), tmp_path / "labels.jsonl")
    assert "5" in str(result)
    table = {"id": [IDS[at] for at in rated], "human": [*rated.values()]}
    again = fm.validate(scores().select(["id", "token_f1"]), table)
    assert str(result) == str(again)
    pressed[0].click()
    driver.find_element(By.CSS_SELECTOR, "#row-detail textarea").clear()
    driver.find_element(By.CSS_SELECTOR, "#row-detail h2").click()
    WebDriverWait(driver, 60).until(lambda _: driver.find_element(By.ID, "row-labels").text == "Your labels (4)")
    driver.execute_script("localStorage.setItem(rowLabels.key, '{not json'); rowLabels.labels = {}")
    visit(driver, page, "page=rows&row=20")
    driver.find_element(By.CSS_SELECTOR, "#row-more summary").click()
    assert driver.find_element(By.ID, "row-labels").text == "Your labels (0)"
    assert complaints(driver) == []


def test_charts_are_saved_as_svg_and_png_with_the_colours_of_the_page(driver, page):
    visit(driver, page, "page=distributions&theme=dark&row=0")
    name = "Histograms of all rows: token_f1"
    buttons = {kind: driver.find_element(By.CSS_SELECTOR, f"[aria-label='{kind}: {name}']") for kind in ("SVG", "PNG")}
    svg = ET.fromstring(saved(driver, buttons["SVG"].click).decode())
    space = "{http://www.w3.org/2000/svg}"
    bars = [part for part in svg.iter(f"{space}rect") if part.get("data-count")]
    counts = driver.execute_script("return data.histograms[0].systems[0].counts")
    assert [int(bar.get("data-count")) for bar in bars] == counts
    assert {bar.get("fill") for bar in bars} == {"rgb(86, 180, 233)"}
    assert svg.find(f"{space}rect").get("fill") == "rgb(18, 22, 29)"
    assert "class" not in {name for part in list(svg.iter())[1:] for name in part.keys()}  # noqa: SIM118
    png = saved(driver, buttons["PNG"].click)
    assert png.startswith(b"\x89PNG")
    assert int.from_bytes(png[16:20], "big") == 2 * int(float(svg.get("width")))
    assert [one["id"] for one in Axe().run(driver)["violations"]] == []
    assert complaints(driver) == []


@pytest.mark.parametrize("rows", ["sample", "all"])
def test_calls_and_traces_of_the_texts_are_shown_once(tmp_path, rows):
    called = [{"name": "search", "arguments": {"city": "Rome"}}]
    texts = {"id": ["a"], "answer": ["x"], "tool_calls": [called], "trace": [{"ms": 3}], "expected_tool_calls": ["{}"]}
    scores = {"id": ["a"], "token_f1": [0.5], "expected_tool_calls": ["{}"]}
    out = tmp_path / ("r.html" if rows == "sample" else "r")
    fm.report({"new": scores}, out, texts=texts, rows=rows)
    if rows == "sample":
        shown = read(out)[2]["rows"][0]["t"]["calls"]
    else:
        written = next((out / "rows").glob("texts-*.js")).read_text(encoding="utf-8")
        shown = json.JSONDecoder().raw_decode(written.partition('"calls":')[2])[0]
    assert shown == [["tool_calls", json.dumps(called)], ["trace", '{"ms": 3}']]


def test_full_replies_of_judges_and_tool_calls_are_rendered_whole(tmp_path):
    calls = json.dumps([{"name": "search", "arguments": {"query": HOSTILE[1] * 40}}])
    own = {**{name: scores()[name] for name in ("id", "token_f1")}, "tool_calls": [calls] * ROWS}
    replies = {"judge_x_reply": [f"reply {at}" for at in range(ROWS)][::-1], "judge_x_trace": ["thought"] * ROWS}
    table = judged()
    for name, values in replies.items():
        table = table.append_column(name, pa.array(values))
    fm.report(pa.table(own), tmp_path / "r.html", judged=table)
    data = read(tmp_path / "r.html")[2]
    rows = {row["at"]: row for row in data["rows"]}
    assert rows[5]["j"] == [["judge_x", 5.0, "ok", None, "reply 5", "thought"]]
    assert data["kept"] == ["tool_calls"]
    assert json.loads(rows[5]["k"][0]) == json.loads(visible(calls))


def test_long_ids_keep_their_ends_and_folded_texts_open(driver, tmp_path):
    ids = [f"{'0123456789abcdef' * 2}-{at:02}" for at in range(ROWS)]
    calls = [json.dumps([{"name": "search", "query": f"q{at}"}]) for at in range(ROWS)]
    table = pa.table({"id": ids, "token_f1": np.linspace(0, 1, ROWS), "tool_calls": calls})
    fm.report(table, tmp_path / "r.html")
    driver.get(f"{(tmp_path / 'r.html').as_uri()}#page=rows")
    WebDriverWait(driver, 60).until(lambda _: driver.find_elements(By.CSS_SELECTOR, "#row-table .lines [role=row]"))
    first = driver.find_element(By.CSS_SELECTOR, "#row-table .lines [role=gridcell]")
    assert (first.text, first.get_attribute("title")) == ("0123456…9abcdef-00", ids[0])
    driver.find_element(By.CSS_SELECTOR, "#row-detail details summary").click()
    pre = driver.find_element(By.CSS_SELECTOR, "#row-detail details pre")
    assert json.loads(pre.text) == json.loads(calls[0])
