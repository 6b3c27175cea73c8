"""JSON that nests deeper than parsers can go is a bad row like others, in whichever column."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.base.limits import ReadSizes
from fastmetrics.kernels.byte_search import deepest
from fastmetrics.tables.encoders import DEPTH
from fastmetrics.tables.opening import open_source
from tests.support.program import jsonl, program

GOOD = {"id": 1, "answer": "in Paris", "reference": "Paris"}
SHAPES = {
    "lists": ("[", "1", "]"),
    "objects": ('{"a":', "1", "}"),
    "both": ('[{"a":', "1", "}]"),
    "open": ("[", "", ""),
}


def nested(shape, depth):
    opening, core, closing = SHAPES[shape]
    times = depth // (2 if shape == "both" else 1)
    return opening * times + core + closing * times


def reference(data, most):
    """Where the first bracket is too deep, by a plain state machine, line by line."""
    place = 0
    for line in data.split(b"\n"):
        depth, within, escaped = 0, False, False
        for at, byte in enumerate(line):
            if within:
                within = escaped or byte != ord('"')
                escaped = not escaped and byte == ord("\\")
            elif byte == ord('"'):
                within = True
            elif byte in b"[{":
                depth += 1
                if depth > most:
                    return place + at
            elif byte in b"]}":
                depth -= 1
        place += len(line) + 1
    return -1


pieces = st.sampled_from(["[", "{", "]", "}", '"', "\\", "\n", "a", "[" * 7, "]" * 7, "a" * 130, '"' + "[" * 9 + '"'])


@given(st.lists(pieces, max_size=60), st.integers(1, 9))
def test_the_first_bracket_too_deep_is_found(text, most):
    data = "".join(text).encode()
    assert deepest(np.frombuffer(data, np.uint8), most) == reference(data, most)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("depth", [DEPTH + 2, 300_000])
@pytest.mark.parametrize("column", ["answer", "nobody_asks"])
def test_a_deep_line_is_a_bad_row(tmp_path, monkeypatch, shape, depth, column):
    monkeypatch.chdir(tmp_path)
    deep = f'{{"id": 2, "{column}": {nested(shape, depth)}}}'
    jsonl(tmp_path / "t.jsonl", GOOD, deep, {**GOOD, "id": 3})
    done = program("score", "t.jsonl", "-o", "o.parquet", "-m", "token_f1", "--threads", "1")
    assert (done.code, done.err) == (3, f"error: t.jsonl, line 2: nested more than {DEPTH} levels deep\n")
    done = program("score", "t.jsonl", "-o", "o.parquet", "-m", "token_f1", "--on-error", "skip")
    assert (done.code, pq.read_table("o.parquet")["id"].to_pylist()) == (0, [1, 3])
    (reject,) = map(json.loads, (tmp_path / "o.parquet.rejects.jsonl").read_text().splitlines())
    assert (reject["line"], reject["raw"]) == (2, deep[:10_000])


@pytest.mark.parametrize("shape", ["lists", "objects", "both"])
def test_json_at_the_depth_limit_is_read(tmp_path, monkeypatch, shape):
    monkeypatch.chdir(tmp_path)
    odd = {"question": '[[[[ {"a": \\" [' * 100, "other": [{"text": "]]]"}] * 300}
    allowed = json.dumps({**GOOD, "deep": json.loads(nested(shape, DEPTH - 2))})
    jsonl(tmp_path / "t.jsonl", {**GOOD, **odd}, allowed)
    done = program("score", "t.jsonl", "-o", "o.parquet", "-m", "token_f1")
    assert (done.code, done.err) == (0, "")


@pytest.mark.parametrize("place", [0, 50, 99])
def test_a_deep_line_is_found_in_any_block(tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    rows = [{**GOOD, "id": row} for row in range(100)]
    rows[place] = f'{{"x": {nested("lists", 50_000)}}}'
    jsonl(tmp_path / "t.jsonl", *rows)
    source = open_source("t.jsonl", sizes=ReadSizes(line_block_bytes=700))
    fm.score(source, "token_f1", output="o.parquet", files=fm.tables.FileSettings(on_error="skip"))
    assert pq.read_table("o.parquet")["id"].to_pylist() == [n for n in range(100) if n != place]


COMMANDS = ("score", "summarize", "validate", "match", "rank", "answer", "judge report", "judge sample")
LOGS = ("logs chunks", "logs domains", "logs topics", "logs cache")  # for logs check it is a finding


@pytest.mark.parametrize(
    ("command", "suffix"), [*((command, "jsonl") for command in (*COMMANDS, *LOGS)), ("score", "json")]
)
def test_every_command_that_reads_json_refuses_it(tmp_path, command, suffix):
    bad = jsonl(
        tmp_path / f"t.{suffix}",
        {**GOOD, "question": "a", "score": 1.5, "retrieved_ids": ["a"], "question_embedding": [1.0]},
        f'{{"q": {nested("lists", 100_000)}}}',
    )
    out = ["-o", tmp_path / "o.parquet"]
    more = {"score": out, "match": [bad, *out], "answer": [*out, "--bot", "faq", "--faq", bad]}
    more |= {"judge report": [], "judge sample": ["-n", "1", *out]}
    done = program(*command.split(), bad, *more.get(command, [bad] if command in ("validate", "rank") else []))
    assert done.code == 3
    assert str(bad) in done.err
    assert "Traceback" not in done.err
