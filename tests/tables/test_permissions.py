"""Who may read what a run leaves: replies only their owner, outputs as the umask says."""

import contextlib
import os

import pytest

import fastmetrics as fm
from fastmetrics.base.errors import InputError
from fastmetrics.base.limits import SIZES
from tests.support.judge_server import judge_server
from tests.support.program import jsonl, program

pytestmark = [pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX systems")]


@pytest.fixture(params=[0o022, 0o002, 0o077], ids=oct)
def umask(request):
    """A umask for the test."""
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def modes(folder):
    """The permissions of all files and folders in a folder, by their paths in it."""
    made = {}
    for path in folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError):  # a run that is under way renames its files
            made[str(path.relative_to(folder))] = path.stat().st_mode & 0o777
    return made


@pytest.mark.parametrize("name", ["o.parquet", "o.jsonl", "o.csv.gz", "o/"])
def test_replies_are_private_and_outputs_follow_the_umask(tmp_path, monkeypatch, umask, name):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setattr(SIZES, "call_rows", 10)
    monkeypatch.setattr(SIZES, "answered_part_rows", 20)
    path = jsonl(tmp_path / "rows.jsonl", *({"id": n, "question": f"q {n}", "answer": "a"} for n in range(60)), "{")
    (tmp_path / "made").mkdir()
    with judge_server() as judge:
        settings = fm.models.JudgeSettings(
            "safety", "m", base_url=judge.url, store=tmp_path / "made" / "a" / "b" / "s.sqlite"
        )
        live = {}

        def look(progress):
            live.update(modes(tmp_path / "made"))

        with pytest.raises(InputError):
            fm.judge(path, settings, output=f"{tmp_path}/made/{name}", progress=look)
        left = live | modes(tmp_path / "made")
        assert {"a/b/s.sqlite-wal", "a/b/s.sqlite-shm"} <= live.keys()
        work = f"{name.rstrip('/')}.partial"
        assert {left["a"], left["a/b"], left[work]} == {0o700}
        in_stores = {mode for file, mode in left.items() if ".sqlite" in file}
        private = {
            mode
            for file, mode in left.items()
            # the parts of a folder are outputs, also while they are written as part-000001.parquet.tmp
            if file.endswith(("journal.jsonl", "run.json", ".arrow", ".arrow.tmp"))
        }
        assert (in_stores, private) == ({0o600}, {0o600})
        path.write_text(path.read_text().removesuffix("{\n"))
        fm.judge(path, settings, output=f"{tmp_path}/made/{name}", overwrite=True)
    outputs = {file: mode for file, mode in modes(tmp_path / "made").items() if not file.startswith("a")}
    expected = {file: (0o777 if (tmp_path / "made" / file).is_dir() else 0o666) & ~umask for file in outputs}
    assert outputs == expected
    assert len(outputs) >= 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("score", "{rows}", "-o", "{out}.parquet", "-m", "token_f1"),
        ("score", "{rows}", "-o", "{out}.csv", "-m", "token_f1"),
        ("score", "{rows}", "-o", "{out}/", "-m", "token_f1"),
        ("logs", "check", "{rows}", "-o", "{out}.json"),
        ("logs", "domains", "{rows}", "-o", "{out}.json"),
        ("answer", "{rows}", "-o", "{out}.jsonl", "--bot", "faq", "--faq", "{faq}"),
        ("match", "{rows}", "{faq}", "-o", "{out}.csv"),
    ],
    ids=lambda arguments: " ".join(arguments[::3]).format(rows="", faq="", out="o"),
)
def test_outputs_of_every_kind_follow_the_umask(tmp_path, umask, arguments):
    rows = [
        {"id": n, "question": f"q {n}", "reference": "a", **({} if arguments[0] == "answer" else {"answer": "a"})}
        for n in range(5)
    ]
    path = jsonl(tmp_path / "rows.jsonl", *rows)
    faq = jsonl(tmp_path / "faq.jsonl", *({"question": f"q {n}", "answer": "a"} for n in range(5)))
    (tmp_path / "made").mkdir()
    places = {"rows": path, "faq": faq, "out": tmp_path / "made" / "o"}
    done = program(*(one.format(**places) for one in arguments))
    assert done.code == 0, done.err
    made = modes(tmp_path / "made")
    assert made == {file: (0o777 if (tmp_path / "made" / file).is_dir() else 0o666) & ~umask for file in made}
    assert made
