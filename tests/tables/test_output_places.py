"""What an output may replace, and what unfinished ones leave."""

import os
import shlex
import stat
import threading
from contextlib import suppress
from pathlib import Path

import fsspec
import numpy as np
import pyarrow as pa
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import OutputError
from fastmetrics.cli.commands import all_commands
from fastmetrics.tables.outputs import page_target, table_target, write_whole
from fastmetrics.tables.targets import Target, replace_folder
from tests.support.goldens import refused
from tests.support.program import ROOT, alone, jsonl, name_of, program

ROW = {
    "id": 1,
    "question": "who",
    "answer": "in Paris",
    "reference": "Paris",
    "judge_safety": 4,
    "judge_s_status": "ok",
}
TABLE = pa.table({"id": [1]})


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def rows(name="in.jsonl"):
    return jsonl(Path(name), ROW, {**ROW, "id": 2, "answer": "Rome"})


WRITERS = [shlex.split(line) for line in (ROOT / "tests" / "data" / "writing_commands.txt").read_text().splitlines()]
"""Commands that would replace in.jsonl or in.svg, which they read."""


def test_every_command_that_writes_is_tried():
    """Those with an option for a file that they replace: index and evaluate-rag make folders, fit .toml of tables.

    Local models need an extra: tests/models/test_local_models.py.
    """
    writing = {
        name
        for name, function in all_commands().items()
        if {"output", "junit", "plot"} & set(function.__annotations__) and not name.startswith("models ")
    }
    assert {name_of(words) for words in WRITERS} == writing - {"vectors index", "fit", "evaluate-rag"}


@pytest.mark.parametrize("words", WRITERS, ids=shlex.join)
def test_no_command_replaces_its_input(words):
    rows()
    rows("faq.jsonl")
    rows("in.svg")
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    done = program(*words, *(() if {"--junit", "--plot"} & {*words} else ("--overwrite",)))
    assert done.code == 4, done.err
    assert "input; write to another name" in done.err
    assert {path.name: path.read_bytes() for path in Path().iterdir() if path.is_file()} == before


@pytest.mark.parametrize(
    ("read", "written"),
    [
        ("in.jsonl", "in.jsonl"),
        ("./in.jsonl", "in.jsonl"),
        ("in.jsonl", "../{here}/in.jsonl"),
        ("link.jsonl", "in.jsonl"),
        ("in.jsonl", "hard.jsonl"),
        ("hard.jsonl", "in.jsonl"),
        ("*.jsonl", "in.jsonl"),
        ("fold*", "folder/in.jsonl"),
        ("folder", "folder/in.jsonl"),
        ("linked", "folder/in.jsonl"),
        ("**/*.jsonl", "folder/in.jsonl"),
        ("in.jsonl", "linked/../in.jsonl"),
        ({"a": "in.jsonl"}, "in.jsonl"),
        (["other", ["in.jsonl"]], "in.jsonl"),
    ],
)
def test_inputs_are_recognised_by_any_name(tmp_path, read, written):
    rows()
    Path("folder").mkdir()
    rows("folder/in.jsonl")
    Path("link.jsonl").symlink_to("in.jsonl")
    Path("linked").symlink_to("folder")
    os.link("in.jsonl", "hard.jsonl")
    refused(OutputError, "input", lambda: table_target(written.format(here=tmp_path.name), read, overwrite=True))


@pytest.mark.parametrize(
    ("read", "written"),
    [
        ("memory://b/in.csv", "memory://b/in.csv"),
        ("s3a://b/in.csv?region=eu-west-1", "s3://b/in.csv?region=eu-west-1"),
        ("memory://b/folder/", "memory://b/folder/in.csv"),
        ("memory://b/*/in.csv", "memory://b/folder/in.csv"),
        ("memory://b/**", "memory://b/folder/in.csv"),
    ],
)
def test_inputs_at_addresses_are_recognised(read, written):
    from fastmetrics.tables.addresses import parse
    from fastmetrics.tables.targets import check_not_read

    refused(OutputError, "input", lambda: check_not_read(parse(written), read))
    check_not_read(parse("memory://b/other.txt"), [read, "local.csv"])


def test_metadata_of_an_input_are_kept():
    write_whole(TABLE, table_target("in.csv", ()), {}, set())
    refused(OutputError, "in.csv.meta.json", page_target, "in.csv.meta.json", "in.csv", overwrite=True)


@pytest.mark.parametrize("name", ["out.csv", "out.csv.meta.json", "out.csv.rejects.jsonl"])
def test_links_are_not_replaced(name):
    rows()
    Path("precious").write_text("mine")
    Path(name).symlink_to("precious")
    done = program("score", "in.jsonl", "-o", "out.csv", "-m", "token_f1", "--overwrite")
    assert (done.code, "is a link, which no output replaces; write to" in done.err) == (4, True)
    assert (Path(name).is_symlink(), Path("precious").read_text()) == (True, "mine")


