"""Names that docstrings mark as code exist: a renamed parameter does not live on in the text about it."""

import ast
import builtins
import functools
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import fastmetrics as fm
from fastmetrics.base.column_names import COLUMNS
from fastmetrics.base.public_names import HOMES

ROOT = Path(__file__).parents[2]
MARKED = re.compile(r"(`+)([^`]+)\1")
NO_EXPRESSION = re.compile(r"(^|\s)-|/|\.(jsonl?|parquet|txt|md|toml|csv)\b|[{|·]|^\[|\w-\w")
Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef
OUTSIDE = {
    *("numpy", "Annotated", "Path", "FileInfo", "regex", "opener", "pivot", "to_numpy", "to_pandas", "to_pylist"),
    *("ArrowInvalid", "TfidfVectorizer", "OPENAI_API_KEY", "HF_TOKEN"),
    *("lam_over_all", "lemma_", "dep_", "idx", "sents", "head"),
    *("AP", "RR", "RBP", "MRR", "mrr", "nDCG", "nDCG_cut_10", "ndcg_cut_10", "P_5"),
    *("by_item", "cautioned", "n_shared", "jiwer", "draw", "sentence_score", "corpus_score"),
    *("frame", "dataset", "rag", "yours", "other_answer", "hallucinated", "mrr3", "p95", "kappa_1_3", "fm_jaccard"),
    *("judge_X", "judge_X_latency_ms", "judge_X_latencies_ms"),
}
"""Names of libraries, of measures in other programs, of attributes that some values have, and of what users name."""


def parameters(function: Function) -> set[str]:
    return {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}


def bound(node: ast.AST) -> set[str]:
    """Names and attributes that are bound anywhere within a node, parameters aside."""
    names = set()
    for part in ast.walk(node):
        match part:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                names.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
    return names


@functools.cache
def within(tree: ast.Module) -> set[str]:
    """Names and attributes that are bound anywhere in a file, and parameters."""
    return bound(tree).union(*(parameters(node) for node in ast.walk(tree) if isinstance(node, Function)))


def definitions(body: list[ast.stmt]) -> list[Definition]:
    """The functions and classes of a body, also those in an ``if`` or ``with``, but none within another."""
    nodes: list[ast.AST] = list(body)
    listed = []
    while nodes:
        node = nodes.pop()
        if isinstance(node, Definition):
            listed.append(node)
        else:
            nodes.extend(ast.iter_child_nodes(node))
    return listed


def module_names(tree: ast.Module) -> set[str]:
    """Names that a file binds at its top, by definition, assignment or import."""
    names = {definition.name for definition in definitions(tree.body)}
    for node in tree.body:
        if not isinstance(node, Definition):
            names |= bound(node)
            for alias in (part for part in ast.walk(node) if isinstance(part, ast.alias)):
                names.add((alias.asname or alias.name).split(".")[0])
    return names


def texts(node: ast.AST) -> set[str]:
    """The texts below a node that could be names."""
    values = [part.value for part in ast.walk(node) if isinstance(part, ast.Constant)]
    return {value for value in values if isinstance(value, str) and value.isidentifier()}


def choices(tree: ast.Module) -> set[str]:
    """Values of options and names of columns: texts in literal types and in the constants of a file."""
    names = set()
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(value=ast.Name(id="Literal")):
                names |= texts(node)
    for node in tree.body:
        match node:
            case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
                names |= texts(value)
    return names


PUBLIC = {*fm.__all__, *HOMES}
"""What users call by name."""


