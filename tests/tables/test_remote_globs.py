"""Patterns held against listings: what Python's glob finds on a disk, found in memory and in a real S3 server."""

import glob
import os
import re
import tempfile
import uuid
from pathlib import Path

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fastmetrics.base.errors import FileFormatError
from fastmetrics.results.summary import summarize
from fastmetrics.tables.addresses import Pattern, is_input, on_disk
from fastmetrics.tables.opening import expand, open_source
from tests.support.loopback import BUCKET
from tests.support.table_files import tree

NAMES = st.sampled_from(["a.csv", "b.csv", ".h.csv", "_s.csv", "ab.csv", "x", "xy", ".x", "[a].csv", "lang=de"])
STEPS = st.sampled_from(["*", "**", "?.csv", "*.csv", "[ab]*", "[!a].csv", ".*", "x", "x*", "*x", "a.csv", "[[]a].csv"])


@given(st.lists(st.lists(NAMES, min_size=1, max_size=3), max_size=8), st.lists(STEPS, min_size=1, max_size=4))
@example([["a.csv"]], ["*", "**"])
@example([["a.csv"]], ["a.csv", "**"])
@example([["a.csv"]], ["**", "a.csv", "**"])
@example([], ["x", "**"])
@example([["x", "x"]], ["x", "x", "*"])
@example([["x", "a.csv"]], ["x*", "**", "**"])
@example([[".h.csv", "a.csv"]], [".*"])
def test_patterns_match_the_glob_module(files, steps):
    pattern = "/".join(steps)
    with tempfile.TemporaryDirectory() as folder:
        memory, root = fsspec.filesystem("memory"), f"/{uuid.uuid4().hex}"
        for file in files:
            path = Path(folder, *file[:-1], f"{file[-1]}.csv" if len(file) == 1 else file[-1])
            if not path.exists() and not any(parent.is_file() for parent in path.parents):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("answer\nyes\n")
                memory.pipe_file(f"{root}/{path.relative_to(folder).as_posix()}", b"answer\nyes\n")
        everything = [os.path.relpath(found, folder) for found in Path(folder).rglob("*")]
        found = glob.glob(pattern, root_dir=folder, recursive=True)
        inside = {name.rstrip("/") for name in found if Path(folder, name).is_dir()} | (
            {""} if {*steps} == {"**"} else set()
        )
        wanted = {file for file in everything if Path(folder, file).is_file() and is_found(file, found, inside)}
        assert {name for name, _ in Pattern(pattern).find(sorted(everything)) if Path(folder, name).is_file()} == wanted
        if glob.has_magic(pattern):
            here, there = expansion(folder, f"/{pattern}"), expansion(f"memory:/{root}", f"/{pattern}")
            assert here == there


def is_found(file, found, inside):
    """Whether a file is a match itself, or is read in a folder that is one."""
    above = [parent.as_posix() if parent.name else "" for parent in Path(file).parents]
    relatives = [file.removeprefix(f"{folder}/") for folder in above if folder in inside]
    if relatives:
        return is_input(max(relatives, key=len))
    return file in found


TREE = ["a.csv", "x/b.csv", "x/y/c.csv", "x/.d.csv", ".h/e.csv"]


@pytest.mark.parametrize(
    ("pattern", "files"),
    [
        ("*", {"a.csv": None, "x/b.csv": "b.csv", "x/y/c.csv": "y/c.csv"}),
        ("**", {"a.csv": "a.csv", "x/b.csv": "x/b.csv", "x/y/c.csv": "x/y/c.csv"}),
        ("*/**", {"x/b.csv": "b.csv", "x/y/c.csv": "y/c.csv"}),
        ("a*/**", {}),
        ("a.csv/**", {}),
        ("**/a.csv/**", {}),
        ("none/**", {}),
        ("x/**/**", {"x/b.csv": "b.csv", "x/y/c.csv": "y/c.csv"}),
        ("**/*.csv", {"a.csv": None, "x/b.csv": None, "x/y/c.csv": None}),
        ("x/**/*.csv", {"x/b.csv": None, "x/y/c.csv": None}),
        ("*/", {"x/b.csv": "b.csv", "x/y/c.csv": "y/c.csv"}),
        ("a*/", {}),
        (".*/*", {".h/e.csv": None}),
        ("*/.*", {"x/.d.csv": None}),
        ("/".join(["**"] * 12) + "/*.csv", {"a.csv": None, "x/b.csv": None, "x/y/c.csv": None}),
    ],
)
def test_patterns_follow_the_documented_rules(tmp_path, pattern, files):
    """The rules that docs/data.md writes down, in a listing and on a disk."""
    for file in TREE:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    assert dict(Pattern(pattern).find(TREE)) == files
    assert {os.path.relpath(name, tmp_path): keys for name, keys in on_disk(f"{tmp_path}/{pattern}")} == files


