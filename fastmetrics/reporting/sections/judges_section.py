"""The section of the judges: how often and how they agree, from the output of ``judge``."""

from __future__ import annotations

from typing import Any

from fastmetrics.core.visible_text import visible
from fastmetrics.reporting.sections.section import Section, SectionInput
from fastmetrics.results.people.judge_report import judge_report


def _content(section_input: SectionInput) -> dict[str, Any] | None:
    if section_input.options.judged is None:
        return None
    judged = judge_report(section_input.options.judged)
    return {"grids": judged.grids(), "notes": list(map(visible, judged.remarks()))}


SECTION = Section(
    "judges",
    labels={
        "judges": ("Judges", "Судьи"),
    },
    content=_content,
    template="""\
<h2>{{ L.judges }}</h2>
{% for one in judges.grids %}
{{ parts.grid(one, L.judges ~ " " ~ loop.index) }}
<p></p>
{% endfor %}
{{ parts.notes(judges.notes) }}
""",
)
