"""The report's page on logs: what the commands wrote and what functions return, shown alike."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta
from html import unescape

import numpy as np
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import FileFormatError
from fastmetrics.reporting.charts import Charts
from fastmetrics.reporting.labels import figures
from fastmetrics.reporting.sections.usage_section import usage_parts
from tests.reporting.test_report import HOSTILE, made, read
from tests.support.goldens import refused
from tests.support.program import program


@pytest.fixture(scope="module")
def log():
    random = np.random.default_rng(0)
    rows = 60
    return {
        "question": [f"question {at % 7} of {HOSTILE[at % 3]}" for at in range(rows)],
        "question_embedding": random.normal(size=(rows, 4)).tolist(),
        "answer": [f"so it is [d{at % 9}]" if at % 4 else "" for at in range(rows)],
        "retrieved_ids": [[f"d{(at * step) % 23}" for step in (1, 2, 3)] for at in range(rows)],
        "session_id": [at // 4 for at in range(rows)],
        "rating": [at % 3 for at in range(rows)],
    }


@pytest.fixture(scope="module")
def results(log):
    chunks = [f"d{at}" for at in range(150)]
    return [
        fm.logs.chunk_utilization(log, chunks=chunks),
        fm.logs.chunk_utilization(log["retrieved_ids"]),
        fm.logs.topic_coverage(log, topics=3),
        fm.logs.cache_hit_rate(log),
        fm.logs.context_preservation(log),
        fm.logs.domain_analysis(log),
    ]


def test_usage_files_are_shown_like_their_results(tmp_path, results):
    for at, one in enumerate(results):
        (tmp_path / f"{at}.json").write_text(one.to_json())
        charts = Charts()
        (told,) = usage_parts(one, Charts())
        (restored,) = usage_parts(tmp_path / f"{at}.json", charts)
        assert restored.grids == told.grids
        assert [str(grid) for grid in told.grids] == [
            str(grid).replace(" nan", "    ").rstrip() for grid in one.grids()
        ]
        assert restored.notes == told.notes == one.remarks()
        assert (restored.kind, restored.lists, restored.used) == (told.kind, told.lists, told.used)
        assert restored.source == f"{at}.json"
    assert [len(usage_parts(results, charts))] == [len(results)]


def test_usage_page_holds_chunks_gaps_and_the_curve(tmp_path, results):
    use, _, topics, cache, sessions, domain = results
    (tmp_path / "cache.json").write_text(cache.to_json())
    fm.report(
        made(5), tmp_path / "r.html", usage=[use, topics, tmp_path / "cache.json", sessions, domain], language="ru"
    )
    page, reader, data = read(tmp_path / "r.html")
    section = page[page.index('<section id="usage"') : page.index('<section id="data"')]
    assert re.findall(r"<h2>(.*?) <small>", section) == [
        "Фрагменты базы знаний", "Темы и пробелы", "Попадания в кэш", "Сеансы", "Вопросы и слова",
    ]  # fmt: skip
    assert f"показано 100 из {use.unused_chunks}" in section
    assert use.unused_chunks > 100
    assert f"<li>{use.unused_ids[0]}</li>" in section
    assert f"<li>{use.unused_ids[100]}</li>" not in section
    assert f"<b>{figures(f'{100 * use.utilization_rate:.1f} %', 'ru')}</b>" in section
    most = use.to_arrow().slice(0, 1).to_pylist()[0]
    assert f"<bdi>{most['chunk']}</bdi></th><td>{most['retrieved']}</td>" in section
    for one in topics.topics:
        assert one.samples[0] in unescape(section)
    (chart,) = data["charts"]
    assert chart["x"] == [point["tau"] for point in cache.curve]
    rates = [point["cache_hit_rate"] for point in cache.curve]
    assert chart["lines"][0] == {"name": "cache_hit_rate", "y": [float(f"{rate:.6g}") for rate in rates]}
    assert "script" not in reader.tags[reader.tags.index("main") : reader.tags.index("footer")]


def test_report_command_reads_usage_output_of_commands(tmp_path, log):
    rows = [dict(zip(log, row, strict=True)) for row in zip(*log.values(), strict=True)]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, rows)))
    options = []
    for name in ("chunks", "topics", "cache", "context", "domains"):
        assert program("logs", name, tmp_path / "log.jsonl", "-o", tmp_path / f"{name}.json").code == 0
        options += ["--usage", tmp_path / f"{name}.json"]
    (tmp_path / "scores.jsonl").write_text('{"id": 1, "token_f1": 0.5}\n')
    done = program("report", tmp_path / "scores.jsonl", "-o", tmp_path / "r.html", *options)
    assert (done.code, done.err) == (0, "")
    page = read(tmp_path / "r.html")[0]
    assert page.index("chunks.json") < page.index("topics.json") < page.index("domains.json")


@pytest.mark.parametrize(
    "text",
    [
        *["{", "[" * 100_000, "[1, 2]", '{"token_f1": 1}', '{"cache": {"a": 1}}', '{"topics": 3, "gaps": []}'],
        *['{"topics": [{"a": 1}], "gaps": []}', '{"tau": 1, "curve": 7}'],
        *['{"used_chunks": 1, "places": 1, "hubs": [], "most_used": [{"a": 1}]}'],
        *['{"used_chunks": "many", "places": 1, "hubs": [[]]}'],
    ],
)
def test_invalid_usage_files_raise(tmp_path, text):
    (tmp_path / "u.json").write_text(text)
    refused(FileFormatError, "u.json logs", fm.report, made(3), tmp_path / "r.html", usage=tmp_path / "u.json")
    assert not (tmp_path / "r.html").exists()


def test_usage_files_without_most_used_show_the_hubs(tmp_path, results):
    figures = json.loads(results[0].to_json())
    del figures["most_used"]
    (part,) = usage_parts(figures, Charts())
    assert [row[0] for row in part.grids[1].rows] == [str(one) for one in results[0].hubs][:10]


def test_days_are_a_chart(tmp_path):
    days = [datetime(2026, 1, 1) + timedelta(hours=9 * at) for at in range(40)]
    log = {"question": [f"{HOSTILE[1]} question {at % 3}" for at in range(40)], "timestamp": days}
    usage = fm.logs.domain_analysis(log)
    [domain] = usage_parts(usage, charts := Charts())
    assert charts.drawn[domain.days].data()["x_labels"][0] == "2026-01-01"
    fm.report(made(3), tmp_path / "r.html", usage=usage)
    assert "img" not in read(tmp_path / "r.html")[1].tags
    for n in (1, 2):
        few = {"question": ["?"] * n, "timestamp": [datetime(2026, 1, day) for day in range(1, n + 1)]}
        assert (usage_parts(fm.logs.domain_analysis(few), Charts())[0].days is None) == (n == 1)


def test_more_unknown_ids_than_listed_are_counted():
    use = fm.logs.chunk_utilization([["c", str(n)] for n in range(150)], chunks=["c"])
    [unknown] = [one for one in usage_parts(use, Charts())[0].lists if one.label == "unknown_ids"]
    assert (unknown.n, len(unknown.ids)) == (150, 100)
