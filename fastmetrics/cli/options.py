"""The options of commands: those of a command's function, groups of settings, and those that several commands share."""

from __future__ import annotations

import copy
import csv
import functools
import inspect
import io
import itertools
import json
import re
import sys
import tempfile
import types
import typing
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, is_dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer
import typer.models

from fastmetrics.base import column_names as lists
from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.display import row_count
from fastmetrics.base.errors import Argument, OptionError
from fastmetrics.base.public_names import load
from fastmetrics.base.shared_parameters import help_of
from fastmetrics.cli.terminal import FORMS, check_one_form, echo, echo_line, print_error, print_result
from fastmetrics.tables.input_files import PLAIN, ReadSettings, reading_as

if TYPE_CHECKING:
    from fastmetrics.tables.targets import Target

# The placeholder of an option in help pages and docs: what to write after it, in words that a reader knows.


_PLACEHOLDERS = {int: "N", float: "NUMBER", Path: "PATH"}


def with_placeholder(annotation: Any) -> Any:
    """The annotation of an option, which has now a placeholder by its type unless it declares one.

    >>> import typer
    >>> option = with_placeholder(Annotated[int | None, typer.Option("--sample")])
    >>> option.__metadata__[0].metavar
    'N'
    """
    kind, *marks = typing.get_args(annotation) or (annotation,)
    while typing.get_args(kind):
        kind = typing.get_args(kind)[0]
    for mark in marks:
        if isinstance(mark, typer.models.OptionInfo) and mark.metavar is None and kind is not bool:
            mark.metavar = _PLACEHOLDERS.get(kind, "TEXT")
    return annotation


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


def pairs(
    values: list[str] | None, option: str = "--columns", form: str = "NAME=YOURS, as in answer=text"
) -> dict[str, str]:
    """The pairs of a repeatable, comma-separated option, split as in ``name_list`` and then at the first ``=``.

    >>> pairs(["answer=text,reference=gold"])
    {'answer': 'text', 'reference': 'gold'}
    >>> pairs(['"answer=text, cleaned",reference=a=b'])
    {'answer': 'text, cleaned', 'reference': 'a=b'}
    >>> pairs(["choices=[A, B],answer=text"])
    {'choices': '[A, B]', 'answer': 'text'}
    >>> pairs(['latency_s="Время, с",answer=text'])
    {'latency_s': 'Время, с', 'answer': 'text'}

    Raises ``OptionError`` for an item without ``=`` and for a name given twice.
    """
    # a quoted value, choice="a, b", is quoted as CSV does: "choice=a, b"
    values = [re.sub(r'(?<![^,])( *[^",=]+=)"((?:[^"]|"")*)" *(?=,|$)', r'"\1\2"', value) for value in values or []]
    by_name: dict[str, str] = {}
    for item in _whole_lists(name_list(values, option)):
        name, equals, value = item.partition("=")
        if not equals or not name or not value:
            raise OptionError(f"{option} {item!r}: expected {form}")
        if name in by_name:
            raise OptionError(f"{option} names {name!r} twice")
        by_name[name] = value
    return by_name


def _whole_lists(items: Iterable[str]) -> list[str]:
    """The items, with the parts of a list in brackets, ``[A, B]``, as one."""
    whole: list[str] = []
    for item in items:
        if whole and "=[" in whole[-1] and not whole[-1].endswith("]") and "=" not in item:
            whole[-1] += f", {item}"
        else:
            whole.append(item)
    return whole


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


# The options of a command that are parameters of functions or fields of settings: names, types, defaults and texts.


@dataclass(frozen=True)
class Spelling:
    """How an argument is written on the command line, where the type of its parameter does not say it."""

    placeholder: str | None = None
    convert: Callable[[Any, str], Any] | None = None
    short: str | None = None
    least: int | None = None


