"""An option of a function arrives at each function that it calls and that has the option too."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any, TypeAlias

import pytest

import fastmetrics

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

LEFT_OUT = ("fastmetrics.cli", "fastmetrics.kernels", "fastmetrics.__main__")
"""Commands hand on the arguments of their functions by name; kernels have no options."""

RECORDS = {"Argument", "ScoreMetadata", "Reading", "VectorFiles", "Answered", "Activity", "TableRun"}
"""Classes whose fields are results or parts of messages, and no options."""

MEMOS = {"memo", "memory"}
"""Parameters with what has been computed already, which is of the rows of the caller."""

EXCEPTIONS: dict[str, set[str]] = {
    "the value of another name": {
        "Folder.take: LimitedText(what)",
        "Metric.options: UnknownNameError.of(aliases)",
        "_side_table: open_run(table)",
        "_by_system: open_run(table)",
        "_check_unambiguous: parse(own)",
        "as_table: as_arrow(name)",
        "Scores.of: open_frame(name)",
        "by_grade: fixed_ids(starts)",
        "project: pca(column)",
        "RagRun._read: open_table(name)",
        "RagChunks.of: open_table(settings)",
    },
    "the name of a column, for messages about input that is checked already": {
        "EmbeddedIn.of: Vectors.of(column)",
        "_vectors_of: Vectors.of(column)",
        "_vectors_of: Vectors.of(name)",
        "PairedRows.part: as_numbers(name)",
        "MatchedScores.scores: as_numbers(name)",
        "_Labelled.beside: as_numbers(name)",
        "ScoreRun.values: as_numbers(name)",
        "tokens: as_text(name)",
    },
    "a chart has no place for notes": {
        "Classification.plot: drawn(notes)",
        "IntervalSummary.plot: drawn(notes)",
        "Summary.plot: drawn(notes)",
    },
    "the texts have been read by these options": {
        "_matched: StrictMatchBot(columns)",
        "read_faq: StrictMatchBot(columns)",
        "AnsweredIn.of: PassageIn(convention)",
        "AnsweredIn.of: WeighedIn(convention)",
        "AskedIn.of: KeywordsIn(convention)",
        "AskedIn.of: WeighedIn(convention)",
    },
    "the other branch of an if, or the second of two calls": {
        "Selection.roots: Selection(paths)",  # what they are within is read whole
        "plan_answering: resolve(columns)",
        "_RubricCalls.__init__: _RubricCalls(swapped)",
        "_shared: Embedder(cache)",
        "gate: open_run(latest)",
        "worst_rows: open_runs(system)",
    },
    "no effect on what is computed": {
        "warm_up: score(suites)",  # the names of their metrics are handed on
        "warm_up: score(progress)",  # told of metrics, not of rows
        "estimate_answering: plan_answering(sample)",  # for the metadata only
        "scored_columns: slices(threads)",  # read in turn
        "_pacmap: nearest(seed)",  # exact neighbours
        "percentile_interval: Sample.of(bounds)",  # of flags, whose bounds are 0 and 1
        "alpha_interval: Pairs.of(clusters)",  # of the added row, which is in no cluster
    },
}


def handed_down(module: ModuleType) -> Iterator[tuple[str, bool]]:
    """Each option that a function of a module shares with a function that it calls, and whether it arrives there."""
    tree = ast.parse(inspect.getsource(module))
    for names, functions, owner in _functions(tree, [], [], None, module):
        parameters = set().union(*map(_parameters, functions), getattr(owner, "__dataclass_fields__", {}))
        origins, dicts = _origins(functions), _dicts(functions)
        for call in _calls(functions[-1]):
            called = _called(call.func, module, owner)
            is_local = isinstance(call.func, ast.Name) and call.func.id in origins
            is_own = called is None or is_local or called is getattr(module, names[-1], None)
            for option, value in ({} if is_own else _arguments(call, called, dicts)).items():
                if option in parameters - MEMOS:
                    read = set() if value is None else _read(value)
                    arrives = option in read.union(*(origins[name] for name in read))
                    yield f"{'.'.join(names)}: {called.__qualname__}({option})", arrives


def _functions(
    node: ast.AST, names: list[str], functions: list[Function], owner: Any, module: ModuleType
) -> Iterator[tuple[list[str], list[Function], Any]]:
    """The functions of a module with their names, the functions that they are in, and their class."""
    for child in ast.iter_child_nodes(node):
        inside, own = functions, owner
        if isinstance(child, Function):
            inside = [*functions, child]
            yield [*names, child.name], inside, owner
        elif isinstance(child, ast.ClassDef):
            own = getattr(module, child.name, None)
        deeper = [*names, child.name] if isinstance(child, Function | ast.ClassDef) else names
        yield from _functions(child, deeper, inside, own, module)


def _calls(function: Function) -> Iterator[ast.Call]:
    """The calls of a function, without those of functions inside it."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Call):
            yield node
        waiting += [child for child in ast.iter_child_nodes(node) if not isinstance(child, Function)]


def _called(name: ast.expr, module: ModuleType, owner: Any) -> Any:
    """The function or class of the package that is called by a name, ``Class.method`` or ``self.method``."""
    if isinstance(name, ast.Name):
        called = getattr(module, name.id, None)
    elif isinstance(name, ast.Attribute) and isinstance(name.value, ast.Name):
        holder = owner if name.value.id in ("self", "cls") else getattr(module, name.value.id, None)
        called = getattr(holder, name.attr, None) if inspect.isclass(holder) else None
    else:
        called = None
    home = getattr(called, "__module__", None) or ""
    left_out = getattr(called, "__name__", "") in RECORDS or (inspect.isclass(called) and issubclass(called, Exception))
    ours = callable(called) and home.startswith("fastmetrics.") and not left_out
    return called if ours else None


