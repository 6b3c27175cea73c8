"""What users ask and its topics: by plain Python, in any cut and order, for any threads."""

from __future__ import annotations

import json
import math
import random
import re
import unicodedata
from collections import Counter, defaultdict
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.logs.languages import scripts, scripts_of
from fastmetrics.logs.log import MISSING, abstains, times_of
from fastmetrics.logs.topics import clusters
from fastmetrics.text.lexicons import lexicon
from fastmetrics.text.text_keys import group_sizes, plainly, text_keys
from tests.reference import usage as reference
from tests.support import strategies
from tests.support.program import jsonl, program

PIECES = st.sampled_from(
    ["card", "Card", "pay-day", "a", "on", " ", "  ", "?", "карта", "Где", "巴黎", "x_1", "\n", "--", "é"]
)
ROWS = st.lists(
    st.tuples(
        st.none() | st.lists(PIECES, max_size=6).map("".join),
        st.none() | st.sampled_from(["", " ", "Yes.", "I don't know.", "Я не знаю", "In Paris."]),
        st.none() | st.integers(1, 5),
        st.none() | st.integers(0, 10**10),
    ),
    max_size=12,
)
TYPES = pa.schema({"question": pa.string(), "answer": pa.string(), "rating": pa.int64(), "timestamp": pa.int64()})
REFUSES = {"I don't know.", "Я не знаю"}


def script_of(text):
    names = [unicodedata.name(one).split()[0] for one in text if one.isalpha()]
    called = [{"CJK": "Han"}.get(name, name.capitalize()) for name in names]
    order = {name: at for at, name in enumerate(scripts())}
    return min(Counter(called).items(), key=lambda one: (-one[1], order[one[0]]))[0] if called else "none"


@given(ROWS, st.integers(1, 5))
def test_every_figure_is_the_definition(rows, step):
    table = pa.Table.from_pylist([dict(zip(TYPES.names, row, strict=True)) for row in rows], TYPES)
    pieces = [table.slice(at, step) for at in range(0, len(rows), step)] or [table]
    found = fm.logs.domain_analysis(pieces, indicators=["car", "A"], threads=1)
    asked = [row for row in rows if row[0] is not None]
    good = [row for row in asked if row[1] and row[1].strip() and row[1] not in REFUSES]
    assert (found.questions, found.missing, found.answered) == (len(asked), len(rows) - len(asked), len(good))
    every, in_good = (Counter(word for row in some for word in reference.words(row[0])) for some in (asked, good))
    rest = every - in_good
    for name, counts, n in (("words", every, 50), ("words_answered", in_good, 30), ("words_unanswered", rest, 30)):
        assert list(getattr(found, name)) == sorted(counts.items(), key=lambda one: (-one[1], one[0]))[:n]
    odds = reference.log_odds(in_good, rest)
    assert dict(found.telling_answered) == pytest.approx({word: z for word, z in odds.items() if z > 1e-12}, abs=1e-9)
    assert dict(found.telling_unanswered) == pytest.approx(
        {word: -z for word, z in odds.items() if z < -1e-12}, abs=1e-9
    )
    lowered = [row[0].lower().strip() for row in asked]
    assert found.distinct == len(set(lowered))
    assert found.indicators == {word: sum(word in one for one in lowered) for word in ("car", "a")}
    assert found.scripts == Counter(script_of(row[0]) for row in asked)
    grades = Counter("none" if row[2] is None else str(row[2]) for row in asked)
    assert {name: n for name, n in found.ratings.items() if n} == grades
    times = [datetime.fromtimestamp(row[3], UTC) for row in asked if row[3] is not None]
    assert found.days == Counter(time.date().isoformat() for time in times)
    assert found.hours == [sum(time.hour == hour for time in times) for hour in range(24)]
    assert found.first == (min(times).isoformat() if times else None)
    if asked:
        assert found.mean_characters == pytest.approx(sum(len(row[0]) for row in asked) / len(asked))


@given(strategies.texts)
def test_words_are_those_of_the_pattern(text):
    counts = Counter(re.findall(r"[\w-]{3,}", text.lower()))
    assert dict(fm.logs.domain_analysis({"question": [text]}).words) == dict(
        sorted(counts.items(), key=lambda one: -one[1])[:50]
    )


