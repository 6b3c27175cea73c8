"""Write what the docs say of metrics, columns, commands, functions and speed, read off the declarations themselves.

::

    python -m scripts.docs           write the tables of the pages, and docs/reference, which is not committed
    python -m scripts.docs --check   write nothing; exit 1 if a committed file is out of date
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import re
import sys
import typing
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import typer.models

from fastmetrics.base import errors
from fastmetrics.base.column_names import COLUMNS
from fastmetrics.base.presets import presets as tool_presets
from fastmetrics.base.public_names import HOMES, load, spelled
from fastmetrics.base.shared_parameters import PARAMETERS, helps
from fastmetrics.cli import program
from fastmetrics.cli.commands import COMMANDS, all_commands
from fastmetrics.cli.options import FURTHER
from fastmetrics.metrics.metric import REGISTRY, SOURCES, Metric, described, in_words
from fastmetrics.metrics.source_names import packages, source_names
from fastmetrics.metrics.suites import FAMILIES
from scripts import measure_tables, stubs, throughput

ROOT = Path(__file__).parent.parent

NOTE = "<!-- Written by scripts/docs.py from the declarations; edit those. -->"

KINDS = {
    "text": "text",
    "texts": "text, or a list of texts",
    "id": "text or whole number",
    "ids": "list of ids",
    "id_groups": "list of ids, or of such lists",
    **{"number": "number", "amounts": "number, or a list", "numbers": "list of numbers"},
    "flag": "true or false",
    "time": "date, ISO 8601, or seconds since 1970",
    "vector": "list of numbers",
    "vectors": "list of numbers, or a list of such lists",
    "any": "names, objects or JSON",
}


def pages() -> dict[str, str]:
    """Every committed file with something generated in it, by its path from the root."""
    reports = throughput.read_reports(ROOT / "bench" / "results")
    columns, presets = column_tables()
    return {
        **stubs.stubs(),
        "docs/sources.md": sources_page(),
        "docs/studies/throughput.md": f"# Throughput\n\n{NOTE}\n\n{throughput.page(reports)}\n",
        "docs/data.md": filled("docs/data.md", columns=columns, presets=presets),
        "docs/retrieval.md": filled("docs/retrieval.md", measures=measure_tables.tables()),
        "docs/start.md": filled("docs/start.md", packages=packages_table()),
        "README.md": filled("README.md", throughput=throughput.headline(reports)),
    }


def reference_pages() -> dict[str, str]:
    """The pages of docs/reference, which are not committed: every metric, function and command."""
    pages = {"metrics": metrics_page(), "functions": functions_page(), "commands": commands_page()}
    return {f"docs/reference/{name}.md": text for name, text in pages.items()}


def filled(name: str, **contents: str) -> str:
    """The text of a page with each of the contents between the markers of its name.

    Raises ``ValueError`` if the page has not exactly one pair of them.
    """
    text = (ROOT / name).read_text(encoding="utf-8")
    for marker, content in contents.items():
        begin, end = f"<!-- {marker}, written by scripts/docs.py -->", f"<!-- end of {marker} -->"
        if text.count(begin) != 1 or text.count(end) != 1:
            raise ValueError(f"{name}: expected one {begin} and one {end}")
        before, after = text.split(begin)
        text = f"{before}{begin}\n{content}\n{end}{after.split(end)[1]}"
    return text


def table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """A Markdown table."""
    lines = [header, ("---",) * len(header), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def markdown(docstring: str | None) -> str:
    """A docstring as Markdown: examples and literal blocks fenced, roles and double backticks made plain."""
    blocks = re.split(r"\n\n(?=\S)", inspect.cleandoc(docstring or ""))
    parts: list[str] = []
    for block in blocks:
        if block.startswith(">>>"):
            parts.append(f"```python\n{block}\n```")
            continue
        text, literal, following = block.partition("::\n\n")
        text += ":" if text and literal else ""
        parts.append(re.sub(r"``([^`]+)``", r"`\1`", re.sub(r":\w+:`~?([^`]+)`", r"`\1`", text)))
        if literal:
            parts.append("```text\n" + inspect.cleandoc("\n" + following) + "\n```")
    return "\n\n".join(part for part in parts if part)


def first_line(docstring: str | None) -> str:
    """The first line of a docstring."""
    return markdown(docstring).split("\n")[0]


def shown(value: object) -> str:
    """A default value, cut short if it is long."""
    text = repr(value)
    return text if len(text) < 80 else text[:60].rsplit(" ", 1)[0] + " …"


def bounds(metric: Metric) -> str:
    """The bounds as an interval; infinity is never reached."""
    low, high = (f"{bound:g}".replace("inf", "∞") for bound in metric.bounds)
    opening, closing = "(" if "∞" in low else "[", ")" if "∞" in high else "]"
    return f"{opening}{low}, {high}{closing}"


def metrics_page() -> str:
    """docs/reference/metrics.md: one table of all metrics, then each in full."""
    titles, described = ["Metrics", "Sources"], []
    for family in FAMILIES:
        module = importlib.import_module(f"fastmetrics.metrics.{family}")
        members = [metric for metric in REGISTRY.values() if metric.function.__module__ == module.__name__]
        titles += [family.capitalize(), *(metric.name for metric in members)]
        described += [f"## {family.capitalize()}", markdown(module.__doc__)]
        described += [part for metric in members for part in _metric(metric)]
    titles.append("Names in the sources")
    described += ["## Names in the sources", sources_table()]
    places = dict(zip(titles, anchors(titles), strict=True))
    rows = [
        (
            f"[`{m.name}`](#{places[m.name]})",
            _columns(m),
            bounds(m),
            m.better or "–",
            in_words(m.source),
            first_line(m.function.__doc__),
        )
        for m in REGISTRY.values()
    ]
    parts = [
        f"# Metrics\n\n{NOTE}",
        "Each metric is a function of columns, `fm.<name>(...)` (`fm.rouge` for all of ROUGE), and a name for "
        "`fm.score(table, metrics=[...])` and "
        '`fastmetrics score -m`. Options go in brackets: `"squad_f1(version=2)"`. A score is null where an input is '
        "missing and NaN where the metric is undefined.",
        table(("metric", "columns", "range", "better", "source", "what it says"), rows),
        "## Sources",
        "\n".join(f"- **{words}**: {title}." for words, title in SOURCES.values()),
        "The text conventions that the definitions name (`words`, `light`, `plain`, `squad`, …) are described in "
        "[Choosing and metrics](../metrics.md#text-conventions).",
    ]
    return "\n\n".join([*parts, *described]) + "\n"


def anchors(titles: Sequence[str]) -> list[str]:
    """What links to headings are called on GitHub: letters, digits and hyphens, numbered where they are alike."""
    bare = [re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles]
    before = [bare[:place].count(name) for place, name in enumerate(bare)]
    return [f"{name}-{count}" if count else name for name, count in zip(bare, before, strict=True)]


def _columns(metric: Metric) -> str:
    return ", ".join(f"`{name}`" + (" (optional)" if name in metric.optional else "") for name in metric.needs)


def _metric(metric: Metric) -> Iterator[str]:
    yield f"### {metric.name}"
    facts = [f"columns: {_columns(metric)}", f"range: {bounds(metric)}", f"level: {metric.level}"]
    facts += [f"{metric.better} is better"] if metric.better else []
    facts += [f"also called: {', '.join(f'`{name}`' for name in metric.others)}"] if metric.others else []
    facts += [
        f"option: `{name}={shown(default)}`, {metric.allowed[name]}"
        + (f"; {metric.descriptions[name]}" if metric.descriptions[name] else "")
        for name, default in metric.defaults.items()
    ]
    facts += described(metric.labels, "`")
    facts += [f"a summary adds {', '.join(metric.statistics)}"] if metric.statistics else []
    yield "\n".join(f"- {fact}" for fact in [*facts, f"source: {in_words(metric.source)}"])
    yield markdown(metric.function.__doc__)


LANGUAGES_OF = (
    (
        "`token_f1`, `exact_match`, `keyword_recall`, `token_cosine`, `squad_f1`, `jaccard`",
        "works: words of any script",
        "works; a note for scripts without spaces, for which `tokenizer='unicode'` takes characters",
    ),
    (
        "`avg_rouge1_f`, `avg_rouge2_f`, `avg_rougeL_f`",
        "works: the words of every script for rows that are not Latin; the summary counts these rows",
        "works alike",
    ),
    (
        "`rouge1_f1` and the other plain names",
        "rouge-score's number, which keeps Latin letters and digits alone, with a note",
        "the same",
    ),
    (
        "`bleu`, `corpus_bleu`",
        "works: 13a splits at spaces, but does not part « and » from words; `tokenizer='intl'` does",
        "a note for scripts without spaces; `tokenizer='zh'`, `'char'`",
    ),
    (
        "`chrf`, `chrf++`",
        "works: characters",
        "works",
    ),
    (
        "`tfidf_cosine`, `answer_relevance`, topics (`topic_coverage`, `domain_analysis`)",
        "works: words of two characters or more; no stemming, so inflected forms are different words",
        "works where words have spaces",
    ),
    (
        "`keyword_completeness`",
        "works: English and Russian stop words",
        "a note; `stop_words=[...]` sets others",
    ),
    (
        "`politeness`",
        "the markers are English: a note, and `markers=[...]` sets others",
        "the same",
    ),
    (
        "`abstained`, grounding",
        "works: English and Russian phrases",
        "`phrases` adds others",
    ),
    (
        "`hallucination`, `verdict`",
        "numbers, dates and claims: English and Russian word lists",
        "numbers and dates in digits; a note for claims",
    ),
    (
        "`coherence` and the other writing scores",
        "English and Russian word lists; the pronoun rule is weaker in Russian",
        "a note",
    ),
)
"""What works on Russian and on other scripts: the metrics, Russian, other scripts."""


def sources_table() -> str:
    """What every name of the sources means."""
    rows = [(one.name, SOURCES[one.source][0], f"`{one.where}`") for one in source_names() if one.source]
    return table(("name", "in", "is"), rows)


RECIPES = {
    "S0": "compare_bots",
    "S1": "grounded_answers",
    "S2": "rag_tiers",
    "S3": "answer_checks",
    "S4": "writing_quality",
}
"""The folder of examples that leads from raw inputs to a source's table."""