SPELLINGS = {
    "alert": Spelling("RULE", as_given),
    "better": Spelling("NAME=lower|higher,...", partial(pairs, form="NAME=lower or NAME=higher")),
    "bootstrap": Spelling(least=1),
    "by": Spelling("COLUMN,...", names),
    "cache": Spelling("FOLDER"),
    "client": Spelling("FILE"),
    "columns": Spelling("NAME=YOURS,...", pairs),
    "depth": Spelling(short="-M"),
    "extract": Spelling("EXTRACTOR", as_given),
    "faq_columns": Spelling("NAME=YOURS,...", pairs),
    "judged": Spelling(convert=as_given),
    "keep": Spelling("COLUMN,...", name_list),
    "lists": Spelling("COLUMN,...", names),
    "measures": Spelling("MEASURE,...", split, "-m"),
    "metrics": Spelling("METRIC,...", split, "-m"),
    "output": Spelling("PATH", short="-o"),
    "parameters": Spelling(convert=call_parameters),
    "ranges": Spelling(convert=ranges),
    "relevance_level": Spelling(short="-l"),
    "require": Spelling("RULE", as_given, "-r"),
    "resamples": Spelling(least=1),
    "retry": Spelling(convert=split),
    "runs": Spelling("FOLDER"),
    "samples": Spelling(short="-n"),
    "store": Spelling("PATH"),
    "suites": Spelling("SUITE,...", split),
    "sweep": Spelling(convert=as_given),
    "tests": Spelling("TEST,...", split),
    "texts": Spelling(convert=as_given),
    "thresholds": Spelling(convert=numbers),
    "usage": Spelling(convert=as_given),
}
"""By the name of the parameter."""
_TYPES = (bool, int, float)


@dataclass(frozen=True)
class _Options:
    """Options of a command, and the settings that they make, if they are the fields of such a class."""

    parameters: Sequence[inspect.Parameter]
    name: str = ""
    settings: Callable[..., Any] | None = None


def options_of(owner: Any, taken: Container[str], spelled: Mapping[str, Spelling]) -> Iterator[_Options]:
    """The options for the parameters of a function, or the fields of a class of settings, but for those ``taken``.

    A parameter of data, one without a ``Help``, and one for a function is no option; one for settings stands for the
    fields of their class.
    """
    hints = typing.get_type_hints(owner, include_extras=True)
    for parameter in inspect.signature(owner).parameters.values():
        name, hint = parameter.name, hints.get(parameter.name)
        is_data = parameter.kind is not inspect.Parameter.KEYWORD_ONLY and parameter.default is inspect.Parameter.empty
        if is_data or name in taken or help_of(hint) is None:
            continue
        kind, *others = _kinds(hint)
        if is_dataclass(kind) and isinstance(kind, type) and not others:
            [*fields] = itertools.chain.from_iterable(each.parameters for each in options_of(kind, taken, spelled))
            yield _Options(fields, name, kind)
        elif typing.get_origin(kind) is not Callable:
            yield _Options([_option(name, hint, parameter.default, spelled)])


def _kinds(hint: Any) -> tuple[Any, ...]:
    """The types that an annotation allows, without None.

    >>> _kinds(Annotated[int | None, "the number of rows"])
    (<class 'int'>,)
    """
    kind = typing.get_args(hint)[0] if hasattr(hint, "__metadata__") else hint
    several = typing.get_args(kind) if typing.get_origin(kind) in (types.UnionType, typing.Union) else (kind,)
    return tuple(each for each in several if each is not types.NoneType)


def _option(name: str, hint: Any, default: Any, spelled: Mapping[str, Spelling]) -> inspect.Parameter:
    """The option for a parameter with this annotation and default."""
    kinds = _kinds(hint)
    items = next((typing.get_args(kind)[0] for kind in kinds if typing.get_origin(kind) is Sequence), None)
    usual = Spelling() if items is None else Spelling(convert=names if items is str else as_given)
    spelling = spelled.get(name) or SPELLINGS.get(name, usual)
    flag = f"-{name}" if len(name) == 1 else f"--{name.rstrip('_').replace('_', '-')}"
    flag += f"/--no-{flag[2:]}" if kinds[0] is bool and default else ""
    flags = [flag] if spelling.short is None else [flag, spelling.short]
    values = typing.get_args(kinds[0]) if typing.get_origin(kinds[0]) is Literal else ()
    placeholder = spelling.placeholder or "|".join(values) or None
    choice = _choice(values) if values and spelling.convert is None else {}
    marks: list[Any] = [typer.Option(*flags, help=help_of(hint), metavar=placeholder, min=spelling.least, **choice)]
    accepted: Any = kinds[0] if kinds[0] in _TYPES and len(kinds) == 1 else str
    if spelling.convert is not None:
        accepted, default = list[items if items in _TYPES else str], None  # type: ignore[misc]
        marks += [FromText(spelling.convert)]
    accepted = accepted | None if default is None else accepted
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[(accepted, *marks)]
    )


