"""docs/data.md: the examples of frames run."""

import re
from pathlib import Path

import pandas as pd
import pytest

from tests.support.optional_parts import needs

PAGE = (Path(__file__).parents[3] / "docs" / "data.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.partition("\n## Frames:")[2].partition("\n## ")[0], re.DOTALL)


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    [pytest.param(code, marks=needs("datasets") if "import datasets" in code else ()) for code in BLOCKS],
    ids=range(len(BLOCKS)),
)
def test_examples_run(code):
    exec(code, {"frame": pd.DataFrame({"answer": ["in Paris"], "reference": ["Paris"]})})


def test_the_page_has_examples():
    assert len(BLOCKS) == 6
