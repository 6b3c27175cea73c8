"""What the package and its tests import is what ``pyproject.toml`` asks for, and it asks for nothing else."""

import ast
import functools
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
OWN = {"fastmetrics", "tests", "bench", "scripts", "examples"}


def plain(name: str) -> str:
    """The name of a distribution, without versions and extras, as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", re.split(r"[\[<>=!~; ]", name)[0]).lower()


def imported(folder: str) -> set[str]:
    """The top-level modules of other projects that the Python files of a folder import, inside functions too."""
    found = set()
    for path in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [str(node.module)]
            found.update(name.split(".")[0] for name in names)
    return found - OWN - set(sys.stdlib_module_names)


def distributions(modules: set[str]) -> set[str]:
    """The distributions that modules come from; one that is not installed is taken for its own name."""
    return {plain(name) for module in modules for name in _installed().get(module, [module])}


_installed = functools.cache(packages_distributions)


@pytest.mark.parametrize("required", PROJECT["dependencies"])
def test_every_requirement_is_imported_by_the_package(required: str) -> None:
    assert plain(required) in distributions(imported("fastmetrics"))


@pytest.mark.parametrize("folder", ["fastmetrics", "tests"])
def test_everything_imported_is_required_or_in_an_extra(folder: str) -> None:
    asked = {plain(one) for one in [*PROJECT["dependencies"], *(one for extra in EXTRAS.values() for one in extra)]}
    assert not [name for name in imported(folder) if not distributions({name}) & asked]


def test_no_requirement_is_pinned_to_one_version() -> None:
    assert [one for one in PROJECT["dependencies"] if "==" in one] == []
