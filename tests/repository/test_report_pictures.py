"""The pictures of a report in docs/ show the page as it is."""

from __future__ import annotations

from scripts.picture_inputs import DIGEST, digest


def test_pictures_of_the_report_are_of_the_current_page() -> None:
    stored = DIGEST.read_text(encoding="utf-8").strip()
    assert stored == digest(), "the page or its examples changed: run python -m scripts.report_pictures"
