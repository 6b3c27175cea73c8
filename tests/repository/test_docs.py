"""The docs name everything there is, their examples run, and their links lead somewhere."""

import inspect
import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastmetrics as fm
from fastmetrics.base import errors
from fastmetrics.base.column_names import COLUMNS
from fastmetrics.base.presets import presets
from fastmetrics.base.public_names import HOMES
from fastmetrics.cli.commands import SECTIONS, TOP, all_commands
from fastmetrics.cli.options import FURTHER
from fastmetrics.metrics import lexical
from fastmetrics.metrics.metric import REGISTRY
from fastmetrics.models.prompts import FIELDS, read_rubric
from scripts import docs
from tests.support.goldens import refused
from tests.support.judge_server import judge_server
from tests.support.program import program

ROOT = Path(__file__).parents[2]
PAGES = sorted(page for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")] if page.parent.name != "reference")
REFERENCE = docs.reference_pages()


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def headings(text: str) -> set[str]:
    return set(re.findall(r"^#+ (.+)$", text, re.MULTILINE))


def anchors(text: str) -> dict[str, str]:
    """The headings of a page by the anchors that GitHub gives them."""
    found: dict[str, str] = {}
    for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE):
        bare = re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
        number = sum(re.fullmatch(rf"{re.escape(bare)}(-\d+)?", anchor) is not None for anchor in found)
        found[f"{bare}-{number}" if number else bare] = heading
    return found


def section(name: str, heading: str) -> str:
    """A section of a page with its subsections."""
    found = re.search(rf"^(#+) {re.escape(heading)}\n(.*?)(?=^\1 |\Z)", read(name), re.MULTILINE | re.DOTALL)
    assert found is not None, (name, heading)
    return found[2]


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def run(lines: Iterable[str], *more: str) -> None:
    """Run the command lines among the lines."""
    for line in lines:
        if line.startswith("fastmetrics "):
            done = program(*shlex.split(line, comments=True)[1:], *(more if " -o " in line else ()))
            assert done.code == 0, (line, done.err)


