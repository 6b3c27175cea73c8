"""Help pages, completion in shells, and every command line that a page or message prints."""

import ast
import re
import shlex
from functools import cache
from pathlib import Path

import pytest
import typer

from fastmetrics.cli.commands import COMMANDS, SECTIONS, Group
from fastmetrics.cli.program import app
from fastmetrics.metrics.source_names import source_names
from tests.support.program import ENVIRONMENT, alone, program


def test_commands_are_in_groups():
    page = program("--help").out
    titles = re.findall(r"^(\S.*):$", page, re.MULTILINE)
    assert titles == ["Options", *SECTIONS]
    for title, commands in SECTIONS.items():
        assert listed(page, title) == list(commands)
        for name, each in commands.items():
            if isinstance(each, Group):
                assert listed(program(name, "--help").out, "Commands") == list(each.commands)


def listed(page, title):
    """The commands that a section of a help page lists, whose other lines are folded sentences."""
    section = page.partition(f"\n{title}:\n")[2].partition("\n\n")[0]
    return [line.split()[0] for line in section.splitlines() if not line.startswith("   ")]


def test_help_is_as_wide_as_the_window():
    narrow, wide = (
        alone("score", "--help", env=ENVIRONMENT | {"COLUMNS": width}).out.splitlines() for width in ("60", "150")
    )
    assert max(map(len, narrow)) <= 60
    assert max(map(len, wide)) > 80
    assert len(wide) < len(narrow)


def test_help_shows_no_types_of_python():
    for name in COMMANDS:
        assert not re.search(r"<(str|int|float|list|path)|list\[|\{[A-Z]", program(*name.split(), "--help").out), name


def test_arguments_and_options_have_placeholders_that_a_reader_knows():
    page = program("score", "--help").out
    assert "Usage: fastmetrics score [OPTIONS] INPUT...\n" in page
    assert "\n  INPUT...  Files, folders" in page
    for shown in (
        "--metrics METRIC,...",
        "--no-relevant zero|undefined",
        "--threads N ",
        "--output PATH",
        "--name TEXT",
    ):
        assert shown in page
    assert "fastmetrics metrics [OPTIONS] [NAME]\n" in program("metrics", "--help").out


@pytest.mark.full
@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("fastmetrics judge re", ["report"]),
        pytest.param("fastmetrics score --no-re", ["--no-relevant"], marks=pytest.mark.full),
        ("fastmetrics score --no-relevant z", ["zero"]),
    ],
)
def test_a_shell_completes_commands_options_and_choices(words, completed):
    place = str(len(words.split()) - 1)
    shell = {"_FASTMETRICS_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": place}
    done = alone(env=ENVIRONMENT | shell)
    assert (done.code, done.out.split(), done.err) == (0, completed, "")


ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
_OPTION = re.compile(r"(?<![\w-])--[a-z0-9][\w-]*\w")
_FOREIGN = {"--log_samples", "--to", "--mean", "--no"}
"""Options of other programs, and of an example."""


@cache
def texts_of(path):
    """The texts that a file of the package may print: its strings."""
    return [
        node.value
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]


SOURCES = sorted((ROOT / "fastmetrics").rglob("*.py"))


def lines_of(page):
    """The command lines in the blocks of a page."""
    for block in re.findall(r"```(?:sh|bash|console)\n(.*?)```", page, re.DOTALL):
        for line in block.replace("\\\n", " ").split("\n"):
            found = re.match(r"(?:\$ )?(?:[A-Z_]+=\S+ )*(?:\S*/)?fastmetrics (.*)", line.strip())
            if found is not None:
                yield found[1]


def command_of(words):
    """The command that the first words name, and the words that are left."""
    found = typer.main.get_command(app)
    while hasattr(found, "commands") and words and not words[0].startswith("-"):
        assert words[0] in found.commands, f"no command {words[0]!r}"
        found, words = found.commands[words[0]], words[1:]
    return found, words


def options_of(command):
    taken = {name for one in command.params for name in (*one.opts, *one.secondary_opts)} | {"--help"}
    return taken.union(*map(options_of, getattr(command, "commands", {}).values()))


@cache
def every_option():
    return options_of(typer.main.get_command(app))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_command_lines_of_a_page_parse(page):
    for line in lines_of(page.read_text()):
        found, words = command_of(shlex.split(line, comments=True))
        redirected = next((at for at, word in enumerate(words) if word in (">", "|", "&&", "<")), len(words))
        found.make_context(found.name, words[:redirected])


def test_what_is_mentioned_exists():
    for place in (*PAGES, *SOURCES):
        texts = [place.read_text()] if place.suffix == ".md" else texts_of(place)
        for mention in (one for text in texts for one in re.findall(r"`fastmetrics ([^`\n{]+)`", text)):
            name, _, _ = mention.partition(",")
            words = [word for word in name.replace("…", "").split() if not word.isupper()]
            found, words = command_of(words)
            unknown = {word for word in words if word.startswith("-")} - options_of(found)
            assert not unknown, f"{place}: {mention}: {unknown}"
        if place.suffix != ".md":
            named = {option for text in texts for option in _OPTION.findall(text)}
            assert named <= every_option() | _FOREIGN, place


def test_names_of_the_sources_lead_to_commands():
    for one in source_names():
        if one.command:
            found, words = command_of(one.command.split())
            assert {word for word in words if word.startswith("-")} <= options_of(found), one
