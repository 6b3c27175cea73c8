"""Every import of this repository names a module and a name that exist, also where no test without extras runs it."""

import ast
import re
from functools import cache
from pathlib import Path

import fastmetrics as fm

ROOT = Path(__file__).parents[2]
OURS = {"fastmetrics", "tests", "bench", "scripts"}
FILES = sorted(path for folder in (*OURS, "examples") for path in (ROOT / folder).rglob("*.py"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

Imports = set[tuple[str, str | None]]


def imports_and_names(source: str) -> tuple[Imports, set[str]]:
    """The modules of this repository that code imports, with what it takes from them, and the names that it defines."""
    imports: Imports = set()
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            if node.module and node.module.partition(".")[0] in OURS:
                imports |= {(node.module, alias.name) for alias in node.names}
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            imports |= {(alias.name, None) for alias in node.names if alias.name.partition(".")[0] in OURS}
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return imports, names


@cache
def read(path: Path) -> tuple[Imports, set[str]]:
    return imports_and_names(path.read_text(encoding="utf-8"))


@cache
def names_of(module: str) -> set[str] | None:
    """What can be imported from a module; None if there is no such module."""
    path = ROOT.joinpath(*module.split("."))
    if module == "fastmetrics":  # which finds its names when they are used
        return {*fm.__all__, *(inner.stem for inner in path.iterdir())}
    if path.is_dir():
        inner_names = {inner.stem for inner in path.iterdir()}
        return inner_names | read(path / "__init__.py")[1] if (path / "__init__.py").exists() else inner_names
    return read(path.with_suffix(".py"))[1] if path.with_suffix(".py").exists() else None


def missing(imports: Imports) -> set[str]:
    """The imports of a module that does not exist, or of a name that it does not define."""
    wrong = set()
    for module, name in imports:
        names = names_of(module)
        if names is None:
            wrong.add(module)
        elif name is not None and name not in names:
            wrong.add(f"{module}: {name}")
    return wrong


def test_imports_name_what_exists() -> None:
    wrong = {str(path.relative_to(ROOT)): missing(read(path)[0]) for path in FILES}
    assert {path: names for path, names in wrong.items() if names} == {}


def test_imports_of_pages_name_what_exists() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in PAGES)
    lines = re.findall(r"^ *((?:from|import) fastmetrics\b.*)$", text, re.MULTILINE)
    statements = [line for line in lines if re.fullmatch(r"from \S+ import [\w, ]+|import [\w., ]+", line)]
    assert len(statements) > 10
    assert missing(imports_and_names("\n".join(statements))[0]) == set()


def test_missing_modules_and_names_are_detected() -> None:
    source = "import fastmetrics.none\nfrom fastmetrics.core import none\nfrom fastmetrics.core.memo import none, Memo"
    expected = {"fastmetrics.none", "fastmetrics.core: none", "fastmetrics.core.memo: none"}
    assert missing(imports_and_names(source)[0]) == expected
