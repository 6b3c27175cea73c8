"""Inputs behind addresses: paths, patterns and options, from a real S3 server, memory, files and the web."""

import glob
import json
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pyarrow import fs

import fastmetrics as fm
from fastmetrics.base.errors import FileFormatError, MissingExtraError, OptionError
from fastmetrics.base.limits import ReadSizes
from fastmetrics.results.summary import summarize
from fastmetrics.tables.addresses import Pattern, is_input, on_disk, parse
from fastmetrics.tables.opening import expand, open_source
from fastmetrics.tables.remote_files import store
from tests.support.goldens import refused
from tests.support.judge_server import judge_server
from tests.support.loopback import BUCKET, KEY, SECRET, object_store
from tests.support.program import ENVIRONMENT, ROOT, jsonl, program
from tests.support.table_files import FORMATS, KINDS, ROWS, read, tree, write

TABLE = pa.table(ROWS)


def rows(source):
    """What a source holds, with the rejects' places but not their file."""
    table, rejects = read(source, KINDS)
    return table, [reject.partition(", ")[2] for reject in rejects]


@pytest.mark.parametrize("name", FORMATS)
def test_remote_reading_of_every_format_equals_local(s3, tmp_path, name):
    path = write(TABLE, tmp_path / name)
    address = s3.put(path, f"formats/{name}")
    assert rows(open_source(address)) == rows(open_source(path))
    assert open_source(address).nbytes == path.stat().st_size


@pytest.mark.parametrize("name", ["bad.jsonl", "bad.csv.gz"])
def test_remote_bad_rows_are_named_like_local_ones(s3, tmp_path, name):
    lines = ['{"id": "a", "answer": "x", "reference": "y"}', '{"id": "b", "answer": {"a": 7}}', "{nonsense"] * 50
    if "csv" in name:
        lines = ["id,answer,reference", *["a,x,y", "b,x", "c,x,y,z"] * 50]
    with pa.output_stream(str(tmp_path / name), compression="gzip" if name.endswith("gz") else None) as stream:
        stream.write("\n".join(lines).encode())
    table, rejects = rows(open_source(s3.put(tmp_path / name, name)))
    assert (table, rejects) == rows(open_source(tmp_path / name))
    assert len(rejects) == 100


def test_file_format_is_detected_from_first_bytes(s3, tmp_path):
    write(TABLE, tmp_path / "t.parquet").rename(tmp_path / "t")
    assert rows(open_source(s3.put(tmp_path / "t", "plain/t")))[0].equals(TABLE.select(list(KINDS)))
    (tmp_path / "t").write_bytes(b"\x00\x01")
    refused(FileFormatError, "s3://rows/plain/t", lambda: open_source(s3.put(tmp_path / "t", "plain/t")))


def test_remote_partitioned_folder_equals_local(s3, tmp_path):
    folder = tree(tmp_path / "tree")
    address = s3.put(folder, "hive/tree")
    here, there = expand(folder), expand(address)
    assert [file.path.removeprefix(f"{address}/") for file in there] == [
        os.path.relpath(file.path, folder) for file in here
    ]
    assert [file.keys for file in there] == [file.keys for file in here]
    assert expand(f"{address}/") == there
    found, _ = read(open_source(address), {**KINDS, "lang": "text"})
    assert set(found["lang"].to_pylist()) == {"de", "en gb"}


def test_keys_with_special_characters_are_literal(s3, tmp_path):
    path = write(TABLE, tmp_path / "t.csv")
    for key in ("odd/a b.csv", "odd/a%20b.csv", "odd/é+ü.csv", "odd/x@y:z.csv", "odd/[1].csv", "odd/q?.csv"):
        address = s3.put(path, key)
        assert [file.path for file in expand(address)] == [address]
        assert rows(open_source(address))[0].num_rows == 3
    assert len(expand(f"s3://{BUCKET}/odd/")) == 6


