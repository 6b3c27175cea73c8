"""What an output may replace: never an input of its run, a link or a device; beside it nothing, unless on request."""

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
    """Those with an option for a file that they replace: index and evaluate-rag make folders, fit .toml of tables."""
    writing = {
        name for name, function in all_commands().items() if {"output", "junit", "plot"} & set(function.__annotations__)
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
    with pytest.raises(OutputError, match="is an input; write to another name"):
        table_target(written.format(here=tmp_path.name), read, overwrite=True)


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

    with pytest.raises(OutputError, match="is an input"):
        check_not_read(parse(written), read)
    check_not_read(parse("memory://b/other.txt"), [read, "local.csv"])


def test_metadata_of_an_input_are_kept():
    write_whole(TABLE, table_target("in.csv", ()), {}, set())
    with pytest.raises(OutputError, match=r"in\.csv\.meta\.json is an input"):
        page_target("in.csv.meta.json", "in.csv", overwrite=True)


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
    with pytest.raises(OutputError, match="is a link"):
        page_target("page.json", ())


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
        with pytest.raises(OutputError, match=f"{name} exists"):
            table_target("out.csv", ())


def test_of_two_runs_into_one_file_the_second_says_so():
    for name in ("out.csv", "out.parquet"):
        first, second, replacing = (table_target(name, (), overwrite=overwrite) for overwrite in (False, False, True))
        write_whole(TABLE, first, {}, set())
        written = Path(name).read_bytes()
        with pytest.raises(OutputError, match=f"{name} exists, which was not there when this run began; choose"):
            write_whole(pa.table({"x": [2]}), second, {}, set())
        assert Path(name).read_bytes() == written
        write_whole(pa.table({"x": [2]}), replacing, {}, set())
        assert Path(name).read_bytes() != written


def test_what_another_program_wrote_meanwhile_stays():
    place = page_target("page.html", ())
    Path("page.html").write_text("of another program")
    with pytest.raises(OutputError, match=r"page\.html exists, which was not there when this run began"):
        place.write("mine")
    assert Path("page.html").read_text() == "of another program"


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
    with pytest.raises(OutputError, match=rf"o\.csv{suffix}"):
        fm.score(rows, "token_f1", output=address)
    assert store.cat(f"{address}{suffix}") == b"of another"
    fm.score(rows, "token_f1", output=address, overwrite=True)
    assert store.cat(address).startswith(b'"id","token_f1"')
