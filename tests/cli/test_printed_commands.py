"""Every command line and option that a page, a help or a message prints is one that its command takes."""

import ast
import re
import shlex
from functools import cache
from pathlib import Path

import pytest
import typer

from fastmetrics.cli.program import app
from fastmetrics.metrics.source_names import source_names

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


def command(words):
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
        found, words = command(shlex.split(line, comments=True))
        redirected = next((at for at, word in enumerate(words) if word in (">", "|", "&&", "<")), len(words))
        found.make_context(found.name, words[:redirected])


def test_what_is_mentioned_exists():
    for place in (*PAGES, *SOURCES):
        texts = [place.read_text()] if place.suffix == ".md" else texts_of(place)
        for mention in (one for text in texts for one in re.findall(r"`fastmetrics ([^`\n{]+)`", text)):
            name, _, _ = mention.partition(",")
            words = [word for word in name.replace("…", "").split() if not word.isupper()]
            found, words = command(words)
            unknown = {word for word in words if word.startswith("-")} - options_of(found)
            assert not unknown, f"{place}: {mention}: {unknown}"
        if place.suffix != ".md":
            named = {option for text in texts for option in _OPTION.findall(text)}
            assert named <= every_option() | _FOREIGN, place


def test_names_of_the_sources_lead_to_commands():
    for one in source_names():
        if one.command:
            found, words = command(one.command.split())
            assert {word for word in words if word.startswith("-")} <= options_of(found), one
