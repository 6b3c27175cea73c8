"""Every option and argument that takes a path takes an address too, or says that it must be on this machine."""

import re
import shutil
import typing
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.models import ArgumentInfo

import fastmetrics as fm
from fastmetrics.cli.commands import all_commands
from tests.support.judge_server import judge_server
from tests.support.loopback import BUCKET
from tests.support.program import ROOT, jsonl, name_of, program

NEVER = (
    "metrics suites embedder columns schema keep format on_error engine address name by cluster tests names system on "
    "better of segment other require title vectors_column method column color lists label raters "
    "measures metric bot model base_url endpoint parameters retry language ranges strategy score languages indicators "
    "chunk_column source_column failure prune thresholds query "
    "vector id text where query_column pgvector sweep database label group judge_model judge_base_url "
    "delimiter encoding records sheet extract normalize main predicted expected success "
    "blank no_relevant duplicates missing interval correction "
    "pairing turn unpaired decimal flags"
)
"""Parameters that are no paths in any command."""
IN_SOME = {
    *(("compare", "baseline"), ("power", "baseline"), ("summarize", "worst"), ("report", "rows"), ("metrics", "name")),
    *(("vectors search", "table"), ("vectors load", "table"), ("vectors load", "vectors")),  # of a database server
    *(("logs check", "labels"), ("logs chunks", "scores"), ("logs topics", "scores")),
}
"""Parameters that are no paths in these commands."""

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


def spelling(name, hint):
    """The option of a parameter; "" of an argument."""
    info = typing.get_args(hint)[1]
    if isinstance(info, ArgumentInfo):
        return ""
    flags = [one for one in (info.default, *(info.param_decls or ())) if isinstance(one, str)]
    return flags[0] if flags else f"--{name.replace('_', '-')}"


def test_the_cases_have_every_path():
    """A new parameter that holds text is a path of a line, or listed as none."""
    for command, call in all_commands().items():
        hints = typing.get_type_hints(call, include_extras=True)
        kinds = {name: str(typing.get_args(hint)[0]) for name, hint in hints.items() if typing.get_args(hint)}
        text = {name for name, kind in kinds.items() if "str" in kind.replace("StrEnum", "") or "Path" in kind}
        none = {*NEVER.split(), *(name for of, name in IN_SOME if of == command)}
        needed = Counter(spelling(name, hints[name]) for name in text - none)
        lines = [Counter(option for _, option, _ in paths(line)) for line in LINES if name_of(line.split()) == command]
        assert {option for line in lines for option in line} == set(needed), command
        assert max((line[""] for line in lines), default=0) >= needed[""], command


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