def test_dangling_link_is_not_replaced():
    Path("page.json").symlink_to("nowhere")
    refused(OutputError, "link", page_target, "page.json", ())


def test_tables_do_not_replace_pipes():
    rows()
    os.mkfifo("out.csv")
    for words in (("score", "in.jsonl", "-m", "token_f1"), ("match", "in.jsonl", "in.jsonl")):
        done = program(*words, "-o", "out.csv", "--overwrite")
        assert (done.code, "is a device or a pipe, which no output replaces" in done.err) == (4, True)
    assert stat.S_ISFIFO(os.stat("out.csv").st_mode)


@pytest.mark.parametrize(
    ("device", "run"),
    [("/dev/null", program), ("/dev/full", program), pytest.param("/dev/stdout", alone, marks=pytest.mark.full)],
)
def test_devices_stay(device, run):
    rows()
    mode = os.stat("/dev/null").st_mode
    done = run("score", "in.jsonl", "-o", device, "-m", "token_f1", "--overwrite")
    assert (done.code, "Traceback" in done.err) == (2 if device == "/dev/stdout" else 4, False), done.err
    done = run("logs", "chunks", "in.jsonl", "-o", device, "--columns", "chunks=answer")
    assert "Traceback" not in done.err
    assert os.stat("/dev/null").st_mode == mode
    assert stat.S_ISCHR(mode)


def test_pages_go_into_pipes_and_standard_output():
    os.mkfifo("page.html")
    read = []
    reader = threading.Thread(target=lambda: read.append(Path("page.html").read_bytes()))
    reader.start()
    page_target("page.html", ()).write("the page")
    reader.join()
    assert read == [b"the page"]
    page_target("/dev/null", ()).write("the page")


@pytest.mark.parametrize("name", ["out.csv.meta.json", "out.csv.rejects.jsonl", "out.parquet.rejects.jsonl"])
def test_files_beside_the_output_stay(name):
    rows()
    Path(name).write_text("mine")
    done = program("score", "in.jsonl", "-o", name[: name.index(".", 4)], "-m", "token_f1")
    assert (done.code, done.err) == (4, f"error: {Path(name).absolute()} exists; choose --overwrite to replace it\n")
    assert Path(name).read_text() == "mine"
    if "meta" in name:
        refused(OutputError, f"{name}", table_target, "out.csv", ())


def test_of_two_runs_into_one_file_the_second_says_so():
    for name in ("out.csv", "out.parquet"):
        first, second, replacing = (table_target(name, (), overwrite=overwrite) for overwrite in (False, False, True))
        write_whole(TABLE, first, {}, set())
        written, other = Path(name).read_bytes(), pa.table({"x": [2]})
        refused(OutputError, f"{name} began", write_whole, other, second, {}, set())
        assert Path(name).read_bytes() == written
        write_whole(other, replacing, {}, set())
        assert Path(name).read_bytes() != written


def test_what_another_program_wrote_meanwhile_stays():
    place = page_target("page.html", ())
    Path("page.html").write_text("of another program")
    refused(OutputError, "page.html", place.write, "mine")
    assert Path("page.html").read_text() == "of another program"


def test_a_folder_that_no_report_made_stays():
    rows()
    assert program("score", "in.jsonl", "-o", "s.parquet", "-m", "token_f1").code == 0
    Path("mine").mkdir()
    Path("mine/labels.csv").touch()
    assert program("report", "s.parquet", "--rows", "all", "-o", "mine", "--overwrite").code == 4
    assert os.listdir("mine") == ["labels.csv"]


@pytest.mark.parametrize("renames", [0, 1, 2])
def test_a_folder_is_replaced_whole(monkeypatch, renames):
    """However many of the two renames a run made before it was killed, nothing is lost, and the next one succeeds."""
    for name in ("old", "work/new"):
        Path(name).mkdir(parents=True)
        Path(name, Path(name).name).touch()
    replace = os.replace
    made = []

    def kill(source, target):
        if len(made) == renames:
            raise KeyboardInterrupt
        made.append(target)
        replace(source, target)

    with monkeypatch.context() as patch, suppress(KeyboardInterrupt):
        patch.setattr(os, "replace", kill)
        replace_folder(Path("work/new"), Path("old"))
    if renames < 2:
        assert list(Path().rglob("old/old") if not renames else Path().rglob("replaced/old"))
        replace_folder(Path("work/new"), Path("old"))
    assert [path.name for path in Path("old").iterdir()] == ["new"]
    assert not list(Path("work").iterdir())


