"""Every option and argument that takes a path takes an address too, or says that it must be on this machine."""

from __future__ import annotations

import inspect
import re
import shutil
import typing
from dataclasses import dataclass
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
from tests.support.program import jsonl, program

pytestmark = pytest.mark.slow

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
IN_SOME = [
    *(("compare", "baseline"), ("power", "baseline")),
    *(("vectors search", "table"), ("vectors load", "table"), ("vectors load", "vectors")),  # of a database server
    *(("metrics", "name"), ("logs check", "labels"), ("logs chunks", "scores"), ("logs topics", "scores")),
    ("summarize", "worst"),
    ("report", "rows"),
]
"""Parameters that are no paths in these commands."""


@dataclass(frozen=True)
class In:
    """An input, by its name in the folder of the test."""

    name: str


@dataclass(frozen=True)
class Out:
    """An output, by its name in a folder of its own."""

    name: str


@dataclass(frozen=True)
class Here:
    """A path that must be on this machine, by its name in a folder of its own."""

    name: str


ROWS, OLD, NEW, VECTORS = In("rows.jsonl"), In("old.parquet"), In("new.parquet"), In("vectors.parquet")
MADE = {"plugin": Here("plugin.py")}
CALLS = {"model": "m", "base_url": "URL", "store": Here("calls.sqlite"), "client": Here("client.toml")}
CASES = {
    "score": {
        "table": [ROWS],
        "prices": In("prices.toml"),
        "output": Out("s.csv"),
        "metrics": "token_f1",
        "cache": Here("cache"),
        **MADE,
    },
    "metrics": {"name": "token_f1", **MADE},
    "columns": {"table": [ROWS]},
    "classification": {"table": [ROWS], "predicted": "answer", "expected": "reference"},
    "summarize": {"scores": [OLD, NEW], **MADE},
    "compare": {
        "runs": [OLD, NEW],
        "metrics": "token_f1",
        "by": "kind",
        "segments": In("segments.csv"),
        "plot": Out("c.svg"),
        **MADE,
    },
    "summarize : intervals": {"scores": OLD, "intervals": None, "metrics": "token_f1", "plot": Out("m.svg")},
    "summarize : side by side": {"scores": [OLD, NEW], "side_by_side": None, **MADE},
    "summarize : primary": {"scores": [OLD, NEW], "primary": None, **MADE},
    "summarize : correlations": {"scores": OLD, "correlations": None, **MADE},
    "summarize : histograms": {"scores": OLD, "histograms": None, "plot": Out("h.svg")},
    "compare : rankings": {"runs": [In("run.txt"), In("other.txt")], "qrels": In("qrels.txt"), "metrics": "mrr"},
    "power": {"pilot": [OLD, NEW], "metrics": "token_f1", "n": 100, **MADE},
    "repeats": {"scores": In("repeated.parquet"), "metrics": "token_f1", **MADE},
    "gate": {"scores": NEW, "baseline": OLD, "rules": In("rules.toml"), "junit": Out("junit.xml"), **MADE},
    "report": {
        "scores": [NEW],
        "output": Out("report.html"),
        "texts": ROWS,
        "baseline": OLD,
        "baseline_texts": ROWS,
        "judged": In("judged.parquet"),
        "labels": In("labels.csv"),
        "usage": [In("usage.json")],
        "vectors": VECTORS,
        "runs": In("runs"),
        **MADE,
    },
    "report : all": {"scores": [NEW], "output": Out("report"), "rows": "all"},
    "summarize : worst": {
        "scores": NEW,
        "worst": "token_f1",
        "answers": ROWS,
        "baseline": OLD,
        "output": Out("w.csv"),
        **MADE,
    },
    "runs list": {"folder": In("runs")},
    "runs trend": {"folder": In("runs"), "metric": "token_f1", "plot": Out("trend.svg"), **MADE},
    "profile": {"table": [ROWS], "metrics": "token_f1", **MADE},
    "warm-up": {"metrics": "token_f1", **MADE},
    "validate": {"scores": OLD, "labels": In("labels.csv"), **MADE},
    "rank": {"rankings": [In("run.txt"), In("qrels.txt")], "measures": "mrr", "output": Out("q.csv")},
    "vectors geometry": {"vectors": VECTORS},
    "vectors project": {"vectors": VECTORS, "output": Out("points.csv"), "plot": Out("p.svg")},
    "vectors index": {"vectors": VECTORS, "output": Here("index"), "method": "exact"},
    "vectors search": {"index": Here("made_index"), "queries": In("queries.npy"), "output": Out("found.csv")},
    "vectors search : texts": {
        "index": Here("made_index"),
        "queries": ROWS,
        "embedder": "wordllama",
        "cache": Here("cache"),
        "output": Out("found.csv"),
    },
    "fit": {
        "table": [In("labelled.jsonl")],
        "label": "label",
        "metrics": "token_f1,chrf",
        "output": Out("mine.toml"),
        **MADE,
    },
    "match": {"questions": ROWS, "faq": In("faq.csv"), "output": Out("matched.csv")},
    "vectors embed": {"table": [ROWS], "output": Out("e.csv"), "of": "question", "keep": "id", "cache": Here("cache")},
    "answer": {
        "table": [ROWS],
        "output": Out("answers.jsonl"),
        "bot": "full-context",
        "knowledge": [In("knowledge.txt")],
        "template": In("template.txt"),
        "keep": "id",
        **CALLS,
        **MADE,
    },
    "evaluate-rag": {
        "questions": ROWS,
        "chunks": In("passages.jsonl"),
        "output": Here("rag"),
        "bot": "given-contexts",
        "template": In("row_template.txt"),
        "index": Here("made_index"),
        "rubrics": [In("rubric.toml")],
        "metrics": "token_f1",
        "baseline": In("old.parquet"),
        **CALLS,
        **MADE,
    },
    "evaluate-rag : full": {
        "questions": ROWS,
        "chunks": In("passages.jsonl"),
        "output": Here("rag"),
        "bot": "full-context",
        "knowledge": [In("knowledge.txt")],
        "metrics": "token_f1",
        **CALLS,
    },
    "evaluate-rag : faq": {
        "questions": ROWS,
        "chunks": In("passages.jsonl"),
        "output": Here("rag"),
        "bot": "faq",
        "faq": In("faq.csv"),
        "metrics": "token_f1",
    },
    "answer : faq": {"table": [ROWS], "output": Out("answers.csv"), "bot": "faq", "faq": In("faq.csv"), "keep": "id"},
    "judge run": {
        "table": [ROWS],
        "output": Out("judged.csv"),
        "rubrics": [In("rubric.toml")],
        "sample": 3,
        **CALLS,
        **MADE,
    },
    "judge rubrics": {"source": In("rubric.toml")},
    "judge report": {"judged": [In("judged.parquet")], "labels": In("labels.csv"), "prices": In("prices.toml")},
    "judge sample": {"judged": [In("judged.parquet")], "n": 2, "texts": ROWS, "output": Out("sheet.csv")},
    "logs check": {"table": [ROWS], "output": Out("check.json")},
    "logs chunks": {"log": [ROWS], "chunks": In("chunks.csv"), "output": Out("u.json"), "table": Out("u.csv")},
    "logs domains": {"log": [ROWS], "output": Out("d.json")},
    "logs topics": {
        "log": [ROWS],
        "k": 2,
        "embedder": "wordllama",
        "cache": Here("cache"),
        "chunks": In("chunks.csv"),
        "output": Out("t.json"),
    },
    "logs cache": {
        "log": [ROWS],
        "plot": Out("x.svg"),
        "embedder": "wordllama",
        "cache": Here("cache"),
        "output": Out("x.json"),
    },
    "logs context": {"log": [ROWS], "embedder": "wordllama", "cache": Here("cache"), "output": Out("y.json")},
    "logs sessions": {
        "log": [ROWS],
        "model": "m",
        "prices": In("prices.toml"),
        "output": Out("z.json"),
        "table": Out("z.csv"),
    },
    "judge store": {"store": Here("made.sqlite"), "prices": In("prices.toml")},
}
NEEDS = dict.fromkeys(("logs topics", "logs cache", "logs context"), "wordllama")
NEEDS |= {"vectors embed": "wordllama", "vectors index": "faiss"}
NEEDS |= dict.fromkeys(("vectors search", "vectors search : texts"), "faiss")
NEEDS |= dict.fromkeys(("report", "report : all"), "jinja2")
NEEDS |= dict.fromkeys(
    ("summarize : intervals", "summarize : histograms", "runs trend", "vectors project", "compare"), "matplotlib"
)
NEEDS |= dict.fromkeys(("answer", "evaluate-rag", "evaluate-rag : full", "judge run"), "httpx")


