"""A Russian page: labels, headings and numbers are Russian with their forms; notes are English and marked so."""

from __future__ import annotations

import re
import string
from html.parser import HTMLParser

import numpy as np
import pyarrow as pa
import pytest

import fastmetrics as fm
from fastmetrics.reporting.labels import _WORDS, HEADINGS, labels
from fastmetrics.reporting.report_content import SECTIONS
from tests.reporting.test_report_verdict import NEW, OLD, ROWS, run
from tests.support.browser import visible_texts

ENGLISH = re.compile(r"[A-Za-z]{2,}(?:[ ,;:–—-]+[A-Za-z]{2,})+")
NAMES = ["Markdown", "JSON", "id", "CSV", "SVG", "PNG", "fastmetrics", "IDK+Cit Count", "Abstain Rate", "Avg EM"]
NAMES += ["Tier Judge", "Tier UX", "Total Tokens", "P50 Latency", "Faithfulness", "Overlap", "Tokens", "Latency"]
"""Names that stay as they are: of formats, and of the figures of a source."""


class Texts(HTMLParser):
    """The texts that a reader sees or hears, but for those of the user, which stand in ``bdi``, and English notes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.inside: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "style", "bdi", "pre", "dd") or (tag == "li" and ("lang", "en") in attrs):
            self.inside.append(tag)
        if not self.inside:
            self.texts += [value for name, value in attrs if name in ("aria-label", "placeholder") and value]

    def handle_endtag(self, tag: str) -> None:
        if self.inside and self.inside[-1] == tag:
            self.inside.pop()

    def handle_data(self, text: str) -> None:
        if not self.inside and text.strip():
            self.texts.append(" ".join(text.split()))


def usage():
    log = {
        "question": [f"вопрос {at % 5}" for at in range(40)],
        "question_embedding": np.random.default_rng(0).normal(size=(40, 3)).tolist(),
        "answer": [f"[d{at % 4}]" for at in range(40)],
        "retrieved_ids": [[f"d{at % 7}", f"d{at % 3}"] for at in range(40)],
        "session_id": [at // 4 for at in range(40)],
        "timestamp": [f"2026-01-{1 + at % 20:02}T00:00:00" for at in range(40)],
    }
    chunks = [f"d{at}" for at in range(20)]
    results = [
        fm.logs.chunk_utilization(log, chunks=chunks),
        fm.logs.topic_coverage(log, topics=3),
        fm.logs.cache_hit_rate(log),
    ]
    return [*results, fm.logs.context_preservation(log), fm.logs.domain_analysis(log)]


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("russian")
    (folder / "runs").mkdir()
    (folder / "rows.jsonl").write_text('{"answer": "в Париже", "reference": "Париж"}\n' * 3)
    for name in ("first", "second"):
        fm.score(folder / "rows.jsonl", output=folder / "runs" / f"{name}.parquet", metrics="token_f1", name=name)
    ids = OLD["id"].to_pylist()
    ranked = {"ndcg@1": np.linspace(0, 1, ROWS), "ndcg@5": np.linspace(0, 1, ROWS), "latency_ms": np.full(ROWS, 5.0)}
    old, new = (
        pa.table({**dict(zip(table.column_names, table.columns, strict=True)), **ranked}) for table in (OLD, NEW)
    )
    few = pa.array(new["keyword_recall"].to_pylist(), mask=np.arange(ROWS) < 9)
    new = new.set_column(new.column_names.index("keyword_recall"), "keyword_recall", few)
    judged = {"id": ids, "judge_x": [1.0, None] * (ROWS // 2), "judge_x_status": ["ok", "timeout"] * (ROWS // 2)}
    texts = {
        "id": ids,
        "question": ["вопрос"] * ROWS,
        "answer": ["ответ [1] 中文"] * ROWS,
        "contexts": [["контекст"]] * ROWS,
        "retrieved_ids": [["a", "b"]] * ROWS,
        "relevant_ids": [["a"]] * ROWS,
    }
    vectors = pa.table({"id": ids, "v": np.random.default_rng(0).normal(size=(ROWS, 5)).tolist()})
    options = {"by": "language", "language": "ru", "judged": judged, "texts": pa.table(texts), "usage": usage(),
               "vectors": vectors, "runs": folder / "runs"}  # fmt: skip
    fm.report({"new": new}, folder / "two.html", baseline=old, **options)
    fm.report({"a": old, "b": new, "c" * 30: run(3)}, folder / "several.html", by="language", language="ru")
    fm.report({"a": old}, folder / "one.html", by="language", language="ru")
    fm.report(scored(folder), folder / "scored.html", language="ru")
    return [(folder / f"{name}.html").read_text(encoding="utf-8") for name in ("two", "several", "one", "scored")]


def scored(folder):
    """Scores of texts that the metrics and the columns have notes on."""
    rows = {
        "id": list(range(40)),
        "question": ["вопрос"] * 40,
        "answer": ["東京です。", "<think>a</think> Paris [1]", "", None] * 10,
        "reference": ["東京", "['Paris', 'Rome']", "b", "c"] * 10,
        "retrieved_ids": [["a", "b"]] * 40,
        "relevant_ids": [["a"], []] * 20,
        "latency_ms": [1.5] * 40,
    }
    metrics = ["token_f1", "rougeL_f1", "abstained", "ndcg@5", "latency_ms"]
    fm.score(pa.table(rows), output=folder / "scored.parquet", metrics=metrics)
    return folder / "scored.parquet"


def test_no_english_sentence_is_left(pages):
    for page in pages:
        texts = [re.sub(r"[\w@.]+[_.][\w@.]+", "", text) for text in Texts(page).texts]
        for name in NAMES:
            texts = [text.replace(name, "") for text in texts]
        assert [text for text in texts if ENGLISH.search(re.sub(r"\([^()]*\)", "", text))] == []


def test_notes_are_english_and_say_so(pages):
    notes = [re.findall('<li lang="en">([^<]*)', page) for page in pages]
    assert f"judge_x: {ROWS // 2} ok, {ROWS // 2} timeout" in notes[0]
    for cause in ("as JSON", "the thoughts of a model"):
        assert any(cause in note for note in notes[3]), cause
    assert not any(re.search("[а-яё]", note.casefold()) for note in notes[3])


def test_numbers_have_their_russian_form(tmp_path):
    many = 1_200
    scores = {"id": list(range(many)), "token_f1": np.linspace(0.25, 0.5, many)}
    fm.report({"new": scores}, tmp_path / "r.html", language="ru", baseline=scores | {"token_f1": np.full(many, 0.25)})
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    shown = page.partition("<script")[0]
    assert "<p>1\xa0200 строк" in shown
    assert "+0,1250" in shown
    assert not re.search(r">[^<>]*\d\.\d{4}[^<>]*<", shown)


def test_the_script_writes_numbers_in_their_russian_form_but_not_in_files(driver, tmp_path):
    scores = {"id": list(range(3)), "token_f1": [0.25, 0.5, 1.0], "tokens": [123456.0, 2.0, 3.0]}
    fm.report({"new": scores}, tmp_path / "r.html", language="ru")
    driver.get(f"{(tmp_path / 'r.html').as_uri()}#page=rows&metric=0&row=0")
    assert visible_texts(driver, "#row-detail dd") == ["0,2500", "123\xa0456"]
    lines = driver.execute_script(
        "let lines; source.sheet(rowsPage.table.rows, (all) => { lines = all; }); return lines"
    )
    assert [line[-2:] for line in lines[1:]] == [[0.25, 123456], [0.5, 2], [1, 3]]


def test_what_no_difference_can_reach_is_said_in_russian(tmp_path):
    scores = {"id": [1, 2, 3], "token_f1": [0.25, 0.5, 1.0]}
    fm.report({"new": scores | {"token_f1": [0.5, 0.75, 0.5]}}, tmp_path / "r.html", baseline=scores, language="ru")
    expected = labels("ru")["limit_rows"].format(n=6, family=1, p="0,05")
    assert expected in (tmp_path / "r.html").read_text()


def test_headings_of_tables_are_russian(pages):
    assert all(re.search("[а-я]", text) for text in HEADINGS.values() if text != "p50, мс")
    assert "<bdi>фрагмент</bdi>" in pages[0]
    assert "<bdi>chunk</bdi>" not in pages[0]


def test_every_label_has_a_russian_text_with_the_same_places_and_three_forms():
    pairs = {**_WORDS, **{key: words for section in SECTIONS for key, words in section.labels.items()}}
    plain = string.Formatter()
    for key, (english, told) in pairs.items():
        assert key in ("n", "id") or re.search("[а-яё]", told.casefold()), key
        places = [{name for _, name, *_ in plain.parse(text) if name} for text in (english, told)]
        assert places[0] == places[1], key
        forms = [text.count("|") + 1 for text in (english, told)]
        assert forms in ([1, 1], [2, 3], [2, 2]), key


@pytest.mark.parametrize(
    ("n", "rows"), [(1, "1 строка"), (2, "2 строки"), (5, "5 строк"), (11, "11 строк"), (21, "21 строка")]
)
def test_the_head_counts_in_russian(tmp_path, n, rows):
    fm.report({"a": {"id": list(range(n)), "token_f1": np.ones(n)}}, tmp_path / "r.html", language="ru")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert f"<p>{rows} · 1 метрика</p>" in page


def test_one_is_singular_in_english(tmp_path):
    scores = {"id": [1], "token_f1": [0.5]}
    fm.report({"new": scores}, tmp_path / "r.html", baseline=scores)
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "<p>1 row · 1 metric · 2 systems</p>" in page
    assert labels("en")["count_rows"] == "{n} row|{n} rows"