@given(st.lists(st.text(st.sampled_from("aB \u00e9\x00"), max_size=20), max_size=12))
def test_keys_are_equal_for_equal_texts(texts):
    keys = text_keys(plainly(pa.array(texts, pa.string())))
    expected = Counter(text.lower().strip() for text in texts if text is not None)
    assert sorted(group_sizes(keys)) == sorted(expected.values())


def test_figures_do_not_depend_on_order_threads_or_files(tmp_path):
    rng = random.Random(1)
    words = ["card", "lost", "где", "мой", "pay", "Rent", "now"]
    rows = [
        {"question": " ".join(rng.choices(words, k=3)), "answer": rng.choice(["", "ok", "I don't know"]), "at": 9e8 + i}
        for i in range(300)
    ]
    jsonl(tmp_path / "a.jsonl", *map(json.dumps, rows[:100]))
    rng.shuffle(rows)
    whole = {
        "log": {name: [row[name] for row in rows] for name in rows[0]},
        "columns": {"timestamp": "at"},
        "sample": 40,
        "languages": ["en", "ru"],
        "embedder": lambda texts: np.array([[len(text), text.count("a"), 1.0] for text in texts]),
    }
    one = fm.logs.domain_analysis(**whole, threads=1)
    assert one.sampled == 40
    assert sum(one.languages.values()) == 40
    table = pa.Table.from_pylist(rows[::-1])
    other = fm.logs.domain_analysis(**{**whole, "log": table.to_batches(17)}, threads=3)
    assert other.to_json() == one.to_json()


def test_near_repeats_of_all_questions():
    log = {"question": ["a", "A ", "b", "c", None]}
    vectors = {"a": [1.0, 0.0], "A ": [1.0, 0.0], "b": [0.8, 0.6], "c": [-1.0, 0.0]}
    found = fm.logs.domain_analysis(log, embedder=lambda texts: np.array([vectors[text] for text in texts]), near=0.75)
    assert (found.distinct, found.sampled, found.near_repeats) == (3, 3, 2)


def test_languages_are_guessed_among_those_named():
    log = {"question": ["Where is my new card?", "Где моя новая карта?", "Wo ist meine neue Karte?"]}
    found = fm.logs.domain_analysis(log, languages=["en", "ru", "de"])
    assert found.languages == {"de": 1, "en": 1, "ru": 1}


def test_refusals_are_those_of_abstained():
    answers = [
        *["I don't know", None, "", "Paris", "Sorry, I can't answer that.", "Не знаю"],
        "I don't know X, but it is Y.",
    ]
    assert abstains(pa.array(answers)).tolist() == [one == 1 for one in fm.abstained(answers)]


@pytest.mark.parametrize("letter", ["a", "ж", "漢", "ひ", "한", "ا", "א", "ก", "अ", "𐐀", "\U00020001"])
def test_scripts_of_single_letters(letter):
    [number] = scripts_of(pa.array([f"12 {letter}!"]))
    name = unicodedata.name(letter).split()[0].capitalize()
    assert scripts()[number] == {"Cjk": "Han"}.get(name, name)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["2024-01-05T10:30:00Z", "2024-01-05T12:30:00+02:00", None, ""], [1704450600, 1704450600, None, None]),
        (["2024-01-05", "2024-01-05 10:30:00"], [1704412800, 1704450600]),
        (["1704450600", "1704450600000"], [1704450600, 1704450600]),
        ([1704450600, None], [1704450600, None]),
        ([1704450600.5], [1704450600.5]),
        (pa.array([datetime(2024, 1, 5, 10, 30)], pa.timestamp("ns")), [1704450600]),
        (pa.array([datetime(2024, 1, 5, 10, 30, tzinfo=UTC)], pa.timestamp("s", "Asia/Tokyo")), [1704450600]),
        (pa.array([datetime(2024, 1, 5).date()]), [1704412800]),
        (pa.array(["2024-01-05"]).dictionary_encode(), [1704412800]),
        (pa.nulls(1), [None]),
    ],
)
def test_times_of_every_form(values, expected):
    found, _ = times_of(values if isinstance(values, pa.Array) else pa.array(values), "timestamp")
    assert [None if one == MISSING else one / 1e6 for one in found.tolist()] == expected


def test_empty_logs_and_logs_of_one_question():
    found = fm.logs.domain_analysis({"question": pa.array([], pa.string())})
    assert (found.questions, found.distinct, found.answered, list(found.words)) == (0, 0, None, [])
    found = fm.logs.domain_analysis({"question": ["same one"] * 9, "answer": ["yes"] * 9})
    assert (found.distinct, found.repeated, found.answered_share) == (1, 8, 1.0)
    assert list(found.telling_unanswered) == []


