"""The names of columns apply to the questions and to the FAQ, each where it has them."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.cli.commands import load

ASKED, STORED = ["where is it", "how to pay"], ["Where is it?", "How to pay"]
TEXTS = ["in the mail", "online"]


@pytest.mark.parametrize(
    ("questions", "faq", "columns"),
    [
        ("question", ("question", "answer"), {}),
        ("text", ("question", "answer"), {"question": "text"}),
        ("question", ("title", "body"), {"question": "title", "answer": "body"}),
        ("text", ("text", "body"), {"question": "text", "answer": "body"}),
        ("text", ("question", "body"), {"question": "text", "answer": "body"}),
    ],
)
def test_names_apply_to_both_tables(
    tmp_path: Path, questions: str, faq: tuple[str, str], columns: dict[str, str]
) -> None:
    asked, stored = pa.table({questions: ASKED}), pa.table(dict(zip(faq, (STORED, TEXTS), strict=True)))
    assert fm.match(asked, stored, columns=columns)["answer"].to_pylist() == TEXTS
    pq.write_table(asked, tmp_path / "asked.parquet")
    pq.write_table(stored, tmp_path / "faq.parquet")
    out = tmp_path / "out.parquet"
    named = [f"{canonical}={yours}" for canonical, yours in columns.items()]
    files = {"questions": str(tmp_path / "asked.parquet"), "faq": str(tmp_path / "faq.parquet")}
    load("match")(**files, output=str(out), columns=named)
    assert pq.read_table(out)["answer"].to_pylist() == TEXTS


def test_a_bot_takes_names_of_columns() -> None:
    stored = pa.table({"question": STORED, "body": TEXTS})
    assert fm.retrieval.StrictMatchBot(stored, columns={"answer": "body"}).answer("how to pay").answer == "online"
