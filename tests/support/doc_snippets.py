"""The Python snippets of the docs, by page and section."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def snippets(page: str, heading: str) -> list[str]:
    """The Python in a section of a page."""
    text = (ROOT / page).read_text(encoding="utf-8")
    section = re.search(rf"^(#+) {re.escape(heading)}\n(.*?)(?=^\1 |\Z)", text, re.MULTILINE | re.DOTALL)
    assert section is not None, heading
    return re.findall(r"^```python\n(.*?)^```$", section[2], re.MULTILINE | re.DOTALL)