def test_a_pattern_reads_each_real_folder_once(tmp_path):
    """Links that lead up and to each other have no end."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "t.csv").write_text("answer\nyes\n")
        (tmp_path / name / "up").symlink_to("..")
        (tmp_path / name / "other").symlink_to(f"../{'ba'['ba'.index(name) - 1]}")
    for pattern in ("**/*.csv", "**", "*", "/".join(["**"] * 12), "/".join(["**", "*"] * 12)):
        assert len(on_disk(f"{tmp_path}/{pattern}")) in (2, 0), pattern
    assert len(on_disk(f"{tmp_path}/**/*.csv")) == len(on_disk(f"{tmp_path}/**")) == 2


@pytest.mark.timeout(20)
def test_a_pattern_takes_time_in_proportion_to_the_tree(tmp_path):
    deep = tmp_path.joinpath(*["d"] * 60)
    deep.mkdir(parents=True)
    (deep / "t.csv").write_text("answer\nyes\n")
    assert len(on_disk(f"{tmp_path}/{'**/*/' * 12}*.csv")) == 1
    assert len(on_disk(f"{tmp_path}/{'**/' * 12}*.csv")) == 1
    assert on_disk(f"{tmp_path}/{'**/*/' * 12}*.tsv") == []


def expansion(base, pattern):
    """The files that a pattern finds, below its base, or how that fails."""
    try:
        return [file.path.removeprefix(f"{base}/") for file in expand(base + pattern, "csv")]
    except FileFormatError as error:
        return re.sub(r".*(no file matches|no table files).*", r"\1", str(error))


def test_patterns_on_s3(s3, tmp_path):
    folder = tree(tmp_path / "tree")
    address = s3.put(folder, "patterns/tree")
    before = len(s3.requests())
    for pattern in ("*/part-?.parquet", "lang=*/*.parquet", "**/part-[12].parquet", "lang=de/**/*.parquet", "lang=*"):
        names = [file.path.removeprefix(f"{address}/") for file in expand(f"{address}/{pattern}", "parquet")]
        assert names == [os.path.relpath(file.path, folder) for file in expand(f"{folder}/{pattern}", "parquet")]
    lists = [asked for asked in s3.requests()[before:] if "list-type" in asked and "max-keys=1000" in asked]
    assert len(lists) == 6, "one listing a pattern, and one more for the folders that lang=* finds"
    with pytest.raises(FileFormatError, match=r"no file matches"):
        open_source(f"{address}/*.orc")


def test_file_matched_twice_by_a_pattern_counts_once(s3, tmp_path):
    folder = tree(tmp_path / "tree")
    for inside in (folder / "lang=de", folder / "lang=en%20gb"):
        (inside / "notes.txt").unlink(missing_ok=True)
    address = s3.put(folder / "lang=de", "twice")
    assert len(expand(f"{folder}/lang=de/**")) == len(expand(f"{address}/**")) == 2


def test_scores_matched_by_a_pattern_are_summarized(s3, tmp_path):
    for name in ("a", "b"):
        pq.write_table(pa.table({"token_f1": [0.5, 1.0]}), tmp_path / f"{name}.parquet")
        s3.put(tmp_path / f"{name}.parquet", f"sums/{name}.parquet")
    here, there = (summarize(f"{where}/?.parquet") for where in (tmp_path, f"s3://{BUCKET}/sums"))
    assert here.to_json().replace(str(tmp_path), f"s3://{BUCKET}/sums") == there.to_json()
    assert there.n_rows == 4
