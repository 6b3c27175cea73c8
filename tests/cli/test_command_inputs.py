"""Every command that reads tables takes what ``score`` takes: any format, here or in a store, one file or many."""

import bz2
import itertools
import json
import lzma
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import ColumnError
from tests.support.program import program
from tests.support.table_files import FORMATS, write

POINTS = [[1.0, 0.0, 0.5], [0.25, 1.0, 0.0], [-1.0, 0.5, 0.25], [0.0, -1.0, 2.0]]
TABLES = {
    "vectors": pa.table({"id": ["007", "008", "b", "c"], "embedding": POINTS}),
    "questions": pa.table({"id": ["007", "1889", "x"], "question": ["my card?", "how to pay", "1889"]}),
    "faq": pa.table({"question": ["lost card", "pay online", "in 1889"], "answer": ["ask", "007", "2024-01-05"]}),
    "run": pa.table({"qid": ["007", "007", "q"], "docid": ["a", "1e3", "b"], "score": [0.5, 1.5, 2.0]}),
    "qrels": pa.table({"qid": ["007", "q", "q"], "docid": ["a", "b", "c"], "relevance": [1, 2, 1]}),
    "scores": pa.table({"id": ["007", "8", "c"], "token_f1": [0.5, 0.25, 1.0]}),
    "labels": pa.table({"id": ["c", "007", "8"], "label": [1, 1, 0]}),
}


def written(name, path):
    """A table in the format of the path's suffix; lists are JSON in CSV, and a lone array in ``.npy``."""
    table = TABLES[name]
    if path.suffix == ".npy":
        np.save(path, np.array(POINTS))
        return path
    if ".csv" in path.name or ".tsv" in path.name:
        for at, field in enumerate(table.schema):
            if pa.types.is_list(field.type):
                table = table.set_column(at, field.name, pa.array(map(json.dumps, table[field.name].to_pylist())))
    return write(table, path)


def rows_of(folder, *arguments, stdin):
    """What a command wrote to its output, but for the times."""
    done = program(*arguments, "-o", folder / "out.jsonl", "--overwrite", stdin=stdin)
    assert done.code == 0, done.err
    rows = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
    return [{name: value for name, value in row.items() if name != "latency_ms"} for row in rows]


def printed(*arguments, stdin):
    """The JSON that a command printed."""
    done = program(*arguments, "--json", stdin=stdin)
    assert done.code == 0, done.err
    return json.loads(done.out)


def indexed(folder, given, stdin):
    """What a search finds in an index of the vectors."""
    index = folder / f"index-{len(list(folder.iterdir()))}"
    done = program("vectors", "index", given, "-o", index, stdin=stdin)
    assert done.code == 0, done.err
    return rows_of(folder, "vectors", "search", index, written("vectors", folder / "asked.parquet"), "-k", 2, stdin=b"")


def searched(folder, given, stdin):
    index = folder / f"index-{len(list(folder.iterdir()))}"
    assert program("vectors", "index", written("vectors", folder / "kept.parquet"), "-o", index).code == 0
    return rows_of(folder, "vectors", "search", index, given, "-k", 2, stdin=stdin)


def ranked(run, qrels, stdin):
    return list(printed("rank", run, qrels, "-m", "mrr,ndcg@10,P@1", stdin=stdin).values())


def validated(scores, labels, stdin):
    return printed("validate", scores, labels, stdin=stdin)


def other(folder, name):
    return written(name, folder / f"{name}.parquet")


ROLES = {
    "geometry": ("vectors", lambda folder, given, stdin: printed("vectors", "geometry", given, "-k", 1, stdin=stdin)),
    "index": ("vectors", indexed),
    "search": ("vectors", searched),
    "match questions": ("questions", lambda f, given, stdin: rows_of(f, "match", given, other(f, "faq"), stdin=stdin)),
    "match faq": ("faq", lambda f, given, stdin: rows_of(f, "match", other(f, "questions"), given, stdin=stdin)),
    "rank run": ("run", lambda f, given, stdin: ranked(given, other(f, "qrels"), stdin)),
    "rank qrels": ("qrels", lambda f, given, stdin: ranked(other(f, "run"), given, stdin)),
    "validate scores": ("scores", lambda f, given, stdin: validated(given, other(f, "labels"), stdin)),
    "validate labels": ("labels", lambda f, given, stdin: validated(other(f, "scores"), given, stdin)),
}
"""What each command makes of one of its inputs, the others being Parquet files."""


