"""The commands of the ``fastmetrics`` program, and the groups of them that share a first word.

The list is all that help pages of groups need: the module of a command, and with it NumPy, Arrow and Numba, is imported
when the command is called, or its own help page.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Command:
    """What the help page says of a command, and the module of its function: ``score_command`` of ``score``."""

    summary: str
    module: str


@dataclass(frozen=True)
class Group:
    """Commands that share a first word, such as ``judge run`` and ``judge report``."""

    summary: str
    commands: Mapping[str, Command]


def _group(module: str, summary: str, **summaries: str) -> Group:
    return Group(summary, {name: Command(text, module) for name, text in summaries.items()})


SECTIONS: Mapping[str, Mapping[str, Command | Group]] = {
    "Score": {
        "score": Command("Score every row of a table, and print a summary.", "scoring"),
        "rank": Command("Evaluate rankings like trec_eval.", "scoring"),
        "classification": Command("Compare predicted labels with expected ones.", "scoring"),
        "metrics": Command("List the metrics, or explain one.", "scoring"),
        "columns": Command("Show what a table holds, and what score would read.", "scoring"),
        "profile": Command("Score a table and print the speed of each stage.", "scoring"),
        "warm-up": Command("Compile the kernels of metrics ahead of the first run.", "scoring"),
    },
    "Look at scores": {
        "summarize": Command("Show means, segments, correlations, histograms or the worst rows.", "summaries"),
        "report": Command("Write a page of charts and rows.", "summaries"),
        "runs": _group(
            "summaries",
            "List the runs of a folder, or show a metric over them.",
            list="List the runs in a folder.",
            trend="Show the mean of a metric in each run of a folder.",
        ),
    },
    "Compare and check": {
        "compare": Command("Compare systems, or rankings, with a baseline on the same rows.", "comparison"),
        "gate": Command("Check scores against rules, by the exit code.", "comparison"),
        "power": Command("Plan how many questions a comparison needs.", "comparison"),
        "repeats": Command("Measure how much repeated answers vary.", "comparison"),
        "validate": Command("Compare every metric with human labels.", "comparison"),
        "fit": Command("Fit a score to human labels.", "comparison"),
    },
    "Models": {
        "answer": Command("Let a bot answer every question.", "answering"),
        "match": Command("Answer every question from the most similar FAQ row.", "answering"),
        "sample": Command("Draw rows for a dear score, or put it back beside all rows.", "judging"),
        "evaluate-rag": Command("Evaluate a RAG system from questions to report.", "answering"),
        "models": _group(
            "local_models",
            "Score texts by local models: entailment, relevance, BERTScore, labels.",
            entailment="Let a model say whether contexts entail the answers.",
            rerank="Score the relevance of contexts to the question.",
            **{"bert-score": "Compare answers with references by BERTScore."},
            classifier="Let a model label the texts of a column.",
        ),
        "judge": _group(
            "judging",
            "Let models rate rows, and see how far they can be trusted.",
            run="Let a model rate every row by rubrics.",
            report="Report how far judges can be trusted.",
            rubrics="List the rubrics of judges, or print one.",
            store="Show or prune the store of model calls.",
        ),
    },
    "Vectors and logs": {
        "vectors": _group(
            "vectors",
            "Embed texts, search vectors, and measure and project them.",
            embed="Embed columns of text once.",
            index="Build an index of vectors for searching.",
            search="Find the nearest rows of an index for every query.",
            load="Load vectors into a table of PostgreSQL.",
            geometry="Measure spread and distances of embeddings.",
            duplicates="Find pairs of near duplicates.",
            project="Place vectors in two or three dimensions.",
        ),
        "logs": _group(
            "logs",
            "Analyse the log of a bot, or check a dataset.",
            chunks="Count how often each chunk of a log is used.",
            topics="Find topics of questions, and gaps of knowledge.",
            domains="Describe the questions of a log.",
            sessions="Show success, turns, latency and cost of sessions.",
            cache="Estimate what a cache of answers would have saved.",
            context="Measure how similar the questions of a session are.",
            check="Look for faults of a dataset.",
        ),
    },
}
"""The commands as the help page lists them."""

TOP = {name: each for section in SECTIONS.values() for name, each in section.items()}
"""The commands and groups by their first word."""

COMMANDS = {
    (word if part is None else f"{word} {part}"): command
    for word, each in TOP.items()
    for part, command in (each.commands.items() if isinstance(each, Group) else [(None, each)])
}
"""Every command by its whole name."""


@functools.cache
def load(name: str) -> Callable[..., None]:
    """The function of a command as Typer reads it, imported from its module."""
    # here, so that __main__ can report an installation without Typer
    from fastmetrics.cli.options import flat

    module = importlib.import_module(f"fastmetrics.cli.{COMMANDS[name].module}")
    function: Callable[..., Any] = getattr(module, f"{name.replace(' ', '_').replace('-', '_')}_command")
    return flat(function)


def all_commands() -> dict[str, Callable[..., Any]]:
    """The function of every command, by name."""
    return {name: load(name) for name in COMMANDS}
