"""The made log and the plain Python that it is timed with: figures are those of the package."""

from pathlib import Path

import pyarrow.parquet as pq

import fastmetrics as fm
from bench import log_rows, usage_peers


def test_plain_python_finds_the_same_figures(tmp_path: Path) -> None:
    log, chunks = str(tmp_path / "log.parquet"), str(tmp_path / "chunks.parquet")
    log_rows.write(log, chunks, 500)
    table = pq.read_table(log)
    assert (table.num_rows, pq.read_table(chunks).num_rows) == (500, log_rows.CHUNKS)
    assert {len(ids) for ids in table["retrieved_ids"].to_pylist()} == {log_rows.K}
    plain, use = usage_peers.usage(log, chunks), fm.logs.chunk_utilization(log, chunks=chunks)
    assert {name: getattr(use, name) for name in plain} == plain
    plain, domain = usage_peers.domain(log), fm.logs.domain_analysis(log)
    assert (domain.questions, domain.answered, domain.distinct) == tuple(
        plain[name] for name in ("questions", "answered", "distinct")
    )
    assert [n for _, n in plain["words"]] == [n for _, n in domain.words]
