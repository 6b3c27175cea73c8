"""A section of the report is one entry: its name, labels, content and template."""

import pyarrow as pa
import pytest

import fastmetrics as fm
from fastmetrics.reporting.labels import figures
from fastmetrics.reporting.report_content import SECTIONS
from fastmetrics.reporting.sections.runs_section import _places
from fastmetrics.reporting.sections.section import Section
from fastmetrics.results.trend import TrendPoint
from tests.reporting.test_report import data_of

SCORES = {"id": ["a", "b", "c"], "token_f1": [0.5, 1.0, 0.25]}


def spread(given):
    means = {name: summary.metrics["token_f1"].mean for name, summary in given.summaries.items()}
    return {"means": means, "scored": given.rows.n - 1, "rows": given.rows.n}


SPREAD = Section(
    "answers",
    labels={"answers": ("Answers", "Ответы"), "answered_rows": ("answered", "с ответом")},
    content=spread,
    template="<p>{% for name, mean in answers.means.items() %}{{ name }} {{ mean | number }}{% endfor %}, "
    "{{ L.answered_rows }}: {{ answers.scored }} {{ L.of }} {{ answers.rows }}</p>",
    data=lambda content, names: {"answers": [content["scored"], list(names)]},
)


@pytest.fixture
def added():
    SECTIONS.append(SPREAD)
    yield
    SECTIONS.remove(SPREAD)


def made(path, **options):
    fm.report({"new": SCORES}, path, texts=pa.table({"id": ["a", "b", "c"], "answer": ["x", None, "<b>"]}), **options)
    page = path.read_text(encoding="utf-8")
    return page, data_of(page)


@pytest.mark.parametrize(("language", "title", "words"), [("en", "Answers", "answered"), ("ru", "Ответы", "с ответом")])
def test_registered_section_appears_in_the_page(added, tmp_path, language, title, words):
    page, data = made(tmp_path / "r.html", language=language)
    assert f'<a href="#page=answers" data-page="answers">{title}</a>' in page
    mean = figures(f"{sum(SCORES['token_f1']) / 3:.4f}", language)
    of = {"en": "of", "ru": "из"}[language]
    assert f'<section id="answers" aria-label="{title}"><p>new {mean}, {words}: 2 {of} 3</p></section>' in page
    assert data["answers"] == [2, ["token_f1"]]


def test_empty_section_is_left_out(added, tmp_path, monkeypatch):
    monkeypatch.setattr("tests.reporting.test_report_sections.spread", None)
    SECTIONS[-1] = Section("answers", SPREAD.labels, lambda given: None, "never")
    try:
        page, _ = made(tmp_path / "r.html")
    finally:
        SECTIONS[-1] = SPREAD
    assert 'data-page="answers"' not in page
    assert "never" not in page.partition("<script")[0]


def test_labels_of_two_sections_are_different(added, tmp_path):
    SECTIONS.append(Section("rows", {"rows": ("Lines", "Линии")}, lambda given: 1, ""))
    try:
        with pytest.raises(ValueError, match="section rows: labels exist already: rows"):
            made(tmp_path / "r.html")
    finally:
        SECTIONS.pop()


def test_words_exist_in_both_languages():
    assert all(len(words) == 2 and all(words) for section in SECTIONS for words in section.labels.values())


def test_runs_stand_where_they_began_on_the_axis():
    def points(*moments):
        figures = dict.fromkeys(TrendPoint.__dataclass_fields__)
        return [TrendPoint(**{**figures, "began": moment}) for moment in moments]

    assert _places(points("2026-01-01T00:00:00+00:00", "2026-01-03T12:00:00+00:00")) == [0.0, 2.5]
    assert _places(points("2026-01-01T00:00:00+00:00", None, "x")) == [1.0, 2.0, 3.0]
    assert _places(points()) == []
