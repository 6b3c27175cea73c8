"""Every argument that a public function shares with a function behind it arrives there unchanged."""

import dataclasses
import importlib
import inspect

import numpy as np
import pytest
from scipy.special import stdtrit

import fastmetrics as fm
from fastmetrics.metrics.prices import Price
from fastmetrics.models import call_sender, call_setup
from fastmetrics.models.call_store import CallStore
from fastmetrics.models.calls import Model

pytestmark = pytest.mark.slow

SETTINGS = {
    "repeats": 3,
    "structured": False,
    "concurrency": 19,
    "max_calls": 41,
    "max_cost": 43.0,
    "max_unparsed": 47,
    "keep_replies": True,
    "language": "ru",
    "retry": ("refused",),
}
RANKING = {"relevance_level": 2, "missing": "skip", "no_relevant": "undefined", "duplicates": "first", "depth": 17}
READING = {"columns": {"answer": "text"}, "schema": "ragas", "suites": ("core",), "lists": ("contexts",)}
RUN = {"q": {"a": 2.0, "b": 1.0}}
TABLE = {"id": [1], "question": ["q"], "answer": ["a"], "reference": ["a"], "text": ["a"], "contexts": [["c"]]}

DRAWN, OF_BOT = {"sample", "settings"}, {"sample", "bot"}

CASES = [
    ("retrieval.rank.rank", "Settings", {"rankings": RUN, "qrels": {"q": {"a": 1}}}, set()),
    (
        "results.ranking_comparison.compare_rankings",
        "rank",
        {"rankings": {"a": RUN, "b": RUN}, "qrels": {"q": {"a": 1}}},
        {"rankings", "qrels"},
    ),
    (
        "results.ranking_comparison.compare_rankings",
        "compare",
        {"rankings": {"a": RUN, "b": RUN}, "qrels": {"q": {"a": 1}}},
        {"rankings", "missing"},
    ),
    ("scoring.score.score", "ScoreRequest", {"table": TABLE}, set()),
    ("scoring.score.score", "ScoreRequest", {"table": "FILE", "output": "OUT"}, set()),
    ("scoring.score.score", "RunOptions", {"table": "FILE", "output": "OUT"}, set()),
    ("scoring.profiling.profile", "ScoreRequest", {"table": TABLE}, set()),
    ("models.judge.judge", "plan_judging", {"table": "FILE", "output": "OUT", "rubrics": "JUDGE"}, DRAWN),
    ("models.judge.judge", "plan_judging", {"table": TABLE, "rubrics": "JUDGE"}, DRAWN),
    ("models.judge.judge", "RunOptions", {"table": "FILE", "output": "OUT", "rubrics": "JUDGE"}, set()),
    ("models.answer.answer", "plan_answering", {"table": "FILE", "output": "OUT", "bot": "BOT"}, {"sample", "bot"}),
    ("models.answer.answer", "plan_answering", {"table": TABLE, "bot": "BOT"}, OF_BOT),
    ("models.answer.answer", "RunOptions", {"table": "FILE", "output": "OUT", "bot": "BOT"}, set()),
]
"""Function, the one behind it, arguments that it needs, and those that are converted on the way."""


HOMES = {"ScoreRequest": "fastmetrics.plans.plan", "RunOptions": "fastmetrics.engines.column_maker"}
"""Where a function finds what it imports when it is called."""


class Arrived(Exception):  # noqa: N818 - the end of a call, no error
    """What the function behind received."""


def value_of(name, default):
    """A value that is not the default."""
    values = {
        **SETTINGS,
        **RANKING,
        **READING,
        "keep": ["text"],
        "files": fm.tables.FileSettings(on_error="skip", batch_rows=59, max_row_bytes=61_000, format="jsonl"),
        "seed": 53,
        "metrics": ["jaccard"],
        "measures": ["mrr"],
        "tests": "t",
        "correction": "bh",
        "resamples": 71,
        "bootstrap": 73,
        "confidence": 0.79,
        "interval": "t",
        "baseline": "b",
        "threads": 2,
        "embedder": None,
        "prices": {"m": {"input": 1, "output": 2}},
        "base_url": "http://v/v1",
        "system": "v_system",
    }
    if name in values:
        return values[name]
    if isinstance(default, bool):
        return not default
    return f"v_{name}"


@pytest.mark.parametrize(
    ("function", "behind", "needed", "converted"), CASES, ids=lambda one: one if isinstance(one, str) else ""
)
def test_shared_arguments_arrive(tmp_path, monkeypatch, function, behind, needed, converted):
    """All arguments of equal names arrive: their names are read from both signatures."""
    place, _, name = f"fastmetrics.{function}".rpartition(".")
    module = importlib.import_module(place)
    home = module if hasattr(module, behind) else importlib.import_module(HOMES[behind])
    target = inspect.signature(getattr(home, behind))
    (tmp_path / "rows.jsonl").write_text('{"id": 1, "question": "q", "answer": "a", "text": "a"}\n')
    made = {
        "FILE": tmp_path / "rows.jsonl",
        "OUT": tmp_path / "o.csv",
        "JUDGE": fm.models.JudgeSettings("safety", "m", store=tmp_path / "s", base_url="http://v/v1"),
        "BOT": lambda question: question,
    }

    def record(*arguments, **more):
        raise Arrived(target.bind(*arguments, **more).arguments)

    call = getattr(module, name)
    parameters = inspect.signature(call).parameters
    shared = parameters.keys() & target.parameters.keys() - converted
    assert len(shared) > 2
    arguments = {key: value_of(key, parameters[key].default) for key in shared} | {
        key: made.get(value, value) if isinstance(value, str) else value for key, value in needed.items()
    }
    monkeypatch.setattr(home, behind, record)
    with pytest.raises(Arrived) as arrived:
        call(**arguments)
    received = arrived.value.args[0]
    assert {key: _plain(received.get(key, "absent")) for key in shared} == {
        key: _plain(arguments[key]) for key in shared
    }