def _arguments(call: ast.Call, called: Any, dicts: Mapping[str, ast.Dict]) -> dict[str, ast.expr | None]:
    """The optional parameters of a function with what a call hands to them; nothing for a call that cannot be read."""
    try:
        parameters = list(inspect.signature(called).parameters.values())
    except ValueError:  # a class without a signature, such as an exception
        return {}
    values = {str(word.arg): word.value for word in call.keywords if word.arg is not None}
    for word in (word for word in call.keywords if word.arg is None):
        spread = dicts.get(word.value.id) if isinstance(word.value, ast.Name) else None
        if spread is None:
            return {}
        values |= {str(getattr(key, "value", "")): value for key, value in zip(spread.keys, spread.values, strict=True)}
    if any(isinstance(value, ast.Starred) for value in call.args):
        return {}
    places = [parameter.name for parameter in parameters if parameter.kind in (0, 1)]
    values |= dict(zip(places[1:] if places[:1] == ["self"] else places, call.args, strict=False))
    optional = (parameter.name for parameter in parameters if parameter.default is not parameter.empty)
    return {name: values.get(name) for name in optional}


def _dicts(functions: Sequence[Function]) -> dict[str, ast.Dict]:
    """The dictionaries that a function writes out and does not change, by name."""
    written: defaultdict[str, list[ast.expr]] = defaultdict(list)
    for target, value in (pair for function in functions for node in ast.walk(function) for pair in _assigned(node)):
        if isinstance(target, ast.Name):
            written[target.id].append(value)
    return {name: values[0] for name, values in written.items() if len(values) == 1 and isinstance(values[0], ast.Dict)}


def _parameters(function: Function) -> set[str]:
    arguments = function.args
    return {each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)} - {"self", "cls"}


def _read(node: ast.AST) -> set[str]:
    """The names in an expression, and the attributes of ``self``."""
    names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    attributes = (each for each in ast.walk(node) if isinstance(each, ast.Attribute))
    return names | {each.attr for each in attributes if isinstance(each.value, ast.Name) and each.value.id == "self"}


def _origins(functions: Sequence[Function]) -> defaultdict[str, set[str]]:
    """The names that each local name is computed from."""
    origins: defaultdict[str, set[str]] = defaultdict(set)
    for node in (node for function in functions for node in ast.walk(function)):
        for target, value in _assigned(node):
            for name in _read(target):
                origins[name] |= _read(value)
        if isinstance(node, Function) and node not in functions:
            origins[node.name] |= _read(node)
    size = -1
    while size != (size := sum(map(len, origins.values()))):
        for name in list(origins):
            origins[name] |= set().union(*(origins[other] for other in list(origins[name]) if other in origins))
    return origins


def _assigned(node: ast.AST) -> list[tuple[ast.expr, ast.expr]]:
    """What a node assigns, with the values."""
    match node:
        case ast.Assign():
            return [(target, node.value) for target in node.targets]
        case ast.AugAssign() | ast.NamedExpr():
            return [(node.target, node.value)]
        case ast.AnnAssign() if node.value is not None:
            return [(node.target, node.value)]
        case ast.For() | ast.comprehension():
            return [(node.target, node.iter)]
        case ast.With():
            return [(item.optional_vars, item.context_expr) for item in node.items if item.optional_vars is not None]
    return []


def modules() -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(fastmetrics.__path__, "fastmetrics."):
        if not found.name.startswith(LEFT_OUT):
            yield importlib.import_module(found.name)


def test_options_arrive_at_the_functions_that_have_them_too() -> None:
    """All calls of the package; the exceptions are those that are listed, with their reasons."""
    options = [option for module in modules() for option in handed_down(module)]
    assert len(options) > 400
    assert {name for name, arrives in options if not arrives} == set().union(*EXCEPTIONS.values())


SOURCE = """
def callee(rows, *, seed=0, level=1): ...
def caller(rows, *, seed=0, level=1):
    {}
"""


@pytest.mark.parametrize(
    ("body", "lost"),
    [
        ("callee(rows, seed=seed, level=level)", []),
        ("start = seed + 1; callee(rows, seed=start, level=level)", []),
        ("callee(rows, level=level)", ["seed"]),
        ("callee(rows, seed=level, level=level)", ["seed"]),
        ("return [callee(row, seed=0, level=level) for row in rows]", ["seed"]),
        ("callee(rows)", ["seed", "level"]),
        ("both = {'seed': seed, 'level': level}; callee(rows, **both)", []),
        ("drawn = {'seed': seed}; callee(rows, **drawn)", ["level"]),
        ("callee(*rows)", []),
    ],
)
def test_a_lost_option_is_detected(monkeypatch: pytest.MonkeyPatch, body: str, lost: list[str]) -> None:
    module = ModuleType("fastmetrics.example")
    source = SOURCE.format(body)
    exec(source, module.__dict__)  # defines the two functions in the module
    monkeypatch.setattr(inspect, "getsource", lambda _: source)
    expected = [f"caller: callee({option})" for option in lost]
    assert [name for name, arrives in handed_down(module) if not arrives] == expected