def _flat(value):
    return value if isinstance(value, list) else [value]


def _paths(case):
    """The parameters of a case that are paths, each with its values."""
    for name, value in CASES[case].items():
        for one in _flat(value):
            if isinstance(one, In | Out | Here):
                yield name, one


REMOTE = [(case, name, one) for case in CASES for name, one in _paths(case) if not isinstance(one, Here)]
READERS = {(name, type(one), one.name.partition(".")[2]): (case, name, one) for case, name, one in REMOTE}.values()
"""One command for each option and form of what is read or written there: ``--full`` runs them all."""
CONVERTERS = {(type(one), one.name.partition(".")[2]): (case, name, one) for case, name, one in READERS}.values()
"""One of them for each form of what is read or written."""
LOCAL = [(case, name, one) for case in CASES for name, one in _paths(case) if isinstance(one, Here)]


def test_the_cases_have_every_path():
    """A new parameter that holds text is a path of a case, or listed as none."""
    for command, call in all_commands().items():
        hints = typing.get_type_hints(call, include_extras=True)
        kinds = {name: str(typing.get_args(hint)[0]) for name, hint in hints.items() if typing.get_args(hint)}
        text = {name for name, kind in kinds.items() if "str" in kind.replace("StrEnum", "") or "Path" in kind}
        none = {*NEVER.split(), *(name for of, name in IN_SOME if of == command)}
        cases = [case for case in CASES if case.partition(" : ")[0] == command]
        assert {name for case in cases for name, _ in _paths(case)} == text - none, command


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


