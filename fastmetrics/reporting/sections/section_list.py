"""All sections that only some reports have, in their order on the page."""

from __future__ import annotations

from fastmetrics.reporting.sections import (
    judges_section,
    retrieval_section,
    runs_section,
    tiers_section,
    tradeoffs_section,
    usage_section,
    vectors_section,
)
from fastmetrics.reporting.sections.section import Section

SECTIONS: list[Section] = [
    tradeoffs_section.SECTION,
    retrieval_section.SECTION,
    judges_section.SECTION,
    usage_section.SECTION,
    vectors_section.SECTION,
    runs_section.SECTION,
    tiers_section.SECTION,
]