def sources_page() -> str:
    """docs/sources.md: what differs from the source documents and why; what is equal is left out."""
    parts = [
        "# The sources",
        NOTE.replace("the declarations", "fastmetrics/metrics/source_names.toml"),
        "The definitions come from five documents. Each name of theirs is accepted where a metric is named "
        '(`fastmetrics score -m "Avg EM"`), and `fastmetrics metrics NAME` says what it means: every heading, head of '
        "a table, function and symbol. Here is what differs from a document, and why.",
        "## Languages",
        table(("what", "Russian", "other scripts"), LANGUAGES_OF),
    ]
    for short, (name, about) in SOURCES.items():
        differs: dict[str, list[str]] = {}
        for one in source_names():
            if one.source == short and one.differs:
                differs.setdefault(one.differs, []).append(f"`{one.name}`")
        title = name[0].upper() + name[1:]
        rows = [(", ".join(dict.fromkeys(names[:4])), text) for text, names in differs.items()]
        recipe = f"[recipe](../examples/{RECIPES[short]}/README.md)"
        parts += [f"## {title}", f"{about}; its {recipe}.", table(("name", "what differs"), rows)]
    return "\n\n".join(parts) + "\n"


def packages_table() -> str:
    """The table of docs/start.md: what is here for the names of other packages; each package is named once."""
    rows, before = [], ""
    for row in packages():
        rows.append(
            (
                row["package"] * (row["package"] != before),
                ", ".join(row["names"]),
                ", ".join(row["here"]),
                row["differs"],
            )
        )
        before = row["package"]
    return table(("package", "there", "here", "difference"), rows)