def test_many_objects_open_with_few_requests(s3, tmp_path):
    for number in range(40):
        pq.write_table(TABLE, tmp_path / f"part-{number:02}.parquet")
    address = s3.put(tmp_path, "many")
    before = len(s3.requests())
    source = open_source(address)
    assert source.rows == 120
    asked = [request for request in s3.requests()[before:] if "part-" in request]
    assert len(asked) == 80, "a look and a footer each"


def test_only_needed_columns_are_fetched(tmp_path, monkeypatch):
    sizes = ReadSizes(remote_ahead_bytes=32 << 10)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    wide = {"fat": [os.urandom(2048) for _ in range(3000)], "answer": [f"yes {n}" for n in range(3000)]}
    pq.write_table(pa.table(wide), tmp_path / "t.parquet", row_group_size=1000)
    with object_store() as held:
        held.objects["/bkt/t.parquet"] = (tmp_path / "t.parquet").read_bytes()
        source = open_source(f"s3://bkt/t.parquet?endpoint_override={held.endpoint}&region=x", sizes=sizes)
        assert read(source, {"answer": "text"})[0]["answer"].to_pylist() == wide["answer"]
        assert held.sent < len(held.objects["/bkt/t.parquet"]) / 10


def rows_of(address):
    return open_source(address).rows


def test_a_forked_process_opens_remote_files(s3, tmp_path):
    address = s3.put(write(TABLE, tmp_path / "t.parquet"), "travel/t.parquet")
    open_source(address)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply(rows_of, [address]) == 3


def test_fingerprints_depend_only_on_the_object(s3, tmp_path):
    path = write(TABLE, tmp_path / "t.csv")
    address = s3.put(path, "print/t.csv")
    (found,) = open_source(address).fingerprint
    assert found[:2] == [address, path.stat().st_size]
    for also in (f"s3://{BUCKET}/print/", f"s3://{BUCKET}/print/*.csv"):
        assert open_source(also).fingerprint == [found]
    path.write_text(path.read_text() + "d,x,y\n")
    s3.put(path, "print/t.csv")
    assert open_source(address).fingerprint != [found]


def test_address_parameters_override_the_environment(s3, tmp_path, monkeypatch):
    address = s3.put(write(TABLE, tmp_path / "t.csv"), "query/t.csv")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    host = s3.endpoint.removeprefix("http://")
    for query in (f"endpoint_override={host}&scheme=http&region=eu-west-3", f"endpoint_override={s3.endpoint}"):
        assert open_source(f"{address}?{query}").nbytes > 0
        assert len(expand(f"s3://{BUCKET}/query/?.csv?{query}")) == 1
    system = store(parse(f"{address}?endpoint_override={host}&region=eu-west-3&anonymous=true")).system
    assert system.region == "eu-west-3"
    assert system.__reduce__()[1][0]["background_writes"] is False, "uploads in bounded memory"
    refused(OptionError, "anonymous=perhaps", open_source, f"{address}?anonymous=perhaps&region=x")


def test_credentials_can_come_from_profiles(s3, tmp_path, monkeypatch):
    address = s3.put(write(TABLE, tmp_path / "t.csv"), "profile/t.csv")
    (tmp_path / "credentials").write_text(f"[night]\naws_access_key_id = {KEY}\naws_secret_access_key = {SECRET}\n")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_PROFILE", "night")
    assert open_source(address).nbytes > 0


def test_s3a_and_collapsed_addresses_are_read_as_s3(s3, tmp_path):
    address = s3.put(write(TABLE, tmp_path / "t.csv"), "alias/t.csv")
    assert open_source(address.replace("s3:", "s3a:")).fingerprint == open_source(Path(address)).fingerprint


def test_file_addresses_are_local_paths(tmp_path):
    path = write(TABLE, tmp_path / "a b.csv")
    for address in (path.as_uri(), f"file://localhost{path}", f"file://{tmp_path}/a*.csv"):
        (file,) = expand(address)
        assert (file.path, file.stamp) == (str(path), None)
    assert [file.path for file in expand(tmp_path.as_uri())] == [str(path)]


def test_memory_addresses_are_read(tmp_path):
    for name in FORMATS:
        path = write(TABLE, tmp_path / name)
        fsspec.filesystem("memory").put_file(str(path), f"/stored/{name}")
        assert rows(open_source(f"memory://stored/{name}")) == rows(open_source(path))
    assert len(expand("memory://stored/")) == len(FORMATS)


