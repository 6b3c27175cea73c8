"""All sections that only some reports have, in their order on the page."""

from __future__ import annotations

from fastmetrics.reporting import judges_section, retrieval_page, runs_section, usage_page, vectors_page
from fastmetrics.reporting.section import Section

SECTIONS: list[Section] = [
    retrieval_page.SECTION,
    judges_section.SECTION,
    usage_page.SECTION,
    vectors_page.SECTION,
    runs_section.SECTION,
]
