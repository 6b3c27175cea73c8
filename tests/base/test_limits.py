"""Settings of calls, files and runs are taken from their lowest to their highest value, and none beyond."""

import pytest

import fastmetrics as fm
from fastmetrics.base.errors import OptionError


def client(**setting):
    return getattr(fm.models.ClientSettings.of(setting), *setting)


def judging(**setting):
    return getattr(fm.models.JudgeSettings("safety", "m", **setting), *setting)


def reading(**setting):
    return getattr(fm.tables.FileSettings(**setting), *setting)


def scoring(threads):
    fm.score({"answer": ["a"]}, "answer_words", threads=threads)
    return threads


BILLION = 10**9
LIMITS = [  # the function, the setting, the value below its limits, the lowest, the highest and the one above
    (client, "concurrency", 0, 1, 10_000, 10_001),
    (client, "tries", 0, 1, 100, 101),
    (client, "max_chars", 0, 1, BILLION, BILLION + 1),
    (client, "max_reply_bytes", 0, 1, BILLION, BILLION + 1),
    (client, "max_calls", -1, 0, BILLION, BILLION + 1),
    (client, "max_cost", -1e-9, 0.0, 1e9, 1e9 + 1),
    (client, "pause", -1e-9, 0.0, 86_400.0, 86_400.1),
    (client, "timeout", 0.0, 1e-9, 86_400.0, 86_400.1),
    (client, "rpm", 0.0, 1e-9, 1e9, 1e9 + 1),
    (client, "tpm", 0.0, 1e-9, 1e9, 1e9 + 1),
    (judging, "repeats", 0, 1, 1_000, 1_001),
    (judging, "max_unparsed", -1, 0, BILLION, BILLION + 1),
    (reading, "batch_rows", 0, 1, BILLION, BILLION + 1),
    (scoring, "threads", 0, 1, 1_024, 1_025),
]


@pytest.mark.parametrize(("take", "name", "below", "low", "high", "above"), LIMITS)
def test_settings_are_taken_from_their_lowest_to_their_highest_value(take, name, below, low, high, above):
    assert [take(**{name: value}) for value in (low, high)] == [low, high]
    for value in (below, above):
        with pytest.raises(OptionError, match=name):
            take(**{name: value})