def _choice(values: Sequence[str]) -> dict[str, Any]:
    """The parser and the completion of an option that takes one of the values.

    Typer's own message on another one begins with ``Value error``.
    """

    def one_of(text: str) -> str:
        if text not in values:
            raise typer.BadParameter(f"{text!r} is not one of {', '.join(values)}")
        return text

    def completed(incomplete: str) -> list[str]:
        return [value for value in values if value.startswith(incomplete)]

    return {"parser": one_of, "autocompletion": completed}


# The parameters of a command that stand for options of functions and settings.


_Mark = TypeVar("_Mark")


class OptionsOf:
    """In the annotation of a parameter of a command: the options of functions or classes of settings.

    A public one may be named, ``OptionsOf("score")``: it is imported when the command is called, or its help page.
    Where several have an option, it is that of the first.  ``without`` are options that the command does not have, and
    ``spelled`` are spellings of its own.

    The command receives them as the annotation says: all ``Arguments``, or the values of one class of settings, as this
    class or by name in a ``dict``.
    """

    def __init__(self, *owners: Any, without: Sequence[str] = (), **spelled: Spelling) -> None:
        self.owners, self.without, self.spelled = owners, without, spelled


class Arguments(dict[str, Any]):
    """All options and groups of a command by name, converted from text: what a parameter of this type receives.

    Options that are absent and whose default depends on the function are not in it.
    """

    def __init__(self, values: Mapping[str, Any], defaults: Mapping[str, Any] = MappingProxyType({})) -> None:
        super().__init__(values)
        self._defaults = defaults

    def call(self, function: Callable[..., Any] | str, **others: Any) -> Any:
        """Call the function, or a public one by its name, with those of the arguments that are parameters of it.

        ``others`` replace them.

        >>> Arguments({"bins": 5, "quiet": True}).call(lambda scores, bins: (scores, bins), scores="a.csv")
        ('a.csv', 5)
        """
        function = load(function) if isinstance(function, str) else function
        parameters = inspect.signature(function).parameters.values()
        names = [each.name for each in parameters if each.kind is not inspect.Parameter.VAR_KEYWORD]
        return function(**{name: self[name] for name in names if name in self} | others)

    def check_of(self, way: str, ways: Mapping[str, Container[str]]) -> None:
        """Raise ``OptionError`` for an option that only other ways of a command have: its options by their names.

        >>> ways = {"--mean": ("digits",), "--table": ("wide", "digits")}
        >>> Arguments({"digits": 3, "wide": True}, {"wide": False}).check_of("--mean", ways)
        Traceback (most recent call last):
        fastmetrics.base.errors.OptionError: wide= goes with --table
        """
        for name, value in self.items():
            having = [other for other, names in ways.items() if name in names]
            default = self._defaults.get(name, inspect.Parameter.empty)
            if having and way not in having and value != default and default is not inspect.Parameter.empty:
                raise OptionError(Argument(name), f" goes with {' or '.join(filter(None, having))}")


