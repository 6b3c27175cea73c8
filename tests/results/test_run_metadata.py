"""What outputs say of the runs that made them: fingerprints, names, times; and the list of a folder's runs."""

from __future__ import annotations

import itertools
import json
import random
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.stats.fingerprints import fingerprint, fingerprint_text, is_hashable
from fastmetrics.tables.outputs import read_metadata
from tests.support.program import program

texts = st.none() | st.text(max_size=12)
ROWS = [{"id": f"q{n}", "question": f"what is {n}?", "answer": "Paris", "reference": "Paris"} for n in range(50)]


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def prints(path):
    return read_metadata(path).get("fingerprint")


def added(*parts):
    return [sum(numbers) for numbers in zip(*parts, strict=True)]


@given(st.lists(st.tuples(texts, texts), max_size=10), st.integers(0, 10), st.randoms(use_true_random=False))
def test_row_order_and_parts_do_not_change_fingerprint(rows, cut, chance):
    def of(rows):
        return fingerprint([pa.array([row[at] for row in rows], pa.string()) for at in (0, 1)])

    mixed = chance.sample(rows, len(rows))
    assert (
        fingerprint_text(of(mixed))
        == fingerprint_text(of(rows))
        == fingerprint_text(added(of(rows[:cut]), of(rows[cut:])))
    )


def test_different_rows_have_different_fingerprints():
    """Texts, nulls, empty texts, places in the row, and how often a row is there."""
    cells = ["", None, "a", "b", "ab", "aa", "\0", "1"]
    pairs = list(itertools.product(cells, repeat=2))
    tables = [[pair] for pair in pairs] + [[pair] * 2 for pair in pairs] + list(itertools.combinations(pairs, 2)) + [[]]
    found = [
        fingerprint_text(fingerprint([pa.array([row[at] for row in rows], pa.string()) for at in (0, 1)]))
        for rows in tables
    ]
    assert len(set(found)) == len(tables)


def test_fingerprints_of_random_rows_do_not_collide():
    chance = random.Random(0)
    words = ["".join(chance.choices("ab", k=chance.randint(0, 20))) for _ in range(3000)]
    found = {fingerprint_text(fingerprint([pa.array([word])])) for word in words}
    assert len(found) == len(set(words))


@pytest.mark.parametrize("kind", [pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())], ids=str)
def test_text_layout_does_not_change_fingerprint(kind):
    column = pa.array(["7", None, "12", "7"])
    assert fingerprint([column]) == fingerprint([column.cast(kind)]) == fingerprint([column.cast(pa.int64())])
    assert is_hashable(kind)
    assert not is_hashable(pa.float64())


@pytest.mark.parametrize("suffix", ["parquet", "jsonl", "csv", "tsv", "arrow", ""])
def test_every_output_format_has_fingerprints(tmp_path, suffix):
    rows = write(tmp_path / "rows.jsonl", ROWS)
    out = tmp_path / f"scores.{suffix}" if suffix else tmp_path / "scores"
    fm.score(rows, output=out, metrics="token_f1", name="mine")
    expected = {
        "ids": fingerprint_text(fingerprint([pa.array([row["id"] for row in ROWS])])),
        "questions": fingerprint_text(
            fingerprint([pa.array([row[name] for row in ROWS]) for name in ("id", "question")])
        ),
    }
    assert prints(out) == expected
    assert read_metadata(out)["name"] == "mine"
    assert not {"began", "ended"} & set(read_metadata(out))


def test_questions_are_read_only_if_needed(tmp_path):
    rows = write(tmp_path / "rows.jsonl", ROWS)
    asked = {"plain": {}, "kept": {"keep": "question"}, "named": {"name": "a"}, "read": {"metrics": "jaccard"}}
    for name, options in asked.items():
        fm.score(rows, output=tmp_path / f"{name}.parquet", **{"metrics": "token_f1", **options})
    found = {name: prints(tmp_path / f"{name}.parquet") for name in asked}
    assert set(found["plain"]) == {"ids"}
    assert found["kept"] == found["named"] == found["read"]
    assert found["plain"]["ids"] == found["read"]["ids"]


def test_fingerprint_ignores_input_format_order_parts_and_threads(tmp_path):
    shuffled = random.Random(1).sample(ROWS, len(ROWS))
    inputs = [write(tmp_path / "a.jsonl", ROWS), write(tmp_path / "b.jsonl", shuffled)]
    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "c.parquet", row_group_size=7)
    (tmp_path / "d.csv").write_text(
        "\n".join(",".join(row.values()) for row in [{name: name for name in ROWS[0]}, *ROWS]) + "\n"
    )
    found = []
    for place, path in enumerate([*inputs, tmp_path / "c.parquet", tmp_path / "d.csv"]):
        for size, threads in ((3, 1), (1000, 2)):
            out = tmp_path / f"out{place}{size}.parquet"
            fm.score(
                path,
                output=out,
                metrics="token_f1",
                name="n",
                files=fm.tables.FileSettings(batch_rows=size),
                threads=threads,
            )
            found.append(prints(out))
    assert all(one == found[0] for one in found)


