"""A Russian page: every text of ours is Russian, notes too, and numbers and the words beside them have their forms."""

from __future__ import annotations

import re
import string
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import fastmetrics as fm
from fastmetrics.base.text_structure import STRUCTURES
from fastmetrics.metrics.metric import REGISTRY
from fastmetrics.metrics.plan import parse
from fastmetrics.reporting.labels import _WORDS, HEADINGS, labels
from fastmetrics.reporting.page import _environment
from fastmetrics.reporting.report_content import SECTIONS
from fastmetrics.reporting.russian_notes import NOTES, russian
from fastmetrics.stats.mean_interval import NAMES as INTERVALS
from tests.reporting.test_report_verdict import NEW, OLD, ROWS, run
from tests.support.browser import visible_texts

ENGLISH = re.compile(r"[A-Za-z]{2,}(?:[ ,;:–—-]+[A-Za-z]{2,})+")
NAMES = (
    "Markdown",
    "JSON",
    "id",
    "CSV",
    "SVG",
    "PNG",
    "fastmetrics",
    "IDK+Cit Count",
    "Abstain Rate",
    "Avg EM",
    "Tier Judge",
    "Tier UX",
    "Total Tokens",
    "P50 Latency",
    "Faithfulness",
    "Overlap",
    "Tokens",
    "Latency",
)
"""Names that stay as they are: of formats, and of the figures of a source."""


class Texts(HTMLParser):
    """The texts that a reader sees or hears, but for those of the user, which stand in ``bdi``."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.inside: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "style", "bdi", "pre", "dd"):
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


def test_every_note_of_these_pages_has_a_russian_text(pages):
    """But for the counts of statuses, which are words of the user's files."""
    english = [re.findall('<li lang="en">([^<]*)', page) for page in pages]
    assert english == [[f"judge_x: {ROWS // 2} ok, {ROWS // 2} timeout"], [], [], []]
    for cause in (
        "написаны без пробелов",
        "список в записи JSON",
        "рассуждения модели",
    ):
        assert cause in pages[3]


@pytest.mark.parametrize(
    ("english", "told"),
    [
        (
            "p by the test fisher, corrected by Holm for the number of comparisons, each group by itself: 1 of "
            "token_recall, 1,024 of other metrics",
            "p по тесту fisher, с поправкой Холма на число сравнений, в каждой группе отдельно: 1 по token_recall, "
            "1\xa0024 по другим метрикам",
        ),
        (
            "95 % intervals: Student's t (f1, bleu(tokenizer='13a') and 2 more), none of these (em)",
            None,
        ),
        (
            "old, new: answer: thoughts were left out of 2–1,201 answers",
            "old, new: answer: рассуждения исключены из 2–1\xa0201 ответа",
        ),
        (
            "2 to 3 rows: the smallest possible p of fisher is 0.25, times 2 comparisons: no verdict can come",
            "2–3 строк: наименьшее возможное p теста fisher равно 0,25, умноженному на 2 сравнения, поэтому вывода "
            "быть не может",
        ),
        ("run 1: blank cells are missing: 3 of 5 in a; b", None),
        ("rows paired by id: gpt 4.5 1,200, b 3", "Строки соединены по id: gpt 4.5 1\xa0200, b 3"),
    ],
)
def test_a_note_is_russian_as_a_whole_or_not_at_all(english, told):
    assert russian(english) == told


def test_a_note_without_a_translation_says_that_it_is_english():
    draw = '{% import "macros.html" as draw with context %}{{ draw.notes(["a note of a plugin", "all values agree"]) }}'
    page = _environment("ru").from_string(draw).render(language="ru")
    assert page.strip() == '<ul class="notes"><li lang="en">a note of a plugin</li><li>все значения одинаковы</li></ul>'


def test_every_caution_kind_of_interval_and_look_of_a_text_has_a_russian_text():
    own = [name for name, one in REGISTRY.items() if one.function.__module__.startswith("fastmetrics.")]
    cautions = [caution for score in map(parse, own) for caution in score.metric.cautions(score.options)]
    notes = [text.format(k=10, pattern="p") for caution in cautions for text in (caution.cause, caution.advice)]
    notes += [name for kind, name in INTERVALS.items() if kind != "none"]
    notes += [look.note("reference", "gold", n) for look in STRUCTURES.values() for n in (1, 2)]
    assert [note for note in dict.fromkeys(notes) if russian(note) is None] == []


def test_the_templates_hold_the_words_of_the_package():
    """A note that is worded anew has its template worded anew."""
    files = [file for file in Path(fm.__file__).parent.rglob("*.py") if file.name != "russian_notes.py"]
    source = "\n".join(file.read_text(encoding="utf-8") for file in files)
    whole = re.sub(r'"\s*\n\s*f?"', "", source)  # a string over several lines is one

    def holds(piece):
        cuts = range(1, len(piece))
        return piece in whole or any(piece[:at] in whole and piece[at:] in whole for at in cuts)

    pieces = {piece for english in NOTES for piece in re.split(r"\{[^{}]+\}", english)}
    assert [piece for piece in sorted(pieces) if not holds(piece)] == []


def test_the_places_of_a_template_are_those_of_its_translation():
    for english, told in NOTES.items():
        places = [re.findall(r"\{(\w+)(?=[:}])", text) for text in (english, told)]
        assert set(places[1]) <= set(places[0]), english
        assert all(place[place.index(":") :].count("|") == 2 for place in re.findall(r"\{[^{}]*:[^{}]*\}", told)), told


def test_numbers_have_their_russian_form(tmp_path):
    many = 1_200
    scores = {"id": list(range(many)), "token_f1": np.linspace(0.25, 0.5, many)}
    fm.report({"new": scores}, tmp_path / "r.html", language="ru", baseline=scores | {"token_f1": np.full(many, 0.25)})
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    shown = page.partition('<script type="application/json"')[0]
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


def test_what_no_difference_can_reach_is_said_in_russian(pages):
    assert labels("ru")["limit_rows"].partition("{n}")[0] in pages[0]


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
