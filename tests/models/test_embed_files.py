"""Files of text get their embeddings by the same runs that score, judge and answer."""

import json
import math

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyarrow import json as paj

import fastmetrics as fm
from fastmetrics.base.errors import ColumnError, FileFormatError
from fastmetrics.models.embed import embed
from fastmetrics.tables.opening import open_source
from fastmetrics.tables.outputs import find_metadata
from tests.support.program import jsonl, program

ROWS = [
    {"id": n, "question": None if n % 7 == 0 else f"question {n % 50}", "answer": f"answer {n} é", "score": n / 2}
    for n in range(400)
]


class Counting:
    """Embeds a text as its length and its bytes' sum, and counts the texts it has seen."""

    def __init__(self):
        self.seen = []

    def __call__(self, texts):
        self.seen += texts
        return np.array([[len(text), sum(text.encode())] for text in texts], np.float32)


def test_files_get_the_embeddings_that_tables_get(tmp_path):
    path, count = jsonl(tmp_path / "rows.jsonl", *ROWS), Counting()
    done = fm.embed(path, fm.Embedder(count), output=tmp_path / "o.parquet")
    assert (done.rows, done.counts) == (400, {"question_embedding": 342, "answer_embedding": 400})
    found = pq.read_table(tmp_path / "o.parquet")
    expected = embed(pa.Table.from_pylist(ROWS), fm.Embedder(Counting()), ["question", "answer"])
    assert found.column_names == expected.column_names
    for name in expected.column_names:
        assert found[name].to_pylist() == expected[name].to_pylist()
    assert find_metadata(tmp_path / "o.parquet", open_source(tmp_path / "o.parquet").files)["embedded"] == done.counts
    scored = fm.score(found.rename_columns({"question_embedding": "reference_embedding"}), "semantic_similarity")
    assert scored["semantic_similarity"].null_count == 58


def test_no_text_is_embedded_twice_and_a_column_may_have_any_name(tmp_path):
    path = jsonl(tmp_path / "rows.jsonl", *({"text": f"t{n % 5}", "qid": n} for n in range(50)))
    for turn in range(2):
        count = Counting()
        embedder = fm.Embedder(count, cache=tmp_path / "cache", revision="1")
        done = fm.embed(path, embedder, "text", output=tmp_path / f"{turn}.jsonl", keep=[])
        assert sorted(count.seen)[1:] == ([] if turn else [f"t{n}" for n in range(5)])  # "a" determines the dimension
        assert done.counts == {"text_embedding": 50}
    first, second = ((tmp_path / f"{turn}.jsonl").read_bytes() for turn in range(2))
    assert first == second
    assert list(json.loads(first.splitlines()[0])) == ["qid", "text_embedding"]


def test_failed_run_leaves_no_output_and_resumes(tmp_path):
    path = jsonl(tmp_path / "rows.jsonl", *ROWS)

    def broken(texts):
        raise RuntimeError("out of memory")

    with pytest.raises(RuntimeError):
        fm.embed(path, fm.Embedder(broken, revision="1"), "answer", output=tmp_path / "o.parquet")
    assert not (tmp_path / "o.parquet").exists()


def test_invalid_embed_inputs_raise(tmp_path):
    path = jsonl(tmp_path / "rows.jsonl", {"id": 1, "text": "a", "answer_embedding": [1.0], "answer": "b", "n": 5})
    embedder = fm.Embedder(Counting())
    for of, keep, message in (
        ("txt", None, "unknown column 'txt'.*text"),
        ("answer", ["answer_embedding"], "the column 'answer_embedding' already exists.*keep="),
    ):
        with pytest.raises(ColumnError, match=message):
            fm.embed(path, embedder, of, output=tmp_path / "o.parquet", keep=keep)
    with pytest.raises(ColumnError, match=r"no column question, answer or reference; list .* of="):
        fm.embed(jsonl(tmp_path / "x.jsonl", {"a": "b"}), embedder, output=tmp_path / "o.parquet")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["rows.jsonl", "x.jsonl"]


def test_the_command_embeds_with_a_model_of_the_extras(tmp_path):
    path = jsonl(tmp_path / "rows.jsonl", {"id": 1, "answer": "a cat", "reference": "a cat"})
    done = program("vectors", "embed", path, "-o", tmp_path / "o.parquet", "--cache", tmp_path / "cache")
    assert (done.code, "1 in answer_embedding, 1 in reference_embedding" in done.out) == (0, True), done.err
    scored = fm.score(pq.read_table(tmp_path / "o.parquet"), "semantic_similarity")
    assert scored["semantic_similarity"].to_pylist() == [pytest.approx(1.0, abs=1e-6)]


SEVERAL = [
    {"id": "a", "answer": "in Paris", "reference": ["Paris", "in Paris", "Rome"]},
    {"id": "b", "answer": "Rome", "reference": ["in Paris"]},
    {"id": "c", "answer": "Rome", "reference": []},
    {"id": "d", "answer": "Rome", "reference": None},
    {"id": "e", "answer": None, "reference": ["Rome", "a"]},
    {"id": "f", "answer": "zzz", "reference": ["", "Rome zzz"]},
]
SEMANTIC = ["semantic_similarity", "dot_similarity", "euclidean_distance"]