def write(name: str, *rows: Any) -> None:
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A working folder with the example rows in it, as a clone has them."""
    (tmp_path / "examples").mkdir()
    for name in ("answers.jsonl", "brief_answers.jsonl"):
        shutil.copy(ROOT / "examples" / name, tmp_path / "examples")
    return tmp_path


def test_every_name_is_in_the_reference() -> None:
    metrics, functions, commands = (
        REFERENCE[f"docs/reference/{name}.md"] for name in ("metrics", "functions", "commands")
    )
    assert set(REGISTRY) <= headings(metrics)
    assert set(HOMES) <= headings(functions)
    assert {f"Index.{method}" for method in ("build", "search", "save", "load")} <= headings(functions)
    assert set(all_commands()) <= headings(commands)
    raised = [name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, Exception)]
    assert [name for name in raised if name not in functions] == []
    columns = read("docs/data.md")
    assert [name for name in [*COLUMNS, *presets()] if f"| `{name}` " not in columns] == []


def test_commands_are_those_of_the_program() -> None:
    help_ = program("--help").out
    groups = help_.partition(f"\n{next(iter(SECTIONS))}:\n")[2]
    assert re.findall(r"^  (\w[\w-]*)  ", groups, re.MULTILINE) == list(TOP)
    assert max(map(len, help_.splitlines())) <= 80, "a command's first sentence does not fit 80 columns"


def test_every_parameter_of_a_command_has_a_line() -> None:
    for name, call in all_commands().items():
        described = REFERENCE["docs/reference/commands.md"].partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        lines = [line for line in described.splitlines() if line.startswith("| `")]
        options = [each.annotation.__metadata__[0] for each in inspect.signature(call).parameters.values()]
        assert len(lines) == len(options) - 1 - (name != "columns") * len(FURTHER["how files are read"]), name
        assert all(len(line.split(" | ")[1]) > 5 for line in lines), name


def test_first_python_of_the_readme_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = blocks(read("README.md"), "python")[0]
    assert len([line for line in first.splitlines() if line]) <= 8
    monkeypatch.chdir(folder)
    names: dict[str, object] = {}
    exec(first, names)
    assert names["worst"]["chrf"].to_pylist() == sorted(names["scores"]["chrf"].drop_null().to_pylist())[:5]  # type: ignore[index]


def test_shell_lines_of_the_readme_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [line for block in blocks(read("README.md"), "sh") for line in block.splitlines()]
    lines = [line for line in lines if line.startswith("fastmetrics ")]
    assert [line.split()[1] for line in lines] == ["score", "score", "report", "compare", "gate"]
    monkeypatch.chdir(folder)
    for line in lines:
        done = program(*shlex.split(line, comments=True)[1:])
        assert (done.code, done.err) == (int("exit code 1" in line), ""), line
        assert done.out
    assert re.search(r"keyword_recall\.drop <= 0\.02 +FAILED +0\.0746 \[0\.\d+, 0\.1\d+\]†? +292 +0", done.out)
    assert "token_f1: 8 rows that lack an input count as 0" in " ".join(done.out.split())


def test_the_first_steps_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    names: dict[str, object] = {}
    for language, block in re.findall(
        r"^```(python|sh)\n(.*?)^```$", section("docs/start.md", "First steps beyond lexical scores"), re.M | re.S
    ):
        if language == "python":
            exec(block, names)
            continue
        for line in block.splitlines():
            done = program(*shlex.split(line)[1:])
            assert (done.code, done.err) == (0, ""), line


def test_the_first_commands_of_pages_run_after_those_of_the_readme(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    for line in blocks(read("README.md"), "sh")[1].splitlines()[:2]:
        assert program(*shlex.split(line)[1:], "-m", "token_f1,keyword_recall").code == 0
    compare, report = (section("docs/comparing.md", name) for name in ("Comparing systems", "The report"))
    first = "".join(blocks(text, "sh")[0] for text in (report, compare))
    lines = first.replace("\\\n", " ").splitlines()
    lines += blocks(report, "sh")[1].splitlines()[:2]
    for line in lines:
        done = program(*shlex.split(line)[1:])
        assert (done.code, done.err) == (int("gate" in line), ""), line
    exec(blocks(read("docs/logs.md"), "python")[0], {})
    exec(blocks(section("docs/retrieval.md", "Evaluating rankings"), "python")[0], {"fm": fm})


def test_the_rag_system_of_its_page_is_evaluated(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    shutil.copy(ROOT / "examples" / "rag_bot.py", "examples")
    rows, evaluated = blocks(section("docs/retrieval.md", "Evaluating a RAG system"), "sh")[0].splitlines()
    subprocess.run([sys.executable, *shlex.split(rows, comments=True)[1:]], check=True)
    done = program(*shlex.split(evaluated)[1:], "-m", "token_f1,retrieval_recall@5")
    assert (done.code, done.err) == (0, "")
    assert "answers: 182 ok" in done.out
    assert Path("rag/report.html").exists()


def test_the_page_on_comparing_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    for name, file in (("old", "answers"), ("new", "brief_answers")):
        shutil.copy(folder / "examples" / f"{file}.jsonl", f"{name}.jsonl")
    charts = section("docs/comparing.md", "Charts")
    lines = blocks(section("docs/comparing.md", "Corpus metrics"), "sh")[0].splitlines()
    lines += blocks(charts, "sh")[0].splitlines()[:2]  # the others need columns and vectors of the reader
    run(lines)
    for name in ("old", "new"):
        shutil.copy(f"{name}.parquet", f"pilot_{name}.parquet")
    power = blocks(section("docs/comparing.md", "Before the run: how many questions?"), "sh")[0]
    run([line.replace("token_f1", "bleu") for line in power.splitlines()])
    for block in (blocks(read("docs/comparing.md"), "python")[0], blocks(charts, "python")[0]):
        exec(block, {})
    assert all(Path(name).exists() for name in ("difference.svg", "histograms.svg", "segments.png"))
    rules = blocks(read("docs/comparing.md"), "toml")[0]
    assert len(tomllib.loads(rules)["require"]) == 4


# Not run: what needs a bucket, a database or a cluster (data.md, retrieval.md, extending.md; their own tests have
# servers), and the fits of comparing.md, which take a minute (examples/fit_a_score.py is one).


@pytest.mark.full
def test_the_commands_on_the_page_of_metrics_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    call = {"name": "search", "arguments": {"q": "x"}}
    messages = [{"role": "user", "content": "?"}]
    messages += [{"role": "assistant", "tool_calls": [{"type": "function", "function": call}]}]
    for name in ("gsm8k", "rag", "arabic", "german", "turkish", "russian", "chinese"):
        write(f"{name}.jsonl", {"answer": "Answer: #### 42", "reference": "42"})
    write("choices.jsonl", {"answer": "The answer is **B**", "reference": "B"})
    write("mmlu.jsonl", {"answer": "B", "reference": 1, "choices": ["x", "y"]})
    write("extraction.jsonl", {"answer": '```json\n{"a": 1}\n```', "reference": '{"a": 1}'})
    write("rows.jsonl", *[dict.fromkeys(("answer", "reference"), '{"title": "a", "items": [{"id": 1}]}')])
    write("tools.jsonl", {"messages": messages, "expected_tool_calls": [call]})
    write("log.jsonl", {"messages": messages, "gold": {"tools": [call]}})
    write("labels.jsonl", *({"label": label, "expected_label": label} for label in "abab"))
    write("answers.jsonl", {"answer": "a", "model": "gpt", "prompt_tokens": 5, "completion_tokens": 7})
    Path("rows.csv").write_text("answer,reference,first,second,third\nB,2,x,y,z\n")
    page = read("docs/metrics.md")
    Path("prices.toml").write_text(blocks(page, "toml")[0])
    run("".join(blocks(page, "sh")).splitlines())
    assert fm.summarize("scores.parquet").metrics["cost"].mean == pytest.approx((5 * 2.5 + 7 * 10) / 1e6)


def test_the_sessions_of_the_page_on_logs_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tokens = {"prompt_tokens": 5, "completion_tokens": 7}
    turns = [{"id": n, "session_id": f"s{n // 2}", "language": "en", "success": n % 3 > 0, **tokens} for n in range(40)]
    write("log.jsonl", *(turn | {"answer": "Paris", "reference": "Paris"} for turn in turns))
    Path("prices.toml").write_text("gpt = {input = 2.5, output = 10}")
    run(["fastmetrics logs sessions log.jsonl --table old_sessions.parquet"])
    run(blocks(section("docs/logs.md", "Success, turns and cost of sessions"), "sh")[0].splitlines())
    assert fm.summarize("sessions.parquet").n_rows == 20


@pytest.mark.full
def test_the_commands_on_the_page_of_judges_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    for name, file in (("old", "answers"), ("new", "brief_answers"), ("questions", "answers")):
        lines = Path(f"examples/{file}.jsonl").read_text(encoding="utf-8").splitlines()[:40]
        write(f"{name}.jsonl", *(json.loads(line) | {"contexts": ["Paris is here."]} for line in lines))
    rows = [json.loads(line) for line in Path("old.jsonl").read_text(encoding="utf-8").splitlines()]
    write("many.jsonl", *(row | {"id": f"{row['id']}-{at}"} for at in range(60) for row in rows))
    kept = "question,answer,reference,contexts"
    run([f"fastmetrics score many.jsonl -o scores.parquet -m token_f1,overlap_faithfulness --keep {kept}"])
    Path("answers.parquet").symlink_to("scores.parquet")
    Path("manual.txt").write_text("A text.")
    Path("faq.csv").write_text("question,answer\nWhere?,Here.\n")
    with judge_server(reply=lambda body: '{"reason": "r", "score": 3, "better": "first"}') as server:
        prices = "prices = {MODEL = {input = 0.5, output = 2.0}}"
        Path("client.toml").write_text(f'base_url = "{server.url}"\nstore = "calls.sqlite"\n{prices}\n')
        for line in "".join(blocks(read("docs/judges.md"), "text")).splitlines():
            client = ["--client", "client.toml"] if "MODEL" in line and "--client" not in line else []
            run([line], *client, "--overwrite")
    assert fm.summarize("estimated.parquet").metrics["judge_faithfulness"].mean == 3


def test_frames_on_the_page_of_data_are_scored() -> None:
    """Each tool where it is installed, in the order of the page."""
    names: dict[str, object] = {"frame": {"answer": ["in Paris"], "reference": ["Paris"]}}
    for block in blocks(section("docs/data.md", "Frames: pandas, Polars, DuckDB, datasets"), "python"):
        if all(find_spec(name) for name in re.findall(r"^import (\w+)", block, re.MULTILINE)):
            exec(block, names)
    assert names["frame"].fm.token_f1("answer", "reference").tolist() == [pytest.approx(2 / 3), 0.0]  # type: ignore[attr-defined]
    assert names["by_language"]["mean"].dropna().tolist() == pytest.approx([0.55, 0.8, 0.3])  # type: ignore[index]


def test_the_bot_on_the_page_of_judges_answers(capsys: pytest.CaptureFixture) -> None:
    exec(blocks(read("docs/judges.md"), "python")[0], {})
    assert "token_f1     1" in capsys.readouterr().out


def test_the_rubric_on_the_page_of_judges_is_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    made, checked = blocks(read("docs/judges.md"), "sh")[0].splitlines()
    Path("tone.toml").write_text(program(*shlex.split(made.partition(" > ")[0])[1:]).out)
    assert program(*shlex.split(checked)[1:]).out == Path("tone.toml").read_text()
    Path("tone.toml").write_text(blocks(read("docs/judges.md"), "toml")[0])
    rubric = read_rubric("tone.toml")
    assert (rubric.axis, rubric.range, rubric.columns) == ("judge_tone", (1.0, 3.0), ["channel", "question", "answer"])
    table = read("docs/judges.md").partition("| field | meaning |")[2].partition("\n\n")[0]
    named = {field for line in table.splitlines() for field in re.findall(r"`(\w+)`", line.split(" | ")[0])}
    assert named == set(FIELDS)


def test_the_metric_that_the_design_adds_works() -> None:
    exec(
        blocks(section("docs/extending.md", "In this package"), "python")[0], {**vars(lexical), "__name__": "overlaps"}
    )
    scores = fm.overlap_coefficient(["in Paris", "", None], ["Paris", "Rome", "Oslo"])
    np.testing.assert_array_equal(scores, [1.0, 0.0, np.nan])


FOREIGN = {"README.md": {"--full", "--dist"}, "data.md": {"--log_samples"}, "start.md": {"--paired-bs", "--port"}}
"""The options of other programs, by page."""
OPTION = re.compile(r"(?<![\w-])--?[a-zA-Z][\w-]*")


def options_of_commands() -> dict[str, set[str]]:
    """The options of each command in the reference; those of files are listed once, with ``columns``."""
    parts = [part.partition("\n") for part in REFERENCE["docs/reference/commands.md"].split("\n## ")[1:]]
    lines = {name: [line for line in text.splitlines() if line.startswith("| `")] for name, _, text in parts}
    found = {
        name: {one for line in some for one in OPTION.findall(line.split(" | ")[0])} for name, some in lines.items()
    }
    return {name: {*options, *found["columns"], "--help", "--help-all"} for name, options in found.items()}


@pytest.mark.parametrize("page", [page for page in PAGES if page.name not in ("CONTRIBUTING.md", "CHANGELOG.md")])
def test_pages_name_options_that_there_are(page: Path) -> None:
    text, options = page.read_text(encoding="utf-8"), options_of_commands()
    named = {option for option in OPTION.findall(text) if option.startswith("--")}
    assert named - set().union(*options.values()) == FOREIGN.get(page.name, set())
    for line in "".join(blocks(text, "(?:sh|bash|text)")).replace("\\\n", " ").splitlines():
        words = line.partition(" #")[0].split()
        if words[:1] == ["fastmetrics"]:
            command = next(name for name in (" ".join(words[1:3]), words[1]) if name in options)
            assert {word.split("=")[0] for word in words if OPTION.match(word)} <= options[command], line


def test_links_have_targets() -> None:
    links = [
        (page, link) for page in PAGES for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8"))
    ]
    for page, link in links:
        target, _, anchor = link.partition("#")
        if target.startswith("https:"):
            continue
        file = page.parent / target if target else page
        assert file.exists(), link
        if anchor:
            assert anchor in anchors(file.read_text(encoding="utf-8")), link


def test_links_to_metrics_lead_to_them() -> None:
    page = REFERENCE["docs/reference/metrics.md"]
    lines = re.findall(r"^\| \[`(.+?)`\]\(#(.+?)\)", page, re.MULTILINE)
    places = anchors(page)
    assert {name: places[anchor] for name, anchor in lines} == {name: name for name in REGISTRY}


def test_imports_of_pages_name_what_exists() -> None:
    text = "\n".join([*(page.read_text(encoding="utf-8") for page in PAGES), *REFERENCE.values()])
    lines = re.findall(r"^ *((?:from|import) fastmetrics\b.*)$", text, re.MULTILINE)
    statements = [line for line in lines if re.fullmatch(r"from \S+ import [\w, ]+|import [\w., ]+", line)]
    assert len(statements) > 10
    for statement in set(statements):
        exec(statement, {})


def test_no_file_contains_local_paths() -> None:
    private = re.compile(r"(?<![\w.])/(?:home|root|work|Users|mnt)/\w")
    for folder in ("fastmetrics", "bench", "scripts", "examples", "tests", "docs"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".py", ".txt", ".md", ".toml", ".json", "") and path.is_file():
                assert private.search(path.read_text(encoding="utf-8")) is None, path


def test_stale_pages_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    shutil.copy(ROOT / "README.md", tmp_path)
    for name in ("data.md", "retrieval.md", "start.md"):
        (tmp_path / "docs" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "docs" / name, tmp_path / "docs" / name)
    monkeypatch.setattr(docs, "ROOT", tmp_path)
    assert _main(monkeypatch, "--check") == 1
    assert "docs/sources.md: out of date" in capsys.readouterr().out
    assert sorted(path.name for path in (tmp_path / "docs").iterdir()) == ["data.md", "retrieval.md", "start.md"]
    assert _main(monkeypatch) == 0
    assert sorted(path.name for path in (tmp_path / "docs" / "reference").iterdir()) == [
        "commands.md",
        "functions.md",
        "metrics.md",
    ]
    assert _main(monkeypatch, "--check") == 0
    page = tmp_path / "docs" / "data.md"
    page.write_text(page.read_text().replace("| `reference` |", "| `gold` |"))
    assert _main(monkeypatch, "--check") == 1
    page.write_text("no markers")
    refused(ValueError, "one", docs.filled, "docs/data.md", columns="new")


def _main(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["docs", *arguments])
    with pytest.raises(SystemExit) as ended:
        docs.main()
    return int(ended.value.code or 0)


def test_first_screen_installs_what_its_commands_need() -> None:
    """In a clone: nothing is released, and ``report`` is the only extra that a command there needs."""
    install, commands = blocks(read("README.md"), "sh")[:2]
    assert shlex.split(install, comments=True) == ["pip", "install", ".[report]"]
    assert {line.split()[1] for line in commands.splitlines()} & {"report", "judge", "plot", "project"} == {"report"}