_TOKENS = "`prompt_tokens`, `completion_tokens`, `total_tokens`"


def column_tables() -> tuple[str, str]:
    """The tables of docs/data.md: the input columns, and the presets."""
    columns = [
        (f"`{c.name}`", f"{c.meaning} ({KINDS[c.kind]})", ", ".join(f"`{alias}`" for alias in c.aliases))
        for c in COLUMNS.values()
    ]
    presets = [
        (
            f"`{preset.name}`" + (" ✓" if preset.signs else ""),
            preset.files,
            ", ".join(f"`{name}`" for name in preset.paths).replace(_TOKENS, "tokens"),
        )
        for preset in tool_presets().values()
    ]
    return (
        table(("column", "meaning (type)", "also found as"), columns),
        table(("schema", "of", "columns"), presets),
    )


def commands_page() -> str:
    """docs/reference/commands.md: every command with its arguments, options and defaults, and the exit codes."""
    parts = [f"# Command line\n\n{NOTE}", markdown(program.__doc__)]
    for name, call in all_commands().items():
        arguments, options = _parameters(call, reading=name == "columns")
        usage = " ".join(["fastmetrics", name, "[OPTIONS]", *(value for value, _ in arguments)])
        parts += [f"## {name}", COMMANDS[name].summary, markdown(call.__doc__), f"```text\n{usage}\n```"]
        if arguments:
            parts.append(table(("argument", "meaning"), [(f"`{value}`", text) for value, text in arguments]))
        if options:
            parts.append(table(("option", "meaning", "default"), options))
    return "\n\n".join(parts) + "\n"