def test_texts_with_one_equal_key_are_distinct():
    keys = np.array([[1, 5], [1, 4], [1, 5], [2, 4], [1, 4]], np.uint64)
    assert sorted(group_sizes(keys).tolist()) == [1, 2, 2]


def test_activity_is_drawn_over_all_days_and_hours():
    times = [f"2024-01-{day:02}T{hour:02}:00" for day, hour in ((1, 3), (1, 3), (1, 9), (5, 9))]
    said = fm.logs.domain_analysis({"question": ["q"] * 4, "timestamp": times}).remarks()
    assert "questions from 2024-01-01 to 2024-01-05: █▁▁▁▃" in said
    assert f"questions by hour of the day, 0 to 23: ▁▁▁█▁▁▁▁▁█{'▁' * 14}" in said
    years = [f"{year}-06-01T00:00" for year in range(1000, 3000, 10)]
    [line] = [
        one
        for one in fm.logs.domain_analysis({"question": ["q"] * 200, "timestamp": years}).remarks()
        if "questions from" in one
    ]
    assert len(line.split(": ")[1]) == 60


CORNERS = np.eye(4)
TEXTS = ["lost card", "pay the rent today", "где моя карта", "card pin", "rent-free flat", ""]
COVERAGE_ROWS = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.sampled_from(TEXTS),
        st.none() | st.sampled_from(["", "Yes.", "I don't know"]),
        st.none() | st.lists(st.sampled_from("abcdef"), max_size=4),
        st.none() | st.integers(0, 4).map(lambda n: n / 4),
    ),
    min_size=1,
    max_size=14,
)
COVERAGE_TYPES = pa.schema(
    {
        **{"corner": pa.int64(), "question": pa.string(), "answer": pa.string()},
        **{"retrieved_ids": pa.list_(pa.string()), "f1": pa.float64()},
    }
)


def mean(values):
    return sum(values) / len(values) if values else math.nan


@given(COVERAGE_ROWS)
def test_figures_of_known_topics(rows):
    table = pa.Table.from_pylist([dict(zip(COVERAGE_TYPES.names, row, strict=True)) for row in rows], COVERAGE_TYPES)
    vectors = pa.array([CORNERS[row[0]].tolist() for row in rows], pa.list_(pa.float64()))
    log = table.append_column("question_embedding", vectors)
    chunks = {"id": list("abcde"), "source": ["x", "x", "y", None, "y"]}
    found = fm.logs.topic_coverage(log, topics=4, k=2, chunks=chunks, scores="f1")
    source = dict(zip(*chunks.values(), strict=True))
    number = found.to_rows()["topic"].to_pylist()
    groups = defaultdict(list)
    for at, row in zip(number, rows, strict=True):
        groups[at].append(row)
    assert len(groups) == len({row[0] for row in rows})  # each corner is a separate topic
    assert all(len({row[0] for row in own}) == 1 for own in groups.values())
    stop = {*lexicon("stop_en"), *lexicon("stop_ru")}
    words = reference.typical_words([row[1] for row in rows], number, stop)
    for topic in found.topics:
        own = groups[topic.topic]
        assert topic.questions == len(own)
        assert list(topic.words) == words[topic.topic]
        assert list(topic.samples) == list(dict.fromkeys(row[1] for row in own))[:5]
        ids = {one for row in own for one in (row[3] or [])[:2]}
        assert (topic.chunks, topic.sources) == (len(ids), len({source.get(one) for one in ids} - {None}))
        assert topic.abstain_rate == pytest.approx(
            mean([row[2] == "I don't know" for row in own if row[2] is not None]), nan_ok=True
        )
        assert topic.unanswered_rate == pytest.approx(mean([row[2] != "Yes." for row in own]))
        assert topic.gap == pytest.approx(sum(row[2] != "Yes." for row in own))
        assert topic.scores["f1"] == pytest.approx(mean([row[4] for row in own if row[4] is not None]), nan_ok=True)
    sizes = [topic.questions for topic in found.topics]
    assert sizes == sorted(sizes, reverse=True)
    gaps = [found.topics[at].gap for at in found.gaps]
    assert gaps == sorted((topic.gap for topic in found.topics if topic.gap), reverse=True)
    by_score = fm.logs.topic_coverage(log, topics=4, failure="f1")
    lost = sum(topic.gap for topic in by_score.topics)
    losses = [len(own) * mean([1 - row[4] for row in own if row[4] is not None]) for own in groups.values()]
    assert lost == pytest.approx(sum(one for one in losses if not math.isnan(one)))