def result(role, folder, given, stdin=b""):
    folder.mkdir(exist_ok=True)
    return ROLES[role][1](folder, given, stdin)


def expected(role, folder):
    name = ROLES[role][0]
    folder.mkdir(exist_ok=True)
    return result(role, folder, written(name, folder / "given.parquet"))


READERS = ("geometry", "match faq", "rank run", "validate labels")
"""One command for each way of reading: vectors, cells, rankings, and tables joined by their ids."""


@pytest.mark.parametrize("role", READERS)
@pytest.mark.parametrize("name", [*FORMATS, "t.csv.bz2", "t.jsonl.xz"])
def test_every_format_is_read(tmp_path, role, name):
    packed = {".bz2": bz2.compress, ".xz": lzma.compress}
    suffix = Path(name).suffix
    path = written(ROLES[role][0], tmp_path / (name.removesuffix(suffix) if suffix in packed else name))
    if suffix in packed:
        (tmp_path / name).write_bytes(packed[suffix](path.read_bytes()))
    assert result(role, tmp_path / "work", tmp_path / name) == expected(role, tmp_path / "base")


SOME_FORMATS = ("t.parquet", "t.arrow", "t.jsonl", "t.csv.gz", "t.tsv")
OF_EACH = [*zip(ROLES, itertools.cycle(SOME_FORMATS)), *((READERS[1], name) for name in SOME_FORMATS)]
"""Every role with one format, and one role with every format."""


@pytest.mark.parametrize(("role", "name"), sorted(set(OF_EACH)))
def test_files_are_read_from_every_location(tmp_path, s3, role, name):
    wanted = expected(role, tmp_path / "base")
    folder = tmp_path / "folder=1"
    folder.mkdir()
    path = written(ROLES[role][0], folder / name)
    (folder / "_SUCCESS").touch()
    address = s3.put(folder, f"{role.replace(' ', '-')}/{name}")
    ways = {
        "folder": (folder, b""),
        "glob": (tmp_path / "*" / name, b""),
        "file address": (path.as_uri(), b""),
        "address": (f"{address}/{name}", b""),
        "folder in a store": (f"{address}/", b""),
        "glob in a store": (f"{address}/*{name[1:]}", b""),
        "standard input": ("-", path.read_bytes()),
    }
    for way, (given, stdin) in ways.items():
        assert result(role, tmp_path / "work", given, stdin) == wanted, way


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("name", ["{}.parquet", "{}.jsonl", "{}.csv"])
def test_a_folder_of_parts_is_one_table(tmp_path, role, name):
    table = ROLES[role][0]
    (tmp_path / "parts").mkdir()
    whole = TABLES[table]
    for part in range(len(whole)):
        TABLES["part"] = whole.slice(part, 1)
        written("part", tmp_path / "parts" / name.format(part))
    del TABLES["part"]
    assert result(role, tmp_path / "work", tmp_path / "parts") == expected(role, tmp_path / "base")


SCORED = {
    "answer": ("token_f1", [{"a": 5}] * 2),
    "reference": ("token_f1", [{"a": 1.5}] * 2),
    "retrieved_ids": ("mrr", [1, 2]),
    "latency_ms": ("latency_ms", ["fast", "slow"]),
    "answer_embedding": ("dot_similarity", [1.0, 2.0]),
}


@pytest.mark.parametrize("column", SCORED)
def test_a_wrong_type_in_a_file_and_in_memory_gives_one_message(tmp_path, column):
    metric, values = SCORED[column]
    rows = {"answer": ["a", "b"], "reference": ["a", "b"], "latency_ms": [1.0, 2.0]}
    rows |= {name: [["a"], ["b"]] for name in ("retrieved_ids", "relevant_ids")}
    rows |= {name: [[1.0], [2.0]] for name in ("answer_embedding", "reference_embedding")}
    yours = {f"my_{name}": values if name == column else cells for name, cells in rows.items()}
    columns = {name: f"my_{name}" for name in rows}
    pq.write_table(pa.table(yours), tmp_path / "t.parquet")
    write(pa.table(yours), tmp_path / "t.arrow")
    said = []
    for given in (yours, pa.table(yours), tmp_path / "t.parquet", tmp_path / "t.arrow"):
        with pytest.raises(ColumnError) as caught:
            fm.score(given, metric, columns=columns)
        said.append(str(caught.value))
    assert said[1:] == [said[0], f"{tmp_path}/t.parquet: {said[0]}", f"{tmp_path}/t.arrow: {said[0]}"]
    assert said[0].startswith(f"column 'my_{column}': ")