def test_output_in_a_folder_of_inputs_is_no_input():
    Path("folder").mkdir()
    rows("folder/in.jsonl")
    Path("folder/report.html").touch()
    assert isinstance(page_target("folder/report.html", "folder", overwrite=True), Target)
    assert isinstance(table_target("folder/new.csv", ["folder", np.zeros(2), "x" * 5000, "\0"]), Target)


@pytest.mark.parametrize("suffix", [".meta.json", ".rejects.jsonl"])
def test_files_beside_an_output_in_a_store_stay(tmp_path, suffix):
    store, address = fsspec.filesystem("memory"), f"memory://beside{suffix}/o.csv"
    store.pipe(f"{address}{suffix}", b"of another")
    rows = {"id": [1], "answer": ["a"], "reference": ["a"]}
    refused(OutputError, f"o.csv{suffix}", fm.score, rows, "token_f1", output=address)
    assert store.cat(f"{address}{suffix}") == b"of another"
    fm.score(rows, "token_f1", output=address, overwrite=True)
    assert store.cat(address).startswith(b'"id","token_f1"')


def rows_of_unfinished_outputs():
    jsonl(Path("in.jsonl"), *({"id": n, "answer": "a b", "reference": "b"} for n in range(20)))


def test_hidden_folder_is_new_and_of_its_owner_alone():
    """So a run meets neither what a killed one left, nor a link that somebody put there."""
    place = page_target("page.html", ())
    with place.unfinished() as left, place.unfinished() as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
        assert (folder.parent, folder.name[:13]) == (Path.cwd(), ".fastmetrics-")
        place.write("the page")
        assert sorted(Path.cwd().iterdir()) == sorted([left, folder, Path("page.html").absolute()])
    assert [(path.name, path.read_text()) for path in Path().iterdir()] == [("page.html", "the page")]


def test_table_killed_between_its_two_files_is_one_without_metadata(monkeypatch):
    """Never the table of one run beside the metadata of another."""
    write_whole(pa.table({"a": [1]}), table_target("o.csv", ()), {"run": 1}, set())
    replace = os.replace

    def kill(source, final):
        if final.name == "o.csv.meta.json":
            raise KeyboardInterrupt
        replace(source, final)

    monkeypatch.setattr(os, "replace", kill)
    with pytest.raises(KeyboardInterrupt):
        write_whole(pa.table({"a": [2]}), table_target("o.csv", (), overwrite=True), {"run": 2}, set())
    assert [(path.name, path.read_text()) for path in Path().iterdir()] == [("o.csv", '"a"\n2\n')]
    monkeypatch.undo()


def test_failed_write_leaves_nothing():
    def batches():
        yield pa.record_batch({"id": [1]})
        raise OSError(28, "No space left on device")

    reader = pa.RecordBatchReader.from_batches(pa.schema([("id", pa.int64())]), batches())
    refused(OutputError, "o.csv device", lambda: write_whole(reader, table_target("o.csv", ()), {}, set()))
    assert not list(Path().iterdir())


@pytest.mark.parametrize("name", ["", "lock", "run.json", "output", "output.parquet", "part-000000.arrow"])
def test_links_in_a_work_folder_are_not_followed(name):
    rows_of_unfinished_outputs()
    Path("precious").mkdir()
    Path("precious/owner").write_text("mine")
    folder = Path("o.parquet.partial")
    if name:
        (folder / name).parent.mkdir(parents=True)
    is_folder = name in ("", "output")
    (folder / name).symlink_to(Path("precious" if is_folder else "precious/owner").absolute())
    done = program("score", "in.jsonl", "-o", "o.parquet", "-m", "token_f1", "--overwrite")
    assert (done.code, "is not the work folder of a run" in done.err) == (4, True), done.err
    assert [path.read_text() for path in Path("precious").iterdir()] == ["mine"]


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "7", "{}"])
def test_garbled_record_of_a_run_is_no_run(text):
    rows_of_unfinished_outputs()
    assert program("score", "in.jsonl", "-o", "whole.parquet", "-m", "token_f1").code == 0
    folder = Path("o.parquet.partial")
    folder.mkdir()
    (folder / "run.json").write_text(text)
    (folder / "part-000000.json").write_text("[" * 100_000)
    done = program("score", "in.jsonl", "-o", "o.parquet", "-m", "token_f1", "--resume")
    if done.code:  # a record of other settings
        assert (done.code, "cannot resume" in done.err) == (4, True), done.err
        assert program("score", "in.jsonl", "-o", "o.parquet", "-m", "token_f1", "--overwrite").code == 0
    assert Path("o.parquet").read_bytes() == Path("whole.parquet").read_bytes()
    assert not folder.exists()
