"""The section of the judges: how often and how they agree, from the output of ``judge``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from fastmetrics.base.display import cell
from fastmetrics.reporting.rows import judged_files
from fastmetrics.reporting.sections.section import WORDS, Section, SectionInput
from fastmetrics.results.judge_report import JudgeReport, judge_report


def _content(section_input: SectionInput) -> dict[str, Any] | None:
    options = section_input.options
    if options.judged is None:
        return None
    files = judged_files(options)
    base, *others = section_input.summaries
    names = [base, *others] if section_input.baseline is None else [*others, base]
    one = partial(judge_report, labels=options.labels, label=options.label)
    judged = one(files[0]) if len(files) == 1 else _of_systems(dict(zip(names, map(one, files), strict=True)))
    return {
        "grids": judged.grids(),
        "notes": judged.remarks(),
        "figures": _figures(judged),
        "decisions": _decisions(judged),
    }


def _of_systems(reports: Mapping[str, JudgeReport]) -> JudgeReport:
    """The judgements of each system under its name; they are of different answers, so that none agree."""
    axes = [replace(axis, judge=name) for name, report in reports.items() for axis in report.axes]
    notes = [f"{name}: {note}" for name, report in reports.items() for note in report.notes]
    return JudgeReport(axes, [], notes)


def _figures(judged: JudgeReport) -> list[tuple[str, str, float]]:
    """The figures of each judge under the names of the RAG benchmark, after the names of what was judged."""
    figures = []
    several = len({axis.judge for axis in judged.axes}) > 1
    for axis in judged.axes:
        own = {"error_rate": axis.error_rate}
        own |= {} if axis.consistency is None else {"consistency_score": axis.consistency.share.value}
        own |= {} if axis.latency is None else {"latency_ms.p50": axis.latency.percentiles["p50"]}
        source = f"{axis.judge}: {axis.axis}" if several else axis.axis
        figures += [(source, label, value) for label, value in own.items()]
    return sorted(figures, key=lambda figure: figure[1] != "error_rate")


def _decisions(judged: JudgeReport) -> list[tuple[str, str, float]]:
    """The figures of judges that decide what is shown, against labels, each with its interval behind the judge."""
    return [
        (f"{axis.axis} {cell(estimate)}", label, estimate.value)
        for axis in judged.axes
        if (found := axis.decisions) is not None
        for label, estimate in zip(
            ("accuracy", "precision", "recall", "F1"),
            (found.accuracy, found.precision, found.recall, found.f1),
            strict=True,
        )
    ]


SECTION = Section(
    "judges",
    labels=WORDS["sections"]["judges"],
    content=_content,
    template="{% include 'judges_section.html' %}",
)
