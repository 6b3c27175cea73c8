"""The section of the judges: how often and how they agree, from the output of ``judge``."""

from __future__ import annotations

from typing import Any

from fastmetrics.base.errors import visible
from fastmetrics.reporting.sections.section import Section, SectionInput
from fastmetrics.results.judge_report import JudgeReport, judge_report
from fastmetrics.stats.mean_interval import interval_text


def _content(section_input: SectionInput) -> dict[str, Any] | None:
    options = section_input.options
    if options.judged is None:
        return None
    judged = judge_report(options.judged, options.labels, label=options.label)
    notes = list(map(visible, judged.remarks()))
    return {"grids": judged.grids(), "notes": notes, "figures": _figures(judged), "decisions": _decisions(judged)}


def _figures(judged: JudgeReport) -> list[tuple[str, str, float]]:
    """The figures of each judge under the names of the RAG benchmark."""
    figures = []
    for axis in judged.axes:
        own = {"error_rate": axis.error_rate}
        own |= {} if axis.consistency is None else {"consistency_score": axis.consistency.share}
        own |= {} if axis.latency is None else {"latency_ms.p50": axis.latency.percentiles["p50"]}
        figures += [(visible(axis.axis), label, value) for label, value in own.items()]
    return figures


def _decisions(judged: JudgeReport) -> list[tuple[str, str, float]]:
    """The figures of judges that decide what is shown, against labels, each with its interval behind the judge."""
    return [
        (visible(f"{axis.axis} {interval_text(estimate.low, estimate.high, estimate.note)}"), label, estimate.value)
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
    labels={
        "judges": ("Judges", "Судьи"),
    },
    content=_content,
    template="""\
<h2>{{ L.judges }}</h2>
{% for one in judges.grids %}
{{ parts.grid(one | headed(language), L.judges ~ " " ~ loop.index) }}
<p></p>
{% endfor %}
{{ draw.notes(judges.notes) }}
""",
)