def test_web_addresses_are_read(tmp_path):
    path = write(TABLE, tmp_path / "t.csv")
    with object_store() as held:
        held.objects["/t.csv"] = path.read_bytes()
        source = open_source(f"{held.endpoint}/t.csv?token={SECRET}")
        assert rows(source)[0].num_rows == 3
        assert source.files[0].shown == f"{held.endpoint}/t.csv?token=***"
        with pytest.raises(FileFormatError) as caught:
            open_source(f"{held.endpoint}/none.csv?token={SECRET}")
        assert SECRET not in str(caught.value)


def test_google_addresses_use_the_google_file_system(tmp_path, monkeypatch):
    path = write(TABLE, tmp_path / "t.csv")
    about = {"kind": "storage#object", "name": "t.csv", "bucket": "bkt", "size": str(path.stat().st_size)}
    about |= {"generation": "1", "updated": "2025-01-01T00:00:00Z", "timeCreated": "2025-01-01T00:00:00Z"}
    with object_store() as held:
        held.objects["/storage/v1/b/bkt/o/t.csv"] = json.dumps(about).encode()
        held.objects["/bkt/t.csv"] = path.read_bytes()
        address = f"gs://anonymous@bkt/t.csv?scheme=http&endpoint_override={held.endpoint.removeprefix('http://')}"
        assert isinstance(store(parse(address)).system, fs.GcsFileSystem)
        assert store(parse(address)).path == "bkt/t.csv"
        held.requested.clear()
        (file,) = expand(address)
        assert file.size == path.stat().st_size
        assert held.requested
        assert all("/bkt" in asked for asked in held.requested)


def test_hadoop_addresses_need_hadoop(monkeypatch):
    for name in ("HADOOP_HOME", "hdfs://node:8020 JAVA_HOME"):
        monkeypatch.setenv(name, "/nowhere")
    monkeypatch.setenv("ARROW_LIBHDFS_DIR", "/nowhere")
    refused(MissingExtraError, "hdfs://node:8020 JAVA_HOME", open_source, "hdfs://node:8020/rows.parquet")
    assert program("summarize", "hdfs://node:8020/scores").code == 5


def test_missing_packages_are_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "paramiko", None)
    refused(MissingExtraError, "sftp://", open_source, "sftp://host/rows.csv")
    monkeypatch.setitem(sys.modules, "fsspec", None)
    refused(MissingExtraError, "[fsspec]", open_source, "memory://rows.csv/x")


def test_process_exits_silently_after_reading_s3(s3, tmp_path):
    address = s3.put(write(TABLE, tmp_path / "t.parquet"), "end/t.parquet")
    script = f"from fastmetrics.tables.opening import open_source\nkept = open_source({address!r})\nprint(kept.rows)\n"
    for ending in ("", "raise SystemExit"):
        settings = {"capture_output": True, "timeout": 60, "env": {**ENVIRONMENT, **s3.environment}}
        done = subprocess.run([sys.executable, "-c", script + ending], check=True, **settings)
        assert (done.stdout, done.stderr) == (b"3\n", b"")


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
    refused(FileFormatError, "matches", open_source, f"{address}/*.orc")


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


LINES = (ROOT / "tests" / "data" / "command_lines.txt").read_text("utf-8").splitlines()
"""Command lines with a path for every option that takes one: ``<`` is read, ``>`` written, ``@`` on this machine."""


def paths(line):
    """The words of a line that are paths, by their place, each with its option; "" for an argument."""
    words = line.split()
    for at, word in enumerate(words):
        if word[0] in "<>@":
            yield at, words[at - 1] if words[at - 1].startswith("-") else "", word


def some(kind):
    """The line, the place of the word and the word of each path of this kind."""
    return [(line, at, word) for line in LINES for at, _, word in paths(line) if word[0] in kind]


def form(word):
    """Whether a path is read or written, and its suffix."""
    return word[0], word.partition(".")[2]