def _arguments(case, judge, place):
    """The command line of a case; ``place`` says where a path is."""
    command = case.partition(" : ")[0]
    call = all_commands()[command]
    hints = typing.get_type_hints(call, include_extras=True)
    positional = []
    options = []
    for name in inspect.signature(call).parameters:
        if name not in CASES[case]:
            continue
        info = typing.get_args(hints[name])[1]
        for value in _flat(CASES[case][name]):
            if value is None:  # a flag
                options.append(f"--{name.replace('_', '-')}")
                continue
            text = place(name, value) if isinstance(value, In | Out | Here) else str(value).replace("URL", judge.url)
            if isinstance(info, ArgumentInfo):
                positional.append(text)
            else:
                flags = [one for one in (info.default, *(info.param_decls or ())) if isinstance(one, str)]
                options += [flags[0] if flags else f"--{name.replace('_', '-')}", text]
    return [*command.split(), *positional, *options]


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


def _run(case, judge, folder, outputs, name="", address=""):
    """A run whose parameter ``name`` is at an address."""
    outputs.mkdir(exist_ok=True)
    if "made_index" in str(CASES[case]) and not (outputs / "made_index").exists():
        options = ["--method", "exact", "-o", outputs / "made_index"]
        assert program("vectors", "index", folder / "vectors.parquet", *options).code == 0

    def place(parameter, value):
        if parameter == name:
            return f"{address}/{value.name}"
        if isinstance(value, In) or (folder / value.name).exists():
            return str(folder / value.name)
        return str(outputs / value.name)

    return program(*_arguments(case, judge, place))


@pytest.mark.parametrize(
    ("case", "name", "path"),
    [one if one in CONVERTERS else pytest.param(*one, marks=pytest.mark.full) for one in READERS],
    ids=lambda one: getattr(one, "name", one),
)
def test_paths_may_be_addresses(s3, tmp_path, folder, judge, case, name, path):
    """A run with an address prints and writes what a run on local files does."""
    if case in NEEDS:
        pytest.importorskip(NEEDS[case])
    local = _run(case, judge, folder, tmp_path / "here")
    assert local.code == 0, local.err
    key = f"options/{case}/{name}".replace(" ", "-").replace(":", "")
    address = f"s3://{BUCKET}/{key}"
    for one in _flat(CASES[case][name]):
        if isinstance(one, In):
            s3.put(folder / one.name, f"{key}/{one.name}")
            if (folder / f"{one.name}.meta.json").exists():
                s3.put(folder / f"{one.name}.meta.json", f"{key}/{one.name}.meta.json")
    remote = _run(case, judge, folder, tmp_path / "there", name, address)
    places = (folder, tmp_path / "here", tmp_path / "there", address)
    assert _plain(remote, *places) == _plain(local, *places)
    if isinstance(path, Out):
        written = tmp_path / "here" / path.name
        files = sorted(one for one in written.rglob("*") if one.is_file()) if written.is_dir() else [written]
        for file in files:
            data, expected = s3.read(f"{key}/{file.relative_to(tmp_path / 'here').as_posix()}"), file.read_bytes()
            latencies = re.compile(rb"\d+\.\d+" if case.startswith("answer") else rb"^$")
            assert latencies.sub(b"", data) == latencies.sub(b"", expected)


@pytest.mark.parametrize(("case", "name", "path"), LOCAL, ids=lambda one: getattr(one, "name", one))
def test_paths_that_must_be_local_say_so(s3, tmp_path, monkeypatch, folder, judge, case, name, path):
    monkeypatch.chdir(tmp_path)
    if case in NEEDS and name != "plugin":
        pytest.importorskip(NEEDS[case])
    address = f"s3://{BUCKET}/local"
    arguments = _arguments(
        case,
        judge,
        lambda parameter, value: (
            f"{address}/{value.name}"
            if parameter == name
            else str(folder / value.name)
            if isinstance(value, In) or (folder / value.name).exists()
            else str(tmp_path / value.name)
        ),
    )
    done = program(*arguments)
    assert done.code != 0
    assert f"{path.name}" in done.err
    assert "expected a path on this machine, not an address" in done.err
    assert done.err.count("\n") == 1
    assert not (tmp_path / "s3:").exists()