def test_seed_and_threads_reproduce_topics():
    rng = np.random.default_rng(0)
    rows = (CORNERS[rng.integers(0, 4, 20_000)] + 0.4 * rng.standard_normal((20_000, 4))).astype(np.float32)
    log = {"question_embedding": pa.array(rows.tolist(), pa.list_(pa.float32()))}
    one, other = (fm.logs.topic_coverage(log, topics=7, threads=n).to_rows() for n in (1, 3))
    assert one.equals(other)
    assert fm.logs.topic_coverage(log, topics=7, seed=1).to_rows().num_rows == 20_000


def test_rows_outside_the_sample_get_the_nearest_topic():
    rng = np.random.default_rng(0)
    which = rng.integers(0, 4, 2000)
    units = (CORNERS[which] + 0.05 * rng.standard_normal((2000, 4))).astype(np.float32)
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    found, centres = clusters(units, 4, 3, 2, sample=200)
    apart = np.linalg.norm(units[:, None] - centres[None], axis=2)
    assert (found == apart.argmin(axis=1)).all()
    assert len({(a, b) for a, b in zip(which.tolist(), found.tolist(), strict=True)}) == 4


def test_topics_of_few_or_equal_questions():
    same = {"question": ["a card"] * 9, "question_embedding": [[1.0, 0.0]] * 9}
    found = fm.logs.topic_coverage(same, topics=3)
    assert [topic.questions for topic in found.topics] == [9]
    assert list(found.topics[0].samples) == ["a card"]
    assert (found.failure, list(found.gaps)) == (None, [])
    assert "fewer than 3 distinct questions" in str(found)
    two = {"question": ["a", "b", None], "question_embedding": [[1.0, 0.0], [0.0, 1.0], None]}
    found = fm.logs.topic_coverage(two, topics=20)
    assert (len(found.topics), found.left_out) == (2, 1)
    assert found.to_rows()["topic"].to_pylist()[2] is None
    assert len(fm.logs.topic_coverage(two, topics=1).topics) == 1
    nothing = {"question": pa.array([], pa.string()), "question_embedding": pa.array([], pa.list_(pa.float32()))}
    assert list(fm.logs.topic_coverage(nothing).topics) == []


def test_clusters_without_questions_are_the_reason_for_fewer_topics():
    rng = np.random.default_rng(2)
    vectors = rng.standard_normal((21, 4))[np.arange(420) // 20]
    questions = {"question": [f"q{row // 20}" for row in range(420)], "question_embedding": vectors.tolist()}
    found = fm.logs.topic_coverage(questions, topics=20)
    assert found.empty == 20 - len(found.topics) > 0
    assert f"no question is nearest to {found.empty} of 20 clusters" in str(found)
    assert "distinct questions" not in str(found)


def test_the_example_of_a_gap_is_a_question_that_failed():
    log = {"question": ["card", "pin", "rent"], "answer": ["Yes.", "", "No."], "f1": [0.9, 0.2, 0.4]}
    log["question_embedding"] = [[1.0, 0.0], [0.9, 0.1], [1.0, 0.0]]
    found = fm.logs.topic_coverage(log, topics=1)
    assert (found.topics[0].samples, found.topics[0].failed) == (["card", "rent", "pin"], ["pin"])
    assert found.grids()[1].rows == (("0", "1", "pin"),)
    assert fm.logs.topic_coverage(log | {"f1": [0.9, 0.5, 0.4]}, topics=1, failure="f1").topics[0].failed == ["rent"]
    assert fm.logs.topic_coverage(log | {"answer": ["a", "b", "c"]}, topics=1).topics[0].failed == []


def test_topics_command(tmp_path):
    rows = [{"question": text, "question_embedding": [1.0, at], "answer": ""} for at, text in enumerate(TEXTS[:3])]
    log = jsonl(tmp_path / "log.jsonl", *rows)
    made = json.loads(program("logs", "topics", log, "--topics", 2, "--json").out)
    assert (sum(one["questions"] for one in made["topics"]), made["failure"]) == (3, "unanswered")
