"""Each score file is opened once a call, and its rows are read once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.results import opening_scores
from fastmetrics.tables.sources import FileSource

METRICS = [f"m{number}" for number in range(20)]
SPECS = ",".join(f"token_f1(name='{name}')" for name in METRICS)
WORDS = ["in Paris", "Rome", "the city of Paris", "a river", "London or Rome"]


def rows_of(scores: str) -> str:
    """The file that was scored."""
    return str(Path(scores).with_name(f"{Path(scores).stem}_rows.parquet"))


CALLS: dict[str, Callable[[str, str], Any]] = {
    "gate": lambda new, old: fm.gate(new, [f"{name} >= 0.1" for name in METRICS]),
    "gate of corpus metrics": lambda new, old: fm.gate(new, ["corpus_bleu >= 1", "corpus_chrf >= 1", "m1.p50 >= 0"]),
    "gate of changes": lambda new, old: fm.gate(new, [f"{name}.delta >= -1" for name in METRICS], baseline=old),
    "gate of segments": lambda new, old: fm.gate(
        new, [f"{name} >= 0.1 where kind=*" for name in METRICS], baseline=old
    ),
    "compare": lambda new, old: fm.compare([old, new], resamples=50),
    "summarize": lambda new, old: fm.summarize(new),
    "summarize_by": lambda new, old: fm.results.summarize_by(new, by="kind"),
    "side_by_side": lambda new, old: fm.results.side_by_side([old, new]),
    "primary_table": lambda new, old: fm.results.primary_table([old, new]),
    "histograms": lambda new, old: fm.results.histograms(new),
    "correlations": lambda new, old: fm.results.correlations(new),
    "worst_rows": lambda new, old: fm.worst_rows(new, "m1", baseline=old),
    "power": lambda new, old: fm.power([old, new], metrics="m1", delta=0.1),
    "report": lambda new, old: fm.report(new, Path(new).parent / "report.html", baseline=old, overwrite=True),
    "report with texts": lambda new, old: fm.report(
        new,
        Path(new).parent / "texts.html",
        baseline=old,
        texts=rows_of(new),
        baseline_texts=rows_of(old),
        overwrite=True,
    ),
    "worst_rows with answers": lambda new, old: fm.worst_rows(new, "m1", answers=rows_of(new)),
    "domain_analysis": lambda new, old: fm.logs.domain_analysis(rows_of(new)),
    "chunk_utilization": lambda new, old: fm.logs.chunk_utilization(rows_of(new)),
    "judge_report": lambda new, old: fm.judge_report([old, new]),
    "sample_rows": lambda new, old: fm.results.sample_rows([old, new], score="judge_x", n=3),
}


@pytest.fixture(scope="module", params=["csv", "jsonl"])
def files(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("runs")
    rows = {
        "id": list(range(40)),
        "question": [f"why {number}?" for number in range(40)],
        "kind": ["a", "b"] * 20,
        "judge_x": [1.0, 2.0, 4.0, 5.0] * 10,
        "judge_x_status": ["ok"] * 40,
        "reference": WORDS * 8,
        "retrieved_ids": [["a", "b"]] * 40,
    }
    paths = []
    for place, name in enumerate(("new", "old")):
        table = {**rows, "answer": [WORDS[(number + place * number // 3) % 5] for number in range(40)]}
        keep = ["question", "kind", "judge_x", "judge_x_status"]
        path = folder / f"{name}.{request.param}"
        source = folder / f"{name}_rows.parquet"
        pq.write_table(pa.table(table), source)
        fm.score(source, f"{SPECS},token_f1,corpus_bleu,corpus_chrf", output=path, keep=keep, keep_counts=True)
        paths.append(str(path))
    return paths[0], paths[1]


@pytest.mark.parametrize("name", CALLS)
def test_each_file_is_opened_and_read_once(name: str, files: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    opened: Counter[str] = Counter()
    read: Counter[str] = Counter()
    chunks, of = FileSource.chunks, opening_scores._of_source

    def counted_chunks(self: FileSource, *options: Any, **named: Any) -> Any:
        read.update(file.name for file in self.files)
        return chunks(self, *options, **named)

    def counted_of(address: str, *rest: Any) -> opening_scores.ScoreTable:
        opened[address] += 1
        return of(address, *rest)

    monkeypatch.setattr(FileSource, "chunks", counted_chunks)
    monkeypatch.setattr(opening_scores, "_of_source", counted_of)
    CALLS[name](*files)
    assert set(opened.values()) <= {1}
    # CSV has no types: the counts of corpus metrics are read as lists by the summary that needs them; the first rows of
    # the texts of a report tell whether they hold the labels of a classifier
    again = files[0].endswith("csv") or name == "report with texts"
    assert set(read.values()) <= ({1, 2} if again else {1})
