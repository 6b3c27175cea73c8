"""What the pictures in docs/ show, and its digest: the page's templates, script, styles and words, and the examples."""

from __future__ import annotations

import hashlib
from pathlib import Path

ROOT = Path(__file__).parent.parent
EXAMPLES = {
    "old": ROOT / "examples" / "answers.jsonl",
    "new": ROOT / "examples" / "brief_answers.jsonl",
}
DIGEST = ROOT / "docs" / "report_pictures.sha256"


def digest() -> str:
    """The digest of all inputs, whatever the ends of their lines."""
    page = ROOT / "fastmetrics" / "reporting"
    files = [
        *page.glob("templates/*.html"),
        *page.glob("static/*"),
        page / "language" / "labels.py",
        *EXAMPLES.values(),
    ]
    texts = [f"{file.name}\n{file.read_text(encoding='utf-8')}" for file in sorted(files)]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()