def letters(texts):
    return np.array([[text.count(one) for one in "aeimnoprsz"] for text in texts], np.float32)


def plain_best(row):
    """The best score over a row's references, by plain arithmetic; None without a score."""
    if row["answer"] is None or not row["reference"]:
        return dict.fromkeys(SEMANTIC)
    a = letters([row["answer"]])[0].astype(float)
    each = [letters([one])[0].astype(float) for one in row["reference"]]
    cosines = [float(a @ b / (np.sqrt(a @ a) * np.sqrt(b @ b))) for b in each if b.any() and a.any()]
    return {
        "semantic_similarity": max(cosines, default=None),
        "dot_similarity": max(float(a @ b) for b in each),
        "euclidean_distance": min(float(np.sqrt(((a - b) ** 2).sum())) for b in each),
    }


def undefined_as_null(scores):
    """The scores as files hold them."""
    return pc.if_else(pc.is_nan(scores), None, scores)


@pytest.mark.parametrize("rows", [0, 1, 2, 5, 6])
@pytest.mark.parametrize("suffix", ["parquet", "arrow", "jsonl", "csv", "tsv.gz"])
def test_each_of_several_references_is_embedded_and_the_best_counts(tmp_path, rows, suffix):
    pq.write_table(pa.Table.from_pylist(SEVERAL).slice(0, rows), tmp_path / "rows.parquet")
    out, embedder = tmp_path / f"o.{suffix}", fm.Embedder(letters, revision="1")
    done = fm.embed(tmp_path / "rows.parquet", embedder, output=out)
    table = pa.Table.from_pylist(SEVERAL).slice(0, rows)
    texts = [one for row in SEVERAL[:rows] for one in row["reference"] or []]
    assert done.counts["reference_embedding"] == len(texts)
    expected = [plain_best(row) for row in SEVERAL[:rows]]
    fm.score(out, output=tmp_path / "scores.parquet", metrics=SEMANTIC)
    scores = pq.read_table(tmp_path / "scores.parquet")
    of_text = fm.score(table, SEMANTIC, embedder=embedder)
    for name in SEMANTIC:
        numbers = [math.nan if row[name] is None else row[name] for row in expected]
        assert scores[name].fill_null(math.nan).to_pylist() == pytest.approx(numbers, rel=1e-12, nan_ok=True), name
        assert scores[name].equals(undefined_as_null(of_text[name]))
    if rows:
        again = fm.embed(tmp_path / "rows.parquet", embedder, output=tmp_path / f"p.{suffix}", keep=["answer"])
        assert again.counts == done.counts


def test_lists_of_references_are_embedded_alike_in_memory_and_in_files(tmp_path):
    table = pa.Table.from_pylist(SEVERAL)
    halves = pa.concat_tables([table.slice(0, 2), table.slice(2)])
    made = embed(halves, fm.Embedder(letters))
    path = jsonl(tmp_path / "rows.jsonl", *SEVERAL)
    fm.embed(path, fm.Embedder(letters, revision="1"), output=tmp_path / "o.parquet")
    assert pq.read_table(tmp_path / "o.parquet")["reference_embedding"].to_pylist() == (
        made["reference_embedding"].to_pylist()
    )
    mixed = jsonl(tmp_path / "mixed.jsonl", {"answer": "a", "reference": "Rome"}, {"answer": "a", "reference": ["a"]})
    fm.embed(mixed, fm.Embedder(letters, revision="1"), output=tmp_path / "mixed.parquet")
    assert [len(one) for one in pq.read_table(tmp_path / "mixed.parquet")["reference_embedding"].to_pylist()] == [1, 1]


def test_contexts_are_embedded_as_lists_and_lists_of_answers_refused(tmp_path):
    path = jsonl(tmp_path / "rows.jsonl", {"id": 1, "contexts": ["a", None, "ez"]}, {"id": 2, "contexts": []})
    fm.embed(path, fm.Embedder(letters, revision="1"), "contexts", output=tmp_path / "o.parquet", keep=[])
    found = pq.read_table(tmp_path / "o.parquet")["contexts_embedding"].to_pylist()
    assert found == [letters(["a", "ez"]).tolist(), []]
    answers = jsonl(tmp_path / "answers.jsonl", {"answer": ["a", "b"]})
    with pytest.raises(FileFormatError, match=r"column 'answer': expected a string, got a list"):
        fm.embed(answers, fm.Embedder(letters, revision="1"), output=tmp_path / "p.parquet")


def test_embed_with_its_defaults_embeds_the_example_rows(tmp_path):
    done = program("vectors", "embed", "examples/answers.jsonl", "-o", tmp_path / "o.parquet")
    assert done.code == 0, done.err
    path, counts = done.out.splitlines()[:2]
    assert path.endswith("o.parquet")
    assert "answer_embedding" in counts
    again = program("score", tmp_path / "o.parquet", "-o", tmp_path / "s.parquet", "-m", ",".join(SEMANTIC))
    assert again.code == 0, again.err
    expected = fm.score(paj.read_json("examples/answers.jsonl"), SEMANTIC, embedder="wordllama")
    for name in SEMANTIC:
        assert pq.read_table(tmp_path / "s.parquet")[name].equals(undefined_as_null(expected[name])), name
