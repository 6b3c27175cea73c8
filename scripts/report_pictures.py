"""Take the pictures of a report that stand in docs/: the example rows' report in Chromium.

::

    python -m scripts.report_pictures
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import fastmetrics as fm
from tests.support.browser import browser, width

ROOT = Path(__file__).parent.parent
EXAMPLES = {
    "old": ROOT / "examples" / "answers.jsonl",
    "new": ROOT / "examples" / "brief_answers.jsonl",
}
PICTURES = {
    "overview": "page=overview",
    "comparison": "page=comparison",
    "rows": "page=rows&metric=3&sort=change&row=3",
}
METRICS = (
    "exact_match,keyword_recall,token_precision,token_f1,jaccard,rougeL_f1,hallucination,abstained,total_tokens,"
    "latency_ms"
)


def main() -> None:
    """Score the example rows, make their report, and take its pictures."""
    with tempfile.TemporaryDirectory() as folder, browser() as driver:
        runs = {}
        for name, file in EXAMPLES.items():
            runs[name] = Path(folder) / f"{name}.parquet"
            fm.score(file, output=runs[name], metrics=METRICS)
        page = Path(folder) / "report.html"
        old, new = EXAMPLES.values()
        fm.report(runs["new"], page, baseline=runs["old"], texts=new, baseline_texts=old, title="Brief answers")
        width(driver, 1280)
        for name, state in PICTURES.items():
            driver.get("about:blank")
            driver.get(f"{page.as_uri()}#{state}")
            driver.save_screenshot(str(ROOT / "docs" / f"report_{name}.png"))


if __name__ == "__main__":
    main()