def test_integers_are_fingerprinted_as_text_and_lists_are_not(tmp_path):
    numbers = write(tmp_path / "a.jsonl", [{"id": 7, "answer": "a"}])
    strings = write(tmp_path / "b.jsonl", [{"id": "7", "answer": "a"}])
    lists = write(tmp_path / "c.jsonl", [{"question": [1, 2], "answer": "a"}])
    for path in (numbers, strings, lists):
        fm.score(path, output=path.with_suffix(".parquet"), metrics="answer_words", name="n")
    assert prints(tmp_path / "a.parquet") == prints(tmp_path / "b.parquet") != None  # noqa: E711
    assert prints(tmp_path / "c.parquet") is None


def test_fingerprint_excludes_rejected_rows(tmp_path):
    rows = write(tmp_path / "a.jsonl", ROWS)
    rows.write_text(rows.read_text() + '{"id": "bad", "answer": {"a": 7}}\n')
    fm.score(rows, output=tmp_path / "a.parquet", metrics="answer_words", files=fm.tables.FileSettings(on_error="skip"))
    fm.score(write(tmp_path / "b.jsonl", ROWS), output=tmp_path / "b.parquet", metrics="answer_words")
    assert prints(tmp_path / "a.parquet") == prints(tmp_path / "b.parquet")


def test_run_bytes_are_reproducible_without_times(tmp_path):
    rows = write(tmp_path / "rows.jsonl", ROWS)
    outs = [tmp_path / "one" / "s.parquet", tmp_path / "two" / "s.parquet"]
    for out in outs:
        out.parent.mkdir()
        fm.score(rows, output=out, metrics="token_f1", name="n")
    assert outs[0].read_bytes() == outs[1].read_bytes()
    fm.score(rows, output=tmp_path / "t.parquet", metrics="token_f1", times=True)
    about = read_metadata(tmp_path / "t.parquet")
    assert about["began"] <= about["ended"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", about["began"])


class StoppedError(Exception):
    """What ends a run early here."""


def test_resumed_run_has_the_name_of_its_last_call(tmp_path):
    table = pa.table({"id": range(300_000), "answer": ["a b"] * 300_000, "reference": ["a"] * 300_000})
    pq.write_table(table, tmp_path / "rows.parquet")

    def stop(progress):
        if progress.rows > 140_000:
            raise StoppedError

    out = tmp_path / "scores.parquet"
    with pytest.raises(StoppedError):
        fm.score(tmp_path / "rows.parquet", output=out, metrics="token_f1", name="first", progress=stop)
    assert fm.results.list_runs(tmp_path).num_rows == 0  # unfinished runs are not listed
    found = fm.score(tmp_path / "rows.parquet", output=out, metrics="token_f1", name="second", resume=True)
    assert found.resumed_rows > 0
    undisturbed = tmp_path / "once" / "scores.parquet"
    undisturbed.parent.mkdir()
    fm.score(tmp_path / "rows.parquet", output=undisturbed, metrics="token_f1", name="second")
    assert out.read_bytes() == undisturbed.read_bytes()
    assert [run["name"] for run in fm.results.list_runs(tmp_path).to_pylist()] == ["second"]


def test_runs_of_a_folder_are_listed(tmp_path):
    rows = write(tmp_path / "rows.jsonl", ROWS)
    fm.score(rows, output=tmp_path / "b.parquet", metrics="token_f1", name="second", times=True)
    fm.score(rows, output=tmp_path / "a.csv", metrics="token_f1,exact_match")
    fm.score(rows, output=tmp_path / "parts", metrics="token_f1", name="third")
    (tmp_path / "notes.txt").write_text("no run")
    np.save(tmp_path / "vectors.npy", np.zeros((2, 2)))
    (tmp_path / "empty").mkdir()
    found = fm.results.list_runs(tmp_path).to_pylist()
    assert [(run["file"], run["name"], run["rows"]) for run in found] == [
        ("b.parquet", "second", 50),
        ("a.csv", None, 50),
        ("parts", "third", 50),
    ]
    assert found[1]["metrics"] == ["token_f1", "exact_match"]
    assert len({run["ids"] for run in found}) == 1
    assert found[0]["inputs"].startswith("rows.jsonl (")
    printed = program("runs", "list", tmp_path)
    assert printed.code == 0
    assert [line.split()[0] for line in printed.out.splitlines()] == ["file", "b.parquet", "a.csv", "parts"]
    assert json.loads(program("runs", "list", tmp_path, "--json").out) == found