class Package:
    """The syntax trees of the package, and the names that a docstring anywhere may use."""

    def __init__(self) -> None:
        paths = sorted((ROOT / "fastmetrics").rglob("*.py"))
        self.trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in paths}
        nodes = [node for tree in self.trees.values() for node in ast.walk(tree)]
        self.classes = {node.name: node for node in nodes if isinstance(node, ast.ClassDef)}
        self.words = set().union(*map(texts, self.trees.values()))
        self.attributes = {name for node in self.classes.values() for name in bound(node) if not name.startswith("_")}
        self.everywhere = {"fm", "np", "pa", *dir(builtins), *sys.stdlib_module_names, *PUBLIC, *COLUMNS, *OUTSIDE}
        self.everywhere |= {path.name.split(".")[0] for path in (ROOT / "fastmetrics").rglob("*.toml")}  # rubrics
        for path, tree in self.trees.items():
            self.everywhere |= set(path.relative_to(ROOT).with_suffix("").parts)
            self.everywhere |= {name for name in module_names(tree) if not name.startswith("_")}
            self.everywhere |= choices(tree)
        for name in set(PUBLIC) & set(self.classes):
            self.everywhere |= self.members(self.classes[name])

    def members(self, node: ast.ClassDef, seen: tuple[str, ...] = ()) -> set[str]:
        """What a class and those that it inherits from bind."""
        names = bound(node).union(
            *(parameters(part) for part in node.body if isinstance(part, Function) and part.name == "__init__")
        )
        for base in node.bases:
            name = base.value if isinstance(base, ast.Subscript) else base
            if isinstance(name, ast.Name) and name.id in self.classes and name.id not in seen:
                names |= self.members(self.classes[name.id], (*seen, name.id))
        return names

    def docstrings(self, body: list[ast.stmt], scope: set[str]) -> Iterator[tuple[int, str, set[str]]]:
        """Each bare text in a body and below, its line, and the names of the definitions that it is in."""
        for node in body:
            match node:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    yield node.lineno, text, scope
        for node in definitions(body):
            inner = self.members(node) if isinstance(node, ast.ClassDef) else parameters(node)
            yield from self.docstrings(node.body, scope | inner)

    def names_of_file(self, tree: ast.Module) -> set[str]:
        """What any docstring of a file may use: its own names and those that its code reads, as attribute or text."""
        names = module_names(tree) | self.everywhere
        for node in ast.walk(tree):
            match node:
                case ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
                    names.add(name)
                case ast.Constant(value=str(name)) if name.isidentifier():
                    names.add(name)
        if {definition.name for definition in definitions(tree.body)} & set(PUBLIC):
            names |= self.words | self.attributes  # columns, options and parts of results, which users meet by name
        return names

    def inside(self, path: Path) -> set[str]:
        """What is bound anywhere in a file, or in the folder of an ``__init__.py``, which its first text may use."""
        part = [path] if path.name != "__init__.py" else path.parent.rglob("*.py")
        return set().union(*(within(self.trees[one]) for one in part))

    def faults(self) -> Iterator[str]:
        for path, tree in self.trees.items():
            scope = self.names_of_file(tree)
            for line, text, names in self.docstrings(tree.body, set()):
                head = tree.body[0].lineno == line
                for offset, code in marked(text):
                    for name in sorted(unbound(code) - names - scope):
                        if head and name in self.inside(path):
                            continue
                        yield f"{path.relative_to(ROOT)}:{line + offset}: {name} in ``{code}``"


def marked(text: str) -> Iterator[tuple[int, str]]:
    """What a docstring marks as code, and its line."""
    without_examples = re.sub(r"^\s*(>>>|\.\.\. ).*$", "", text, flags=re.M)
    for match in MARKED.finditer(without_examples):
        yield without_examples[: match.start()].count("\n"), " ".join(match[2].split())


def unbound(code: str) -> set[str]:
    """Names of more than a letter in a marked expression; none in paths, patterns and options of commands."""
    if NO_EXPRESSION.search(code):
        return set()
    try:
        tree = ast.parse(code, mode="eval")
    except SyntaxError:
        return set()
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and len(node.id) > 1}


@pytest.mark.full
def test_names_in_docstrings_exist():
    assert list(Package().faults()) == []
