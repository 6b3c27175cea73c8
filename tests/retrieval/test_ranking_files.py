"""Rankings and judgements from files and tables of every kind, and the memory that a long one takes."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.limits import RANKINGS, RankingSizes
from fastmetrics.tables.rankings import Triples

RUN = [("q1", "d2", 1.5), ("q1", "d#1", 0.25), ("ü", "007", 3.0), ("q1", "d3", 1.5)]
JUDGED = [("q1", "d#1", 1.0), ("q1", "d2", 0.0), ("ü", "007", 2.0), ("ü", "7", 1.0)]


def trec(rows, run: bool) -> str:
    if run:
        return "".join(f"{q}\tQ0  {d} 1\t {v!r} tag more\r\n" for q, d, v in rows)
    return "".join(f"  {q} 0\t{d} {v:g} \n" for q, d, v in rows)


def test_byte_order_mark_is_stripped_from_ids(tmp_path: Path):
    for name, text in (
        ("trec", "q1 Q0 d1 1 2.0 r\n"),
        ("csv", "query_id,doc_id,score\nq1,d1,2.0\n"),
        ("jsonl", '{"query_id": "q1", "doc_id": "d1", "score": 2.0}\n'),
        ("json", '{"q1": {"d1": 2.0}}'),
    ):
        (tmp_path / name).write_text(text, encoding="utf-8-sig")
        assert fm.rank(tmp_path / name, {"q1": {"d1": 1}}, "mrr").mean == {"mrr": 1.0}, name


@pytest.mark.parametrize("mark", [",", "\t"])
def test_numeric_csv_ids_keep_their_spelling(tmp_path: Path, mark: str):
    ids = ["007", "7", "7.0", "9007199254740993", "99999999999999999999", "1e3", "true", "NA", "2024-01-05"]
    rows = [("query_id", "doc_id", "score"), *((f"0{n}", one, f"{n}") for n, one in enumerate(ids))]
    (tmp_path / "run").write_text("".join(mark.join(row) + "\n" for row in rows))
    (batch,) = Triples(tmp_path / "run", "score").batches()
    assert batch["query"].to_pylist() == [f"0{n}" for n in range(9)]
    assert batch["doc"].to_pylist() == ids
    assert batch["value"].to_pylist() == list(range(9))


def nested(rows) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for query, doc, value in rows:
        found.setdefault(query, {})[doc] = value
    return found


def table(rows, names) -> pa.Table:
    return pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


def write(path: Path, rows, run: bool) -> Path:
    """``rows`` in the format that the name of ``path`` says."""
    names = ("qid", "docno", "score") if run else ("query-id", "corpus-id", "Label")
    kind = path.name.split(".")[1]
    if kind == "parquet":
        pq.write_table(table(rows, names), path)
    elif kind == "dictionary":
        encoded = [column.cast(pa.dictionary(pa.int32(), pa.string())) for column in table(rows, names).columns[:2]]
        pq.write_table(pa.table([*encoded, table(rows, names)[2]], names=list(names)), path, row_group_size=2)
    elif kind == "arrow":
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table(rows, names).schema) as out:
            out.write_table(table(rows, names), 3)
    else:
        records = [dict(zip(names, row, strict=True)) for row in rows]
        text = {
            "txt": trec(rows, run),
            "comments": "# a comment\n\n" + trec(rows, run).rstrip("\n"),
            "csv": ",".join(names) + "\n" + "".join(f'"{q}",{d},{v!r}\n' for q, d, v in rows),
            "tsv": "\ufeff" + "\t".join(names) + "\n" + "".join(f"{q}\t{d}\t{v!r}\n" for q, d, v in rows),
            "jsonl": "".join(json.dumps(record) + "\n" for record in records),
            "records": json.dumps(records),
            "json": json.dumps(nested(rows), indent=1),
            "oneline": json.dumps(nested(rows)),
        }[kind].encode()
        path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


FORMATS = ["txt", "comments", "csv", "tsv", "jsonl", "records", "json", "oneline", "parquet", "dictionary", "arrow"]
FORMATS += [f"{name}.gz" for name in FORMATS[:8]]


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_holds_the_same_rows(tmp_path, name):
    run, judged = write(tmp_path / f"run.{name}", RUN, True), write(tmp_path / f"qrels.{name}", JUDGED, False)
    for path, kind, rows in ((run, "score", RUN), (judged, "grade", JUDGED)):
        found = pa.Table.from_batches(Triples(path, kind).batches()).to_pylist()
        if name.split(".")[0] in ("json", "oneline"):
            rows = [(query, doc, value) for query, docs in nested(rows).items() for doc, value in docs.items()]
        assert [(row["query"], row["doc"], row["value"]) for row in found] == rows
    found = fm.rank(str(run), judged, "mrr,ndcg,R@1,num_ret")
    expected = fm.rank(nested(RUN), nested(JUDGED), "mrr,ndcg,R@1,num_ret")
    assert found.per_query.equals(expected.per_query)
    assert found.mean == expected.mean


@pytest.mark.parametrize(
    "convert",
    [
        *[lambda t: t, lambda t: t.to_batches()[0]],
        *[lambda t: pa.RecordBatchReader.from_batches(t.schema, t.to_batches()), lambda t: t.to_pandas()],
        *[pl.DataFrame, lambda t: t.to_pydict()],
        lambda t: t.set_column(0, "query", t[0].cast(pa.dictionary(pa.int8(), pa.string()))),
        lambda t: t.cast(pa.schema([("query", pa.string_view()), ("pid", pa.large_string()), ("sim", pa.float64())])),
    ],
)
def test_table_types_hold_the_same_rows(convert):
    run = convert(table(RUN, ("query", "pid", "sim")))
    expected = fm.rank(nested(RUN), nested(JUDGED), "mrr,ndcg")
    assert fm.rank(run, nested(JUDGED), "mrr,ndcg").per_query.equals(expected.per_query)


WITHOUT_SCORES = [
    "q1 Q0 a 1\nq1 Q0 b 2\nq2 Q0 c 1\n",
    "q1 Q0 b 2 tag\nq1 Q0 a 1 tag\nq2 Q0 c 1 tag\n",
    "q1 b 2\nq1 a 1\nq2 c 1\n".replace("q1 b 2\nq1 a 1", "q1 a 1\nq1 b 2"),
    "q1 a\nq1 b\nq2 c\n",
    "qid,docid\nq1,a\nq1,b\nq2,c\n",
    "qid,docid,rank\nq1,b,2\nq1,a,1\nq2,c,1\n",
    '{"qid": "q1", "docid": "a"}\n{"qid": "q1", "docid": "b"}\n{"qid": "q2", "docid": "c"}\n',
    '{"qid": "q1", "docid": "b", "position": 1, "t": 0}\n{"qid": "q1", "docid": "a", "position": 0, "t": 0}\n'
    '{"qid": "q2", "docid": "c", "position": 0, "t": 0}\n',
    '{"q1": ["a", "b"], "q2": ["c"]}',
]


@pytest.mark.parametrize("text", WITHOUT_SCORES)
def test_rankings_without_scores_have_their_ranks_or_their_order(tmp_path, text):
    (tmp_path / "run").write_text(text)
    found = fm.rank(tmp_path / "run", {"q1": {"b": 1}, "q2": {"c": 1}}, "mrr").per_query
    assert found["mrr"].to_pylist() == [0.5, 1.0]


def test_scores_count_before_ranks_and_a_table_of_more_columns_has_no_order(tmp_path):
    run = pa.table({"qid": ["q", "q"], "docid": ["a", "b"], "rank": [1, 2], "score": [0.1, 0.2]})
    assert fm.rank(run, {"q": {"b": 1}}, "mrr").mean["mrr"] == 1.0
    with pytest.raises(fm.FastmetricsError, match="column rank"):
        fm.rank(run.select(["qid", "docid"]).append_column("bm25", run["score"]), {"q": {"b": 1}}, "mrr")


def test_integer_ids_of_a_frame_match_text_ids(tmp_path):
    judged = tmp_path / "qrels.txt"
    judged.write_text("301 0 17 1\n301 0 9 0\n302 0 5 1\n")
    run = pd.DataFrame({"qid": [301, 301, 302], "docid": [9, 17, 5], "score": [1, 1, 7]})
    found = fm.rank(run, judged, "mrr")
    # equal scores are ordered by id as text, descending: "9" before "17"
    assert found.per_query.to_pydict() == {"query_id": ["301", "302"], "mrr": [0.5, 1.0]}


def test_text_scores_are_read_exactly(tmp_path):
    run = tmp_path / "run.txt"
    run.write_text("q Q0 a 1 1.00000001 t\nq Q0 z 2 1.0 t\nq Q0 b 3 +1e-320 t\nq Q0 c 4 -inf t\n")
    values = pa.Table.from_batches(Triples(run, "score").batches())["value"].to_pylist()
    assert values == [1.00000001, 1.0, 1e-320, float("-inf")]
    assert fm.rank(run, {"q": {"a": 1}}, "mrr").mean["mrr"] == 1.0


def test_text_blocks_can_end_anywhere(tmp_path):
    path = tmp_path / "run.txt"
    path.write_text("# head\n" + trec(RUN * 20, True) + "\n\n" + trec(RUN, True).rstrip())
    expected = pa.Table.from_batches(Triples(path, "score").batches()).to_pylist()
    assert len(expected) == 84
    for size in (1, 7, 100, 1000):
        sizes = RankingSizes(trec_block_bytes=size)
        assert pa.Table.from_batches(Triples(path, "score", sizes).batches()).to_pylist() == expected


MEASURE_MEMORY = """
import re, resource, sys
from pathlib import Path
from fastmetrics.retrieval import rank as ranking

