"""Help pages: groups of commands, the width of the window, placeholders, and completion in shells."""

import re
import shlex
import subprocess

import pytest

from fastmetrics.cli.commands import COMMANDS, SECTIONS, Group
from tests.support.program import ENVIRONMENT, alone, command, program


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


@pytest.mark.full
def test_the_script_of_a_shell_is_shown():
    # the shell is the process that starts the command; `:` keeps bash from being replaced by it
    words = ["bash", "-c", f"{shlex.join(command('--show-completion'))}; :"]
    done = subprocess.run(words, check=False, env=ENVIRONMENT, capture_output=True, text=True)
    assert "complete_bash" in done.stdout, done.stderr