def _parameters(call: Callable[..., Any], *, reading: bool) -> tuple[list[tuple[str, str]], list[tuple[str, ...]]]:
    """The arguments and the options of a command; those of reading, which every command has, only with ``reading``."""
    left_out = ["help_all", *(() if reading else FURTHER["how files are read"])]
    arguments: list[tuple[str, str]] = []
    options: list[tuple[str, ...]] = []
    hints = typing.get_type_hints(call, include_extras=True)
    for name, parameter in inspect.signature(call).parameters.items():
        info = typing.get_args(hints[name])[1]
        required = parameter.default is inspect.Parameter.empty
        if name in left_out:
            continue
        if isinstance(info, typer.models.ArgumentInfo):
            value = info.metavar or name.upper()
            arguments.append((value if required else f"[{value}]", info.help or ""))
            continue
        spellings = [flag for flag in (info.default, *(info.param_decls or ())) if isinstance(flag, str)]
        flags = ", ".join(f"`{flag}`" for flag in spellings or ["--" + name.replace("_", "-")])
        unset = parameter.default is None or parameter.default is False
        default = "required" if required else "" if unset else f"`{parameter.default}`"
        options.append((f"{flags} {info.metavar or ''}".strip(), info.help or "", default))
    return arguments, options


def functions_page() -> str:
    """docs/reference/functions.md: the public functions that are no metrics, and the errors they raise."""
    parts = [
        f"# Functions\n\n{NOTE}",
        "`import fastmetrics as fm`; functions that are metrics are in [metrics.md](metrics.md). Examples that name "
        "a function without `fm.` have it from `from fastmetrics import ...`; `np` and `pa` are NumPy and PyArrow.",
    ]
    for name in HOMES:
        function, written = load(name), spelled(name)
        parts += [f"## {name}", f"```python\n{_signature(written, function)}\n```"]
        # what the parameters mean stands in a table
        parts += [markdown((function.__doc__ or "").partition(f"\n\n{PARAMETERS}\n")[0])]
        parts += [*_parameters_of(function), *_methods(written, function)]
    return "\n\n".join([*parts, "## Errors", markdown(errors.__doc__)]) + "\n"


def _parameters_of(function: Callable[..., Any]) -> Iterator[str]:
    """The table of the parameters of a function that says what they mean in its annotations."""
    texts = helps(function)
    rows = [(f"`{name}`", markdown(texts[name])) for name in inspect.signature(function).parameters if name in texts]
    if rows:
        yield table(("parameter", "meaning"), rows)


def _methods(name: str, kind: Any) -> Iterator[str]:
    """The methods of a class that users call: those with an example."""
    for method in vars(kind) if inspect.isclass(kind) else ():
        call = getattr(kind, method)
        if not method.startswith("_") and callable(call) and ">>> " in (inspect.getdoc(call) or ""):
            yield f"### {name.rpartition('.')[2]}.{method}"
            yield f"```python\n{_signature(f'{name}.{method}', call)}\n```"
            yield markdown(call.__doc__)


_STARS: dict[Any, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}


def _signature(name: str, function: Callable[..., Any]) -> str:
    pieces, starred = [], False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name == "self":
            continue
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not starred:
            pieces.append("*")
            starred = True
        default = "" if parameter.default is inspect.Parameter.empty else f"={shown(parameter.default)}"
        pieces.append(_STARS.get(parameter.kind, "") + parameter.name + default)
    return f"{name}({', '.join(pieces)})"


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m scripts.docs", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a committed file is out of date")
    check = parser.parse_args().check
    stale = []
    for name, text in (pages() if check else pages() | reference_pages()).items():
        path = ROOT / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(name)
            if not check:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
    for name in stale:
        print(f"{name}: out of date; run python -m scripts.docs" if check else f"{name}: written")
    sys.exit(bool(stale and check))


if __name__ == "__main__":
    main()