def peak():
    status = Path("/proc/self/status")
    if status.exists():  # memory of this process only; getrusage includes the parent of a fork
        return int(re.search(r"VmHWM:\\s+(\\d+)", status.read_text())[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20

path, queries = sys.argv[1], int(sys.argv[2])
judged = {f"q{n}": {f"document-{n}-3": 1} for n in range(0, queries, 7)}
ranking.rank({"q0": {"a": 1.0}}, judged, "ndcg@10,mrr", threads=2)
before = peak()
found = ranking.rank(path, judged, "ndcg@10,mrr", threads=2)
assert found.mean["mrr"] == 1 / 97, found.mean
print(peak() - before)
"""


@pytest.mark.full
def test_memory_is_bounded_for_long_runs(tmp_path):
    """Four times the rows take at most a third more: what is held is a few batches."""
    import numpy as np

    taken = []
    for queries in (5_000, 20_000):
        path = tmp_path / f"{queries}.parquet"
        numbers = np.arange(queries * 100)
        with pq.ParquetWriter(
            path, pa.schema([("qid", pa.string()), ("pid", pa.string()), ("score", pa.float64())])
        ) as out:
            for some in np.array_split(numbers, queries // 5000):
                query, place = (pc.cast(pa.array(part), pa.string()) for part in np.divmod(some, 100))
                qid = pc.binary_join_element_wise("q", query, "")
                pid = pc.binary_join_element_wise("document", query, place, "-")
                out.write_table(pa.table({"qid": qid, "pid": pid, "score": (some % 100).astype(float)}))
        command = [sys.executable, "-c", MEASURE_MEMORY, str(path), str(queries)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        taken.append(float(done.stdout))
    assert taken[1] < taken[0] * 4 / 3 + 40, taken


def test_runs_keep_their_batch_size():
    rows = pa.table({"qid": ["q"] * 300_000, "pid": list(map(str, range(300_000))), "score": range(300_000)})
    assert [batch.num_rows for batch in Triples(rows, "score").batches()] == [
        RANKINGS.rows,
        RANKINGS.rows,
        300_000 - 2 * RANKINGS.rows,
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("qrels", "q1\td1\nq1\td3\nq2\td9\n"),
        ("qrels.tsv", "q1 d1\nq1 d3\nq2 d9\n"),
        ("qrels.csv", "qid,pid\nq1,d1\nq1,d3\nq2,d9\n"),
        ("qrels.tsv", "query_id\tdoc_id\nq1\td1\nq1\td3\nq2\td9\n"),
        ("qrels.jsonl", '{"qid": "q1", "pid": "d1"}\n{"qid": "q1", "pid": "d3"}\n{"qid": "q2", "pid": "d9"}\n'),
    ],
)
def test_judgements_of_two_columns_are_relevant_documents(tmp_path, name, text):
    (tmp_path / "run").write_text("q1 Q0 d2 1 3 me\nq1 Q0 d1 2 2 me\nq1 Q0 d3 3 1 me\nq2 Q0 d9 1 1 me\n")
    (tmp_path / name).write_text(text)
    (tmp_path / "four").write_text("q1 0 d1 1\nq1 0 d3 1\nq2 0 d9 1\n")
    measures = "mrr,ndcg@3,recall@2"
    pairs, full = (fm.rank(tmp_path / "run", tmp_path / judged, measures=measures) for judged in (name, "four"))
    assert pairs.to_dict() == full.to_dict()


RECORD = {"qid": "q1", "docid": "d1"}


@pytest.mark.parametrize("text", ["[]", "[\n]\n", "{}", '{"q1": {}}'])
def test_empty_json_is_an_empty_run_without_judgements(tmp_path, text):
    (tmp_path / "r.json").write_text(text)
    assert fm.rank(tmp_path / "r.json", {"q1": {"d1": 1}}, "mrr", missing="zero").mean == {"mrr": 0.0}


def test_mixed_types_of_ids_and_numbers_are_accepted(tmp_path):
    records = [{"qid": "q1", "docid": 7, "score": 2**70}, {"qid": 1, "docid": "d", "score": 0.5}, {"x": 1, **RECORD}]
    records[2]["score"] = 1
    (tmp_path / "r.json").write_text(json.dumps(records))
    found = fm.rank(tmp_path / "r.json", {"q1": {"d1": 1}, "1": {"d": 1}}, "mrr")
    assert found.per_query.to_pydict() == {"query_id": ["q1", "1"], "mrr": [0.5, 1.0]}
    assert fm.rank({"q1": {"a": 2**70, "d1": 0.5}}, {"q1": {"d1": 1}}, "mrr").mean == {"mrr": 0.5}


def test_a_query_goes_on_in_a_file_with_other_types_of_ids(tmp_path):
    for name, doc in (("a", 7), ("b", "d1"), ("c", "d2")):
        (tmp_path / f"{name}.json").write_text(json.dumps([{**RECORD, "docid": doc, "score": 1 if doc == 7 else 2}]))
    (tmp_path / "d.trec").write_text("q1 Q0 d3 1 3.0 t\n")
    assert fm.rank(tmp_path, {"q1": {"7": 1}}, "mrr").mean == {"mrr": 0.25}


@pytest.mark.parametrize("grade", [float("inf"), -float("inf")])
def test_scores_may_be_infinite(grade):
    assert fm.rank({"q1": {"d1": -grade, "d2": 0}}, {"q1": {"d1": 1}}, "mrr").n == {"mrr": 1}