def flat(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with each parameter that stands for options replaced by them, as Typer reads them off a signature.

    It converts the options from text, loads the files of ``--plugin``, and prints what the command returns.

    >>> @dataclass(frozen=True, kw_only=True)
    ... class Colours:
    ...     ink: str = "black"
    >>> def show(text: str, *, colours: Colours) -> None:
    ...     print(text, colours)
    >>> list(inspect.signature(flat(show)).parameters)[:2]  # the options of reading follow
    ['text', 'ink']
    >>> flat(show)(text="a", ink="red")
    a Colours(ink='red')
    """
    hints = typing.get_type_hints(command, include_extras=True)
    own = inspect.signature(command).parameters
    groups = {name: _declared_fields(name, hints[name]) for name in own if is_dataclass(hints[name])}
    taken = {*own, *(option.name for group in groups.values() for option in group.parameters)}
    options: list[_Options] = []
    handed_over = []
    for name, parameter in own.items():
        mark = _mark(hints[name], OptionsOf)
        if mark is None:
            options.append(groups.get(name, _Options([parameter.replace(annotation=hints[name])])))
            continue
        wanted = typing.get_args(hints[name])[0]
        for owner in (load(each) if isinstance(each, str) else each for each in mark.owners):
            found = list(options_of(owner, {*taken, *mark.without}, mark.spelled))
            taken |= {each.name for each in found}.union(option.name for each in found for option in each.parameters)
            if wanted is Arguments:
                options += found
            else:
                fields = [option for each in found for option in each.parameters]
                options.append(_Options(fields, name, typing.get_origin(wanted) or wanted))
        handed_over += [name] if wanted is Arguments else []
    parameters = [option for each in options for option in each.parameters]
    # The options of reading and of calls are accepted by many commands, and shown where they are asked for.
    taken |= {option.name for option in parameters}
    [*beside] = itertools.chain.from_iterable(each.parameters for each in options_of(ReadSettings, taken, {}))
    further = {name for names in FURTHER.values() for name in names}
    parameters = [option.replace(annotation=with_placeholder(option.annotation)) for option in (*parameters, *beside)]
    parameters = [_hidden(option) if option.name in further else option for option in parameters]
    defaults = {option.name: option.default for option in parameters}

    @functools.wraps(command)
    def run(**texts: Any) -> None:
        forms = [form for form in FORMS if form in texts]
        check_one_form(forms, texts)
        load_plugins(texts.get("plugin"))
        values = dict(_converted(parameters, texts))
        for each in options:
            if each.settings is not None:
                given = [option.name for option in each.parameters if option.name in values]
                values[each.name] = each.settings(**{name: values[name] for name in given})
        arguments = dict.fromkeys(handed_over, Arguments(values, defaults))
        named = {name: values.get(name) for name in own if name not in handed_over}
        way = {each.name: values[each.name] for each in beside if values.get(each.name, each.default) != each.default}
        with reading_as(ReadSettings(**way) if way else PLAIN):
            if command.__name__ in _WRITERS and values.get("output") == "-":
                with _standard_output() as path:
                    values["output"] = path
                    named |= {"output": path} if "output" in named else {}
                    command(**named, **{name: Arguments(values, defaults) for name in arguments})
                return
            result = command(**named, **arguments)
        print_result(result, {form: texts[form] for form in forms})

    shown = inspect.Parameter("help_all", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=HelpAll)
    run.__signature__ = inspect.Signature([*parameters, shown])  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in (*parameters, shown)}
    return run


_WRITERS = [
    f"{name}_command"
    for name in ("score", "rank", "match", "answer", "judge_run", "sample", "vectors_embed", "vectors_search")
]
_WRITERS += [f"models_{name}_command" for name in ("entailment", "rerank", "bert_score", "classifier")]
"""The commands that write a table, with ``-o -`` as JSON lines to standard output."""


@contextmanager
def _standard_output() -> Iterator[str]:
    """A file for the output of a command, copied to standard output once it is whole; what is printed goes beside, and
    the rejected rows.
    """
    with tempfile.TemporaryDirectory() as folder, io.StringIO() as beside:
        path, rejects = Path(folder) / "rows.jsonl", Path(folder) / "rows.jsonl.rejects.jsonl"
        try:
            with redirect_stdout(beside):
                yield str(path)
        finally:
            said = beside.getvalue().replace(str(rejects), "as follows").replace(str(path), "standard output")
            rows = rejects.read_text(encoding="utf-8") if rejects.exists() else ""
            with redirect_stdout(sys.stderr):
                echo(said + rows, nl=False, as_is=True)
        echo(path.read_text(encoding="utf-8"), nl=False, as_is=True)


FURTHER = {
    "how files are read": tuple(inspect.signature(ReadSettings).parameters),
    "how intervals and p are computed": ("interval", "bootstrap", "correction", "pairing", "resamples", "flags"),
    "how calls are made": ("structured", "retry", "max_unparsed", "keep_replies", "context_window"),
}
"""Groups of options that a help page names, and shows with ``--help-all``."""


def _help_all(ctx: typer.Context, is_set: bool) -> None:
    """Print the help page with the options of ``FURTHER``."""
    if is_set:
        for option in ctx.command.params:
            option.hidden = False  # type: ignore[attr-defined]
        echo(ctx.get_help())
        raise typer.Exit


HelpAll = Annotated[
    bool, typer.Option("--help-all", callback=_help_all, is_eager=True, hidden=True, help="Show all options and exit.")
]


def _hidden(option: inspect.Parameter) -> inspect.Parameter:
    """The option, which help pages do not show."""
    kind, *marks = typing.get_args(option.annotation)
    marks = [copy.copy(mark) for mark in marks]
    for mark in marks:
        if isinstance(mark, typer.models.ParameterInfo):
            mark.hidden = True
    return option.replace(annotation=Annotated[(kind, *marks)])


def _converted(parameters: list[inspect.Parameter], texts: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The arguments by name; without those that are left to the function behind."""
    for parameter in parameters:
        if parameter.name in texts:
            value, option = texts[parameter.name], "--" + parameter.name.rstrip("_").replace("_", "-")
            mark = _mark(parameter.annotation, FromText)
            converted = value if mark is None or value is None else mark.convert(value, option)
            if mark is None or converted is not None:
                yield parameter.name, converted


def _declared_fields(name: str, settings: Any) -> _Options:
    """The options that a class declares in the annotations of its fields, for the parameter of this name."""
    hints, keyword = typing.get_type_hints(settings, include_extras=True), inspect.Parameter.KEYWORD_ONLY
    signature = inspect.signature(settings).parameters.values()
    fields = [each.replace(kind=keyword, annotation=hints[each.name]) for each in signature]
    return _Options(fields, name, settings)


def _mark(hint: Any, kind: type[_Mark]) -> _Mark | None:
    """The mark of a kind in an annotation."""
    return next((mark for mark in getattr(hint, "__metadata__", ()) if isinstance(mark, kind)), None)


def load_plugins(paths: list[str] | None) -> None:
    """Load the files that ``--plugin`` names."""
    from fastmetrics.metrics.plugins import load_plugin

    for path in paths or ():
        load_plugin(path)


# Options shared by several commands: each is declared once, with its help text.


_VECTORS = "Vectors: a file, folder, glob or address of tables in any format or of .npy arrays, or -."
_ROWS = (
    "Files, folders, globs or addresses of rows: Parquet, JSON, CSV, TSV, Arrow, Excel, logs of tools, a table of a "
    "database; - is standard input."
)

Table = Annotated[list[str], typer.Argument(help=_ROWS, metavar="INPUT...", show_default=False)]
Scores = Annotated[str, typer.Argument(help="The score file, folder or address.", show_default=False)]
Folder = Annotated[
    str, typer.Argument(help="A folder of outputs of score, or its address.", metavar="FOLDER", show_default=False)
]
Judged = Annotated[
    list[str], typer.Argument(help="Files written by judge run.", metavar="JUDGED...", show_default=False)
]
VectorFiles = Annotated[str, typer.Argument(help=_VECTORS, show_default=False)]

Plugins = Annotated[
    list[str] | None,
    typer.Option("--plugin", help="Python files that declare metrics or model clients.", metavar="FILE"),
]
Names = Annotated[
    list[str] | None,
    typer.Option("--names", help="Names of the runs, in order: old,new.", metavar="NAME,..."),
    FromText(names),
]
Output = Annotated[str, typer.Option("--output", "-o", help=help_of(shared.Output), metavar="PATH")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help=help_of(shared.Overwrite))]
Picture = Annotated[
    str | None, typer.Option("--plot", help="Also draw the result, in this .svg or .png file.", metavar="PATH")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Estimate the calls and their cost; send nothing.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
AsMarkdown = Annotated[bool, typer.Option("--markdown", help="Print Markdown.")]
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
        raise OptionError(f"--names {','.join(names)}: expected a name for each of the {len(runs)} runs, as in old,new")
    if system is not None and len(runs) > 1:
        raise OptionError("--system needs exactly one file, which contains all systems")
    return runs[0] if system is not None else dict(zip(names, runs, strict=True)) if names else runs


def picture_place(picture: str | None, *inputs: Any) -> Target | None:
    """The place of the picture of ``--plot``, which replaces an earlier one; None without the option."""
    from fastmetrics.reporting.plot import picture_target

    return None if picture is None else picture_target(picture, inputs, overwrite=True)


def draw(place: Target | None, result: Any, color: Any = None) -> None:
    """Draw a result in the place of a picture, if there is one."""
    from fastmetrics.reporting.plot import draw_into

    for line in [] if place is None else draw_into(place, result, color):
        print_error(line)


def print_bad_rows(run: Any) -> None:
    """Print how many rows of a run were rejected, and how many cells begin with a quote."""
    if run.rejects is not None:
        echo_line(f"{row_count(run.rejected)} rejected: {run.rejects}")
    if run.guarded:
        echo(guarded(run.guarded))


def guarded(cells: int) -> str:
    """The note about cells that were written with a leading quote.

    >>> guarded(1)
    "1 cell that a spreadsheet would run begins with a quote (')"
    """
    noun, verb = ("cell", "begins") if cells == 1 else ("cells", "begin")
    return f"{cells:,} {noun} that a spreadsheet would run {verb} with a quote (')"