def _plain(value):
    """Tuples as lists."""
    return list(value) if isinstance(value, tuple) else value


@pytest.mark.parametrize(
    "call",
    [
        lambda path, files: fm.score(path, output=path.with_suffix(".csv"), files=files),
        lambda path, files: fm.score(path, "answer_words", files=files),
        lambda path, files: fm.judge(path, "safety", model="m", files=files),
        lambda path, files: fm.answer(path, lambda question: question, files=files),
        lambda path, files: fm.embed(path, fm.Embedder(lambda texts: np.ones((len(texts), 1))), files=files),
    ],
)
def test_files_are_read_by_their_settings(tmp_path, monkeypatch, call):
    """The functions with settings of files open the table by these."""
    opened = []

    def record(*arguments, schema=None):
        opened.append(arguments)
        raise Arrived

    for module in ("scoring.score_runs", "models.judged_tables", "models.answer", "models.embed"):
        monkeypatch.setattr(f"fastmetrics.{module}.open_table", record)
    with pytest.raises(Arrived):
        call(tmp_path / "rows.txt", files := fm.tables.FileSettings(format="jsonl", query="select 1"))
    assert opened == [(tmp_path / "rows.txt", files)]


def test_a_comparison_reports_the_detectable_difference_at_its_confidence():
    """The difference at 99 % is that of the level 1 %."""
    first, second = [0.1, 0.4, 0.5, 0.9, 0.3, 0.2, 0.6, 0.7], [0.3, 0.5, 0.4, 1.0, 0.8, 0.1, 0.7, 0.3]
    runs = {"a": {"f1": first}, "b": {"f1": second}}
    changes = np.subtract(second, first)
    error, freedom = changes.std(ddof=1) / np.sqrt(8), 7
    for level in (0.9, 0.99):
        [cell] = fm.compare(runs, confidence=level, pairing="position").comparisons
        expected = (stdtrit(freedom, (1 + level) / 2) + stdtrit(freedom, 0.8)) * error
        assert cell.detectable == pytest.approx(expected)


CLIENT = {
    "base_url": "http://v:1/v1",
    "endpoint": "v_endpoint",
    "concurrency": 13,
    "rpm": 17.0,
    "tpm": 19.0,
    "timeout": 23.0,
    "tries": 29,
    "max_reply_bytes": 31,
    "max_calls": 37,
    "max_cost": 41.0,
    "prices": {"m": {"input": 1.0, "output": 2.0}},
    "pause": 43.0,
}
MODEL = Model("m", "v_endpoint", {"temperature": 0, "max_tokens": 7})
RECEIVED = {
    "RateLimits": {"requests": 17.0, "tokens": 19.0},
    "Retries": {"tries": 29, "pause": 43.0},
    "CircuitBreaker": {"address": "m at v_endpoint"},
    "Budget": {
        "max_calls": 37,
        "max_cost": 41.0,
        "price": Price(1.0, 2.0),
        "reply_tokens": 7,
        "reply_limit": "max_tokens",
    },
}
"""What each part of a sender of calls receives of these settings."""


SETTINGS_OF_CALLS = {"client": CLIENT, "parameters": {"max_tokens": 7}}


@pytest.mark.parametrize(
    "settings",
    [
        fm.models.JudgeSettings("safety", "m", **SETTINGS_OF_CALLS),
        fm.models.FullContextBot("text", "m", **SETTINGS_OF_CALLS),
        fm.models.GivenContextsBot("m", **SETTINGS_OF_CALLS),
        fm.models.JudgeSettings(
            "safety",
            "m",
            client={**CLIENT, "concurrency": 3, "max_calls": 5, "max_cost": 0.5},
            **{name: CLIENT[name] for name in ("base_url", "concurrency", "max_calls", "max_cost")},
            parameters={"max_tokens": 7},
        ),
    ],
    ids=["judge", "full-context", "given-contexts", "own"],
)
def test_settings_of_calls_arrive_at_the_parts_of_the_sender(tmp_path, monkeypatch, settings):
    """All but the length of a prompt and the store, which are read elsewhere."""
    assert set(CLIENT) == {field.name for field in dataclasses.fields(fm.models.ClientSettings)} - {
        "max_chars",
        "store",
    }
    received = {}
    for name in RECEIVED:
        module = call_setup if name == "Budget" else call_sender
        part = getattr(module, name)

        def record(*values, name=name, part=part, **more):
            received[name] = dict(inspect.signature(part).bind(*values, **more).arguments)
            return part(*values, **more)

        monkeypatch.setattr(module, name, record)
    with CallStore(tmp_path / "s.sqlite") as store:
        settings.sender(store, settings.budget())
    assert received == RECEIVED