READERS = {(line.split()[at - 1], *form(word)): (line, at, word) for line, at, word in some("<>")}.values()
"""One command for each option and form of what is read or written there: ``--full`` runs them all."""
CONVERTERS = {form(one[2]): one for one in READERS}.values()
"""One of them for each form of what is read or written."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory, judge):
    """Inputs of every kind on this machine."""
    made = tmp_path_factory.mktemp("inputs")
    rows = [
        {
            "id": f"q{n}",
            "question": f"What is number {n}?",
            "answer": f"It is {n % 3} or so.",
            "reference": f"It is {n % 4}",
            "retrieved_ids": [f"d{n % 5}", "d7"],
            "relevant_ids": [f"d{n % 4}"],
            "session_id": n // 4,
            "prompt_tokens": 90,
            "completion_tokens": n,
            "timestamp": 1_700_000_000 + 60 * n,
        }
        for n in range(24)
    ]
    jsonl(made / "rows.jsonl", *rows)
    jsonl(made / "passages.jsonl", *({"id": row["id"], "text": row["answer"]} for row in rows))
    jsonl(made / "labelled.jsonl", *({**rows[n % 24], "id": n, "label": n % 3 % 2} for n in range(60)))
    jsonl(made / "brief.jsonl", *({**row, "answer": f"{n % 3}"} for n, row in enumerate(rows)))
    jsonl(made / "repeated.jsonl", *({**rows[n % 8], "answer": row["answer"]} for n, row in enumerate(rows)))
    texts = {
        "segments.csv": "id,kind\n" + "".join(f"q{n},{'ab'[n % 2]}\n" for n in range(24)),
        "labels.csv": "id,human\n" + "".join(f"q{n},{1 + n % 5}\n" for n in range(24)),
        "chunks.csv": "id,source\n" + "".join(f"d{n},{'xy'[n % 2]}\n" for n in range(9)),
        "faq.csv": "question,answer\nWhat is number 1?,One.\n",
        "rules.toml": 'require = ["token_f1 >= 0"]\n',
        "prices.toml": "[m]\ninput = 1\noutput = 2\n",
        "client.toml": "prices.m = {input = 1, output = 2}\n",
        "knowledge.txt": "Numbers are numbers.\n",
        "template.txt": "Read: {knowledge}\nAnswer: {question}\n",
        "row_template.txt": "Read: {contexts}\nAnswer: {question}\n",
        "run.txt": "".join(f"q{n} Q0 d{m} {m} {9 - m} me\n" for n in range(4) for m in range(3)),
        "other.txt": "".join(f"q{n} Q0 d{m} {m} {m} you\n" for n in range(4) for m in range(3)),
        "qrels.txt": "".join(f"q{n} 0 d{n} 1\n" for n in range(3)),
        "plugin.py": "import fastmetrics as fm\n\n\n@fm.metric(bounds=(0, 1), better='higher')\n"
        "def ends_well(answer: str) -> float:\n    return float(answer.endswith('.'))\n",
    }
    for name, text in texts.items():
        (made / name).write_text(text)
    points = np.random.default_rng(0).normal(size=(24, 256)).astype(np.float32)  # as wide as those of wordllama
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(points.ravel()), 256)
    pq.write_table(pa.table({"id": [row["id"] for row in rows], "embedding": vectors}), made / "vectors.parquet")
    np.save(made / "queries.npy", points[:3])
    rubric = Path(fm.__file__).parent / "models" / "rubrics" / "safety.en.toml"
    shutil.copy(rubric, made / "rubric.toml")
    asked = ["-m", "token_f1,jaccard,corpus_bleu", "--keep-counts", "--keep", "question"]
    (made / "runs" / "c").mkdir(parents=True)
    (made / "runs" / "c").rmdir()
    for source, out in (
        *(("rows", "old.parquet"), ("brief", "new.parquet"), ("repeated", "repeated.parquet")),
        *(("rows", "runs/a.parquet"), ("brief", "runs/b.csv"), ("brief", "runs/c/")),
    ):
        assert program("score", made / f"{source}.jsonl", "-o", f"{made}/{out}", *asked).code == 0
    assert program("logs", "chunks", made / "rows.jsonl", "-o", made / "usage.json").code == 0
    calls = ["--model", "m", "--base-url", judge.url, "--store", made / "made.sqlite"]
    judging = ["-o", made / "judged.parquet", "--rubrics", "correctness", *calls]
    assert program("judge", "run", made / "rows.jsonl", *judging).code == 0
    drawn = fm.sample(made / "judged.parquet", budget=12, for_="human", using="judge_correctness")
    pq.write_table(drawn.append_column("human", pa.array(range(12))), made / "drawn.parquet")
    return made


@pytest.fixture(scope="module")
def judge():
    """A model on this machine."""
    with pytest.MonkeyPatch.context() as patch, judge_server() as server:
        patch.setenv("OPENAI_API_KEY", "key")
        yield server


def run(line, judge, folder, outputs, at=0, address=""):
    """Run a line, whose word at ``at`` is at an address."""
    outputs.mkdir(exist_ok=True)
    if "@made_index" in line and not (outputs / "made_index").exists():
        options = ["--method", "exact", "-o", outputs / "made_index"]
        assert program("vectors", "index", folder / "vectors.parquet", *options).code == 0
    words = line.replace("URL", judge.url).split()
    for place, _, word in paths(line):
        here = folder if word[0] == "<" or (folder / word[1:]).exists() else outputs
        words[place] = f"{address if place == at else here}/{word[1:]}"
    return program(*words)


def _plain(done, *places):
    """What was printed, without the places of files and without times."""
    texts = [done.out, done.err]
    for place in places:
        texts = [text.replace(f"{place}/", "") for text in texts]
    times = re.compile(r"\d[\d.,]* (s|rows/s|MB/s|%)\b|[\d.,]+ +[\d.]+ ?%|\d[\d.,]*")
    measured = re.compile(r"rows/s| ms \(|^latency:", re.M)
    profile = [times.sub("N", text) if measured.search(text) else re.sub(r" in [\d.]+ s", "", text) for text in texts]
    # notes are folded, at other places if the address of a file is longer than its path
    return done.code, *(re.sub(r"\s+", " ", text) for text in profile)


@pytest.mark.parametrize(
    ("line", "at", "word"),
    [one if one in CONVERTERS else pytest.param(*one, marks=pytest.mark.full) for one in READERS],
)
def test_paths_may_be_addresses(s3, tmp_path, folder, judge, line, at, word):
    """A run with an address prints and writes what a run on local files does."""
    local = run(line, judge, folder, tmp_path / "here")
    assert local.code == 0, local.err
    key, name = f"options/{LINES.index(line)}-{at}", word[1:]
    if word[0] == "<":
        for beside in ("", ".meta.json"):
            if (folder / f"{name}{beside}").exists():
                s3.put(folder / f"{name}{beside}", f"{key}/{name}{beside}")
    address = f"s3://{BUCKET}/{key}"
    remote = run(line, judge, folder, tmp_path / "there", at, address)
    places = (folder, tmp_path / "here", tmp_path / "there", address)
    assert _plain(remote, *places) == _plain(local, *places)
    written = tmp_path / "here" / name
    for file in [one for one in (written, *written.rglob("*")) if word[0] == ">" and one.is_file()]:
        data, expected = s3.read(f"{key}/{file.relative_to(tmp_path / 'here').as_posix()}"), file.read_bytes()
        latencies = re.compile(rb"\d+\.\d+" if line.startswith("answer") else rb"^$")
        assert latencies.sub(b"", data) == latencies.sub(b"", expected)


@pytest.mark.parametrize(("line", "at", "word"), some("@"))
def test_paths_that_must_be_local_say_so(tmp_path, monkeypatch, folder, judge, line, at, word):
    monkeypatch.chdir(tmp_path)
    done = run(line, judge, folder, tmp_path, at, f"s3://{BUCKET}/local")
    assert done.code != 0
    assert word[1:] in done.err
    assert "expected a path on this machine, not an address" in done.err
    assert done.err.count("\n") == 1
    assert not (tmp_path / "s3:").exists()
